//! What holds of every scenario with NICs that react. `PROPTEST_CASES` runs more of them.

use super::scenarios::{Case, Manner, case};
use poolsweep::scenario::{NicModel, Scenario, Table, Until};
use poolsweep::sim::event::{EventList, HeapList, WinnerTree};
use poolsweep::sim::meter::Everything;
use poolsweep::sim::network::{Network, Stop};
use poolsweep::sim::nic::stats::{NicStats, Samples};
use poolsweep::sim::observe::{DropReason, End, Observations, TransportRow};
use poolsweep::sim::random::Seeds;
use poolsweep::sim::switch::buffer::Scala;
use poolsweep::sim::traffic::Traces;
use poolsweep::sim::{run, run_with};
use poolsweep::units::Ps;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;

const SEEDS: Seeds = Seeds { sweep: 7, repetition: 3, point: None };

/// That many cases unless `PROPTEST_CASES` says otherwise.
fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig {
        max_shrink_iters: 20_000,
        max_shrink_time: 30_000,
        ..ProptestConfig::default()
    };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => ProptestConfig { cases, ..default },
    }
}

/// Runs a scenario and checks conservation after every event. `prompt`: every end of a NIC's frame
/// is an event of its own, where otherwise frames are started late.
fn audited<E: EventList>(scenario: &Scenario, prompt: bool) -> Result<Observations, TestCaseError> {
    let mut network =
        Network::<Scala, E, Everything>::new(scenario, &SEEDS, &Traces::default(), Scala::new)
            .expect("the scenario runs");
    if prompt {
        network.make_nics_prompt();
    }
    loop {
        let stop = network.step();
        network.audit().map_err(TestCaseError::fail)?;
        if let Some(stop) = stop {
            return Ok(network.finish(stop == Stop::Budget));
        }
    }
}

fn simulate(scenario: &Scenario) -> Observations {
    run(scenario, SEEDS, &Traces::default()).expect("the scenario runs")
}

/// The last row of each host.
fn last_rows(o: &Observations) -> BTreeMap<u32, TransportRow> {
    o.transport.iter().map(|row| (row.node, *row)).collect()
}

/// A counter summed over all hosts at the end.
fn sum(o: &Observations, counter: impl Fn(&NicStats) -> u64) -> u64 {
    last_rows(o).values().map(|row| counter(&row.stats)).sum()
}

/// What holds of every job, however it ended.
fn sound(s: &Scenario, o: &Observations) -> Result<(), TestCaseError> {
    let t = &o.totals;
    let offered: u64 = o.flows.iter().map(|f| f.bytes).sum();
    let payload = t.payload_bytes.expect("reactive senders know it");
    prop_assert!(payload <= offered, "{payload} B of {offered} B delivered");
    let of_flows = |count: fn(&poolsweep::sim::observe::FlowRow) -> u64| {
        o.flows.iter().map(count).sum::<u64>()
    };
    if s.warm_up.0 == 0 {
        prop_assert_eq!(t.data_packets_sent, of_flows(|f| f.sent_packets));
        prop_assert_eq!(t.retransmitted, of_flows(|f| f.retransmitted));
        prop_assert_eq!(t.timeouts, of_flows(|f| f.timeouts));
        let ended: u64 = o.flows.iter().filter(|f| f.end.is_some()).map(|f| f.bytes).sum();
        prop_assert!(payload >= ended, "{payload} B delivered, {ended} B acknowledged");
        prop_assert_eq!(
            t.flows_finished,
            o.flows.iter().filter(|f| f.end.is_some()).count() as u64
        );
        prop_assert_eq!(t.flows_finished + t.flows_unfinished, o.flows.len() as u64);
        prop_assert!(of_flows(|f| f.received_trimmed) <= t.trims);
        // What left for a flow and came, came at most once.
        for f in &o.flows {
            prop_assert!(f.received_packets + f.received_trimmed <= f.sent_packets, "{f:?}");
            prop_assert!(f.retransmitted <= f.sent_packets && f.end.is_none_or(|e| e >= f.start));
        }
    }
    prop_assert_eq!(sum(o, |n| n.wqes_created), o.flows.len() as u64);
    let acknowledged = o.flows.iter().filter(|f| f.end.is_some()).count();
    prop_assert_eq!(sum(o, |n| n.wqes_completed), acknowledged as u64);
    prop_assert!(sum(o, |n| n.write_pkts_sent) >= of_flows(|f| f.sent_packets));
    prop_assert!(sum(o, |n| n.num_rtx) >= of_flows(|f| f.retransmitted));
    prop_assert!(sum(o, |n| n.ack_pkts_rcvd) <= sum(o, |n| n.ack_pkts_sent));
    prop_assert!(sum(o, |n| n.nack_pkts_rcvd) <= sum(o, |n| n.nack_pkts_sent));
    prop_assert!(sum(o, |n| n.num_cnp_recvd) <= sum(o, |n| n.num_cnp_sent));
    prop_assert!(sum(o, |n| n.total_pkts_rcvd) <= sum(o, |n| n.total_pkts_sent));
    windows(s, o)?;
    chain(o)
}

