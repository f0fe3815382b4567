//! Collectives run by a little executor that completes transfers in random order.

use super::super::{FlowSource, FlowStart, Traces, draw};
use super::{RunTimes, Steps};
use crate::scenario::{Algorithm, Collective, Operation, Scenario, Traffic};
use crate::sim::random::{Seeds, Stream};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const EVERY: [Operation; 9] = [
    Operation::AllReduce,
    Operation::ReduceScatter,
    Operation::AllGather,
    Operation::Reduce,
    Operation::Broadcast,
    Operation::Gather,
    Operation::Scatter,
    Operation::AllToAll,
    Operation::Barrier,
];

fn scenario(hosts: u32, traffic: Value) -> Scenario {
    serde_json::from_value(json!({
        "duration": 1_000_000_000_000u64,
        "topology": {"kind": "single-switch", "hosts": hosts},
        "traffic": traffic,
    }))
    .expect("a scenario")
}

fn seeds(sweep: u64) -> Seeds {
    Seeds { sweep, ..Seeds::default() }
}

/// The flows a scenario's source hands out by itself, by host, and its collectives.
fn opened(scenario: &Scenario, seed: u64) -> (Vec<FlowStart>, Steps) {
    let hosts = scenario.topology.hosts() as u32;
    let mut source =
        FlowSource::new(scenario, hosts, &|_| 400_000_000_000, &seeds(seed), &Traces::new())
            .unwrap();
    let steps = source.take_steps();
    assert!(source.take_steps().is_empty());
    let flows =
        (0..hosts).flat_map(|host| std::iter::from_fn(|| source.pop(host)).collect::<Vec<_>>());
    (flows.collect(), steps)
}

/// What happened to a transfer, at which moment of the executor's.
#[derive(Debug, Clone, Copy)]
struct Life {
    flow: FlowStart,
    started: u64,
    sent: Option<u64>,
    received: Option<u64>,
}

/// Transfers by id, and the times of the runs.
struct Outcome {
    lives: BTreeMap<u64, Life>,
    runs: Vec<RunTimes>,
}

/// Runs every transfer of the repetition `order`: of all things that can happen next, one at random happens. Time goes on
/// by 1 ps a thing, or as far as the next start.
fn execute(scenario: &Scenario, order: u64) -> Outcome {
    let (opening, mut steps) = opened(scenario, order);
    let mut stream: Stream = seeds(order).stream("order");
    let mut lives: BTreeMap<u64, Life> = BTreeMap::new();
    let (mut waiting, mut unsent, mut unreceived) = (opening, Vec::new(), Vec::new());
    let (mut now, mut tick) = (0, 0);
    let mut out = Vec::new();
    loop {
        let due: Vec<FlowStart> = waiting.extract_if(.., |flow| flow.start <= now).collect();
        for flow in due {
            let life = Life { flow, started: tick, sent: None, received: None };
            assert!(lives.insert(flow.id, life).is_none(), "{flow:?} starts twice");
            unsent.push(flow.id);
            unreceived.push(flow.id);
        }
        tick += 1;
        let choices = unsent.len() + unreceived.len();
        if choices == 0 {
            let Some(next) = waiting.iter().map(|flow| flow.start).min() else { break };
            now = next;
            continue;
        }
        now += 1;
        let choice = draw::below(&mut stream, choices as u64) as usize;
        if choice < unsent.len() {
            let id = unsent.swap_remove(choice);
            lives.get_mut(&id).unwrap().sent = Some(tick);
            steps.sent(id, now, &mut out);
        } else {
            let id = unreceived.swap_remove(choice - unsent.len());
            lives.get_mut(&id).unwrap().received = Some(tick);
            steps.received(id, now, &mut out);
        }
        assert!(out.iter().all(|flow| flow.start >= now));
        waiting.append(&mut out);
    }
    assert_eq!(steps.remaining(), 0, "some transfers never start");
    Outcome { lives, runs: steps.runs().collect() }
}

