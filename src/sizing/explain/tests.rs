//! Each finding, and the explanation of a drop, from a small scenario that shows it.

use super::*;
use crate::scenario::Scenario;
use crate::sim::observe::{DropReason, Observations};
use crate::sim::random::Seeds;
use crate::sim::traffic::Traces;
use crate::sweep::plan::{JobId, Overrides, Plan};

/// Two hosts send to a third at 100 Gbps; the lines given come on top of it.
fn scenario(set: &[&str]) -> Scenario {
    scenario_with("", set)
}

/// The same with more traffic.
fn scenario_with(traffic: &str, set: &[&str]) -> Scenario {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.yaml");
    let text = "
schema: 1
base:
  duration: 400us
  topology: {kind: single-switch, hosts: 3, rate: 100Gbps, delay: 500ns}
  traffic:
    - {pattern: incast, receiver: 0, senders: 2, bytes: 100MB, packet: 4000B, dscp: 0}
";
    std::fs::write(&path, format!("{text}{traffic}")).unwrap();
    let set = set.iter().map(|s| (*s).to_owned()).collect();
    let plan = Plan::load(&path, &Overrides { set, ..Overrides::default() });
    plan.unwrap_or_else(|e| panic!("{e}")).scenario(0).unwrap()
}

fn run(scenario: &Scenario) -> Observations {
    let refusals = crate::scenario::refusals(scenario);
    assert!(refusals.is_empty(), "{refusals:?}");
    crate::sim::run(scenario, Seeds::default(), &Traces::new()).unwrap()
}

fn facts(scenario: &Scenario) -> JobFacts {
    JobFacts::of(JobId(0), scenario, &run(scenario).totals)
}

fn found(scenario: &Scenario) -> Vec<Finding> {
    let facts = facts(scenario);
    Finding::ALL.into_iter().filter(|finding| finding.holds(&facts)).collect()
}

/// The first drop of a scenario and what is said about it.
fn explained(scenario: &Scenario) -> (Moment, Explained) {
    let first = run(scenario).totals.first_drop.expect("a drop");
    let narrow = narrowed(scenario, first);
    let moment = moment(&narrow, &run(&narrow)).expect("the same drop");
    assert_eq!(moment.time, first);
    let explained = explain(scenario, &moment);
    (moment, explained)
}

fn drops(scenario: &Scenario) -> u64 {
    run(scenario).totals.drops.iter().sum()
}

/// Xoff so high that eight ports fill the pool before one pauses.
const NO_PAUSE: [&str; 3] =
    ["topology.hosts=9", "traffic[0].senders=8", "TotalSharedBufferSize=5MB"];

#[test]
fn drops_with_no_pause_before_them() {
    let scenario = scenario(&NO_PAUSE);
    let found = found(&scenario);
    assert!(found.contains(&Finding::DropsWithoutPause), "{found:?}");
    assert!(found.contains(&Finding::SizingMissed), "{found:?}");
    assert!(!found.contains(&Finding::HeadroomTooSmall), "{found:?}");
    let roomy = [NO_PAUSE[0], NO_PAUSE[1], "TotalSharedBufferSize=64MB"];
    assert!(!super::tests::found(&self::scenario(&roomy)).contains(&Finding::DropsWithoutPause));
}

#[test]
fn a_full_pool_names_the_pool_and_what_meets_condition_2() {
    let scenario = scenario(&NO_PAUSE);
    let (moment, explained) = explained(&scenario);
    assert_eq!(moment.site.reason, DropReason::IngressPool);
    assert_eq!((moment.site.tc, moment.site.pool, moment.pauses_sent), (0, 0, 0));
    let pool = moment.pool.expect("counted");
    assert!(pool.max <= pool.limit && pool.limit < pool.max + 4_000, "full: {pool:?}");
    assert_eq!(explained.missed, 0b010, "only the pool is too small");
    let xoff = explained.advice.iter().find(|a| a.setting == "StaticPoolXoffThreshold").unwrap();
    let sizing = explained.sizing.unwrap();
    assert_eq!(xoff.to as u64, sizing.largest_xoff().unwrap());
    let tried = Advice { fits: true, ..xoff.clone() };
    let mut moved = applied(&scenario, &tried).unwrap();
    moved.switch.shared_buffer_manager.static_pool_xon_threshold.0 = xoff.to as u64 / 2;
    assert!(drops(&scenario) > 0);
    assert_eq!(drops(&moved), 0, "what condition 2 asks for is enough");
    let share = explained.advice.iter().find(|a| a.setting == "PoolAllocationMap[0]").unwrap();
    assert!(share.to > 1.0 && !share.fits, "the buffer is too small for it: {share:?}");
}

