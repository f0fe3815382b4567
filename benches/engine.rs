//! Packet-hops per CPU-second of the simulator: one packet through one switch is one hop.
//!
//! `cargo bench --bench engine [-- NAME]` prints, for each workload, the median over several runs
//! of CPU seconds of this process, with the default tables and with other choices of tables. With
//! `once` among the names each workload runs once, with the default tables: for a profiler.
//!
//! - `incast`: 32 senders of 133,888,000 B each into one of 33 hosts on one switch, 4,184 B
//!   packets (1,024,000 packets), 400 Gbps, 500 ns, lossless class 1, defaults, until drained.
//! - `uniform`: Poisson arrivals of one-packet flows of 1,000 B at load 0.8 over 128 ports, lossy.
//! - `permutation`: 16 leaves × 8 hosts × 8 spines, 16 MB a flow in 4,184 B packets, `flowId`.

use cpu_time::ProcessTime;
use poolsweep::scenario::{
    Common, Incast, Permutation, Record, Scenario, Switch, Table, Topology, Traffic, Uniform, Until,
};
use poolsweep::sim::observe::Observations;
use poolsweep::sim::random::Seeds;
use poolsweep::sim::traffic::{FlowSource, Traces};
use poolsweep::units::{BitRate, Bytes, Ps};

const RUNS: usize = 5;

/// Makes the scenario to measure.
type Workload = fn() -> Scenario;

fn scenario(topology: Topology, traffic: Traffic, duration: u64, until: Until) -> Scenario {
    Scenario {
        duration: Ps(duration),
        stop_on_deadlock: false,
        until,
        warm_up: Ps(0),
        seed_streams: Default::default(),
        timing: Default::default(),
        topology,
        switch: Switch::default(),
        nic: Default::default(),
        traffic: vec![traffic],
        record: Record::default(),
        budget: Default::default(),
    }
}

fn incast() -> Scenario {
    let topology = Topology::SingleSwitch {
        hosts: 33,
        rate: Some(BitRate(400_000_000_000)),
        delay: Some(Ps(500_000)),
    };
    let common = Common { packet: Bytes(4_184), dscp: 8, ..Common::default() };
    let traffic =
        Traffic::Incast(Incast { receiver: 0, senders: 32, bytes: Bytes(133_888_000), common });
    scenario(topology, traffic, 1_000_000_000_000, Until::Drained)
}

fn uniform() -> Scenario {
    let topology = Topology::SingleSwitch {
        hosts: 128,
        rate: Some(BitRate(400_000_000_000)),
        delay: Some(Ps(500_000)),
    };
    let common = Common { packet: Bytes(1_000), dscp: 16, ..Common::default() };
    let traffic = Traffic::Uniform(Uniform {
        load: 0.8,
        bytes: Some(Bytes(1_000)),
        sizes: None,
        length: None,
        common,
    });
    // 128 × 0.8 × 400 Gbps ÷ (1,018 B × 8) is 5.03 packets a ns.
    scenario(topology, traffic, 800_000_000, Until::Duration)
}

fn permutation() -> Scenario {
    let topology = Topology::LeafSpine {
        leaves: 16,
        hosts_per_leaf: 8,
        spines: 8,
        links_per_spine: 1,
        rate: Some(BitRate(400_000_000_000)),
        delay: Some(Ps(500_000)),
        fabric_rate: None,
        fabric_delay: None,
    };
    let common = Common { packet: Bytes(4_184), dscp: 8, ..Common::default() };
    let traffic = Traffic::Permutation(Permutation { bytes: Bytes(16_000_000), common });
    let mut s = scenario(topology, traffic, 1_000_000_000_000, Until::Drained);
    s.switch.ecmp_hash_method = poolsweep::scenario::EcmpHashMethod::FlowId;
    s
}

fn run(scenario: &Scenario) -> Observations {
    poolsweep::sim::run(scenario, Seeds::default(), &Traces::default()).expect("a valid scenario")
}

/// Median CPU seconds of `work`, and its last result.
fn median<T>(mut work: impl FnMut() -> T) -> (f64, T) {
    let mut last = work();
    let mut seconds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = ProcessTime::now();
            last = work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    (seconds[RUNS / 2], last)
}

/// CPU seconds to make a scenario's flows without simulating them.
fn making(scenario: &Scenario) -> f64 {
    let hosts = scenario.topology.hosts() as u32;
    median(|| {
        let rate = |_| 400_000_000_000;
        let seeds = Seeds::default();
        let mut source = FlowSource::new(scenario, hosts, &rate, &seeds, &Traces::default())
            .expect("a valid scenario");
        let mut bytes = 0u64;
        while source.pending() {
            for host in 0..hosts {
                bytes += source.pop(host).map_or(0, |flow| flow.bytes);
            }
        }
        bytes
    })
    .0
}

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let workloads: [(&str, Workload); 3] =
        [("incast", incast), ("uniform", uniform), ("permutation", permutation)];
    let once = wanted.iter().any(|w| w == "once");
    for (name, make) in workloads {
        if wanted.iter().any(|w| w != "once") && !wanted.iter().any(|w| w == name) {
            continue;
        }
        let default = make();
        if once {
            println!("{name}: {} packet-hops", run(&default).totals.packet_hops);
            continue;
        }
        let mut jobs_only = default.clone();
        jobs_only.record.tables = vec![Table::Jobs];
        let mut everything = default.clone();
        everything.record.tables.extend([Table::SwitchBuffers, Table::PortCounters, Table::Flows]);
        everything.record.interval = Some(Ps(1_000_000_000));
        let (base, seen) = median(|| run(&default));
        let hops = seen.totals.packet_hops as f64;
        println!(
            "{name}: {hops} packet-hops, {} drops, {} events, ends at {} ps",
            seen.totals.drops.iter().sum::<u64>(),
            seen.totals.events,
            seen.totals.end_time
        );
        let line = |what: &str, seconds: f64| {
            println!(
                "  {what:<28} {:>7.2} M hops per CPU-second ({:.3} s, {:.2} x default)",
                hops / seconds / 1e6,
                seconds,
                seconds / base
            );
        };
        line("default tables", base);
        line("jobs only", median(|| run(&jobs_only)).0);
        let (seconds, seen) = median(|| run(&everything));
        line("every table at 1 ms", seconds);
        let rows = seen.port_buffers.len()
            + seen.switch_buffers.len()
            + seen.pfc.len()
            + seen.port_counters.len()
            + seen.flows.len();
        println!("    ({rows} rows)");
        let making = making(&default);
        line("making the traffic alone", making);
        if name == "uniform" {
            line("default, traffic apart", base - making);
        }
    }
}