/// Windows are within their bounds, and what is in flight within them.
fn windows(s: &Scenario, o: &Observations) -> Result<(), TestCaseError> {
    let nic = &s.nic;
    for row in o.transport.iter().filter(|row| row.stats.window.count > 0) {
        let (window, flight) = (row.stats.window, row.stats.in_flight);
        prop_assert_eq!(window.count, flight.count);
        match nic.model {
            NicModel::Uet => {
                let full = nic.pds_manager.rdma_data_mss.0 + 88;
                prop_assert!(window.min >= full, "{row:?}");
                if !nic.congestion_control.pass_through {
                    prop_assert!(flight.max <= window.max && flight.sum <= window.sum, "{row:?}");
                }
            }
            NicModel::FixedWindow => {
                let most = nic.fixed_window.window.0;
                prop_assert_eq!((window.min, window.max), (most, most));
            }
            NicModel::Roce => prop_assert!(row.rates && window.min > 0, "{row:?}"),
            NicModel::OpenLoop | NicModel::Hpcc => prop_assert!(false, "takes no samples"),
        }
    }
    Ok(())
}

/// The running totals at a row's start are those of the host's row before it, so that intervals
/// sum to totals; nothing shrinks.
fn chain(o: &Observations) -> Result<(), TestCaseError> {
    let none = Samples::default();
    let mut before: BTreeMap<u32, NicStats> = BTreeMap::new();
    for row in &o.transport {
        let own = before.entry(row.node).or_default();
        prop_assert_eq!(row.before, *own);
        let (old, new) = (&row.before, &row.stats);
        prop_assert!(old.total_pkts_sent <= new.total_pkts_sent);
        prop_assert!(old.total_pkts_rcvd <= new.total_pkts_rcvd);
        prop_assert!(old.num_rtx <= new.num_rtx && old.num_rto <= new.num_rto);
        *own = NicStats { window: none, rtt: none, in_flight: none, ..row.stats };
    }
    Ok(())
}

/// What holds of a job that has drained besides.
fn finished(o: &Observations) -> Result<(), TestCaseError> {
    let t = &o.totals;
    prop_assert_eq!(t.flows_unfinished, 0);
    let offered: u64 = o.flows.iter().map(|f| f.bytes).sum();
    prop_assert_eq!(t.payload_bytes, Some(offered));
    // Every packet has arrived, whole or cut, or was dropped. Probes and their answers are not
    // among the packets: they come in pairs or one of the two was dropped.
    let probes = sum(o, |n| n.probe_sent) - sum(o, |n| n.probe_ack_rcvd);
    let gone = sum(o, |n| n.total_pkts_sent) - sum(o, |n| n.total_pkts_rcvd) + probes;
    let drops: u64 = t.drops.iter().sum();
    prop_assert_eq!(gone, drops);
    if drops == 0 {
        prop_assert_eq!(sum(o, |n| n.trimmed_pkts_rcvd), t.trims);
        prop_assert_eq!(sum(o, |n| n.nack_pkts_sent), sum(o, |n| n.nack_pkts_rcvd));
        prop_assert_eq!(sum(o, |n| n.ack_pkts_sent), sum(o, |n| n.ack_pkts_rcvd));
        let sent = sum(o, |n| n.write_pkts_sent);
        prop_assert_eq!(sent, sum(o, |n| n.write_pkts_rcvd) + t.trims);
    }
    ports(o, t.pause_frames + t.resume_frames == 0)
}

