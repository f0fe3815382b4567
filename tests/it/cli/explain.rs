//! `explain` and `compare` on datasets of small sweeps.

use super::{Place, SWEEP};
use serde_json::Value;

fn json(place: &Place, arguments: &[&str]) -> (i32, Value) {
    let (code, stdout, stderr) = place.ends(arguments);
    (code, serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stdout}{stderr}")))
}

fn finding<'j>(json: &'j Value, name: &str) -> &'j Value {
    let all = json["findings"].as_array().unwrap();
    all.iter().find(|f| f["name"] == name).unwrap_or_else(|| panic!("no {name}: {json:#}"))
}

/// Drops and pauses together, as a tester without headroom sees them.
const ZERO: &str = "\
schema: 1
name: zero
base:
  duration: 300us
  topology: {kind: single-switch, hosts: 3, rate: 100Gbps, delay: 500ns}
  traffic:
    - {pattern: incast, receiver: 0, senders: 2, bytes: 100MB, packet: 1500B, dscp: 0}
  record: {interval: 100us}
axes:
  HeadRoomPerPortLimit: [0B, 160KB]
";

#[test]
fn drops_and_pauses_together() {
    let place = Place::new(ZERO);
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "d"]);
    let (_, whole) = json(&place, &["explain", "d", "--json"]);
    let found = finding(&whole, "drops_with_zero_headroom");
    assert_eq!((&found["jobs"], &found["of"]), (&1.into(), &2.into()));
    let runs = &found["axes"][0]["runs"];
    assert_eq!((&runs[0]["from"], &runs[0]["holds"]), (&"0B".into(), &1.into()));
    assert_eq!((&runs[1]["from"], &runs[1]["holds"]), (&"160KB".into(), &0.into()));
    let (_, job) = json(&place, &["explain", "d", "--point", "HeadRoomPerPortLimit=0B", "--json"]);
    let first = &job["first_drop"];
    assert_eq!(first["reason"], "ingress_headroom");
    assert_eq!(first["counters"]["hdrm"]["max_bytes"], 0);
    assert_eq!(job["conditions"]["headroom"]["met"], false);
    let advice = &job["advice"][0];
    assert_eq!(
        (&advice["setting"], &advice["to"]),
        (&"HeadRoomPerPortLimit".into(), &15_500.0.into())
    );
    assert_eq!(advice["drops_if_moved"], 0);
    let id = job["job_id"].as_str().unwrap();
    let text = place.succeeds(&["explain", "d", id]);
    for words in ["ingress_headroom", "MISSED by 15,500 B", "from 0B to 15.5KB", "tried: 0 drops"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn what_cannot_be_explained_is_said() {
    let place = Place::new(SWEEP);
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "d"]);
    let (_, whole) = json(&place, &["explain", "d", "--json"]);
    let refused = finding(&whole, "infeasible");
    assert_eq!(refused["jobs"], 2, "100MB of headroom a port does not fit");
    assert!(place.succeeds(&["explain", "d"]).contains("HeadRoomPerPortLimit"));
    let id = refused["job_ids"][0].as_str().unwrap();
    assert!(place.succeeds(&["explain", "d", id]).contains("infeasible: "));
    let usage = |arguments: &[&str], words: &str| {
        let (code, _, stderr) = place.ends(arguments);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    };
    usage(&["explain", "d", "xyz"], "is no job id");
    usage(&["explain", "d", "0123456789abcdef"], "0123456789abcdef");
    usage(&["explain", "d", "--point", "topology.delay=5us"], "3 points have");
    usage(&["explain", "d", "--point", "delay=5us"], "no column \"delay\"");
}