#[test]
fn lossless_drops_with_headroom_0() {
    let scenario = scenario(&["HeadRoomPerPortLimit=0B"]);
    assert!(found(&scenario).contains(&Finding::ZeroHeadroom));
    let (moment, explained) = explained(&scenario);
    assert_eq!(moment.site.reason, DropReason::IngressHeadroom);
    let headroom = moment.headroom.unwrap();
    assert_eq!((headroom.max, headroom.limit), (0, 0));
    let so_far = (moment.pauses_sent, moment.first_pause_received);
    assert_eq!(so_far, (1, None), "the pause is on its way: {moment:?}");
    assert_eq!(explained.missed, 0b001);
    let [advice] = &explained.advice[..] else { panic!("{explained:?}") };
    assert_eq!(
        (advice.setting.as_str(), advice.from, advice.to),
        ("HeadRoomPerPortLimit", 0.0, 20_500.0)
    );
    assert_eq!(drops(&applied(&scenario, advice).unwrap()), 0);
}

#[test]
fn late_senders_are_counted_into_the_headroom() {
    let held =
        ["HeadRoomPerPortLimit=20500B", "nic.hosts.0.hold.classes=[0]", "traffic[0].start=10us"];
    let obeying = scenario(&held);
    assert_eq!(drops(&obeying), 0);
    let late = scenario(&[&held[..], &["nic.PfcResponseTime=2us"]].concat());
    assert!(found(&late).contains(&Finding::HeadroomTooSmall));
    let (moment, explained) = explained(&late);
    assert!(moment.headroom.unwrap().max > 16_500, "full but for a packet: {moment:?}");
    assert_eq!(explained.missed, 0, "the guideline knows no response time");
    let [advice] = &explained.advice[..] else { panic!("{explained:?}") };
    assert_eq!(advice.to, 45_500.0, "2 us at 12.5 bytes a ns");
    assert_eq!(drops(&applied(&late, advice).unwrap()), 0);
}

#[test]
fn lossy_drops_never_pause() {
    let scenario = scenario(&["traffic[0].dscp=16", "LossyAlpha=0.0078125"]);
    assert_eq!(found(&scenario), [Finding::LossyDrops]);
    assert_eq!(facts(&scenario).pause_frames, 0);
    let (moment, explained) = explained(&scenario);
    assert_eq!(moment.site.reason, DropReason::EgressQueueLimit);
    assert_eq!(explained.sizing, None, "no conditions for a lossy class");
    let [advice] = &explained.advice[..] else { panic!("{explained:?}") };
    assert_eq!(
        (advice.setting.as_str(), advice.from, advice.to),
        ("LossyAlpha", 1.0 / 128.0, 1.0 / 64.0)
    );
    let moved = applied(&scenario, advice).unwrap();
    assert!(run(&moved).totals.first_drop.is_none_or(|first| first > moment.time));
}

/// Class 3 is lossless and leaves before the lossy class 0, in one pool.
const MIXED: [&str; 3] = [
    "EnablePFC=[0, 0, 0, 1, 0, 0, 0, 0]",
    "StaticPoolXoffThreshold=100KB",
    "StaticPoolXonThreshold=50KB",
];
const LOSSLESS: &str = "    - {pattern: flows, flows: [{src: 1, dst: 0, bytes: 8KB, packet: 4000B, dscp: 24, start: 100us}]}\n";

#[test]
fn lossy_bytes_pause_a_lossless_class_and_leave_the_pause_stuck() {
    let mixed = scenario_with(LOSSLESS, &MIXED);
    let found = found(&mixed);
    assert!(found.contains(&Finding::LossyPauses), "{found:?}");
    assert!(found.contains(&Finding::StuckPauses), "{found:?}");
    let own = "TrafficClassPoolMapping=[0, 1, 0, 1, 0, 0, 0, 0]";
    let apart = scenario_with(LOSSLESS, &[&MIXED[..], &[own]].concat());
    assert_eq!(super::tests::found(&apart), []);
}

