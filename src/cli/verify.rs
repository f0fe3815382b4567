//! `verify`: whether a dataset is what was recorded, and whether it comes out the same again.

use super::exit::{Exit, Failure};
use super::text::count;
use crate::record::{Dataset, Finding, Verified};
use crate::run::recheck::{Rechecked, recheck, sample_of_both};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The dataset
    #[arg(value_name = "DIR")]
    data: PathBuf,
    /// Jobs drawn at random to be run again and compared, half of them among those whose results
    /// follow from another's simulation; 0: only read
    #[arg(long, value_name = "N", default_value_t = 10)]
    sample: usize,
    /// Run every job again
    #[arg(long, conflicts_with = "sample")]
    all: bool,
    /// Seed of the sample [default: another each time; printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Jobs still to be run are a finding
    #[arg(long)]
    complete: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Reads everything, runs the sample again, prints the verdict.
///
/// # Errors
/// No dataset; findings.
pub fn run(args: &VerifyArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let dataset = Dataset::open(&args.data)?;
    let mut read = dataset.verify(args.complete)?;
    let seed = args.seed.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Short enough to be typed again.
        now.as_nanos() as u64 % 1_000_000_007
    });
    // What is damaged was told; nothing of it is repeatable.
    let covered = dataset.covered_jobs().unwrap_or_default();
    let drawn = match args.all {
        true => read.repeatable.clone(),
        false => sample_of_both(&read.repeatable, &covered, args.sample, seed),
    };
    let followed = drawn.keys().filter(|job| covered.contains(job)).count();
    let again = recheck(&dataset, &drawn)?;
    read.findings.extend(again.findings.iter().cloned());
    if args.json {
        writeln!(out, "{}", json(&args.data, &read, (&again, followed), seed))?;
    } else {
        print(args, &read, (&again, followed), seed, out)?;
    }
    if read.findings.is_empty() {
        return Ok(());
    }
    out.flush()?;
    let found = count(read.findings.len(), "finding");
    Err(Failure::new(Exit::Unverified, format!("{}: {found}", args.data.display())))
}

fn print(
    args: &VerifyArgs,
    read: &Verified,
    (again, followed): (&Rechecked, usize),
    seed: u64,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for Finding { file, problem, remedy } in &read.findings {
        writeln!(out, "{}\n  {problem}", file.display())?;
        if !remedy.is_empty() {
            writeln!(out, "  -> {remedy}")?;
        }
    }
    for note in &read.notes {
        writeln!(out, "note: {note}")?;
    }
    let verdict = if read.findings.is_empty() { "sound" } else { "NOT SOUND" };
    let rows: u64 = read.rows.values().sum();
    let left = match read.outstanding {
        0 => String::new(),
        left => format!(" ({left} outstanding)"),
    };
    let rerun = match again.jobs {
        0 => "none run again".to_owned(),
        jobs => {
            let drawn = if args.all { String::new() } else { format!(" (--seed {seed})") };
            let followed = match followed {
                0 => String::new(),
                followed => format!(", {followed} of which follow from another's simulation"),
            };
            format!(
                "{} run again{drawn}{followed}, {} compared",
                count(jobs, "job"),
                plural(again.rows, "row")
            )
        }
    };
    writeln!(
        out,
        "{verdict}: {}{left}, {} in {} of {}, {} bytes; {rerun}",
        count(read.jobs, "job"),
        plural(rows, "row"),
        count(read.files, "file"),
        count(read.parts, "part"),
        read.bytes,
    )?;
    Ok(())
}

fn plural(number: u64, what: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), what)
}

fn json(
    data: &Path,
    read: &Verified,
    (again, followed): (&Rechecked, usize),
    seed: u64,
) -> serde_json::Value {
    let finding = |finding: &Finding| {
        serde_json::json!({
            "file": finding.file.to_string_lossy(),
            "problem": finding.problem,
            "remedy": finding.remedy,
        })
    };
    let rows: serde_json::Map<String, serde_json::Value> =
        read.rows.iter().map(|(table, rows)| (table.name().to_owned(), (*rows).into())).collect();
    serde_json::json!({
        "dataset": data.to_string_lossy(),
        "sound": read.findings.is_empty(),
        "parts": read.parts,
        "files": read.files,
        "bytes": read.bytes,
        "jobs": read.jobs,
        "outstanding": read.outstanding,
        "rows": rows,
        "run_again": {"seed": seed, "jobs": again.jobs, "rows": again.rows, "covered": followed},
        "findings": read.findings.iter().map(finding).collect::<Vec<_>>(),
        "notes": read.notes,
    })
}
