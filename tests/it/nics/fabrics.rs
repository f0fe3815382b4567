//! Flowlets and circles of pauses under senders that react.

use poolsweep::scenario::{NicModel, Scenario, refusals};
use poolsweep::sim::event::WinnerTree;
use poolsweep::sim::meter::Everything;
use poolsweep::sim::network::Network;
use poolsweep::sim::observe::{End, LoadBalancingRow, Observations};
use poolsweep::sim::random::Seeds;
use poolsweep::sim::run;
use poolsweep::sim::switch::buffer::Scala;
use poolsweep::sim::switch::route::MemberStats;
use poolsweep::sim::traffic::Traces;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const RATE: u64 = 100_000_000_000;

fn scenario(json: Value) -> Scenario {
    let scenario: Scenario = serde_json::from_value(json).expect("a scenario");
    assert_eq!(refusals(&scenario), []);
    scenario
}

fn observe(scenario: &Scenario) -> Observations {
    run(scenario, Seeds::default(), &Traces::default()).expect("the scenario runs")
}

/// As [`observe`], with conservation checked after every event.
fn audited(scenario: &Scenario) -> Observations {
    let new = Network::<Scala, WinnerTree, Everything>::new;
    let seeds = Seeds::default();
    let mut network = new(scenario, &seeds, &Traces::default(), Scala::new).expect("it runs");
    loop {
        let stop = network.step();
        network.audit().unwrap_or_else(|problem| panic!("{problem}"));
        if stop.is_some() {
            return network.finish(false);
        }
    }
}

/// Seven counters of a member, those of packets first.
fn counters(stats: &MemberStats) -> [u64; 7] {
    let MemberStats {
        bytes,
        packets,
        assignments,
        movements_in,
        movements_out,
        paused_skips,
        paused_selections,
    } = *stats;
    [bytes, packets, assignments, movements_in, movements_out, paused_skips, paused_selections]
}

type Member = (u32, u32, u32);

/// What each member has counted at the end, after checks of what rows say of one another.
fn members(rows: &[LoadBalancingRow]) -> BTreeMap<Member, [u64; 7]> {
    let mut sums: BTreeMap<Member, [u64; 7]> = BTreeMap::new();
    let mut shares: BTreeMap<(u64, u32, u32), (u64, u64)> = BTreeMap::new();
    for row in rows {
        let (now, before) = (counters(&row.stats), counters(&row.before));
        let sum = sums.entry((row.node, row.group, row.port)).or_default();
        assert_eq!(*sum, before, "intervals follow one another");
        for n in 0..7 {
            sum[n] += now[n] - before[n];
        }
        assert_eq!(*sum, now, "intervals add up to totals");
        let share = shares.entry((row.sim_time, row.node, row.group)).or_default();
        *share = (share.0 + now[0] - before[0], row.group_bytes);
    }
    assert!(shares.values().all(|(sum, group)| sum == group));
    sums
}

/// Two leaves of four hosts, every flow from one to the other, over three spines.
fn across(model: &str, switch: Value, aware: bool) -> Scenario {
    let flows: Vec<Value> = (0..8u64)
        .map(|src| {
            json!({"src": src, "dst": (src + 4) % 8, "bytes": 300_000, "start": src * 700_000,
                "dscp": if model == "hpcc" { 24 } else { 0 }})
        })
        .collect();
    let mut switch = switch;
    switch["LoadBalancingMethod"] = json!("flowlet");
    switch["LoadBalancingFlowlet"] = json!({"Gap": 400_000, "PFCAware": aware});
    scenario(json!({
        "duration": 20_000_000_000u64,
        "until": "drained",
        "topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 3,
            "rate": RATE, "delay": 500_000},
        "switch": switch,
        "nic": {"model": model},
        "traffic": [{"pattern": "flows", "flows": flows}],
        "record": {"interval": 10_000_000, "tables": ["jobs", "load_balancing"]},
    }))
}

