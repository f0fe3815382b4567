//! What is refused of the offered load.

use super::*;

#[test]
fn every_pattern_keeps_the_common_ranges() {
    let entry = |settings: Value| {
        let mut entry = json!({"pattern": "permutation", "bytes": 4000, "dscp": 8});
        merge(&mut entry, settings);
        sending(entry)
    };
    for packet in [0, 65_536] {
        assert_eq!(report(entry(json!({"packet": packet}))).refusals.len(), 1);
    }
    warned(entry(json!({"packet": 65_535})), &[]);
    refused(
        entry(json!({"packet": 0})),
        &["traffic[0].packet = 0B: an IP packet has 1B to 65535B"],
    );
    refused(
        entry(json!({"dscp": 64})),
        &["traffic[0].dscp = 64: a code point is 0 to 63 (class × 8)"],
    );
    refused(
        entry(json!({"rate": 0})),
        &["traffic[0].rate = 0bps: a rate cap is 1kbps to 100Tbps; leave it out for none"],
    );
    refused(
        entry(json!({"jitter": MAX_TIME + 1})),
        &["traffic[0].jitter = 1000000.000000000001s: must be at most 1000000s"],
    );
    refused(
        entry(json!({"bytes": 0})),
        &["traffic[0].bytes = 0B: a flow has 1B to 9223372036854775807B"],
    );
    warned(
        entry(json!({"start": 1_000_000_000u64})),
        &["traffic[0].start = 1ms: not before duration = 1ms: nothing of it is sent"],
    );
    warned(json!({"traffic": []}), &["traffic = []: nothing is sent"]);
}

#[test]
fn senders_and_receivers_are_hosts() {
    for pattern in ["incast", "on-off"] {
        let entry = |settings: Value| {
            let mut entry = json!({"pattern": pattern, "bytes": 4000, "on": 1_000_000, "off": 0,
                "dscp": 8, "senders": 3});
            merge(&mut entry, settings);
            sending(entry)
        };
        warned(entry(json!({})), &[]);
        refused(
            entry(json!({"receiver": 4})),
            &["traffic[0].receiver = 4: there are only hosts 0 to 3"],
        );
        for senders in [0, 4] {
            refused(
                entry(json!({"senders": senders})),
                &[&format!("traffic[0].senders = {senders}: must be 1 to 3, the other hosts")],
            );
        }
    }
}

#[test]
fn rings_take_steps_that_end() {
    let ring = |settings: Value| {
        let mut entry = json!({"pattern": "ring", "bytes": 4000, "dscp": 8});
        merge(&mut entry, settings);
        sending(entry)
    };
    warned(ring(json!({"step_time": 1})), &[]);
    refused(
        ring(json!({"step_time": 0})),
        &["traffic[0].step_time = 0s: must be above 0s; leave it out for a step's wire time"],
    );
    refused(
        ring(json!({"step_time": MAX_TIME, "steps": "all-reduce"})),
        &["traffic[0].step_time = 1000000s: 6 steps must take at most 1000000s"],
    );
}

#[test]
fn uniform_load_has_one_kind_of_size() {
    let uniform = |settings: Value| {
        let mut entry = json!({"pattern": "uniform", "load": 0.5, "dscp": 8});
        merge(&mut entry, settings);
        sending(entry)
    };
    warned(uniform(json!({"bytes": 4000})), &[]);
    warned(uniform(json!({"sizes": "hadoop"})), &[]);
    refused(uniform(json!({})), &["traffic[0].bytes = nothing: give either bytes or sizes"]);
    refused(
        uniform(json!({"bytes": 4000, "sizes": "hadoop"})),
        &["traffic[0].bytes = 4KB: give either bytes or sizes, not both"],
    );
    refused(
        uniform(json!({"bytes": 4000, "load": 0})),
        &["traffic[0].load = 0: must be above 0 and at most 100; 1 is the whole link rate"],
    );
    warned(
        uniform(json!({"bytes": 4000, "load": 1.5})),
        &["traffic[0].load = 1.5: above 1: the hosts offer more than their links carry"],
    );
    refused(
        uniform(json!({"bytes": 4000, "length": 0})),
        &["traffic[0].length = 0s: must be above 0s; leave it out for the duration"],
    );
    refused(
        uniform(json!({"bytes": 982, "length": 1_000_000_000_000_000u64})),
        &["traffic[0].load = 0.5: makes about 100000000000 flows in 1000s; at most 10000000000"],
    );
}

#[test]
fn bursts_have_room_for_a_packet() {
    let on_off = |settings: Value| {
        let mut entry = json!({"pattern": "on-off", "senders": 1, "on": 380, "off": 0, "dscp": 8});
        merge(&mut entry, settings);
        sending(entry)
    };
    // 19 bytes on the wire take 380 ps at 400 Gbps.
    warned(on_off(json!({})), &[]);
    refused(
        on_off(json!({"on": 379})),
        &["traffic[0].on = 379ps: a burst this short at 400Gbps has no room for a 1B packet"],
    );
    warned(on_off(json!({"on": 379, "burst": "exponential"})), &[]);
    refused(
        on_off(json!({"on": 0})),
        &["traffic[0].on = 0s: must be above 0s and at most 1000000s"],
    );
    let many = report(on_off(json!({"length": MAX_TIME})));
    assert!(many.refusals[0].rule.contains("flows in 1000000s"), "{many:?}");
}

