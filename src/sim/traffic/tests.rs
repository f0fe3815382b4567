//! The whole of the room against a plain expansion of the same patterns.
//!
//! [`expand`] writes out the list a scenario means, flow by flow in the order of ids, with nothing
//! lazy about it: what [`FlowSource`] hands out has to be that list, sorted by host.

use super::*;
use super::{draw, sizes::Distribution, sizes::FlowSize, wire};
use crate::scenario::{Burst, Common, RingSteps, Role, Scenario, Traffic};
use crate::sim::random::{Seeds, Stream};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

const RATE: u64 = 400_000_000_000;

fn scenario(hosts: u32, duration: u64, traffic: serde_json::Value) -> Scenario {
    serde_json::from_value(json!({
        "duration": duration,
        "topology": {"kind": "single-switch", "hosts": hosts},
        "traffic": traffic,
    }))
    .expect("a scenario")
}

fn seeds(sweep: u64) -> Seeds {
    Seeds { sweep, ..Seeds::default() }
}

fn source(scenario: &Scenario, seeds: &Seeds) -> Result<FlowSource, TrafficError> {
    let hosts = scenario.topology.hosts() as u32;
    FlowSource::new(scenario, hosts, &|_| RATE, seeds, &traces())
}

fn traces() -> Traces {
    let flow = |src, dst, start| TraceFlow {
        src,
        dst,
        bytes: 5_000,
        start,
        packet: None,
        dscp: None,
        ect: None,
        role: None,
        rate: None,
    };
    let mut traces = Traces::new();
    let mut flows = vec![flow(1, 0, 900_000), flow(0, 1, 500), flow(1, 2, 500), flow(1, 0, 500)];
    flows[2].dscp = Some(47);
    flows[2].rate = Some(7);
    traces.insert("abc", flows);
    traces
}

/// Every flow, taken from the hosts in an order that `turn` shuffles.
fn drain(mut source: FlowSource, hosts: u32, turn: u64) -> Vec<Vec<FlowStart>> {
    let mut taken = vec![Vec::new(); hosts as usize];
    let mut open: Vec<u32> = (0..hosts).collect();
    let mut stream = seeds(turn).stream("turn");
    while !open.is_empty() {
        let i = draw::below(&mut stream, open.len() as u64) as usize;
        let peeked = source.peek(open[i]).copied();
        let popped = source.pop(open[i]);
        assert_eq!(peeked, popped);
        match popped {
            Some(flow) => taken[open[i] as usize].push(flow),
            None => {
                assert_eq!(source.pop(open[i]), None, "none means never again");
                open.swap_remove(i);
            }
        }
    }
    assert!(!source.pending());
    taken
}