fn collective(scenario: &Scenario) -> &Collective {
    let Traffic::Collective(collective) = &scenario.traffic[0] else { panic!("a collective") };
    collective
}

/// Numbers and sizes of what was sent against the plan's, ids without gaps, and all runs over.
fn assert_complete(scenario: &Scenario, outcome: &Outcome) {
    let hosts = scenario.topology.hosts();
    let c = collective(scenario);
    assert!(outcome.lives.keys().copied().eq(0..c.flows(hosts)));
    let mut planned: BTreeMap<u64, u64> = BTreeMap::new();
    for transfers in c.transfers(hosts) {
        *planned.entry(transfers.bytes).or_default() += transfers.count * u64::from(c.repeat);
    }
    let mut found: BTreeMap<u64, u64> = BTreeMap::new();
    for life in outcome.lives.values() {
        *found.entry(life.flow.bytes).or_default() += 1;
    }
    assert_eq!(found, planned);
    let bytes: u128 = outcome.lives.values().map(|life| u128::from(life.flow.bytes)).sum();
    assert_eq!(bytes, c.total_bytes(hosts));
    assert_eq!(outcome.runs.len(), c.repeat as usize);
    for run in &outcome.runs {
        let (started, ended) = (run.started.unwrap(), run.ended.unwrap());
        assert!(run.entered <= started && started < ended, "{run:?}");
    }
}

/// What each rank knows after each run, if a transfer carries all its sender has received in the
/// run before starting it, itself included; and what it knew when it started each transfer of the
/// operation. Ranks are hosts here.
struct Knowledge {
    at_end: Vec<Vec<BTreeSet<u32>>>,
    at_start: BTreeMap<u64, BTreeSet<u32>>,
}

fn knowledge(scenario: &Scenario, outcome: &Outcome) -> Knowledge {
    let hosts = scenario.topology.hosts();
    let c = collective(scenario);
    let of_run = c.flows(hosts) / u64::from(c.repeat);
    let mut at_end: Vec<Vec<BTreeSet<u32>>> =
        vec![(0..hosts as u32).map(|host| BTreeSet::from([host])).collect(); c.repeat as usize];
    let mut at_start = BTreeMap::new();
    // Receptions come before the starts they bring about.
    let mut happened: Vec<(u64, u8, &Life)> = Vec::new();
    for life in outcome.lives.values() {
        happened.push((life.started, 1, life));
        happened.push((life.received.unwrap(), 0, life));
    }
    happened.sort_unstable_by_key(|(tick, kind, life)| (*tick, *kind, life.flow.id));
    for (_, kind, life) in happened {
        let run = &mut at_end[(life.flow.id / of_run) as usize];
        if kind == 1 {
            at_start.insert(life.flow.id, run[life.flow.src as usize].clone());
        } else {
            let told = at_start[&life.flow.id].clone();
            run[life.flow.dst as usize].extend(told);
        }
    }
    Knowledge { at_end, at_start }
}

/// Everybody who is to know something knows it.
fn assert_works(scenario: &Scenario, outcome: &Outcome) {
    let hosts = scenario.topology.hosts() as u32;
    let c = collective(scenario);
    let all: BTreeSet<u32> = (0..hosts).collect();
    let known = knowledge(scenario, outcome);
    for run in &known.at_end {
        for (host, knows) in (0..).zip(run) {
            match c.operation {
                Operation::AllReduce
                | Operation::ReduceScatter
                | Operation::AllGather
                | Operation::AllToAll
                | Operation::Barrier => assert_eq!(*knows, all),
                Operation::Reduce | Operation::Gather if host == c.root => assert_eq!(*knows, all),
                Operation::Reduce | Operation::Gather => {}
                Operation::Broadcast | Operation::Scatter => assert!(knows.contains(&c.root)),
            }
        }
    }
    // Nobody leaves a barrier before everybody has entered it.
    if c.has_barrier() {
        let of_run = c.flows(hosts.into()) / u64::from(c.repeat);
        for (id, knows) in known.at_start {
            if id % of_run >= 2 * (u64::from(hosts) - 1) {
                assert_eq!(knows, all, "flow {id} starts too early");
            }
        }
    }
}