#[test]
fn pause_time_hogs() {
    let hog = facts(&scenario(&[]));
    assert!(hog.held_share > 0.2 && Finding::PauseHog.holds(&hog), "{hog:?}");
    assert_eq!(hog.drops, Some(0), "no drop counter tells");
    let idle = facts(&scenario(&["traffic[0].bytes=100KB"]));
    assert!(!Finding::PauseHog.holds(&idle), "{idle:?}");
    // Which port and class.
    let mut whole = scenario(&[]);
    whole.record.tables = vec![crate::scenario::Table::Pfc];
    let held = held(&run(&whole).pfc);
    assert_eq!(held.len(), 2);
    assert!(held.iter().all(|h| h.node > 0 && h.node < 3 && h.tc == 0), "{held:?}");
    assert!(held[0].paused >= held[1].paused);
}

#[test]
fn flapping_between_xoff_and_xon() {
    let tight = facts(&scenario(&["StaticPoolXonThreshold=696KB"]));
    assert!(tight.flaps().is_some_and(|flaps| flaps > FLAP_FRAMES), "{tight:?}");
    assert!(Finding::Flapping.holds(&tight));
    let wide = facts(&scenario(&["duration=4ms"]));
    assert!(wide.pause_frames >= FLAP_LEAST, "{wide:?}");
    assert!(wide.flaps().is_some_and(|flaps| flaps < FLAP_FRAMES), "{:?}", wide.flaps());
}

#[test]
fn places_are_summed_over_intervals() {
    let mut whole = scenario(&["HeadRoomPerPortLimit=0B"]);
    whole.record.tables = vec![crate::scenario::Table::Drops];
    whole.record.interval = Some(crate::units::Ps(50_000_000));
    let seen = run(&whole);
    let sites = sites(&seen.drops);
    assert!(seen.drops.len() > sites.len(), "several intervals");
    assert_eq!(sites.iter().map(|s| s.packets).sum::<u64>(), seen.totals.drops.iter().sum::<u64>());
    assert_eq!(sites.iter().map(|s| s.bytes).sum::<u64>(), seen.totals.dropped_bytes);
    let first = seen.totals.first_drop.unwrap();
    assert!(sites.iter().any(|s| first < s.first && s.first <= first + 50_000_000));
}

/// Two lossless senders on a switch of an ns-3 project.
fn of_project(set: &[&str]) -> Scenario {
    scenario(&[&["dscp=24", "bytes=400KB"], set].concat())
}

#[test]
fn headroom_of_the_ns3_models_is_asked_for_in_their_own_settings() {
    const HPCC: [&str; 2] = ["switch.model=hpcc", "switch.HPCC.BufferSize=400KB"];
    const OTHER: [&str; 3] = [
        "switch.model=ns3-datacenter",
        "switch.Ns3Datacenter.IngressPool=200KB",
        "switch.Ns3Datacenter.BufferPool=900KB",
    ];
    for (model, small, setting, reason) in [
        (
            &HPCC[..],
            "switch.HPCC.HeadroomFactor=0.7",
            "HPCC.HeadroomFactor",
            DropReason::IngressAdmission,
        ),
        (
            &OTHER[..],
            "switch.Ns3Datacenter.XoffFactor=0.7",
            "Ns3Datacenter.XoffFactor",
            DropReason::IngressHeadroom,
        ),
        (
            &OTHER[..],
            "switch.Ns3Datacenter.Xoff=4KB",
            "Ns3Datacenter.Xoff",
            DropReason::IngressHeadroom,
        ),
    ] {
        let few = of_project(&[model, &[small]].concat());
        let (moment, explained) = explained(&few);
        assert_eq!(moment.site.reason, reason, "{small}");
        let [advice] = explained.advice.as_slice() else { panic!("{small}: {explained:?}") };
        assert_eq!((advice.setting.as_str(), advice.fits), (setting, true), "{small}");
        // 2 × 6,250 B of the cable and two packets of 4,000 B (and what the model charges for one).
        let need = match advice.because {
            Because::HeadroomOfQueue { need, .. } => need,
            other => panic!("{other:?}"),
        };
        assert_eq!(need, 20_500, "{small}");
        let to = if advice.unit == "B" { advice.to } else { advice.to * 6_250.0 };
        assert!((20_500.0..20_562.5).contains(&to), "{small}: {}", advice.to);
        assert!(found(&few).contains(&Finding::FactorTooSmall), "{small}");
        let cured = applied(&few, advice).expect("it can be tried");
        assert_eq!(drops(&cured), 0, "{small}");
        assert!(!found(&cured).contains(&Finding::FactorTooSmall), "{small}");
    }
    // Enough headroom and yet a drop: nothing to ask for.
    let fine = of_project(&HPCC);
    assert_eq!(drops(&fine), 0);
}