/// The list a scenario means.
fn expand(scenario: &Scenario, seeds: &Seeds) -> Vec<FlowStart> {
    let hosts = scenario.topology.hosts() as u32;
    let mut list = Vec::new();
    for (place, traffic) in (0..).zip(&scenario.traffic) {
        let stream = |purpose: &str| seeds.stream(&format!("traffic/{place}/{purpose}"));
        let end = |common: &Common, length: Option<crate::units::Ps>| {
            length.map_or(scenario.duration.0, |l| common.start.0 + l.0)
        };
        // (src, dst, bytes, start without jitter)
        let (common, flows): (&Common, Vec<(u32, u32, u64, u64)>) = match traffic {
            Traffic::Incast(p) => {
                let sender = |k| (p.receiver + 1 + k) % hosts;
                let flows = (0..p.senders).map(|k| (sender(k), p.receiver, p.bytes.0, 0));
                (&p.common, flows.collect())
            }
            Traffic::Permutation(p) => {
                let partners = draw::derangement(&mut stream("permutation"), hosts);
                let flows = (0..).zip(partners).map(|(src, dst)| (src, dst, p.bytes.0, 0));
                (&p.common, flows.collect())
            }
            Traffic::AllToAll(p) => {
                let to = |src| (1..hosts).map(move |k| (src, (src + k) % hosts, p.bytes.0, 0));
                (&p.common, (0..hosts).flat_map(to).collect())
            }
            Traffic::Ring(p) => {
                let (steps, bytes) = match p.steps {
                    RingSteps::One => (1, p.bytes.0),
                    RingSteps::AllReduce => (2 * (hosts - 1), p.bytes.0.div_ceil(hosts.into())),
                };
                let time = wire::time_of_flow(bytes, p.common.packet.0, RATE);
                let time = p.step_time.map_or(time, |t| t.0);
                let step = |s: u32| {
                    (0..hosts).map(move |src| (src, (src + 1) % hosts, bytes, u64::from(s) * time))
                };
                (&p.common, (0..steps).flat_map(step).collect())
            }
            Traffic::Uniform(p) => {
                let size = match p.sizes {
                    Some(sizes) => FlowSize::Drawn(Arc::new(Distribution::of(sizes))),
                    None => FlowSize::Fixed(p.bytes.expect("a size").0),
                };
                let bits = 8.0 * size.mean_wire_bytes(p.common.packet.0);
                let gap = bits * 1e12 / (p.load * (RATE as f64 * f64::from(hosts)));
                let [mut arrivals, mut sources, mut destinations, mut sizes] =
                    ["arrivals", "sources", "destinations", "sizes"].map(stream);
                let (mut now, mut fraction) = (p.common.start.0, 0.0);
                let mut flows = Vec::new();
                loop {
                    let passed: f64 = fraction + draw::exponential(&mut arrivals) * gap;
                    now += passed.floor() as u64;
                    fraction = passed - passed.floor();
                    if now >= end(&p.common, p.length) {
                        break (&p.common, flows);
                    }
                    let src = draw::below(&mut sources, hosts.into()) as u32;
                    let others: Vec<u32> = (0..hosts).filter(|h| *h != src).collect();
                    let dst = draw::below(&mut destinations, others.len() as u64) as usize;
                    let bytes = size.draw(&mut sizes);
                    flows.push((src, others[dst], bytes, now - p.common.start.0));
                }
            }
            Traffic::OnOff(p) => {
                let mut bursts = stream("bursts");
                let mut length = |mean: u64| match p.burst {
                    Burst::Fixed => mean,
                    Burst::Exponential => {
                        (draw::exponential(&mut bursts) * mean as f64).floor() as u64
                    }
                };
                let rate = p.common.rate.map_or(RATE, |r| r.0);
                let mut flows = Vec::new();
                for k in 0..p.senders {
                    let src = (p.receiver + 1 + k) % hosts;
                    let mut at = p.common.start.0;
                    while at < end(&p.common, p.length) {
                        let (on, off) = (length(p.on.0), length(p.off.0));
                        let wire = u128::from(on) * u128::from(rate) / 8_000_000_000_000;
                        let bytes = wire::ip_bytes(wire as u64, p.common.packet.0);
                        flows.push((src, p.receiver, bytes, at - p.common.start.0));
                        at += on + off;
                    }
                }
                (&p.common, flows)
            }
            Traffic::Flows(p) => {
                let flows = p.flows.iter().map(|f| (f.src, f.dst, f.bytes.0, f.start.0));
                (&p.common, flows.collect())
            }
            Traffic::Trace(p) => {
                let flows = traces().get(&p.blake3).expect("a trace").to_vec();
                let flows = flows.iter().map(|f| (f.src, f.dst, f.bytes, f.start));
                (&p.common, flows.collect())
            }
            Traffic::Collective(_) => unreachable!("collectives have tests of their own"),
        };
        let mut jitter = stream("jitter");
        for (within, (src, dst, bytes, start)) in flows.into_iter().enumerate() {
            let span = common.jitter.0;
            let delay = if span == 0 { 0 } else { draw::below(&mut jitter, span) };
            let own = match traffic {
                Traffic::Flows(p) => Some(TraceFlow::of_entry(&p.flows[within])),
                Traffic::Trace(p) => Some(traces().get(&p.blake3).expect("a trace")[within]),
                _ => None,
            };
            let id = list.len() as u64;
            let role = own.and_then(|f| f.role).or(common.role).unwrap_or_default();
            let dscp = own.and_then(|f| f.dscp).unwrap_or(common.dscp as u8);
            let uet = scenario.switch.shared_buffer_manager.uet_policy_enabled;
            let (tc, role) = match (uet, role) {
                (false, _) => (dscp / 8, Role::NoTrim),
                (true, Role::Control) => (2, role),
                (true, Role::Trimmed) => (1, role),
                (true, _) => (0, role),
            };
            list.push(FlowStart {
                id,
                pattern: place,
                src,
                dst,
                bytes,
                packet: own.and_then(|f| f.packet).unwrap_or(common.packet.0 as u32),
                tc,
                ect: own.and_then(|f| f.ect).unwrap_or(common.ect),
                role,
                start: common.start.0 + start + delay,
                rate: own.and_then(|f| f.rate).or(common.rate.map(|r| r.0)).unwrap_or(0),
                entropy: (49_152 + id % 16_384) as u16,
            });
        }
    }
    list
}

