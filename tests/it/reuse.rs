//! One run that answers other points, on random scenarios: what is said to be covered is compared
//! with its own simulation, row by row. One difference is a bug of the method.
//!
//! `PROPTEST_CASES` runs more of them.

use crate::nics::scenarios as reactive;
use crate::ns3::properties as ns3;
use crate::sim_random::scenarios as open_loop;
use poolsweep::scenario::{Scenario, SwitchModel, refusals};
use poolsweep::sim::observe::Observations;
use poolsweep::sim::random::Seeds;
use poolsweep::sim::reuse::{Groups, Outcome, Point, Watched, structure};
use poolsweep::sim::traffic::Traces;
use poolsweep::sim::{run, run_watched};
use poolsweep::units::{Bytes, Ps};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const SEEDS: Seeds = Seeds { sweep: 7, repetition: 3, point: None };

/// One threshold and how it is moved.
#[derive(Debug, Clone, Copy)]
struct Move {
    setting: u8,
    /// 0 to 3: a little in bytes, a little in parts, to the half or double, to something else.
    how: u8,
    by: u32,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = (any::<u8>(), 0u8..4, any::<u32>()).prop_map(|(setting, how, by)| Move {
        setting,
        how,
        by,
    });
    prop::collection::vec(one, 1..=3)
}

impl Move {
    fn bytes(self, value: u64) -> u64 {
        let by = u64::from(self.by);
        match self.how {
            0 if by.is_multiple_of(2) => value + by % 200,
            0 => value.saturating_sub(by % 200),
            1 => value * (90 + by % 21) / 100,
            2 if by.is_multiple_of(2) => value / 2,
            2 => value * 2,
            _ => by % 8_000,
        }
    }

    fn factor(self, value: f64) -> f64 {
        match self.how {
            0 => value * (0.99 + f64::from(self.by % 1_000) / 50_000.0),
            1 => value * (0.5 + f64::from(self.by % 1_000) / 1_000.0),
            2 if self.by.is_multiple_of(2) => value / 2.0,
            2 => value * 2.0,
            _ => f64::from(self.by % 4_000) / 1_000.0,
        }
    }

    fn apply(self, scenario: &mut Scenario) {
        match scenario.switch.model {
            SwitchModel::Scala => self.apply_scala(scenario),
            SwitchModel::Hpcc => {
                let own = &mut scenario.switch.hpcc;
                match self.setting % 2 {
                    0 => own.buffer_size = Bytes(self.bytes(own.buffer_size.0)),
                    _ => own.headroom_factor = self.factor(own.headroom_factor),
                }
            }
            SwitchModel::Ns3Datacenter => {
                let own = &mut scenario.switch.datacenter;
                match self.setting % 6 {
                    0 => own.buffer_pool = Bytes(self.bytes(own.buffer_pool.0)),
                    1 => own.xoff = Some(Bytes(self.bytes(own.xoff.map_or(30_000, |x| x.0)))),
                    2 => own.xoff_factor = self.factor(own.xoff_factor),
                    3 => {
                        let total = own.xoff_total.map_or(100_000, |total| total.0);
                        own.xoff_total = Some(Bytes(self.bytes(total)));
                    }
                    4 => own.xon = Bytes(self.bytes(own.xon.0)),
                    _ => own.xon_offset = Bytes(self.bytes(own.xon_offset.0)),
                }
            }
        }
    }

    fn apply_scala(self, scenario: &mut Scenario) {
        let own = &mut scenario.switch.shared_buffer_manager;
        let ecn = &mut scenario.switch.ecn_handler;
        match self.setting % 14 {
            0 => {
                // The pools as they are, most ports of a switch being 8.
                let (was, now) =
                    (own.head_room_per_port_limit.0, self.bytes(own.head_room_per_port_limit.0));
                own.head_room_per_port_limit = Bytes(now);
                let total = own.total_shared_buffer_size.0 + 8 * now;
                own.total_shared_buffer_size = Bytes(total.saturating_sub(8 * was));
            }
            1 => own.head_room_per_port_limit = Bytes(self.bytes(own.head_room_per_port_limit.0)),
            2 => own.total_shared_buffer_size = Bytes(self.bytes(own.total_shared_buffer_size.0)),
            3 => own.pool_allocation_map[0] = self.factor(own.pool_allocation_map[0]).min(1.0),
            4 => {
                own.static_pool_xoff_threshold = Bytes(self.bytes(own.static_pool_xoff_threshold.0))
            }
            5 => own.static_pool_xon_threshold = Bytes(self.bytes(own.static_pool_xon_threshold.0)),
            6 => own.lossy_alpha = self.factor(own.lossy_alpha.max(0.01)),
            7 => own.lossy_alpha = if self.by.is_multiple_of(2) { 0.0 } else { 1.0 },
            8 => own.queue_drop_threshold_enable ^= true,
            9 => own.queue_drop_threshold = 1 + u64::from(self.by % 6),
            10 => own.plane_bdp = Bytes(self.bytes(own.plane_bdp.0)),
            11 => {
                ecn.min_threshold = self.factor(ecn.min_threshold.max(0.01)).min(ecn.max_threshold);
                ecn.max_mark_probability = ecn.max_mark_probability.min(1.0);
            }
            12 => {
                let own = &mut scenario.switch.load_balancing_flowlet;
                own.gap = Ps(self.bytes(own.gap.0 / 1_000) * 1_000);
            }
            _ if self.how == 3 => scenario.switch.packet_trimmer.trimming_enabled ^= true,
            _ => ecn.max_threshold = self.factor(ecn.max_threshold).clamp(ecn.min_threshold, 1.0),
        }
    }
}