/// `later` starts after `earlier` has been received, or sent if both are one rank's.
fn assert_after(outcome: &Outcome, later: u64, earlier: u64) {
    let (a, b) = (&outcome.lives[&earlier], &outcome.lives[&later]);
    let ended = match (a.flow.src == b.flow.src, a.flow.dst == b.flow.src) {
        (true, _) => a.sent.unwrap(),
        (_, true) => a.received.unwrap(),
        _ => panic!("{later} has nothing to do with {earlier}"),
    };
    assert!(ended <= b.started, "{later} before {earlier}");
}

/// What each transfer waits for, by the documented order of ids, written out by algorithm.
fn assert_ordered(scenario: &Scenario, outcome: &Outcome) {
    let n = scenario.topology.hosts();
    let c = collective(scenario);
    let of_run = c.flows(n) / u64::from(c.repeat);
    let barrier = if c.has_barrier() { 2 * (n - 1) } else { 0 };
    let tree = |first: u64| {
        for q in 1..n {
            let up = |q: u64| first + q - 1;
            let down = |q: u64| first + (n - 1) + q - 1;
            for child in [2 * q + 1, 2 * q + 2].into_iter().filter(|&child| child < n) {
                assert_after(outcome, up(q), up(child));
                assert_after(outcome, down(child), down(q));
                assert_after(outcome, down(child), up(q));
            }
            if q <= 2 {
                (1..n.min(3)).for_each(|child| assert_after(outcome, down(q), up(child)));
            }
        }
    };
    for run in 0..u64::from(c.repeat) {
        let first = run * of_run + barrier;
        if barrier > 0 {
            tree(first - barrier);
        }
        let steps = (of_run - barrier) / n;
        let at = |step: u64, rank: u64| first + step * n + rank;
        for step in 1..steps {
            for rank in 0..n {
                let from = match (c.operation, c.algorithm()) {
                    (Operation::AllToAll, Algorithm::Sequential) => (rank + n - step) % n,
                    (_, Algorithm::HalvingDoubling) => {
                        let up = (step - 1).min((2 * u64::from(n.ilog2())).saturating_sub(step));
                        rank ^ (1 << up)
                    }
                    (
                        Operation::AllReduce
                        | Operation::Barrier
                        | Operation::ReduceScatter
                        | Operation::AllGather,
                        Algorithm::Ring,
                    ) => (rank + n - 1) % n,
                    _ => continue,
                };
                assert_after(outcome, at(step, rank), at(step - 1, from));
                assert_after(outcome, at(step, rank), at(step - 1, rank));
            }
        }
        match (c.operation, c.algorithm()) {
            (
                Operation::AllReduce | Operation::Barrier,
                Algorithm::Tree | Algorithm::DoubleTree,
            ) => {
                tree(first);
            }
            (Operation::Reduce, Algorithm::Ring) => {
                (1..n - 1).for_each(|q| assert_after(outcome, first + q, first + q - 1));
            }
            (Operation::Broadcast, Algorithm::Sequential) => {
                (1..n - 1).for_each(|q| assert_after(outcome, first + q, first + q - 1));
            }
            _ => {}
        }
    }
}