#[test]
fn datasets_are_compared() {
    let place = Place::new(SWEEP);
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "a"]);
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "b", "--threads", "1"]);
    let (code, stdout, _) = place.ends(&["compare", "a", "b"]);
    assert_eq!(code, 0, "{stdout}");
    assert!(
        stdout.contains("6 jobs compared, 0 differ") && stdout.ends_with("equal\n"),
        "{stdout}"
    );
    assert!(stdout.contains(concat!("poolsweep ", env!("CARGO_PKG_VERSION"))), "{stdout}");
    // The same points, half of which are another job, and the others have another delay.
    let more =
        SWEEP.replace("bytes: 200KB", "bytes: 100KB").replace("[500ns, 5us]", "[500ns, 6us]");
    assert_ne!(more, SWEEP);
    place.write("sweep.yaml", &more);
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "c"]);
    let (code, found) = json(&place, &["compare", "a", "c", "--json"]);
    assert_eq!((code, &found["equal"]), (9, &false.into()));
    assert_eq!(found["points"]["only_a"], 3);
    assert_eq!(found["points"]["only_b"], 3);
    assert_eq!(found["points"]["changed"], 3);
    assert_eq!(found["jobs"]["paired_by_point"], 3);
    let columns = found["columns"].as_array().unwrap();
    assert!(columns.iter().any(|c| c["column"] == "delivered_bytes"), "{found:#}");
    assert_eq!(place.ends(&["compare", "a", "c", "--tables", "timings"]).0, 2);
}

/// Two inputs of 35 % lossless and 25 % lossy load in bursts, and a pause storm through the middle
/// half: some repetitions lose a little, others nothing.
const STORM: &str = "\
schema: 1
name: storm
seed: 1
repetitions: 20
base:
  duration: 2ms
  topology: {kind: single-switch, hosts: 3, rate: 100Gbps, delay: 500ns}
  switch:
    SharedBufferManager:
      EnablePFC: [0, 0, 0, 1, 0, 0, 0, 0]
      TrafficClassPoolMapping: [0, 0, 0, 1, 0, 0, 0, 0]
      PoolAllocationMap: [0.5, 0.5, 0, 0, 0, 0, 0, 0]
      LossyAlpha: 0
      QueueDropThresholdEnable: true
      QueueDropThreshold: 1
  nic: {hosts: {0: {hold: {classes: [3], from: 500us, until: 1500us}}}}
  traffic:
    - {pattern: on-off, receiver: 0, senders: 2, on: 35us, off: 65us, burst: exponential, packet: 1500B, dscp: 24}
    - {pattern: on-off, receiver: 0, senders: 2, on: 25us, off: 75us, burst: exponential, packet: 1500B, dscp: 0}
  record: {interval: 1ms, tables: [jobs, drops, pfc]}
axes:
  PlaneBDP: [500KB, 3MB, 6MB]
";

#[test]
fn some_runs_only() {
    let place = Place::new(STORM);
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "d"]);
    let (_, whole) = json(&place, &["explain", "d", "--json"]);
    let points = whole["points"].as_array().unwrap();
    let with_loss: Vec<u64> = points.iter().map(|p| p["with_loss"].as_u64().unwrap()).collect();
    assert!(points.iter().all(|p| p["repetitions"] == 20), "{points:#?}");
    assert_eq!([with_loss[0], with_loss[2]], [20, 0], "a small limit, a large one");
    assert!((1..20).contains(&with_loss[1]), "some runs only: {with_loss:?}");
    let interval = points[1]["interval_95"].as_array().unwrap();
    let (low, high) = (interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap());
    let share = with_loss[1] as f64 / 20.0;
    assert_eq!(points[1]["share"], share);
    assert!(0.0 < low && low < share && share < high && high < 1.0, "{low} {share} {high}");
    // Pauses alone would not tell the runs apart: the storm is in all of them.
    assert_eq!(finding(&whole, "pause_hog")["jobs"], 60);
    let text = place.succeeds(&["explain", "d", "--point", "PlaneBDP=3MB"]);
    let told = format!("{} of 20 repetitions lost packets", with_loss[1]);
    assert!(text.starts_with(&told) && text.contains("egress_queue_limit"), "{text}");
}