fn by_host(list: Vec<FlowStart>, hosts: u32) -> Vec<Vec<FlowStart>> {
    let mut hosts = vec![Vec::new(); hosts as usize];
    for flow in list {
        hosts[flow.src as usize].push(flow);
    }
    hosts.iter_mut().for_each(|flows| flows.sort_by_key(|flow| (flow.start, flow.id)));
    hosts
}

fn assert_is_the_list(scenario: &Scenario, seed: u64) {
    let hosts = scenario.topology.hosts() as u32;
    let taken = drain(source(scenario, &seeds(seed)).expect("valid"), hosts, seed ^ 1);
    let listed = by_host(expand(scenario, &seeds(seed)), hosts);
    for (host, (taken, listed)) in taken.iter().zip(&listed).enumerate() {
        assert_eq!(taken.len(), listed.len(), "flows of host {host}");
        for (taken, listed) in taken.iter().zip(listed) {
            assert_eq!(taken, listed);
        }
    }
}

/// Every pattern there is, with `jitter`, in an order that puts lazy ones first and in between.
fn every_pattern(hosts: u32, jitter: u64) -> Scenario {
    scenario(
        hosts,
        3_000_000,
        json!([
            {"pattern": "uniform", "load": 0.7, "bytes": 900, "packet": 1000, "jitter": jitter},
            {"pattern": "on-off", "receiver": 1, "senders": hosts - 1, "on": 90_000, "off": 60_000,
             "burst": "exponential", "start": 5, "length": 900_000, "jitter": jitter},
            {"pattern": "incast", "receiver": 2, "senders": 2, "bytes": 9_999, "dscp": 17,
             "ect": true, "start": 77, "jitter": jitter},
            {"pattern": "all-to-all", "bytes": 123, "jitter": jitter, "role": "trimmable"},
            {"pattern": "uniform", "load": 0.3, "sizes": "google-rpc", "start": 1_000_000,
             "length": 1_500_000, "jitter": jitter},
            {"pattern": "ring", "bytes": 50_000, "steps": "all-reduce", "jitter": jitter},
            {"pattern": "ring", "bytes": 50_000, "jitter": jitter, "rate": 1_000_000},
            {"pattern": "permutation", "bytes": 1, "jitter": jitter},
            {"pattern": "flows", "jitter": jitter, "dscp": 8, "start": 10, "flows": [
                {"src": 2, "dst": 0, "bytes": 10, "start": 7_000},
                {"src": 2, "dst": 1, "bytes": 11, "start": 3_000, "packet": 1, "role": "control"},
                {"src": 0, "dst": 2, "bytes": 12, "dscp": 63, "ect": true, "rate": 5},
                {"src": 1, "dst": 2, "bytes": 12, "dscp": 50, "role": "trimmed"}]},
            {"pattern": "on-off", "receiver": 0, "senders": 1, "on": 90_000, "off": 0,
             "jitter": jitter},
            {"pattern": "trace", "file": "a.csv", "blake3": "abc", "jitter": jitter, "start": 3},
        ]),
    )
}

