//! What holds of every scenario with these switches: conservation after every event, the same
//! result whatever the event list, the tables asked for and the way NICs are driven.

use poolsweep::scenario::links::{NetworkPlan, Outline};
use poolsweep::scenario::startup::Startup;
use poolsweep::scenario::{Marks, NicModel, Scenario, SwitchModel, Table, refusals};
use poolsweep::sim::event::{EventList, HeapList, WinnerTree};
use poolsweep::sim::link::Line;
use poolsweep::sim::meter::Everything;
use poolsweep::sim::network::{Network, Stop};
use poolsweep::sim::observe::{Observations, Totals};
use poolsweep::sim::random::Seeds;
use poolsweep::sim::run;
use poolsweep::sim::switch::buffer::{BufferManager, Datacenter, Hpcc};
use poolsweep::sim::traffic::Traces;
use proptest::prelude::*;
use serde_json::{Value, json};

const SEEDS: Seeds = Seeds { sweep: 7, repetition: 3, point: None };

fn topology() -> impl Strategy<Value = Value> {
    let rate = prop::sample::select(vec![25_000_000_000u64, 100_000_000_000, 400_000_000_000]);
    let delay = 0u64..2_000_000;
    (2u32..6, any::<bool>(), rate, delay).prop_map(|(hosts, flat, rate, delay)| match flat {
        true => json!({"kind": "single-switch", "hosts": hosts, "rate": rate, "delay": delay}),
        false => json!({"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": hosts / 2 + 1,
            "spines": 2, "rate": rate, "delay": delay, "fabric_rate": 100_000_000_000u64}),
    })
}

fn switch() -> impl Strategy<Value = Value> {
    let algorithm = prop::sample::select(vec!["DT", "ABM", "FAB", "Reverie", "CS", "SP"]);
    let lossy = (0i64..2, 0i64..2);
    (any::<bool>(), 30_000u64..2_000_000, 0u64..5_000, 0u64..6, 0.0f64..4.0, algorithm, lossy)
        .prop_map(|(hpcc, buffer, reserve, shift, factor, algorithm, (one, two))| match hpcc {
            true => json!({"model": "hpcc", "HPCC": {"BufferSize": buffer, "Reserve": reserve,
                "Shift": shift, "HeadroomFactor": factor}}),
            false => json!({"model": "ns3-datacenter", "Ns3Datacenter": {"Algorithm": algorithm,
                "BufferPool": buffer, "IngressPool": buffer / 2, "SharedPool": buffer / 2,
                "EgressPoolLossless": buffer * 3 / 4, "EgressPoolLossy": buffer / 2,
                "IngressReserve": reserve / 50, "AlphaIngress": factor,
                "AlphaEgress": factor * 4.0, "LosslessQueues": [0, one, two, 1, 1, 1, 1, 1]}}),
        })
}

fn nic() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({"model": "open-loop"}),
        json!({"model": "fixed-window"}),
        json!({"model": "roce"}),
        json!({"model": "hpcc"}),
        json!({"model": "hpcc", "HPCC": {"ACK_HIGH_PRIO": true, "PACKET_PAYLOAD_SIZE": 4_000}}),
        json!({"model": "hpcc", "HPCC": {"L2_ACK_INTERVAL": 1_000_000, "L2_CHUNK_SIZE": 4_000}}),
        json!({"model": "hpcc", "hold": {"classes": [1], "from": 3_000_000, "until": 9_000_000},
            "PFCEnableVector": [0, 0, 0, 0, 0, 0, 0, 0]}),
    ])
}

fn pattern() -> impl Strategy<Value = Value> {
    let dscp = prop::sample::select(vec![0u64, 8, 8, 16, 24]);
    (0u8..3, 1u64..200_000, dscp, any::<bool>(), 0u64..5_000_000).prop_map(
        |(kind, bytes, dscp, ect, start)| {
            let mut pattern = match kind {
                0 => json!({"pattern": "incast", "senders": 1}),
                1 => json!({"pattern": "all-to-all"}),
                _ => json!({"pattern": "permutation"}),
            };
            for (key, value) in [
                ("bytes", json!(bytes)),
                ("dscp", json!(dscp)),
                ("ect", json!(ect)),
                ("start", json!(start)),
                ("packet", json!(1_500)),
            ] {
                pattern[key] = value;
            }
            pattern
        },
    )
}

