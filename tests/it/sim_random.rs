//! Random scenarios: the simulator against the literal one, and properties of it alone.
//!
//! The scenarios are small and hostile: buffers of a few packets, starts and wire times on one grid
//! so that many events share an instant, PFC at every kind of receiver, odd rates, warm-ups and
//! intervals in odd places. `PROPTEST_CASES` runs more of them.

pub mod scenarios;

use crate::oracle;
use poolsweep::scenario::{Scenario, Table, Topology, Until};
use poolsweep::sim::event::{EventList, HeapList, WinnerTree};
use poolsweep::sim::meter::Everything;
use poolsweep::sim::network::{Network, Stop};
use poolsweep::sim::observe::{
    DropReason, End, Observations, PfcRow, PortCounterRow, Side, Totals,
};
use poolsweep::sim::random::Seeds;
use poolsweep::sim::switch::buffer::Scala;
use poolsweep::sim::traffic::Traces;
use poolsweep::sim::{run, run_with};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use scenarios::{Case, case, circling};
use std::collections::BTreeMap;
use std::fmt::Debug;

const SEEDS: Seeds = Seeds { sweep: 7, repetition: 3, point: None };

fn simulate<E: EventList>(scenario: &Scenario) -> Observations {
    run_with::<E>(scenario, SEEDS, &Traces::default()).expect("the scenario runs")
}

/// That many cases unless `PROPTEST_CASES` says otherwise. Scenarios are large values: they need
/// many steps to shrink.
fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig { max_shrink_iters: 200_000, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => ProptestConfig { cases, ..default },
    }
}

/// The first difference of two tables, rows in the order of `key`.
fn rows<R: Debug + PartialEq + Clone, K: Ord>(
    name: &str,
    have: &[R],
    want: &[R],
    key: impl Fn(&R) -> K,
) -> Option<String> {
    let sorted = |rows: &[R]| {
        let mut rows = rows.to_vec();
        rows.sort_by_key(&key);
        rows
    };
    let (have, want) = (sorted(have), sorted(want));
    let at = have.iter().zip(&want).position(|(h, w)| h != w);
    if at.is_none() && have.len() == want.len() {
        return None;
    }
    let at = at.unwrap_or(have.len().min(want.len()));
    Some(format!(
        "{name}, row {at} of {} against {}\n  have {:?}\n  want {:?}",
        have.len(),
        want.len(),
        have.get(at),
        want.get(at)
    ))
}