#[test]
fn what_is_handed_out_is_the_list() {
    for hosts in [3, 4, 17] {
        for jitter in [0, 1, 40_000, 5_000_000] {
            let mut scenario = every_pattern(hosts, jitter);
            assert_is_the_list(&scenario, 11);
            scenario.switch.shared_buffer_manager.uet_policy_enabled = true;
            assert_is_the_list(&scenario, 11);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_id_comes_once_and_hosts_are_in_order(
        seed: u64, hosts in 3u32..24, jitter in 0u64..200_000, turn: u64,
    ) {
        let scenario = every_pattern(hosts, jitter);
        let taken = drain(source(&scenario, &seeds(seed)).expect("valid"), hosts, turn);
        let mut ids = Vec::new();
        for (host, flows) in (0..).zip(&taken) {
            let in_order = |w: &[FlowStart]| (w[0].start, w[0].id) < (w[1].start, w[1].id);
            prop_assert!(flows.windows(2).all(in_order));
            for flow in flows {
                prop_assert_eq!(flow.src, host);
                prop_assert!(flow.dst < hosts && flow.dst != host && flow.bytes > 0);
                ids.push(flow.id);
            }
        }
        ids.sort_unstable();
        prop_assert!((0..).zip(&ids).all(|(place, id)| place == *id), "ids have no gap");
        let again = drain(source(&scenario, &seeds(seed)).expect("valid"), hosts, turn ^ 0xff);
        prop_assert_eq!(taken, again, "the order of asking changes nothing");
    }
}

#[test]
fn a_late_pattern_does_not_change_an_earlier_one() {
    let whole = every_pattern(5, 9_000);
    let mut alone = whole.clone();
    alone.traffic.truncate(1);
    let first = |s: &Scenario| {
        let mut flows = expand(s, &seeds(3));
        flows.retain(|flow| flow.pattern == 0);
        flows
    };
    assert_eq!(first(&whole), first(&alone));
    assert_is_the_list(&alone, 3);
}

#[test]
fn repetitions_differ_and_seeds_repeat() {
    let scenario = every_pattern(6, 9_000);
    let run = |repetition| {
        let seeds = Seeds { repetition, ..seeds(8) };
        drain(source(&scenario, &seeds).expect("valid"), 6, 0)
    };
    assert_eq!(run(0), run(0));
    assert_ne!(run(0), run(1));
}

/// Offered wire bits over capacity of a `uniform` pattern.
fn offered(hosts: u32, duration: u64, pattern: serde_json::Value) -> f64 {
    let scenario = scenario(hosts, duration, json!([pattern]));
    let mut source = source(&scenario, &seeds(5)).expect("valid");
    let mut wire_bytes = 0;
    for host in 0..hosts {
        while let Some(flow) = source.pop(host) {
            wire_bytes += wire::of_flow(flow.bytes, flow.packet.into());
        }
    }
    let capacity = f64::from(hosts) * RATE as f64 * duration as f64 / 1e12;
    wire_bytes as f64 * 8.0 / capacity
}

#[test]
fn uniform_offers_its_load() {
    // 40,000 flows: standard deviation 0.5 %.
    let fixed = json!({"pattern": "uniform", "load": 0.8, "bytes": 1000, "packet": 1000});
    let load = offered(16, 63_625_000, fixed);
    assert!((load - 0.8).abs() < 5.0 * 0.8 / 200.0, "{load}");
    // Mean gap 2 ps: starts rounded to whole ps must not cost load.
    let tiny = json!({"pattern": "uniform", "load": 1.0, "bytes": 12, "packet": 1000});
    let load = offered(300, 80_000, tiny);
    assert!((load - 1.0).abs() < 5.0 / 200.0, "{load}");
    // Sizes vary: 20,000 flows with a coefficient of variation of about 2.
    let drawn = json!({"pattern": "uniform", "load": 0.5, "sizes": "storage", "packet": 4000});
    let load = offered(8, 4_000_000_000, drawn);
    assert!((load - 0.5).abs() < 0.05, "{load}");
}

#[test]
fn uniform_spreads_sources_and_destinations() {
    let scenario = scenario(
        4,
        200_000_000,
        json!([{"pattern": "uniform", "load": 0.9, "bytes": 1000, "packet": 1000}]),
    );
    let flows = expand(&scenario, &seeds(2));
    let mut pairs = [[0u32; 4]; 4];
    for flow in &flows {
        pairs[flow.src as usize][flow.dst as usize] += 1;
    }
    let each = flows.len() as f64 / 12.0;
    for (src, row) in pairs.iter().enumerate() {
        for (dst, &count) in row.iter().enumerate() {
            let expected = if src == dst { 0.0 } else { each };
            assert!((f64::from(count) - expected).abs() < 5.0 * each.sqrt(), "{pairs:?}");
        }
    }
}

#[test]
fn uniform_holds_few_flows_however_many_there_are() {
    let scenario = scenario(
        128,
        200_000_000,
        json!([{"pattern": "uniform", "load": 0.8, "bytes": 1000, "packet": 1000}]),
    );
    let mut source = source(&scenario, &seeds(1)).expect("valid");
    // In order of time over all hosts, as a simulator takes them.
    let (mut flows, mut most) = (0u64, 0);
    let mut clock = std::collections::BTreeSet::new();
    for host in 0..128 {
        clock.extend(source.peek(host).map(|flow| (flow.start, flow.id, host)));
    }
    while let Some((_, id, host)) = clock.pop_first() {
        assert_eq!(source.pop(host).map(|flow| flow.id), Some(id));
        clock.extend(source.peek(host).map(|flow| (flow.start, flow.id, host)));
        assert_eq!(id, flows, "ids in order of arrival");
        flows += 1;
        most = most.max(source.buffered());
    }
    assert!(flows > 1_000_000, "{flows}");
    assert!(most < 128 * 24, "{most} flows waited");
}

#[test]
fn pending_ends_with_the_last_flow_before_the_end() {
    let flows = json!([{"src": 0, "dst": 1, "bytes": 1, "start": 5},
                       {"src": 0, "dst": 1, "bytes": 1, "start": 10}]);
    let scenario = scenario(2, 10, json!([{"pattern": "flows", "flows": flows}]));
    let mut source = source(&scenario, &seeds(0)).expect("valid");
    assert!(source.pending());
    assert_eq!(source.pop(0).map(|flow| flow.start), Some(5));
    assert!(!source.pending(), "a flow at the end does not happen");
    assert_eq!(source.pop(0).map(|flow| flow.start), Some(10));
    assert_eq!(source.pop(0), None);
    assert!(source.peek(7).is_none() && source.pop(7).is_none(), "there is no host 7");
}

#[test]
fn an_all_reduce_goes_round_in_steps() {
    let scenario = scenario(
        4,
        1_000_000_000,
        json!([{"pattern": "ring", "bytes": 4_001, "steps": "all-reduce", "packet": 1000}]),
    );
    let taken = drain(source(&scenario, &seeds(0)).expect("valid"), 4, 0);
    // 1,001 B: frames of 1,018 and 19 B take 20,360 and 380 ps.
    let starts: Vec<u64> = taken[3].iter().map(|flow| flow.start).collect();
    assert_eq!(starts, [0, 20_740, 41_480, 62_220, 82_960, 103_700]);
    let ids: Vec<u64> = taken[3].iter().map(|flow| flow.id).collect();
    assert_eq!(ids, [3, 7, 11, 15, 19, 23]);
    assert!(taken[3].iter().all(|flow| flow.dst == 0 && flow.bytes == 1_001));
}

#[test]
fn fixed_bursts_fill_their_time_on_the_wire() {
    let scenario = scenario(
        3,
        1_000_000,
        json!([{"pattern": "on-off", "senders": 2, "on": 100_000, "off": 300_000, "packet": 1000}]),
    );
    let taken = drain(source(&scenario, &seeds(0)).expect("valid"), 3, 0);
    assert!(taken[0].is_empty(), "the receiver sends nothing");
    for (k, flows) in (0..).zip(&taken[1..]) {
        let starts: Vec<u64> = flows.iter().map(|flow| flow.start).collect();
        assert_eq!(starts, [0, 400_000, 800_000]);
        // 5,000 wire bytes: four frames of 1,018 B and one of 928 B.
        assert!(flows.iter().all(|flow| flow.bytes == 4_910));
        assert!((3 * k..).zip(flows).all(|(id, flow)| flow.id == id));
    }
}

#[test]
fn exponential_bursts_keep_their_duty_cycle() {
    let scenario = scenario(
        2,
        80_000_000_000,
        json!([{"pattern": "on-off", "senders": 1, "on": 1_000_000, "off": 3_000_000,
                "burst": "exponential", "packet": 1000}]),
    );
    let flows = &drain(source(&scenario, &seeds(4)).expect("valid"), 2, 0)[1];
    // 20,000 bursts: lengths of on + off have a coefficient of variation of √10 ÷ 4.
    let bursts = flows.len() as f64;
    assert!((bursts / 20_000.0 - 1.0).abs() < 5.0 * 0.79 / 141.0, "{bursts}");
    let wire: u64 = flows.iter().map(|flow| wire::of_flow(flow.bytes, 1000)).sum();
    let share = wire as f64 * 8.0 / (RATE as f64 * 0.08);
    assert!((share / 0.25 - 1.0).abs() < 5.0 / 141.0, "{share}");
    // Drawn lengths, not means: a burst longer than three means is one in twenty.
    let long = flows.iter().filter(|flow| flow.bytes > 150_000).count() as f64 / bursts;
    assert!((0.035..0.06).contains(&long), "{long}");
}

#[test]
fn a_hundred_thousand_listed_flows_come_in_order() {
    // Starts fall while the list goes on, so that every host's order is the reverse of the list's.
    let flows: Vec<_> = (0..100_000u32)
        .map(|i| json!({"src": i % 7, "dst": 7, "bytes": 1, "start": 100_000 - i}))
        .collect();
    let scenario = scenario(8, 1_000_000, json!([{"pattern": "flows", "flows": flows}]));
    let taken = drain(source(&scenario, &seeds(0)).expect("valid"), 8, 0);
    assert_eq!(taken.iter().map(Vec::len).sum::<usize>(), 100_000);
    for host in &taken[..7] {
        assert!(host.windows(2).all(|w| w[0].start < w[1].start && w[0].id > w[1].id));
    }
}

#[test]
fn mistakes_are_named() {
    let message = |traffic: serde_json::Value| {
        let scenario = scenario(4, 1_000_000, json!([traffic]));
        source(&scenario, &seeds(0)).expect_err("a mistake").to_string()
    };
    let cases = [
        (
            json!({"pattern": "incast", "senders": 4, "bytes": 1}),
            "traffic[0] (incast): `senders` is 4, but 4 hosts allow 1 to 3",
        ),
        (
            json!({"pattern": "on-off", "receiver": 9, "senders": 1, "on": 1, "off": 1}),
            "traffic[0] (on-off): `receiver` is 9, but hosts are numbered 0 to 3",
        ),
        (
            json!({"pattern": "on-off", "senders": 1, "on": 0, "off": 1}),
            "traffic[0] (on-off): `on` is 0; a burst takes time",
        ),
        (
            json!({"pattern": "ring", "bytes": 0}),
            "traffic[0] (ring): `bytes` is 0; a flow has at least 1 byte",
        ),
        (
            json!({"pattern": "permutation", "bytes": 1, "packet": 65_536}),
            "traffic[0] (permutation): `packet` is 65536; an IP packet has 1 to 65535 bytes",
        ),
        (
            json!({"pattern": "all-to-all", "bytes": 1, "dscp": 64}),
            "traffic[0] (all-to-all): `dscp` is 64; code points are 0 to 63",
        ),
        (
            json!({"pattern": "uniform", "load": 0.0, "bytes": 1}),
            "traffic[0] (uniform): `load` is 0; give a number above 0, such as 0.8",
        ),
        (
            json!({"pattern": "uniform", "load": 0.5}),
            "traffic[0] (uniform): give exactly one of `bytes` and `sizes`",
        ),
        (
            json!({"pattern": "flows", "flows": [{"src": 3, "dst": 3, "bytes": 1}]}),
            "traffic[0] (flows): flow 0 (from 0): `src` and `dst` are both 3; \
             a host does not send to itself",
        ),
        (
            json!({"pattern": "flows", "flows": [{"src": 3, "dst": 2, "bytes": 1, "rate": 0}]}),
            "traffic[0] (flows): flow 0 (from 0): `rate` is 0; leave it out for line rate",
        ),
        (
            json!({"pattern": "trace", "file": "x.csv", "blake3": "00"}),
            "traffic[0] (trace): the flows of `x.csv` (BLAKE3 \"00\") were not loaded",
        ),
    ];
    for (traffic, expected) in cases {
        assert_eq!(message(traffic), expected);
    }
}

#[test]
fn a_pattern_too_long_to_count_may_only_come_last() {
    let hour = 3_600_000_000_000_000u64;
    let uniform = json!({"pattern": "uniform", "load": 0.8, "bytes": 1000, "packet": 1000});
    let ring = json!({"pattern": "ring", "bytes": 1});
    assert!(source(&scenario(8, hour, json!([ring, uniform])), &seeds(0)).is_ok());
    let error = source(&scenario(8, hour, json!([uniform, ring])), &seeds(0)).err();
    let error = error.expect("refused").to_string();
    assert!(error.contains("or make it the last pattern"), "{error}");
}

#[test]
fn streams_are_named_by_place_and_purpose() {
    // The first arrival of the second pattern, from its stream by hand.
    let uniform = json!({"pattern": "uniform", "load": 0.8, "bytes": 1000, "packet": 1000});
    let scenario = scenario(2, 10_000_000, json!([{"pattern": "ring", "bytes": 1}, uniform]));
    let flow = expand(&scenario, &seeds(9))[2];
    let mut stream: Stream = seeds(9).stream("traffic/1/arrivals");
    let gap = 1_018.0 * 8.0 * 1e12 / (0.8 * 2.0 * RATE as f64);
    assert_eq!(flow.start, (draw::exponential(&mut stream) * gap) as u64);
    assert_is_the_list(&scenario, 9);
}
