//! Collectives through the network: who waits for whom, and how long it takes.

use poolsweep::scenario::{Scenario, refusals};
use poolsweep::sim::observe::{End, FlowRow, Observations};
use poolsweep::sim::random::Seeds;
use poolsweep::sim::run;
use poolsweep::sim::traffic::Traces;
use serde_json::{Value, json};

const DELAY: u64 = 100_000;

fn observe(model: &str, hosts: u32, collective: Value) -> Observations {
    let scenario = json!({
        "duration": 50_000_000_000u64,
        "until": "drained",
        "topology": {"kind": "single-switch", "hosts": hosts, "rate": 400_000_000_000u64,
            "delay": DELAY},
        "nic": {"model": model},
        "traffic": [collective],
        "record": {"tables": ["jobs", "flows"]},
    });
    let scenario: Scenario = serde_json::from_value(scenario).expect("a scenario");
    assert_eq!(refusals(&scenario), []);
    let o = run(&scenario, Seeds::default(), &Traces::default()).expect("the scenario runs");
    assert_eq!((o.totals.end, o.totals.flows_unfinished), (End::Drained, 0));
    assert!(o.flows.iter().all(|flow| flow.end.is_some()));
    o
}

fn starts(flows: &[FlowRow], which: impl Fn(&FlowRow) -> bool) -> Vec<u64> {
    let mut starts: Vec<u64> = flows.iter().filter(|f| which(f)).map(|f| f.start).collect();
    starts.sort_unstable();
    starts
}

#[test]
fn a_ring_all_reduce_takes_its_steps_one_after_another() {
    let o = observe(
        "fixed-window",
        4,
        json!({"pattern": "collective", "operation": "all-reduce",
        "bytes": 8_192, "synchronize": false}),
    );
    // 2 (N − 1) steps of one packet of 2,048 B: on the wire of the NIC, then of the switch.
    let wire = (2_048 + 88 + 18) * 20;
    let step = 2 * (wire + DELAY);
    // The acknowledgement of what a step has brought leaves ahead of the next step's packet.
    let ack = 78 * 20;
    let expected: Vec<u64> = (0..6u64)
        .map(|n| if n == 0 { 0 } else { n * step + (n - 1) * ack })
        .flat_map(|start| [start; 4])
        .collect();
    assert_eq!(starts(&o.flows, |_| true), expected);
    let last = o.flows.iter().filter_map(|flow| flow.end).max();
    assert_eq!(last, Some(6 * step + 5 * ack + 2 * (ack + DELAY)));
    assert_eq!(o.totals.payload_bytes, Some(24 * 2_048));
}

#[test]
fn nobody_sends_data_before_all_ranks_have_entered() {
    for model in ["fixed-window", "uet", "roce"] {
        let o = observe(
            model,
            6,
            json!({"pattern": "collective", "operation": "all-to-all",
            "bytes": 60_000, "jitter": 20_000_000u64}),
        );
        let barrier = starts(&o.flows, |flow| flow.bytes == 0);
        let data = starts(&o.flows, |flow| flow.bytes > 0);
        assert_eq!((barrier.len(), data.len()), (10, 30), "{model}");
        // The way up to the root ends with the last rank's entry, at least a packet's time before.
        assert!(barrier[4] > barrier[0] + 1_000_000, "{model}: ranks enter one by one");
        assert!(data[0] > barrier[4] + 2 * DELAY, "{model}: {barrier:?} {data:?}");
    }
}

#[test]
fn a_repeated_collective_runs_again_when_a_rank_is_done() {
    for model in ["fixed-window", "uet", "roce"] {
        let run = |repeat: u32| {
            observe(
                model,
                4,
                json!({"pattern": "collective", "operation": "all-reduce",
                "bytes": 400_000, "repeat": repeat, "synchronize": true}),
            )
        };
        let (once, thrice) = (run(1), run(3));
        assert_eq!((once.flows.len(), thrice.flows.len()), (30, 90), "{model}");
        let payload = once.totals.payload_bytes.map(|bytes| 3 * bytes);
        assert_eq!(thrice.totals.payload_bytes, payload, "{model}");
        // A run takes at least as long as the wire takes 2 (N − 1) × C bytes.
        let data = starts(&thrice.flows, |flow| flow.bytes > 0);
        let least = 6 * 100_000 * 20;
        assert!(data[24] >= data[0] + least && data[48] >= data[24] + least, "{model}: {data:?}");
    }
}

#[test]
fn empty_messages_are_packets() {
    for model in ["fixed-window", "uet", "roce"] {
        let o = observe(model, 5, json!({"pattern": "collective", "operation": "barrier"}));
        assert_eq!(o.flows.len(), 40, "{model}");
        assert_eq!(o.totals.payload_bytes, Some(0), "{model}");
        assert!(o.flows.iter().all(|flow| flow.received_packets == 1), "{model}");
    }
}