/// What differs between two sets of observations, table by table.
fn differences(have: &Observations, want: &Observations) -> Vec<String> {
    let mut bad: Vec<String> = [
        rows("flows", &have.flows, &want.flows, |r| r.flow_id),
        rows("drops", &have.drops, &want.drops, |r| {
            (r.sim_time, r.node, r.port, r.tc, r.pool, r.reason)
        }),
        rows("port_counters", &have.port_counters, &want.port_counters, |r| {
            (r.sim_time, r.node, r.port)
        }),
        rows("pfc", &have.pfc, &want.pfc, |r| (r.sim_time, r.node, r.port, r.tc)),
        rows("port_buffers", &have.port_buffers, &want.port_buffers, |r| {
            (r.occupancy.sim_time, r.node, r.port, r.pool, r.buff)
        }),
        rows("switch_buffers", &have.switch_buffers, &want.switch_buffers, |r| {
            (r.occupancy.sim_time, r.node, r.side, r.pool, r.buff)
        }),
        rows("load_balancing", &have.load_balancing, &want.load_balancing, |r| {
            (r.sim_time, r.node, r.group, r.port)
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    // How many events a result took is the engine's own affair.
    let totals = Totals { events: want.totals.events, ..have.totals.clone() };
    if totals != want.totals {
        bad.push(format!("totals\n  have {totals:?}\n  want {:?}", want.totals));
    }
    bad
}

/// Rows of one table come in order of time, node and port.
fn ordered(have: &Observations) -> bool {
    have.drops.is_sorted_by_key(|r| (r.sim_time, r.node, r.port))
        && have.pfc.is_sorted_by_key(|r| (r.sim_time, r.node, r.port, r.tc))
        && have.port_counters.is_sorted_by_key(|r| (r.sim_time, r.node, r.port))
        && have.port_buffers.is_sorted_by_key(|r| (r.occupancy.sim_time, r.node, r.port))
        && have.switch_buffers.is_sorted_by_key(|r| (r.occupancy.sim_time, r.node))
        && have.load_balancing.is_sorted_by_key(|r| (r.sim_time, r.node, r.group, r.port))
        && have.flows.is_sorted_by_key(|r| r.flow_id)
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn the_simulator_does_what_the_rules_say(Case(scenario) in case()) {
        let have = simulate::<WinnerTree>(&scenario);
        let want = oracle::run(&scenario, SEEDS);
        let bad = differences(&have, &want);
        prop_assert!(bad.is_empty(), "{}", bad.join("\n"));
        prop_assert!(ordered(&have));
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn circles_of_pauses_are_found_when_the_rules_say(Case(scenario) in circling()) {
        let have = simulate::<WinnerTree>(&scenario);
        let bad = differences(&have, &oracle::run(&scenario, SEEDS));
        prop_assert!(bad.is_empty(), "{}", bad.join("\n"));
    }
}

/// A port that has paused again waits in a ring of held ports, but a resume of before is on its way
/// to its sender: that one moves once more.
#[test]
fn a_resume_under_way_keeps_a_circle_from_closing() {
    let scenario: Scenario =
        serde_json::from_str(include_str!("sim_random/resuming.json")).unwrap();
    let have = simulate::<WinnerTree>(&scenario);
    assert_eq!(differences(&have, &oracle::run(&scenario, SEEDS)), Vec::<String>::new());
    assert_eq!((have.totals.deadlock, have.totals.events), (None, 801));
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn bytes_are_conserved_after_every_event(Case(scenario) in case()) {
        let mut network = Network::<Scala, HeapList, Everything>::new(
            &scenario, &SEEDS, &Traces::default(), Scala::new,
        ).expect("the scenario runs");
        let stop = loop {
            let stop = network.step();
            if let Err(problem) = network.audit() {
                return Err(TestCaseError::fail(problem));
            }
            if let Some(stop) = stop {
                break stop;
            }
        };
        prop_assert!(stop != Stop::Budget);
    }

    #[test]
    fn neither_the_event_list_nor_a_second_run_changes_anything(Case(scenario) in case()) {
        let first = simulate::<WinnerTree>(&scenario);
        prop_assert_eq!(&first, &simulate::<HeapList>(&scenario));
        prop_assert_eq!(&first, &run(&scenario, SEEDS, &Traces::default()).expect("it ran"));
    }

    #[test]
    fn recording_more_changes_no_total_and_no_other_table(Case(scenario) in case()) {
        let full = simulate::<WinnerTree>(&scenario);
        let mut less = scenario;
        for tables in [
            vec![],
            vec![Table::Jobs, Table::PortBuffers],
            vec![Table::PortCounters, Table::Drops, Table::LoadBalancing],
            vec![Table::Pfc, Table::Flows, Table::SwitchBuffers],
        ] {
            less.record.tables = tables;
            let part = simulate::<WinnerTree>(&less);
            let kept = |table, rows: Observations| {
                if less.record.has(table) { rows } else { Observations::default() }
            };
            let want = Observations {
                totals: full.totals.clone(),
                port_buffers: kept(Table::PortBuffers, full.clone()).port_buffers,
                switch_buffers: kept(Table::SwitchBuffers, full.clone()).switch_buffers,
                drops: kept(Table::Drops, full.clone()).drops,
                pfc: kept(Table::Pfc, full.clone()).pfc,
                port_counters: kept(Table::PortCounters, full.clone()).port_counters,
                flows: kept(Table::Flows, full.clone()).flows,
                transport: Vec::new(),
                load_balancing: kept(Table::LoadBalancing, full.clone()).load_balancing,
                pfc_events: Vec::new(),
            };
            prop_assert_eq!(part, want);
        }
    }
}

/// Whether each thing the scenarios are meant to reach happened in a job.
fn reached(scenario: &Scenario, o: &Observations) -> Vec<(&'static str, bool)> {
    let t = &o.totals;
    let hosts = scenario.topology.hosts() as u32;
    let mut last = BTreeMap::new();
    for row in &o.pfc {
        last.insert((row.node, row.port, row.tc), *row);
    }
    let any = |of_hosts: bool, yes: &dyn Fn(&PfcRow) -> bool| {
        last.values().any(|row| (row.node < hosts) == of_hosts && yes(row))
    };
    let leaves = match scenario.topology {
        Topology::LeafSpine { leaves, .. } => leaves,
        _ => u32::MAX - hosts,
    };
    let members = || o.load_balancing.iter().map(|r| r.stats);
    let spine = |node: u32| node >= hosts + leaves;
    let up = |c: &PortCounterRow| c.side == Side::Up;
    let mut all: Vec<(&str, bool)> = DropReason::ALL
        .iter()
        // The last one is another buffer model's.
        .filter(|reason| **reason != DropReason::IngressAdmission)
        .map(|reason| (reason.name(), t.drops[*reason as usize] > 0))
        .collect();
    all.extend([
        ("a host is held", any(true, &|r| r.paused > 0)),
        ("a host pauses", any(true, &|r| r.xoff_tx > 0)),
        ("a host resumes", any(true, &|r| r.xon_tx > 0)),
        ("a switch is held", any(false, &|r| r.paused > 0)),
        ("a switch pauses", any(false, &|r| r.xoff_tx > 0)),
        ("a switch resumes", any(false, &|r| r.xon_tx > 0)),
        ("a switch refreshes", any(false, &|r| r.xoff_tx > r.xon_tx + 1)),
        (
            "a pause runs out",
            last.values().any(|r| r.paused > 0 && r.xon_rx == 0 && r.interval_paused < r.length),
        ),
        ("a pause is stuck", t.stuck_pauses > 0),
        ("a drop has no pause before it", t.drops_without_pause > 0),
        ("packets are marked", t.ecn_marks > 0),
        ("packets are trimmed", t.trims > 0),
        ("a trim takes nothing off", t.trims > 0 && t.trim_cut_bytes == 0),
        ("trimmed packets arrive", o.flows.iter().any(|f| f.received_trimmed > 0)),
        (
            "a trimmed packet is lost further on",
            o.drops.iter().any(|d| d.tc == 1 && d.reason != DropReason::TrimFailed)
                && o.flows.iter().map(|f| f.received_trimmed).sum::<u64>() < t.trims,
        ),
        ("a spine trims", o.port_counters.iter().any(|c| c.trims > 0 && spine(c.node))),
        ("a leaf trims on the way up", o.port_counters.iter().any(|c| c.trims > 0 && up(c))),
        ("flows finish", t.flows_finished > 0),
        ("flows stay unfinished", t.flows_unfinished > 0),
        ("it drains", t.end == End::Drained),
        ("it is cut short", scenario.until == Until::Drained && t.end == End::Duration),
        ("a flowlet moves", members().any(|m| m.movements_in > 0)),
        ("a paused member is passed over", members().any(|m| m.paused_skips > 0)),
        ("a paused member is taken", members().any(|m| m.paused_selections > 0)),
        ("a warm-up hides something", o.drops.len() as u64 > 0 && t.first_drop.is_none()),
    ]);
    all
}

#[test]
fn the_scenarios_reach_everything_they_are_meant_to() {
    let mut runner = TestRunner::deterministic();
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..5_000 {
        let Case(scenario) = case().new_tree(&mut runner).expect("a case").current();
        let observations = simulate::<WinnerTree>(&scenario);
        for (what, yes) in reached(&scenario, &observations) {
            *times.entry(what).or_default() += u32::from(yes);
        }
    }
    assert!(times.values().all(|&n| n >= 2), "{times:#?}");
}

#[test]
fn pauses_do_circle() {
    let mut runner = TestRunner::deterministic();
    let (mut found, mut stopped) = (0, 0);
    for _ in 0..300 {
        let Case(scenario) = circling().new_tree(&mut runner).expect("a case").current();
        let totals = simulate::<WinnerTree>(&scenario).totals;
        assert_eq!(totals.deadlock.is_some(), !totals.deadlock_ports.is_empty());
        found += u32::from(totals.deadlock.is_some());
        stopped += u32::from(totals.end == End::Deadlock);
    }
    assert!(found >= 20 && stopped >= 5 && found > stopped, "{found} found, {stopped} stopped");
}

/// Real sizes: what the small scenarios do not reach is long queues and many turns.
#[test]
fn an_incast_at_the_defaults_is_as_the_rules_say() {
    let scenario: Scenario = serde_json::from_value(serde_json::json!({
        "duration": 400_000_000u64,
        "until": "drained",
        "warm_up": 3_000_000u64,
        "topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 2,
            "links_per_spine": 2, "rate": 400_000_000_000u64, "delay": 500_000u64,
            "fabric_rate": 200_000_000_000u64},
        "nic": {"hosts": {"3": {"receive_rate": 150_000_000_000u64, "receive_pool": 500_000u64,
            "PFCEnableVector": [1, 0, 0, 0, 0, 0, 0, 0]}}},
        "traffic": [
            {"pattern": "incast", "receiver": 0, "senders": 7, "bytes": 1_200_000u64, "ect": true},
            {"pattern": "incast", "receiver": 3, "senders": 5, "bytes": 900_000u64, "dscp": 0,
                "start": 1_000_000u64, "jitter": 2_000_000u64},
            {"pattern": "uniform", "load": 0.3, "sizes": "web-search", "dscp": 16, "ect": true,
                "length": 60_000_000u64},
        ],
        "record": {"interval": 7_000_003u64, "tables": ["jobs", "port_buffers", "switch_buffers",
            "drops", "pfc", "port_counters", "flows"]},
    }))
    .expect("a scenario");
    let have = simulate::<WinnerTree>(&scenario);
    let bad = differences(&have, &oracle::run(&scenario, SEEDS));
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    assert!(have.totals.pause_frames > 20 && have.totals.packet_hops > 10_000, "{have:?}");
}