/// How many variants were tried, covered, and covered with other limits beside the rows.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    tried: usize,
    covered: usize,
    other_limits: usize,
}

fn simulate(scenario: &Scenario) -> Observations {
    run(scenario, SEEDS, &Traces::default()).expect("the scenario runs")
}

/// What a simulation left, with the limits of another point beside its rows.
fn at(watched: &Watched, groups: &Groups, point: &Point) -> Observations {
    let mut all = watched.observations.clone();
    let limits = |node| groups.limits(point, node).expect("a switch");
    for row in &mut all.port_buffers {
        row.occupancy.limit = limits(row.node).counter(row.buff, row.pool);
    }
    for row in &mut all.switch_buffers {
        row.occupancy.limit = limits(row.node).sum(row.pool);
    }
    all
}

/// Runs a scenario watched, and every variant that is covered by itself.
fn check(scenario: &Scenario, variants: &[Vec<Move>], tally: &mut Tally) -> Result<(), String> {
    let show = |scenario: &Scenario| serde_json::to_string(scenario).expect("JSON");
    let key = structure(scenario, SEEDS, 1);
    let groups = Groups::new(scenario).expect("a topology");
    let watched = run_watched(scenario, SEEDS, &Traces::default(), &groups).expect("it runs");
    if watched.observations != simulate(scenario) {
        return Err(format!("watching changed the results of {}", show(scenario)));
    }
    // What it keeps survives the way through a file.
    let json = serde_json::to_string(&watched.outcome).expect("JSON");
    if serde_json::from_str::<Outcome>(&json).ok() != Some(watched.outcome.clone()) {
        return Err(format!("not the same as JSON: {json}"));
    }
    for variant in variants {
        let mut other = scenario.clone();
        variant.iter().for_each(|one| one.apply(&mut other));
        if !refusals(&other).is_empty() {
            continue;
        }
        if structure(&other, SEEDS, 1) != key {
            return Err(format!("another structure: {variant:?} on {}", show(scenario)));
        }
        tally.tried += 1;
        let Ok(point) = groups.point(&other) else { continue };
        if !watched.outcome.holds(&point) {
            continue;
        }
        tally.covered += 1;
        let (have, want) = (at(&watched, &groups, &point), simulate(&other));
        tally.other_limits += usize::from(have != watched.observations);
        if have != want {
            return Err(format!(
                "covered, but not equal: {variant:?}\n  run {}\n  point {}\n  have {:?}\n  want {:?}",
                show(scenario),
                show(&other),
                have.totals,
                want.totals
            ));
        }
    }
    Ok(())
}

/// Random scenarios of a kind, the same ones every time.
fn of_kind<S: Strategy>(
    cases: u32,
    strategy: S,
    scenario: impl Fn(S::Value) -> Scenario,
) -> Result<Tally, String> {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases);
    let mut runner = TestRunner::new_with_rng(
        Config { max_global_rejects: 1 << 30, max_local_rejects: 1 << 30, ..Config::default() },
        TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]),
    );
    let variants = prop::collection::vec(moves(), 12);
    let mut tally = Tally::default();
    for _ in 0..cases {
        let scenario =
            scenario(strategy.new_tree(&mut runner).map_err(|e| e.to_string())?.current());
        let variants = variants.new_tree(&mut runner).map_err(|e| e.to_string())?.current();
        check(&scenario, &variants, &mut tally)?;
    }
    println!("{tally:?}");
    Ok(tally)
}

#[test]
fn what_is_covered_is_equal_with_open_loop_senders() {
    let tally = of_kind(120, open_loop::case(), |case| case.0).unwrap();
    assert!(tally.covered * 4 > tally.tried && tally.other_limits > 100, "{tally:?}");
    let tally = of_kind(30, open_loop::circling(), |case| case.0).unwrap();
    assert!(tally.covered > 30, "{tally:?}");
}

#[test]
fn what_is_covered_is_equal_with_senders_that_react() {
    for manner in [reactive::Manner::Hostile, reactive::Manner::Gentle] {
        let tally = of_kind(60, reactive::case(manner), |case| case.0).unwrap();
        assert!(tally.covered * 4 > tally.tried && tally.other_limits > 40, "{tally:?}");
    }
}

#[test]
fn what_is_covered_is_equal_on_other_buffer_models() {
    let tally = of_kind(120, ns3::scenario(), |scenario| scenario).unwrap();
    assert!(tally.covered * 4 > tally.tried && tally.other_limits > 40, "{tally:?}");
}