/// Frames and bytes of both ends of all links; all that was sent has arrived if `all`.
fn ports(o: &Observations, all: bool) -> Result<(), TestCaseError> {
    let last: BTreeMap<(u32, u32), _> =
        o.port_counters.iter().map(|c| ((c.node, c.port), *c)).collect();
    let both = last.values().fold((0, 0, 0, 0), |sum, c| {
        (sum.0 + c.packets_tx, sum.1 + c.packets_rx, sum.2 + c.bytes_tx, sum.3 + c.bytes_rx)
    });
    let (sent, came, bytes, bytes_came) = both;
    prop_assert!(came <= sent && bytes_came <= bytes, "{both:?}");
    prop_assert!(!all || (came == sent && bytes_came == bytes), "{both:?}");
    Ok(())
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn whatever_happens_the_books_balance(Case(scenario) in case(Manner::Hostile)) {
        let first = audited::<WinnerTree>(&scenario, false)?;
        sound(&scenario, &first)?;
        ports(&first, false)?;
        if first.totals.end == End::Drained && scenario.warm_up.0 == 0 {
            finished(&first)?;
        }
        prop_assert_eq!(&first, &audited::<HeapList>(&scenario, false)?, "event lists");
        // A budget may end a job between events of one instant.
        if first.totals.end != End::EventBudget {
            prop_assert_eq!(&first, &audited::<WinnerTree>(&scenario, true)?, "late and prompt");
        }
    }

    #[test]
    fn everything_is_delivered_at_last_and_once(Case(scenario) in case(Manner::Gentle)) {
        let first = audited::<WinnerTree>(&scenario, false)?;
        sound(&scenario, &first)?;
        // Without a flow nothing ever drains.
        prop_assert_eq!(first.totals.end == End::Drained, !first.flows.is_empty());
        finished(&first)?;
        let other = run_with::<HeapList>(&scenario, SEEDS, &Traces::default()).expect("it ran");
        prop_assert_eq!(first, other);
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn recording_less_changes_nothing_else(Case(scenario) in case(Manner::Hostile)) {
        let full = simulate(&scenario);
        prop_assert_eq!(&full, &simulate(&scenario), "a second run");
        let mut less = scenario;
        for tables in [
            vec![],
            vec![Table::Jobs, Table::PortBuffers],
            vec![Table::PortCounters, Table::Drops],
            vec![Table::Pfc, Table::Flows, Table::SwitchBuffers],
            vec![Table::Transport],
        ] {
            less.record.tables = tables;
            let has = |table| less.record.has(table);
            let mut want = full.clone();
            for (table, clear) in [
                (Table::PortBuffers, (|o| o.port_buffers.clear()) as fn(&mut Observations)),
                (Table::SwitchBuffers, |o| o.switch_buffers.clear()),
                (Table::Drops, |o| o.drops.clear()),
                (Table::Pfc, |o| o.pfc.clear()),
                (Table::PortCounters, |o| o.port_counters.clear()),
                (Table::Flows, |o| o.flows.clear()),
                (Table::Transport, |o| o.transport.clear()),
            ] {
                if !has(table) {
                    clear(&mut want);
                }
            }
            prop_assert_eq!(simulate(&less), want);
        }
    }

    #[test]
    fn a_job_cut_short_is_the_beginning_of_the_longer_one(
        Case(mut scenario) in case(Manner::Hostile),
        part in 1u64..100,
    ) {
        scenario.until = Until::Duration;
        scenario.warm_up = Ps(0);
        let whole = simulate(&scenario);
        // By events: every row of an interval that has ended by then.
        let mut cut = scenario.clone();
        cut.budget.events = (whole.totals.events * part / 100).max(1);
        let short = simulate(&cut);
        let enough = cut.budget.events >= whole.totals.events;
        prop_assert!(enough || short.totals.end == End::EventBudget);
        same_until(&short, &whole, short.totals.end_time.saturating_sub(1))?;
        // By time, at the end of an interval.
        let interval = scenario.record.interval.expect("it is set").0;
        let at = scenario.duration.0 * part / 100 / interval * interval;
        if at > 0 && at < scenario.duration.0 {
            cut = scenario;
            cut.duration = Ps(at);
            same_until(&simulate(&cut), &whole, at)?;
        }
    }
}

/// Rows up to an instant are the same.
fn same_until(short: &Observations, whole: &Observations, at: u64) -> Result<(), TestCaseError> {
    macro_rules! same {
        ($($table:ident $time:expr;)*) => {
            $(
                let time = $time;
                let of = |o: &Observations| -> Vec<_> {
                    o.$table.iter().filter(|row| time(row) <= at).copied().collect()
                };
                prop_assert_eq!(of(short), of(whole));
            )*
        };
    }
    same! {
        port_counters |r: &poolsweep::sim::observe::PortCounterRow| r.sim_time;
        pfc |r: &poolsweep::sim::observe::PfcRow| r.sim_time;
        drops |r: &poolsweep::sim::observe::DropRow| r.sim_time;
        transport |r: &TransportRow| r.sim_time;
        port_buffers |r: &poolsweep::sim::observe::PortBufferRow| r.occupancy.sim_time;
        switch_buffers |r: &poolsweep::sim::observe::SwitchBufferRow| r.occupancy.sim_time;
    }
    let (t, w) = (&short.totals, &whole.totals);
    prop_assert!(t.payload_bytes <= w.payload_bytes && t.trims <= w.trims);
    prop_assert!(t.data_packets_sent <= w.data_packets_sent && t.timeouts <= w.timeouts);
    prop_assert!(t.retransmitted <= w.retransmitted && t.packet_hops <= w.packet_hops);
    prop_assert!(t.flows_finished <= w.flows_finished);
    prop_assert!(short.flows.len() <= whole.flows.len());
    Ok(())
}

/// Whether each thing the scenarios are meant to reach happened in a job.
fn reached(s: &Scenario, o: &Observations) -> Vec<(String, bool)> {
    let t = &o.totals;
    let hosts = s.topology.hosts() as u32;
    let model = s.nic.model.name();
    let host_pfc = |yes: fn(&poolsweep::sim::observe::PfcRow) -> bool| {
        o.pfc.iter().any(|row| row.node < hosts && yes(row))
    };
    let lost = |reason: DropReason| t.drops[reason as usize] > 0;
    let mut all = vec![
        ("a NIC is paused", host_pfc(|r| r.paused > 0)),
        ("a NIC pauses", host_pfc(|r| r.xoff_tx > 0)),
        ("a NIC resumes", host_pfc(|r| r.xon_tx > 0)),
        ("a receive pool is full", lost(DropReason::NicReceivePool)),
        ("a queue is full", lost(DropReason::EgressQueueLimit)),
        ("timeouts", t.timeouts > 0),
        ("retransmissions", t.retransmitted > 0),
        ("marks", t.ecn_marks > 0),
        ("duplicates", sum(o, |n| n.num_dup_events_on_nic) > 0),
        ("out of order", sum(o, |n| n.num_out_of_order_events_on_nic) > 0),
        ("it drains", t.end == End::Drained),
    ];
    if s.nic.model == NicModel::Uet {
        all.extend([
            ("trims", t.trims > 0),
            ("a trim fails", lost(DropReason::TrimFailed)),
            ("Quick Adapt", sum(o, |n| n.num_quick_adapt) > 0),
            ("a probe is lost", sum(o, |n| n.probe_sent) > sum(o, |n| n.probe_ack_rcvd)),
        ]);
    }
    if s.nic.model == NicModel::Roce {
        all.extend([
            ("CNPs", sum(o, |n| n.num_cnp_recvd) > 0),
            ("NAKs", sum(o, |n| n.nack_pkts_rcvd) > 0),
        ]);
    }
    all.into_iter().map(|(what, yes)| (format!("{model}: {what}"), yes)).collect()
}

#[test]
fn the_scenarios_reach_everything_they_are_meant_to() {
    let mut runner = TestRunner::deterministic();
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for number in 0..600 {
        let manner = if number % 2 == 0 { Manner::Hostile } else { Manner::Gentle };
        let Case(scenario) = case(manner).new_tree(&mut runner).expect("a case").current();
        for (what, yes) in reached(&scenario, &simulate(&scenario)) {
            *times.entry(what).or_default() += u32::from(yes);
        }
    }
    assert!(times.values().all(|&n| n >= 2), "{times:#?}");
}
