//! Identities of jobs: what they depend on and, letter for letter, what they are.

use super::{BASE, load, plan};
use crate::sweep::plan::JobId;
use std::collections::BTreeSet;

fn ids(more: &str) -> Vec<JobId> {
    plan(more).jobs.iter().map(|j| j.id).collect()
}

#[test]
fn identities_are_stable() {
    // A change here makes every dataset run again: raise the semantics version instead, if the
    // results changed, or find out why the text did.
    let plan = plan("\naxes: {PlaneBDP: [1KB, 2KB]}\nseed: 7\nrepetitions: 2");
    let ids: Vec<String> = plan.jobs.iter().map(|j| j.id.to_string()).collect();
    assert_eq!(
        ids,
        ["659a2149e2c8c06a", "91f40428a2249d09", "bd0f7a0dacf5591b", "e330176da57602ef"]
    );
    insta::assert_snapshot!(plan.scenario_json(3).unwrap(), @r#"{"budget":{"events":10000000000},"duration":2000000000,"nic":{"NetworkInterface":{"DataRate":null},"PFCEnableVector":[0,0,0,0,0,0,0,0],"PfcResponseTime":0,"PfcStaticXoffThreshold":[0.8,0.8,0.8,0.8,0.8,0.8,0.8,0.8],"PfcXonResumeThreshold":[0.4,0.4,0.4,0.4,0.4,0.4,0.4,0.4],"TransmissionMedium":{"Delay":null},"hold":null,"hosts":{},"ignore_pfc":false,"model":"open-loop","receive_pool":3600000,"receive_rate":null},"record":{"interval":null,"tables":["jobs","port_buffers","drops","pfc"],"zeros":false},"seed_streams":"shared","switch":{"EcmpHashMethod":"crc32WithSalt","EcnHandler":{"EnableEcn":true,"EwmaWeight":0.1,"MaxMarkProbability":1.0,"MaxThreshold":0.8,"MinThreshold":0.2},"LoadBalancingFlowlet":{"Gap":100000000,"PFCAware":true},"LoadBalancingMethod":"none","NetworkInterface":{"DownlinkNetworkInterface":{"DataRate":null},"TransmissionMedium":{"Delay":null},"UplinkNetworkInterface":{"DataRate":null}},"NumDownLinks":64,"NumUpLinks":64,"PacketTrimmer":{"TrimmingEnabled":false},"PfcResponseTime":0,"SharedBufferManager":{"BufferStatsReportInterval":1000000000,"EnablePFC":[1,1,0,0,0,0,0,0],"HeadRoomPerPortLimit":256000,"LossyAlpha":1.0,"PlaneBDP":2000,"PoolAllocationMap":[0.9,0.1,0.0,0.0,0.0,0.0,0.0,0.0],"QueueDropThreshold":5,"QueueDropThresholdEnable":false,"StaticPoolXoffThreshold":700000,"StaticPoolXonThreshold":300000,"TotalSharedBufferSize":256000000,"TrafficClassPoolMapping":[0,1,0,0,0,0,0,0],"UETPolicyEnabled":false},"model":"scala"},"timing":"picoseconds","topology":{"delay":500000,"hosts":5,"kind":"single-switch","rate":400000000000},"traffic":[{"bytes":4000000,"dscp":8,"ect":false,"jitter":0,"packet":4000,"pattern":"incast","receiver":0,"senders":4,"start":0}],"until":"duration","warm_up":0}"#);
}

#[test]
fn an_identity_is_the_hash_of_the_canonical_text() {
    let plan = plan("\nseed: 3");
    let mut json: serde_json::Value =
        serde_json::from_str(&plan.scenario_json(0).unwrap()).unwrap();
    json.as_object_mut().unwrap().remove("record");
    json["switch"]["SharedBufferManager"]
        .as_object_mut()
        .unwrap()
        .remove("BufferStatsReportInterval");
    let whole = serde_json::json!({"scenario": json, "repetition": 0, "seed": 3, "semantics": 1});
    let hash = blake3::hash(whole.to_string().as_bytes()).to_hex();
    assert_eq!(plan.jobs[0].id.to_string(), hash[..16]);
}

#[test]
fn layout_names_and_recording_do_not_matter() {
    let first = ids("");
    assert_eq!(ids("\nname: other\nx-note: {a: 1}"), first);
    assert_eq!(ids("  record: {interval: 1us, tables: [jobs]}"), first);
    assert_eq!(ids("  BufferStatsReportInterval: 10us"), first);
    assert_eq!(ids("  PlaneBDP: 300KB"), first);
    assert_eq!(ids("  switch: {SharedBufferManager: {PlaneBDP: 0.3MB}}"), first);
    let other = BASE
        .replace("2ms", "2000us")
        .replace("kind: single-switch, hosts: 5", "hosts: 5, kind: single-switch");
    assert_eq!(load(&other).unwrap().jobs[0].id, first[0]);
}

#[test]
fn what_is_simulated_matters() {
    let changes = [
        "",
        "\nseed: 1",
        "  PlaneBDP: 301KB",
        "  budget: {events: 5}",
        "  until: drained",
        "  warm_up: 1us",
        "  seed_streams: per-point",
        "  nic: {hosts: {0: {receive_rate: 200Gbps}}}",
    ];
    let all: BTreeSet<JobId> = changes.iter().flat_map(|c| ids(c)).collect();
    assert_eq!(all.len(), changes.len());
}

#[test]
fn identities_do_not_depend_on_the_rest_of_the_grid() {
    let small: BTreeSet<JobId> =
        ids("\naxes: {PlaneBDP: [1KB, 2KB], senders: [1]}").into_iter().collect();
    let large: BTreeSet<JobId> =
        ids("\nrepetitions: 2\naxes: {senders: [3, 1], PlaneBDP: [4KB, 2KB, 1KB]}")
            .into_iter()
            .collect();
    assert_eq!(large.len(), 12);
    assert!(small.is_subset(&large));
    // A value given by an axis, by `base` or by an expression is the same value.
    let text = BASE.replace("senders: 4", "senders: 1") + "  PlaneBDP: 1KB";
    let fixed: Vec<JobId> = load(&text).unwrap().jobs.iter().map(|j| j.id).collect();
    let derived = ids("\nderived: {PlaneBDP: 500B * 2, senders: 3 - 2}");
    assert_eq!(fixed, derived);
    assert!(small.contains(&fixed[0]));
}

#[test]
fn equal_points_share_a_job() {
    let plan = plan("\naxes: {PlaneBDP: [1KB, 1000B, 2KB]}\nscenarios: {a: {}, b: {}}");
    let jobs: Vec<usize> = plan.points.iter().map(|p| p.job.unwrap()).collect();
    assert_eq!(jobs, [0, 0, 1, 0, 0, 1]);
    assert_eq!(plan.jobs.len(), 2);
    assert_eq!(plan.jobs[1].point, 2);
}

#[test]
fn the_fast_path_and_the_full_one_agree() {
    // An axis over a part of the scenario takes the slow way; the result may not show it.
    let fast = ids("\naxes: {hosts: [5, 6]}");
    let slow = ids(
        "\naxes: {topology: [{kind: single-switch, hosts: 5, rate: 400Gbps, delay: 500ns}, {kind: single-switch, hosts: 6, rate: 400Gbps, delay: 500ns}]}",
    );
    assert_eq!(fast, slow);
    let plan = plan("\naxes: {LossyAlpha: [0, 1/3, 1e-3, 8], PlaneBDP: [1KB], ignore_pfc: [true], EnablePFC: [[0, 0, 0, 0, 0, 0, 0, 0]], nic.hosts.2.receive_pool: [9KB], nic.hold.classes: [[1]]}".replace("ignore_pfc", "nic.ignore_pfc").as_str());
    for job in 0..plan.jobs.len() {
        let text = plan.scenario_json(job).unwrap();
        let json = serde_json::to_value(plan.scenario(job).unwrap()).unwrap();
        assert_eq!(text, json.to_string());
    }
}