/// Any collective over all of up to nine hosts.
fn any_collective() -> impl Strategy<Value = Scenario> {
    (
        2u32..=9,
        0..EVERY.len(),
        any::<prop::sample::Index>(),
        0u64..9,
        any::<bool>(),
        1u32..=3,
        0u64..40,
    )
        .prop_map(|(mut hosts, operation, algorithm, root, synchronize, repeat, jitter)| {
            let operation = EVERY[operation];
            let algorithm = *algorithm.get(operation.algorithms());
            if algorithm == Algorithm::HalvingDoubling {
                hosts = 1 << hosts.ilog2();
            }
            let mut entry = json!({"pattern": "collective", "operation": operation,
                "algorithm": algorithm, "root": root % u64::from(hosts), "repeat": repeat,
                "synchronize": synchronize, "jitter": jitter});
            if operation != Operation::Barrier {
                entry["bytes"] = json!(1_000);
            }
            scenario(hosts, json!([entry]))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_the_order_everything_happens_once_and_in_its_turn(
        scenario in any_collective(),
        order: u64,
    ) {
        let outcome = execute(&scenario, order);
        assert_complete(&scenario, &outcome);
        assert_works(&scenario, &outcome);
        assert_ordered(&scenario, &outcome);
    }
}

/// Runs every transfer in real time: sent after `send` ps, received after `receive`.
fn timed(scenario: &Scenario, send: u64, receive: u64) -> Vec<RunTimes> {
    let (opening, mut steps) = opened(scenario, 1);
    // By time, then id, receptions first.
    let mut events: BTreeSet<(u64, u64, bool)> = BTreeSet::new();
    let mut out = opening;
    loop {
        for flow in out.drain(..) {
            events.insert((flow.start + receive, flow.id, false));
            events.insert((flow.start + send, flow.id, true));
        }
        let Some((now, id, is_sent)) = events.pop_first() else { break };
        if is_sent {
            steps.sent(id, now, &mut out);
        } else {
            steps.received(id, now, &mut out);
        }
    }
    steps.runs().collect()
}

/// How long one run over `hosts` ranks takes from its first transfer, by the times of a transfer.
fn duration(hosts: u32, entry: Value, send: u64, receive: u64) -> u64 {
    let mut whole = json!({"pattern": "collective", "bytes": 1_000, "start": 77,
        "synchronize": false});
    whole.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
    let runs = timed(&scenario(hosts, json!([whole])), send, receive);
    assert_eq!((runs.len(), runs[0].pattern, runs[0].run, runs[0].entered), (1, 0, 0, 77));
    runs[0].ended.unwrap() - runs[0].started.unwrap()
}

#[test]
fn steps_take_the_longer_of_sending_and_receiving() {
    let of = |operation: &str, algorithm: &str, send, receive| {
        duration(8, json!({"operation": operation, "algorithm": algorithm}), send, receive)
    };
    for (send, receive) in [(3, 10), (10, 3)] {
        assert_eq!(of("all-reduce", "ring", send, receive), 140);
        assert_eq!(of("all-reduce", "halving-doubling", send, receive), 60);
        assert_eq!(of("reduce-scatter", "halving-doubling", send, receive), 30);
        assert_eq!(of("all-gather", "ring", send, receive), 70);
        assert_eq!(of("all-to-all", "sequential", send, receive), 70);
        assert_eq!(of("all-to-all", "interleaved", send, receive), 10);
        assert_eq!(of("broadcast", "interleaved", send, receive), 10);
        assert_eq!(of("gather", "direct", send, receive), 10);
    }
    // Only sending separates the root's messages; only receiving, those of a chain or a tree of
    // depth 3.
    assert_eq!(of("broadcast", "sequential", 3, 10), 6 * 3 + 10);
    assert_eq!(of("reduce", "ring", 3, 10), 70);
    assert_eq!(of("reduce", "tree", 3, 10), 30);
    assert_eq!(of("all-reduce", "tree", 3, 10), 60);
    assert_eq!(of("all-reduce", "double-tree", 3, 10), 60);
}

#[test]
fn runs_follow_one_another_with_the_barrier_between() {
    let entry = json!({"pattern": "collective", "operation": "all-to-all", "bytes": 9,
        "repeat": 3, "start": 100});
    let runs = timed(&scenario(8, json!([entry])), 1, 10);
    let times: Vec<_> =
        runs.iter().map(|r| (r.run, r.entered, r.started.unwrap(), r.ended.unwrap())).collect();
    // Up the tree from rank 7 by 3 and 1 the barrier takes 30, and 1 until the root's two messages
    // down are sent: the root is the first to start. Rank 7 is the last, at 160; all wait for its
    // messages until 170. It waits for nobody after rank 3, which starts at 151: so it is the first
    // in the next run, and its next message is what rank 3 has to wait for, 1 after entering.
    assert_eq!(times, [(0, 100, 131, 170), (1, 161, 192, 231), (2, 222, 253, 292)]);
}

#[test]
fn without_the_barrier_a_root_runs_ahead_of_its_receivers() {
    let entry = json!({"pattern": "collective", "operation": "broadcast", "bytes": 9, "repeat": 40,
        "synchronize": false, "root": 1});
    let scenario = scenario(3, json!([entry]));
    let (mut waiting, mut steps) = opened(&scenario, 1);
    let mut sent = Vec::new();
    while let Some(flow) = waiting.pop() {
        steps.sent(flow.id, 5, &mut waiting);
        sent.push(flow.id);
    }
    assert_eq!((sent.len(), steps.remaining()), (80, 0));
    assert!(steps.runs().all(|run| run.ended.is_none()));
    // The last run's arrives first, the first run's last.
    sent.sort_unstable();
    for id in sent.into_iter().rev() {
        steps.received(id, 6, &mut waiting);
        assert_eq!(steps.runs().any(|run| run.ended.is_some()), id == 0);
    }
    assert!(steps.runs().all(|run| run.ended == Some(6)) && waiting.is_empty());
}

/// Source, destination and bytes of every transfer, by id.
fn listed(hosts: u32, entry: Value) -> Vec<(u32, u32, u64)> {
    let mut whole = json!({"pattern": "collective", "bytes": 1_000, "synchronize": false});
    whole.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
    let outcome = execute(&scenario(hosts, json!([whole])), 1);
    outcome.lives.values().map(|l| (l.flow.src, l.flow.dst, l.flow.bytes)).collect()
}

#[test]
fn ids_are_in_the_documented_order() {
    let ring = |a, b, c| [(a, b, 334), (b, c, 334), (c, a, 334)];
    let twice = json!({"operation": "reduce-scatter", "ranks": [4, 0, 2], "repeat": 2});
    assert_eq!(listed(5, twice), ring(4, 0, 2).repeat(4));
    let barrier = [(1, 0, 0), (2, 0, 0), (0, 1, 0), (0, 2, 0)];
    let all = json!({"operation": "all-to-all", "group": 3, "synchronize": true});
    let rotation = [(0, 1, 334), (1, 2, 334), (2, 0, 334), (0, 2, 334), (1, 0, 334), (2, 1, 334)];
    assert_eq!(listed(9, all), [&barrier[..], &rotation].concat());
    let sequential = json!({"operation": "all-to-all", "algorithm": "sequential"});
    assert_eq!(listed(3, sequential), rotation);
    let double = json!({"operation": "all-reduce", "algorithm": "double-tree"});
    let one = [(1, 0, 500), (2, 0, 500), (0, 1, 500), (0, 2, 500)];
    let other = [(1, 2, 500), (0, 2, 500), (2, 1, 500), (2, 0, 500)];
    assert_eq!(listed(3, double), [one, other].concat());
    let gather = json!({"operation": "gather", "root": 1});
    assert_eq!(listed(3, gather), [(2, 1, 1_000), (0, 1, 1_000)]);
    let scatter = json!({"operation": "scatter", "root": 1});
    assert_eq!(listed(3, scatter), [(1, 2, 334), (1, 0, 334)]);
    let exchange = json!({"operation": "reduce-scatter", "algorithm": "halving-doubling"});
    assert_eq!(
        listed(4, exchange),
        [
            (0, 1, 500),
            (1, 0, 500),
            (2, 3, 500),
            (3, 2, 500),
            (0, 2, 250),
            (1, 3, 250),
            (2, 0, 250),
            (3, 1, 250),
        ]
    );
}

#[test]
fn a_collective_takes_its_place_among_the_patterns() {
    let scenario = scenario(
        4,
        json!([
            {"pattern": "permutation", "bytes": 10},
            {"pattern": "collective", "operation": "all-reduce", "bytes": 8, "group": 2, "dscp": 17,
             "ect": true, "start": 50, "synchronize": false},
            {"pattern": "collective", "operation": "barrier", "algorithm": "tree", "start": 60},
            {"pattern": "incast", "senders": 1, "bytes": 10},
        ]),
    );
    let (flows, mut steps) = opened(&scenario, 1);
    let ids = |pattern| -> Vec<u64> {
        let mut ids: Vec<u64> =
            flows.iter().filter(|f| f.pattern == pattern).map(|f| f.id).collect();
        ids.sort_unstable();
        ids
    };
    // Four flows, 2 × 2 transfers, 2 × 3 messages, one flow.
    assert_eq!(
        [ids(0), ids(1), ids(2), ids(3)],
        [vec![0, 1, 2, 3], vec![4, 5], vec![9, 10], vec![14]]
    );
    assert_eq!(steps.remaining(), 2 + 4);
    let ring = flows.iter().find(|flow| flow.id == 5).unwrap();
    assert_eq!((ring.src, ring.dst, ring.bytes, ring.tc, ring.ect), (1, 0, 4, 2, true));
    assert_eq!((ring.start, ring.entropy), (50, 49_157));
    // Flows of other patterns mean nothing.
    let mut out = Vec::new();
    for id in [0, 3, 14, 1_000] {
        steps.sent(id, 90, &mut out);
        steps.received(id, 90, &mut out);
    }
    assert!(out.is_empty());
    steps.received(4, 90, &mut out);
    steps.sent(9, 90, &mut out);
    assert!(out.is_empty());
    steps.sent(5, 91, &mut out);
    assert_eq!(out.iter().map(|f| (f.id, f.src, f.start)).collect::<Vec<_>>(), [(7, 1, 91)]);
    assert_eq!(steps.remaining(), 1 + 4);
}

#[test]
fn jitter_delays_the_entry_of_each_rank() {
    let (hosts, jitter) = (5, 1_000_000);
    for (seed, synchronize) in (0..40).map(|seed| (seed, seed % 2 == 0)) {
        let scenario = scenario(
            hosts,
            json!([{"pattern": "collective", "operation": "reduce", "algorithm": "tree",
                "bytes": 8, "start": 70, "jitter": jitter, "synchronize": synchronize}]),
        );
        let mut stream = seeds(seed).stream("traffic/0/jitter");
        let entry: Vec<u64> = (0..hosts).map(|_| 70 + draw::below(&mut stream, jitter)).collect();
        let outcome = execute(&scenario, seed);
        // Nothing of a rank starts before its entry; that of a rank without children, then.
        for rank in 0..hosts {
            let mut of_rank = outcome.lives.values().filter(|life| life.flow.src == rank);
            let entered = entry[rank as usize];
            assert!(of_rank.clone().all(|life| life.flow.start >= entered));
            assert!(rank < 2 || of_rank.any(|life| life.flow.start == entered));
        }
        let run = outcome.runs[0];
        let (first, last) = (*entry.iter().min().unwrap(), *entry.iter().max().unwrap());
        assert_eq!(run.entered, first);
        assert!(run.ended.unwrap() >= last);
        if synchronize {
            assert!(run.started.unwrap() >= last);
        } else {
            assert_eq!(run.started.unwrap(), first);
        }
    }
}

#[test]
fn mistakes_are_named() {
    let error = |entry: Value| {
        let scenario = scenario(4, json!([entry]));
        let source = FlowSource::new(&scenario, 4, &|_| 1, &seeds(1), &Traces::new());
        source.unwrap_err().to_string()
    };
    assert_eq!(
        error(json!({"pattern": "collective", "operation": "reduce", "bytes": 1, "root": 4})),
        "traffic[0] (collective): `root` is 4: ranks are numbered 0 to 3"
    );
    assert_eq!(
        error(json!({"pattern": "collective", "operation": "reduce", "bytes": 1, "dscp": 64})),
        "traffic[0] (collective): `dscp` is 64; code points are 0 to 63"
    );
}
