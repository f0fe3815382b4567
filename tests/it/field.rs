//! What people report from real switches and simulators, as small sweeps that show it.

use poolsweep::scenario::{Scenario, Table, check};
use poolsweep::sim::observe::{DropReason, Observations};
use poolsweep::sim::traffic::Traces;
use poolsweep::sweep::plan::{Overrides, Plan};

const US: u64 = 1_000_000;

/// A point of a sweep, simulated.
struct Answer {
    scenario: Scenario,
    seen: Observations,
}

impl Answer {
    fn drops(&self) -> u64 {
        self.seen.totals.drops.iter().sum()
    }

    fn drops_by(&self, reason: DropReason) -> u64 {
        let place = DropReason::ALL.iter().position(|r| *r == reason).expect("listed");
        self.seen.totals.drops[place]
    }

    fn held_share(&self) -> f64 {
        self.seen.totals.paused_max as f64 / self.seen.totals.measured as f64
    }
}

fn plan(text: &str) -> Plan {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("sweep.yaml");
    std::fs::write(&path, format!("schema: 1\n{text}")).expect("written");
    Plan::load(&path, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn answers(text: &str) -> Vec<Answer> {
    let plan = plan(text);
    let answer = |job: usize| {
        assert!(plan.jobs[job].infeasible.is_empty(), "{:?}", plan.jobs[job].infeasible);
        let mut scenario = plan.scenario(job).expect("planned");
        scenario.record.tables = vec![Table::Jobs, Table::PfcEvents];
        let seen = poolsweep::sim::run(&scenario, plan.jobs[job].seeds, &Traces::new());
        Answer { scenario, seen: seen.expect("checked") }
    };
    (0..plan.jobs.len()).map(answer).collect()
}

/// Two 100G inputs into one 100G output, senders obey PFC, no headroom: both counters rise.
#[test]
fn drops_and_pauses_together() {
    let answers = answers(
        "
base:
  duration: 400us
  topology: {kind: single-switch, hosts: 3, rate: 100Gbps, delay: 500ns}
  traffic: [{pattern: incast, receiver: 0, senders: 2, bytes: 100MB, packet: 1500B, dscp: 24}]
  switch:
    SharedBufferManager:
      EnablePFC: [0, 0, 0, 1, 1, 0, 0, 0]
      TrafficClassPoolMapping: [0, 0, 0, 1, 0, 0, 0, 0]
      PoolAllocationMap: [0.5, 0.5, 0, 0, 0, 0, 0, 0]
axes:
  HeadRoomPerPortLimit: [0B, 50KB]
",
    );
    let [without, with] = &answers[..] else { panic!("two points") };
    let totals = &without.seen.totals;
    assert!(totals.pause_frames > 0 && without.drops() > 0);
    assert_eq!(without.drops(), without.drops_by(DropReason::IngressHeadroom));
    assert_eq!((totals.peak_headroom, totals.drops_without_pause), (0, 0));
    // From the first pause on the wire to the first drop: at most the way there and back and a
    // frame at either end.
    let received = without.seen.pfc_events.iter().find(|e| e.pause).expect("a pause").sim_time;
    let sent = received - 500_000 - 5_120;
    let first = totals.first_drop.expect("a drop");
    let frame = (1_500 + 18) * 8 * 10;
    assert!(sent < first && first - sent <= 2 * 500_000 + 2 * frame, "{sent} {first}");
    assert!(with.seen.totals.pause_frames > 0);
    assert_eq!(with.drops(), 0, "headroom is all it takes");
}

/// A peer that reacts late needs 12.5 bytes of headroom a nanosecond at 100G.
#[test]
fn slow_peer() {
    let sweep = |axis: &str| {
        answers(&format!(
            "
base:
  duration: 250us
  topology: {{kind: single-switch, hosts: 3, rate: 100Gbps, delay: 500ns}}
  nic: {{hosts: {{0: {{hold: {{classes: [0]}}}}}}}}
  traffic: [{{pattern: incast, receiver: 0, senders: 2, bytes: 100MB, packet: 1000B, start: 10us}}]
axes:
{axis}"
        ))
    };
    let ample = sweep("  nic.PfcResponseTime: [0s, 1us, 2us, 4us, 8us]\n");
    // With room to spare, what was used is the least that loses nothing.
    let least: Vec<u64> = ample.iter().map(|a| a.seen.totals.peak_headroom).collect();
    assert!(ample.iter().all(|a| a.drops() == 0));
    for (least, ns) in least.iter().zip([0.0, 1e3, 2e3, 4e3, 8e3]) {
        // Bytes are charged without the 18 of Ethernet; give or take a frame.
        let slope = 12.5 * 1_000.0 / 1_018.0;
        let expected = f64::from(u32::try_from(least_at_0(&ample)).expect("small")) + slope * ns;
        assert!((*least as f64 - expected).abs() <= 1_000.0, "{ns} ns: {least}, {expected}");
    }
    let at = |limit: u64| {
        let axis = format!("  nic.PfcResponseTime: [8us]\n  HeadRoomPerPortLimit: [{limit}B]\n");
        sweep(&axis).remove(0).drops()
    };
    assert_eq!(at(least[4]), 0);
    assert!(at(least[4] - 1) > 0);
    // The reported cure, for a peer about 8 us late.
    assert!(at(49_408) > 0);
    assert_eq!(at(160_000), 0);
}

fn least_at_0(answers: &[Answer]) -> u64 {
    answers[0].seen.totals.peak_headroom
}

/// Headroom for 400G over 300 m of cable at every port is more than the buffer: that point is
/// infeasible, the others are not.
#[test]
fn rejected_lengths() {
    let plan = plan(
        "
base:
  duration: 20us
  topology: {kind: single-switch, hosts: 128, rate: 400Gbps}
  switch: {SharedBufferManager: {TotalSharedBufferSize: 16MB}}
  traffic: [{pattern: incast, receiver: 0, senders: 2, bytes: 40KB, packet: 4000B}]
axes:
  topology.delay: [25ns, 200ns, 1500ns]
derived:
  HeadRoomPerPortLimit: 2 * topology.rate * topology.delay + 2 * packet
",
    );
    let refused: Vec<&[String]> = plan.jobs.iter().map(|job| &job.infeasible[..]).collect();
    assert_eq!([refused[0].len(), refused[1].len()], [0, 0]);
    let [reason] = refused[2] else { panic!("{refused:?}") };
    assert!(reason.contains("HeadRoomPerPortLimit"), "{reason}");
    // 158,000 B x 128 ports.
    assert!(reason.contains("20,224,000") && reason.contains("16MB"), "{reason}");
}

/// Two into one on a lossy class: no pause, but drops.
#[test]
fn lossy_must_not_pause() {
    let answers = answers(
        "
base:
  duration: 300us
  topology: {kind: single-switch, hosts: 3, rate: 100Gbps, delay: 500ns}
  switch: {SharedBufferManager: {LossyAlpha: 0, QueueDropThresholdEnable: true}}
  traffic: [{pattern: incast, receiver: 0, senders: 2, bytes: 100MB, packet: 1500B, dscp: 24}]
axes:
  EnablePFC[3]: [0, 1]
",
    );
    let [lossy, lossless] = &answers[..] else { panic!("two points") };
    assert_eq!(lossy.seen.totals.pause_frames, 0);
    assert!(lossy.drops() > 0);
    assert_eq!(lossy.drops(), lossy.drops_by(DropReason::EgressQueueLimit));
    assert!(lossless.seen.totals.pause_frames > 0, "the same load, lossless");
    assert_eq!(lossless.drops(), 0);
}

/// A receiver that takes 308 of 400 Gb/s: pauses hold the link, and every drop counter is 0.
#[test]
fn pause_hides() {
    let answers = answers(
        "
base:
  duration: 5ms
  warm_up: 1ms
  topology: {kind: single-switch, hosts: 2, rate: 400Gbps, delay: 500ns}
  nic: {hosts: {0: {receive_rate: 308Gbps, PFCEnableVector: [1, 0, 0, 0, 0, 0, 0, 0]}}}
  traffic: [{pattern: incast, receiver: 0, senders: 1, bytes: 1GB, packet: 4000B}]
axes:
  duration: [5ms]
",
    );
    let a = &answers[0];
    assert_eq!(a.drops(), 0);
    let held = a.held_share();
    assert!((0.2..0.27).contains(&held), "{held}");
    let rate = a.seen.totals.delivered_bytes as f64 * 8e12 / a.seen.totals.measured as f64;
    assert!((rate / 308e9 - 1.0).abs() < 0.01, "{rate}");
}

/// Lossy traffic crowds out lossless traffic while its alpha is generous: its bytes count against
/// Xoff in a pool they share, though the lossless class alone would never be paused.
#[test]
fn alpha_too_generous() {
    let answers = answers(
        "
base:
  duration: 1ms
  topology: {kind: single-switch, hosts: 3, rate: 100Gbps, delay: 500ns}
  switch:
    SharedBufferManager:
      TotalSharedBufferSize: 16MB
      EnablePFC: [0, 0, 0, 1, 0, 0, 0, 0]
      PoolAllocationMap: [1, 0, 0, 0, 0, 0, 0, 0]
      TrafficClassPoolMapping: [0, 0, 0, 0, 0, 0, 0, 0]
  traffic:
    - {pattern: incast, receiver: 0, senders: 2, bytes: 100MB, packet: 4000B, dscp: 24, rate: 25Gbps}
    - {pattern: incast, receiver: 0, senders: 2, bytes: 100MB, packet: 4000B, dscp: 0, rate: 70Gbps}
axes:
  LossyAlpha: [0.00390625, 0.03125, 0.0625, 1, 128]
",
    );
    let pauses: Vec<u64> = answers.iter().map(|a| a.seen.totals.pause_frames).collect();
    let drops: Vec<u64> =
        answers.iter().map(|a| a.drops_by(DropReason::EgressQueueLimit)).collect();
    assert_eq!(pauses[..3], [0, 0, 0], "{pauses:?}");
    assert!(pauses[3] > 0 && pauses[4] > 0, "{pauses:?}");
    assert!(drops.windows(2).all(|pair| pair[0] >= pair[1]), "{drops:?}");
    assert!(drops[0] > drops[4], "{drops:?}");
    for a in &answers {
        assert_eq!(a.drops(), a.drops_by(DropReason::EgressQueueLimit), "lossy drops only");
        assert!(a.scenario.switch.shared_buffer_manager.lossy_alpha > 0.0);
    }
}

/// 3 x rate x delay of headroom has no term for frames: less than one pause lets in at short
/// links, and more than the chip at long fast ones.
#[test]
fn a_simulator_that_drops_in_spite_of_pfc() {
    let sweep = |hosts: u32, rate: &str, delay: &str| {
        plan(&format!(
            "
base:
  duration: 1ms
  topology: {{kind: single-switch, hosts: {hosts}, rate: {rate}, delay: {delay}}}
  switch: {{model: hpcc, HPCC: {{BufferSize: 12MB}}, EcnMaps: {{ENABLE_QCN: false}}}}
  nic: {{model: hpcc}}
  traffic: [{{pattern: incast, receiver: 0, senders: 8, bytes: 400KB, dscp: 24}}]
axes:
  HeadroomFactor: [3]
"
        ))
    };
    let short = sweep(9, "10Gbps", "1us");
    assert!(short.jobs[0].infeasible.is_empty(), "{:?}", short.jobs[0].infeasible);
    let scenario = short.scenario(0).expect("planned");
    assert_eq!(scenario.switch.hpcc.headroom(10_000_000_000, US), 3_750);
    let warnings = check(&scenario).warnings;
    let told = warnings.iter().any(|w| w.to_string().to_lowercase().contains("headroom"));
    assert!(told, "{warnings:?}");
    let refused = &sweep(64, "400Gbps", "4us").jobs[0].infeasible;
    assert!(!refused.is_empty(), "64 x 600,000 B of headroom a queue is more than 12 MB");
}