#[test]
fn listed_flows_are_checked_one_by_one() {
    let flow = |settings: Value| {
        let mut flow = json!({"src": 1, "dst": 0, "bytes": 4000});
        merge(&mut flow, settings);
        let good = json!({"src": 2, "dst": 0, "bytes": 1});
        sending(json!({"pattern": "flows", "dscp": 8, "flows": [good, flow]}))
    };
    warned(flow(json!({})), &[]);
    refused(flow(json!({"src": 4})), &["traffic[0].flows[1].src = 4: there are only hosts 0 to 3"]);
    refused(
        flow(json!({"dst": 1})),
        &["traffic[0].flows[1].dst = 1: a host cannot send to itself"],
    );
    refused(
        flow(json!({"bytes": 0})),
        &["traffic[0].flows[1].bytes = 0B: a flow has 1B to 9223372036854775807B"],
    );
    refused(
        flow(json!({"packet": 0})),
        &["traffic[0].flows[1].packet = 0B: an IP packet has 1B to 65535B"],
    );
    refused(
        flow(json!({"dscp": 70})),
        &["traffic[0].flows[1].dscp = 70: a code point is 0 to 63 (class × 8)"],
    );
    refused(
        flow(json!({"rate": 1})),
        &["traffic[0].flows[1].rate = 1bps: a rate cap is 1kbps to 100Tbps; leave it out for none"],
    );
    refused(
        flow(json!({"start": MAX_TIME + 1})),
        &["traffic[0].flows[1].start = 1000000.000000000001s: must be at most 1000000s"],
    );
    let none = sending(json!({"pattern": "flows", "flows": []}));
    warned(none, &["traffic[0].flows = []: nothing of it is sent"]);
}

#[test]
fn a_broken_list_does_not_flood_the_report() {
    let flows: Vec<Value> =
        (0..1_000).map(|i| json!({"src": 1, "dst": 1, "bytes": 1000 + i})).collect();
    let found = report(sending(json!({"pattern": "flows", "dscp": 8, "flows": flows})));
    assert_eq!(found.refusals.len(), MAX_FINDINGS);
}

#[test]
fn a_trace_names_a_file() {
    let trace =
        |file: &str, hash: &str| sending(json!({"pattern": "trace", "file": file, "blake3": hash}));
    warned(trace("f.csv", &"0a".repeat(32)), &[]);
    refused(trace("", ""), &["traffic[0].file = \"\": must name a CSV or Parquet file"]);
    refused(
        trace("f.csv", "xyz"),
        &["traffic[0].blake3 = xyz: must be 64 hex digits; leave it out"],
    );
}

#[test]
fn a_collective_has_its_rules() {
    // Until a NIC that reacts can be run, the model itself is refused beside them.
    let rules = |settings: Value| -> Vec<String> {
        let mut entry = json!({"pattern": "collective", "operation": "all-reduce", "dscp": 8});
        merge(&mut entry, settings);
        let mut scenario = sending(entry);
        scenario["nic"] = json!({"model": "uet"});
        let found = lines(&report(scenario).refusals);
        found.into_iter().filter(|line| line.starts_with("traffic")).collect()
    };
    let one = |settings: Value, expected: &str| assert_eq!(rules(settings), [expected]);
    assert_eq!(rules(json!({"bytes": 4000})), Vec::<String>::new());
    assert_eq!(rules(json!({"operation": "barrier"})), Vec::<String>::new());
    assert_eq!(
        rules(json!({"bytes": 1, "ranks": [3, 0], "algorithm": "halving-doubling"})).len(),
        0
    );
    one(json!({}), "traffic[0].bytes = nothing: a collective all-reduce needs the bytes of a rank");
    one(
        json!({"operation": "barrier", "bytes": 4000}),
        "traffic[0].bytes = 4KB: a barrier's messages are empty; leave it out",
    );
    one(json!({"bytes": 0}), "traffic[0].bytes = 0B: must be 1B to 9223372036854775807B");
    one(json!({"bytes": 1, "ranks": [0, 4]}), "traffic[0].ranks = 4: there are only hosts 0 to 3");
    one(
        json!({"bytes": 1, "ranks": [0, 1, 0]}),
        "traffic[0].ranks = 0: is listed twice; a host has one rank",
    );
    one(
        json!({"bytes": 1, "ranks": [0]}),
        "traffic[0].ranks = 1 of them: a collective has at least 2 ranks",
    );
    one(json!({"bytes": 1, "group": 5}), "traffic[0].group = 5: there are only 4 hosts");
    one(
        json!({"bytes": 1, "group": 2, "ranks": [0, 1]}),
        "traffic[0].group = 2: give either `ranks` or `group`, not both",
    );
    one(
        json!({"bytes": 1, "algorithm": "sequential"}),
        "traffic[0].algorithm = sequential: a collective all-reduce has ring, tree, double-tree, \
         halving-doubling",
    );
    one(
        json!({"bytes": 1, "algorithm": "halving-doubling", "group": 3}),
        "traffic[0].algorithm = halving-doubling: needs a power of two of ranks, not 3; use ring \
         or fewer",
    );
    one(
        json!({"bytes": 1, "operation": "gather", "root": 4}),
        "traffic[0].root = 4: ranks are numbered 0 to 3",
    );
    one(json!({"bytes": 1, "repeat": 0}), "traffic[0].repeat = 0: must be 1 or more");
    one(
        json!({"bytes": 1, "repeat": 4_000_000_000u64}),
        "traffic[0].repeat = 4000000000: makes 120000000000 transfers; at most 10000000000",
    );
    refused(
        sending(json!({"pattern": "collective", "operation": "all-to-all", "bytes": 9, "dscp": 8})),
        &[
            "traffic[0].pattern = collective: its steps wait for one another, and an open-loop sender \
           never learns what has arrived; choose a nic.model that reacts, such as uet, or send \
           `all-to-all` or `ring` at fixed times",
        ],
    );
}