#[test]
fn members_of_leaves_carry_every_packet_of_a_reactive_nic_once() {
    for (model, switch) in [
        ("fixed-window", json!({})),
        ("uet", json!({})),
        ("roce", json!({})),
        ("hpcc", json!({"model": "hpcc"})),
        ("hpcc", json!({"model": "ns3-datacenter"})),
    ] {
        let scenario = across(model, switch, true);
        let run = match scenario.nic.model {
            NicModel::Hpcc => observe(&scenario),
            _ => audited(&scenario),
        };
        assert_eq!((run.totals.drops, run.totals.flows_finished), ([0; 7], 8), "{model}");
        let members = members(&run.load_balancing);
        assert_eq!(members.len(), 6, "{model}: three at each leaf");
        let total = members.values().fold([0; 7], |sum, own| {
            let mut sum: [u64; 7] = sum;
            (0..7).for_each(|n| sum[n] += own[n]);
            sum
        });
        // Every packet, answers and probes too, passes two leaves and a spine.
        assert_eq!(total[1] * 3, run.totals.packet_hops, "{model}: each crosses one member");
        assert_eq!(total[3], total[4], "{model}: who comes has left elsewhere");
        assert!(total[3] <= total[2] && total[2] <= total[1], "{model}: {total:?}");
        // A slot is assigned at its first packet at least: eight flows and their answers.
        assert!(total[2] >= 16, "{model}: {total:?}");
        assert_eq!(total[3] > 0, model != "hpcc", "{model}: only line rate leaves no gaps");
        assert_eq!(total[6], 0, "{model}: some member is always free");
    }
}

/// Two ways from one switch to another, one of them ten times slower behind its first hop.
fn detour(model: &str, switch: Value, aware: bool, dscp: u64) -> Scenario {
    let host = |name: &str| json!({"name": name, "kind": "host"});
    let node = |name: &str, tier: &str| json!({"name": name, "kind": "switch", "tier": tier});
    let link = |a: &str, b: &str| json!({"a": a, "b": b});
    let mut switch = switch;
    switch["LoadBalancingMethod"] = json!("flowlet");
    switch["LoadBalancingFlowlet"] = json!({"Gap": 0, "PFCAware": aware});
    scenario(json!({
        "duration": 2_000_000_000u64,
        "topology": {
            "kind": "explicit", "rate": RATE, "delay": 500_000,
            "nodes": [host("a"), host("b"), host("c"), host("d"), node("l", "leaf"),
                node("m", "leaf"), node("s", "spine"), node("t", "spine")],
            "links": [link("a", "l"), link("b", "l"), link("c", "m"), link("d", "m"),
                link("l", "s"), link("l", "t"), link("m", "t"),
                {"a": "m", "b": "s", "rate": RATE / 10}],
        },
        "switch": switch,
        "nic": {"model": model},
        "traffic": [{"pattern": "flows", "flows": [
            {"src": 0, "dst": 2, "bytes": 1_500_000, "dscp": dscp},
            {"src": 1, "dst": 3, "bytes": 1_500_000, "dscp": dscp},
        ]}],
        "record": {"interval": 20_000_000, "tables": ["jobs", "load_balancing", "pfc"]},
    }))
}

#[test]
fn aware_flowlets_pass_a_held_member_over() {
    let scala = json!({"SharedBufferManager": {"StaticPoolXoffThreshold": 40_000,
        "StaticPoolXonThreshold": 30_000}});
    let hpcc = json!({"model": "hpcc", "HPCC": {"BufferSize": 300_000}});
    for (model, switch, dscp) in [("fixed-window", scala, 0), ("hpcc", hpcc, 24)] {
        let of = |aware: bool| {
            let run = observe(&detour(model, switch.clone(), aware, dscp));
            assert!(run.totals.pause_frames > 0, "{model}: the slow way pauses");
            // Node 4 is where two ways begin.
            let members = members(&run.load_balancing);
            let own: Vec<[u64; 7]> = members
                .into_iter()
                .filter(|((node, ..), _)| *node == 4)
                .map(|(_, counters)| counters)
                .collect();
            assert_eq!(own.len(), 2, "{model}");
            [own[0], own[1]]
        };
        let ([slow, fast], [blind, _]) = (of(true), of(false));
        assert!(slow[5] > 0, "{model}: passed over {slow:?}");
        assert_eq!((slow[6], fast[5], fast[6]), (0, 0, 0), "{model}: {slow:?} {fast:?}");
        assert!(slow[1] < fast[1], "{model}: {slow:?} {fast:?}");
        assert!(blind[5] == 0 && blind[6] > 0, "{model}: chosen though held {blind:?}");
    }
}