pub fn scenario() -> impl Strategy<Value = Scenario> {
    let traffic = prop::collection::vec(pattern(), 1..4);
    let whole = prop::sample::select(vec!["picoseconds", "whole-ns"]);
    (topology(), switch(), nic(), traffic, whole)
        .prop_map(|(topology, switch, nic, traffic, timing)| {
            serde_json::from_value::<Scenario>(json!({
                "duration": 60_000_000, "timing": timing, "topology": topology, "switch": switch,
                "nic": nic, "traffic": traffic,
                "record": {"interval": 7_000_000, "tables": ["port_buffers", "switch_buffers",
                    "drops", "pfc", "port_counters", "flows", "transport"]},
            }))
            .expect("a scenario")
        })
        .prop_filter("it runs", |scenario| refusals(scenario).is_empty())
}

fn marks(scenario: &Scenario) -> impl Fn(u64) -> Marks + '_ {
    |rate| scenario.switch.ecn_maps.marks(rate).expect("every rate has marks")
}

/// Runs to the end and checks conservation after every event; `prompt`: every frame of a NIC has
/// its event.
fn audited<M: BufferManager, E: EventList>(
    scenario: &Scenario,
    plan: &NetworkPlan,
    prompt: bool,
    manager: impl Fn(&Startup, &[Line]) -> M,
) -> Result<Observations, TestCaseError> {
    let traces = Traces::default();
    let mut network =
        Network::<M, E, Everything>::laid_out(scenario, plan, &SEEDS, &traces, manager)
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

fn observed<E: EventList>(s: &Scenario, prompt: bool) -> Result<Observations, TestCaseError> {
    let plan = Outline::new(s).expect("a topology").network();
    let host_rate = plan.links[0].rate;
    match s.switch.model {
        SwitchModel::Hpcc => audited::<Hpcc, E>(s, &plan, prompt, |_, lines| {
            Hpcc::new(&s.switch.hpcc, lines, marks(s), host_rate)
        }),
        _ => audited::<Datacenter, E>(s, &plan, prompt, |_, lines| {
            Datacenter::new(&s.switch.datacenter, lines, marks(s))
        }),
    }
}

/// The same but for how many events it took.
fn without_events(o: Observations) -> Observations {
    let totals = Totals { events: 0, ..o.totals };
    Observations { totals, ..o }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn bytes_are_conserved_and_results_are_one(s in scenario()) {
        let first = observed::<WinnerTree>(&s, false)?;
        prop_assert_eq!(&first, &observed::<HeapList>(&s, false)?);
        prop_assert_eq!(&first, &run(&s, SEEDS, &Traces::default()).expect("it ran"));
        if s.nic.model.is_reactive() {
            let prompt = observed::<WinnerTree>(&s, true)?;
            prop_assert_eq!(without_events(first.clone()), without_events(prompt));
        }
        // Fewer tables change no total.
        let mut less = s.clone();
        less.record.tables = vec![Table::Jobs, Table::PortBuffers];
        // How often a timer of another NIC's is looked at in vain is not this subject's affair.
        let exact = matches!(s.nic.model, NicModel::Hpcc | NicModel::OpenLoop);
        let events = |own: u64| if exact { own } else { 0 };
        let of = |t: Totals| Totals { events: events(t.events), ..t };
        let part = run(&less, SEEDS, &Traces::default()).expect("it ran");
        prop_assert_eq!(&part.port_buffers, &first.port_buffers);
        prop_assert_eq!(of(part.totals), of(first.totals.clone()));
        less.record.tables = vec![Table::Jobs];
        let part = run(&less, SEEDS, &Traces::default()).expect("it ran");
        prop_assert_eq!(of(part.totals), of(first.totals.clone()));
        // What every flow sent, none has received more of.
        for flow in &first.flows {
            prop_assert!(flow.received_packets <= flow.sent_packets, "{:?}", flow);
        }
        if s.nic.model == NicModel::Hpcc {
            let payload: u64 = first.flows.iter().map(|flow| flow.bytes).sum();
            prop_assert!(first.totals.payload_bytes.is_some_and(|bytes| bytes <= payload));
        }
    }
}
