//! `size`: headroom, Xoff, Xon and pools of a switch, by formula, by worst case and by simulation.

mod answer;
mod json;
mod page;

use super::exit::{Exit, Failure};
use super::inspect::find;
use super::sweep_file::SweepFile;
use super::text::count;
use crate::scenario::{Scenario, Table};
use crate::sizing::LinkCase;
use crate::sizing::formulas::{Asic, Cable, Sonic};
use crate::sizing::proposal::propose;
use crate::units::{BitRate, Bytes, Ps, Rational, scan_amount};
use answer::{Answer, Question};
use clap::Args;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;

/// Arguments of `size`.
#[derive(Debug, Args)]
pub struct SizeArgs {
    /// A sweep file: its first scenario is sized; without one, say --rate and --cable or --delay
    file: Option<PathBuf>,
    /// Set a key, as if the file said so: topology.delay=1us
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The job, by its id or its number from 0 [default: the first]
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    #[command(flatten)]
    link: LinkArgs,
    #[command(flatten)]
    sonic: SonicArgs,
    /// Delay of a metre of cable, ns
    #[arg(long, value_name = "NS", default_value = "5", value_parser = decimal)]
    ns_per_m: Rational,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A link, and the switch at its end.
#[derive(Debug, Args)]
#[group(conflicts_with = "file", multiple = true)]
struct LinkArgs {
    /// Rate of the link: 400Gbps
    #[arg(long)]
    rate: Option<BitRate>,
    /// Length of the cable: 300m, 2km
    #[arg(long, value_name = "LENGTH", value_parser = length, conflicts_with = "delay")]
    cable: Option<Rational>,
    /// One-way delay of the cable: 1500ns
    #[arg(long, value_name = "TIME")]
    delay: Option<Ps>,
    /// Largest packet as charged, without the Ethernet header [default: 4000B]
    #[arg(long, value_name = "SIZE")]
    mtu: Option<Bytes>,
    /// Time the sender takes to act on a pause [default: 0s]
    #[arg(long, value_name = "TIME")]
    response: Option<Ps>,
    /// Ports of the switch, all like this one; with --total
    #[arg(long, value_name = "N", requires = "total")]
    ports: Option<u32>,
    /// The switch's whole buffer: 64MB
    #[arg(long, value_name = "SIZE", requires = "ports")]
    total: Option<Bytes>,
    /// Xoff to keep if it fits [default: 700KB]
    #[arg(long, value_name = "SIZE", requires = "ports")]
    xoff: Option<Bytes>,
    /// Xon to keep if it fits [default: 300KB]
    #[arg(long, value_name = "SIZE", requires = "ports")]
    xon: Option<Bytes>,
    /// Share of the pools that lossy traffic is to keep, if it can; 0: there is none
    #[arg(long, value_name = "SHARE", requires = "ports", default_value_t = 0.5)]
    lossy_share: f64,
}

/// Inputs of `sonic-mellanox`.
#[derive(Debug, Args)]
struct SonicArgs {
    /// Switch chip: spectrum-1 to spectrum-6 [default: spectrum-3; above 400Gbps spectrum-4]
    #[arg(long)]
    asic: Option<Asic>,
    /// Lanes of the port [default: 4; from 400Gbps on 8]
    #[arg(long, value_name = "N")]
    lanes: Option<u64>,
    /// Percentage of smallest packets in lossless traffic
    #[arg(long, value_name = "PERCENT", default_value_t = 50)]
    spp: u64,
    /// Largest packet of the port, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 9_100)]
    port_mtu: u64,
    /// Largest packet of lossless traffic, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1_024)]
    lossless_mtu: u64,
    /// Delay of a gearbox, ns
    #[arg(long, value_name = "NS", default_value_t = 0)]
    gearbox_ns: u64,
    /// Ports share a pool of headroom
    #[arg(long)]
    shared_headroom: bool,
}

impl SonicArgs {
    /// The script's inputs for a link of this rate, bit/s.
    fn inputs(&self, rate: u64) -> Sonic {
        let lanes = if rate >= 400_000_000_000 { 8 } else { 4 };
        Sonic {
            asic: self.asic.unwrap_or(Asic::usual(rate)),
            lanes: self.lanes.unwrap_or(lanes),
            port_mtu: self.port_mtu,
            lossless_mtu: self.lossless_mtu,
            small_packets: self.spp,
            gearbox_ns: self.gearbox_ns,
            shared_headroom: self.shared_headroom,
            two_kib_rule: true,
        }
    }
}

/// Prints the answer.
///
/// # Errors
/// An invalid file; no such job; a link out of range, or none at all.
pub fn run(args: &SizeArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let answer = match &args.file {
        Some(file) => of_file(args, file)?,
        None if !args.set.is_empty() || args.job.is_some() => {
            return usage("--set and --job are about a sweep file: poolsweep size FILE --set …");
        }
        None => of_link(args)?,
    };
    if args.json {
        writeln!(out, "{:#}", json::json(&answer))?;
        return Ok(());
    }
    out.write_all(page::page(&answer).as_bytes())?;
    Ok(())
}

fn of_file(args: &SizeArgs, file: &std::path::Path) -> Result<Answer, Failure> {
    let sweep =
        SweepFile { file: file.to_owned(), set: args.set.clone(), axis: Vec::new(), yes: true };
    let plan = sweep.load()?;
    let job = find(&plan, args.job.as_deref().unwrap_or("0"))?;
    if args.job.is_none() && plan.jobs.len() > 1 {
        let jobs = count(plan.jobs.len(), "job");
        // Not part of the answer; nobody misses it where stderr is closed.
        let _ = writeln!(
            io::stderr(),
            "note: the first of {jobs}; --job JOB or --set KEY=VALUE chooses another"
        );
    }
    of_scenario(args, &plan.scenario(job)?, true)
}

fn of_scenario(args: &SizeArgs, scenario: &Scenario, from_file: bool) -> Result<Answer, Failure> {
    let sizings = propose(scenario).map_err(|error| Failure::new(Exit::Invalid, error))?;
    let question = Question { ns_per_m: args.ns_per_m, sonic: &|rate| args.sonic.inputs(rate) };
    Answer::of_scenario(scenario, &sizings, &question, from_file)
        .map_err(|error| Failure::new(Exit::Usage, error))
}

fn of_link(args: &SizeArgs) -> Result<Answer, Failure> {
    let link = &args.link;
    let Some(BitRate(rate)) = link.rate else {
        return usage(
            "what is to be sized? Give a sweep file, or a link: --rate 400Gbps --cable 300m --mtu \
             4096B, and with --ports 128 --total 64MB the switch at its end",
        );
    };
    let cable = match (link.cable, link.delay) {
        (Some(metres), _) => Cable::of_length(rate, metres, args.ns_per_m),
        (None, Some(Ps(delay))) => Cable::of_delay(rate, delay, args.ns_per_m),
        (None, None) => return usage("how long is the cable? --cable 300m, or --delay 1500ns"),
    };
    let cable = cable.map_err(|error| Failure::new(Exit::Usage, error))?;
    let mtu = link.mtu.map_or(4_000, |mtu| mtu.0);
    let response = link.response.map_or(0, |time| time.0);
    let case = LinkCase { response, ..LinkCase::simple(rate, cable.delay, mtu) }
        .checked()
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    let (Some(ports), Some(total)) = (link.ports, link.total) else {
        return Ok(Answer::of_link(&case, cable, &args.sonic.inputs(rate)));
    };
    if !(0.0..1.0).contains(&link.lossy_share) {
        return usage(format!(
            "--lossy-share {}: must be 0 or more, and below 1",
            link.lossy_share
        ));
    }
    let scenario = switch_of(&case, ports, total, link)
        .map_err(|error| Failure::new(Exit::Internal, format!("the switch of a link: {error}")))?;
    if let Some(finding) = crate::scenario::refusals(&scenario).into_iter().find(|finding| {
        // Headroom is what is asked for: the default must not refuse the question.
        !finding.attribute.ends_with("HeadRoomPerPortLimit")
    }) {
        return usage(finding);
    }
    of_scenario(args, &scenario, false)
}

/// A switch with lossless class 1 in pool 1 and, unless its share is 0, lossy class 0 in pool 0.
fn switch_of(
    case: &LinkCase,
    ports: u32,
    total: Bytes,
    link: &LinkArgs,
) -> Result<Scenario, serde_json::Error> {
    let share = link.lossy_share;
    let incast = |dscp: u64| {
        serde_json::json!({"pattern": "incast", "senders": 1, "bytes": case.packet, "dscp": dscp,
            "packet": case.packet})
    };
    let traffic = if share > 0.0 { vec![incast(8), incast(0)] } else { vec![incast(8)] };
    let mut buffer = serde_json::json!({
        "TotalSharedBufferSize": total,
        "EnablePFC": [0, 1, 0, 0, 0, 0, 0, 0],
        "PoolAllocationMap": [share, 1.0 - share, 0, 0, 0, 0, 0, 0],
    });
    for (name, size) in
        [("StaticPoolXoffThreshold", link.xoff), ("StaticPoolXonThreshold", link.xon)]
    {
        if let Some(size) = size {
            buffer[name] = serde_json::json!(size);
        }
    }
    let mut scenario: Scenario = serde_json::from_value(serde_json::json!({
        "duration": 1_000_000_000,
        "topology":
            {"kind": "single-switch", "hosts": ports, "rate": case.rate, "delay": case.delay},
        "switch": {"SharedBufferManager": buffer},
        "nic": {"PfcResponseTime": case.response},
        "traffic": traffic,
    }))?;
    scenario.record.tables = vec![Table::Jobs];
    Ok(scenario)
}

fn usage<T>(text: impl Display) -> Result<T, Failure> {
    Err(Failure::new(Exit::Usage, text))
}

/// An unsigned decimal number.
fn decimal(text: &str) -> Result<Rational, String> {
    let amount = scan_amount(text).map_err(|error| error.to_string())?;
    match &text[amount.len..] {
        "" => Ok(amount.value),
        rest => Err(format!("`{rest}` after the number is not understood")),
    }
}

/// A length of cable in metres.
fn length(text: &str) -> Result<Rational, String> {
    let amount = scan_amount(text).map_err(|error| error.to_string())?;
    let factor = match text[amount.len..].trim_start() {
        "m" => 1,
        "km" => 1_000,
        "" => return Err(format!("a length needs a unit: write `{text}m`")),
        unit => return Err(format!("`{unit}` is no unit of length here: write `m` or `km`")),
    };
    // Longer than any cable, and short enough to calculate with.
    if amount.value > Rational::from_integer(1_000_000_000) {
        return Err("no cable is that long".to_owned());
    }
    Ok(amount.value * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_a_unit() {
        assert_eq!(length("300m"), Ok(Rational::from_integer(300)));
        assert_eq!(length("0.5 km"), Ok(Rational::from_integer(500)));
        assert_eq!(length("2.5m"), Ok(Rational::new(5, 2)));
        assert!(length("300").unwrap_err().contains("write `300m`"));
        assert!(length("300ft").unwrap_err().contains("write `m` or `km`"));
        assert!(length("1e30m").is_err());
        assert_eq!(decimal("4.9"), Ok(Rational::new(49, 10)));
        assert!(decimal("5ns").unwrap_err().contains("`ns`"));
    }
}