/// Five switches in a ring with a host each that sends to the second next, so that every link
/// carries two flows the same way round.
fn ring(nic: Value, switch: Value, dscp: u64, skew: u64) -> Value {
    let name = |kind: &str, n: u64| format!("{kind}{}", n % 5);
    let nodes: Vec<Value> = ["host", "switch"]
        .iter()
        .flat_map(|kind| (0..5).map(move |n| json!({"name": name(kind, n), "kind": kind})))
        .collect();
    let links: Vec<Value> = (0..5)
        .map(|n| json!({"a": name("host", n), "b": name("switch", n)}))
        .chain((0..5).map(|n| json!({"a": name("switch", n), "b": name("switch", n + 1)})))
        .collect();
    let flows: Vec<Value> = (0..5u64)
        .map(|n| {
            json!({"src": n, "dst": (n + 2) % 5, "bytes": 2_000_000, "dscp": dscp,
                "start": n * skew})
        })
        .collect();
    json!({
        "duration": 1_000_000_000u64,
        "until": "drained",
        "topology": {"kind": "explicit", "nodes": nodes, "links": links, "rate": RATE,
            "delay": 1_000_000},
        "switch": switch,
        "nic": nic,
        "traffic": [{"pattern": "flows", "flows": flows}],
        "record": {"tables": ["jobs", "pfc_events"]},
    })
}

#[test]
fn a_ring_of_pauses_is_found_when_it_closes_and_stops_the_job_there() {
    let scala = json!({"SharedBufferManager": {"EnablePFC": [1, 0, 0, 0, 0, 0, 0, 0],
        "HeadRoomPerPortLimit": 60_000, "StaticPoolXoffThreshold": 40_000,
        "StaticPoolXonThreshold": 30_000}});
    let datacenter = json!({"model": "ns3-datacenter", "Ns3Datacenter":
        {"IngressPool": 400_000, "AlphaIngress": 0.125, "AlphaEgress": 1_000.0,
            "AlphaUnsched": 0.125}});
    for (nic, switch, dscp) in [
        ("roce", scala, 0),
        ("hpcc", json!({"model": "hpcc", "HPCC": {"BufferSize": 400_000}}), 24),
        ("hpcc", datacenter, 24),
    ] {
        for skew in [0, 33_000, 250_000] {
            let json = ring(json!({"model": nic}), switch.clone(), dscp, skew);
            let case = format!("{nic} {switch} {skew}");
            let whole = observe(&scenario(json.clone()));
            let at = whole.totals.deadlock.unwrap_or_else(|| panic!("{case}: not found"));
            let ports = &whole.totals.deadlock_ports;
            assert_eq!(ports.len(), 5, "{case}: all links one way round, {ports:?}");
            assert_eq!(
                (whole.totals.end, whole.totals.flows_finished),
                (End::Duration, 0),
                "{case}"
            );
            // It was one: nobody in it is let go any more, and everyone in it is held by then.
            for port in ports {
                let events: Vec<(u64, bool)> = whole
                    .pfc_events
                    .iter()
                    .filter(|e| (e.node, e.port) == (port.node, port.port))
                    .map(|e| (e.sim_time, e.pause))
                    .collect();
                assert!(events.iter().all(|&(when, pause)| pause || when < at), "{case}");
                let last = events.iter().rfind(|(when, _)| *when <= at);
                assert!(last.is_some_and(|&(_, pause)| pause), "{case}: {port:?} is held");
            }
            // Neither before nor after: a job of so much time finds it, one of less does not.
            for (duration, found) in [(at, None), (at + 1, Some(at))] {
                let mut json = json.clone();
                json["duration"] = json!(duration);
                assert_eq!(observe(&scenario(json)).totals.deadlock, found, "{case}");
            }
            let mut json = json.clone();
            json["stop_on_deadlock"] = json!(true);
            let stopped = observe(&scenario(json)).totals;
            assert_eq!((stopped.end, stopped.end_time), (End::Deadlock, at + 1), "{case}");
            assert_eq!((stopped.deadlock, &stopped.deadlock_ports), (Some(at), ports), "{case}");
        }
    }
}
