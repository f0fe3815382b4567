//! Scenarios whose every number is known: drops, maxima, interval rows, flow ends, frame counts.
//!
//! The cases in `tests/golden/switch` were answered by an independent, literal implementation of
//! the switch model. They are read as they are.

use poolsweep::scenario::{
    Common, FlowEntry, Flows, Record, Role, Scenario, Table, Topology, Traffic,
};
use poolsweep::sim::event::{EventList, HeapList, WinnerTree};
use poolsweep::sim::observe::{BuffId, DropReason, Observations, SwitchBuff};
use poolsweep::sim::random::Seeds;
use poolsweep::sim::run_with;
use poolsweep::sim::traffic::Traces;
use poolsweep::units::{BitRate, Bytes, Ps};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/switch");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("golden cases")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| !path.to_string_lossy().contains("expected"))
        .collect();
    found.sort();
    found
}

fn load(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("case")).expect("case is JSON")
}

/// The case as a scenario of ours.
fn scenario(case: &Value) -> Scenario {
    let n = |v: &Value| v.as_u64().expect("a whole number");
    let t = &case["topology"];
    let rate = |key: &str| t[key].as_u64().map(BitRate);
    let delay = |key: &str| t[key].as_u64().map(Ps);
    let topology = match t["kind"].as_str() {
        Some("single-switch") => Topology::SingleSwitch {
            hosts: n(&t["hosts"]) as u32,
            rate: rate("rate_bps"),
            delay: delay("delay_ps"),
        },
        Some("leaf-spine") => Topology::LeafSpine {
            leaves: n(&t["leaves"]) as u32,
            hosts_per_leaf: n(&t["hosts_per_leaf"]) as u32,
            spines: n(&t["spines"]) as u32,
            links_per_spine: t["links_per_spine"].as_u64().unwrap_or(1) as u32,
            rate: rate("rate_bps"),
            delay: delay("delay_ps"),
            fabric_rate: rate("fabric_rate_bps"),
            fabric_delay: delay("fabric_delay_ps"),
        },
        other => panic!("topology {other:?}"),
    };
    // The case lists switch attributes side by side; ours nest them in their components.
    let mut switch = json!({"EcmpHashMethod": "flowId", "SharedBufferManager": {}, "EcnHandler": {}, "PacketTrimmer": {}});
    for (key, value) in case["switch"].as_object().expect("switch settings") {
        let component = match key.as_str() {
            "EnableEcn" | "EwmaWeight" | "MinThreshold" | "MaxThreshold" | "MaxMarkProbability" => {
                "EcnHandler"
            }
            "TrimmingEnabled" => "PacketTrimmer",
            _ => "SharedBufferManager",
        };
        switch[component][key] = value.clone();
    }
    let flows = case["flows"]
        .as_array()
        .expect("flows")
        .iter()
        .map(|f| FlowEntry {
            src: n(&f["src"]) as u32,
            dst: n(&f["dst"]) as u32,
            bytes: Bytes(n(&f["bytes"])),
            packet: Some(Bytes(n(&f["packet"]))),
            dscp: Some(f["dscp"].as_u64().unwrap_or(0)),
            ect: Some(f["ect"].as_bool().unwrap_or(false)),
            role: f["role"]
                .as_str()
                .map(|r| serde_json::from_value::<Role>(json!(r.replace('_', "-"))).expect("role")),
            start: Ps(n(&f["start_ps"])),
            rate: f["rate_bps"].as_u64().filter(|&r| r > 0).map(BitRate),
        })
        .collect();
    let nic = poolsweep::scenario::Nic {
        ignore_pfc: case["ignore_pfc"].as_bool().unwrap_or(false),
        ..Default::default()
    };
    Scenario {
        duration: Ps(n(&case["duration_ps"])),
        stop_on_deadlock: false,
        until: Default::default(),
        warm_up: Ps(0),
        seed_streams: Default::default(),
        timing: Default::default(),
        topology,
        switch: serde_json::from_value(switch).expect("switch settings"),
        nic,
        traffic: vec![Traffic::Flows(Flows { flows, common: Common::default() })],
        record: Record {
            interval: Some(Ps(n(&case["interval_ps"]))),
            tables: vec![
                Table::Jobs,
                Table::PortBuffers,
                Table::SwitchBuffers,
                Table::Drops,
                Table::Pfc,
                Table::PortCounters,
                Table::Flows,
            ],
            zeros: false,
        },
        budget: Default::default(),
    }
}

fn buff(id: BuffId) -> &'static str {
    match id {
        BuffId::Ingress => "ingressUsage",
        BuffId::Egress => "egressQueue",
        BuffId::Headroom => "hdrm",
        BuffId::Shared | BuffId::Reserve => "of another buffer model",
    }
}

/// Node, port, class, pool and reason.
type DropKey = (u32, u32, u8, u8, &'static str);

/// Differences between what was measured and what is expected, in words.
fn differences(got: &Observations, want: &Value) -> Vec<String> {
    let mut bad = Vec::new();
    let mut compare = |what: &str, got: Value, want: Value| {
        if got != want {
            bad.push(format!("{what}\n    got  {got}\n    want {want}"));
        }
    };
    // Drops by node, port, class, pool and reason.
    let mut drops: BTreeMap<DropKey, (u64, u64)> = BTreeMap::new();
    for d in &got.drops {
        let sum = drops.entry((d.node, d.port, d.tc, d.pool, d.reason.name())).or_default();
        sum.0 += d.packets;
        sum.1 += d.bytes;
    }
    let rows: Vec<Value> = drops
        .iter()
        .map(|((node, port, tc, pool, reason), (packets, bytes))| {
            json!([node, port, tc, pool, reason, packets, bytes])
        })
        .collect();
    let mut expected: Vec<Value> = want["drops"]
        .as_array()
        .expect("drops")
        .iter()
        .map(|d| {
            json!([d["node"], d["port"], d["tc"], d["pool"], d["reason"], d["packets"], d["bytes"]])
        })
        .collect();
    expected.sort_by_key(|v| {
        (v[0].as_u64(), v[1].as_u64(), v[2].as_u64(), v[3].as_u64(), v[4].to_string())
    });
    compare("drops", json!(rows), json!(expected));

    // PFC and ECN: the last row of each port and class has the totals.
    let mut pfc: BTreeMap<(u32, u32, u8), [u64; 6]> = BTreeMap::new();
    for p in &got.pfc {
        pfc.insert(
            (p.node, p.port, p.tc),
            [p.xoff_tx, p.xoff_rx, p.xon_tx, p.xon_rx, p.paused, p.ecn_marked],
        );
    }
    for p in want["pfc_ecn"].as_array().expect("pfc_ecn") {
        let key = (
            p["node"].as_u64().unwrap() as u32,
            p["port"].as_u64().unwrap() as u32,
            p["tc"].as_u64().unwrap() as u8,
        );
        let have = pfc.remove(&key).unwrap_or_default();
        compare(
            &format!("pfc {key:?}"),
            json!(have),
            json!([
                p["xoff_tx"],
                p["xoff_rx"],
                p["xon_tx"],
                p["xon_rx"],
                p["paused_ps"],
                p["ecn_marked"]
            ]),
        );
    }
    compare("pfc rows beyond", json!(format!("{pfc:?}")), json!("{}"));

    // Maxima and interval rows.
    let mut maxima: BTreeMap<(u32, u32, u8, &str), u64> = BTreeMap::new();
    let mut intervals = Vec::new();
    for row in &got.port_buffers {
        let o = row.occupancy;
        let max = maxima.entry((row.node, row.port, row.pool, buff(row.buff))).or_default();
        *max = (*max).max(o.max);
        intervals.push(json!([
            o.sim_time,
            o.length,
            row.node,
            row.port,
            row.pool,
            buff(row.buff),
            o.count,
            o.min,
            o.max,
            u64::try_from(o.integral).expect("fits")
        ]));
    }
    for p in want["port_buffers"].as_array().expect("port_buffers") {
        for id in ["ingressUsage", "hdrm", "egressQueue"] {
            let key = (
                p["node"].as_u64().unwrap() as u32,
                p["port"].as_u64().unwrap() as u32,
                p["pool"].as_u64().unwrap() as u8,
                id,
            );
            compare(
                &format!("max {key:?}"),
                json!(maxima.get(&key).copied().unwrap_or(0)),
                p[format!("{id}_max")].clone(),
            );
        }
    }
    let order =
        |v: &Value| (v[0].as_u64(), v[2].as_u64(), v[3].as_u64(), v[4].as_u64(), v[5].to_string());
    intervals.sort_by_key(order);
    let mut expected = want["intervals"].as_array().expect("intervals").clone();
    expected.sort_by_key(order);
    if intervals.len() != expected.len() {
        compare("number of interval rows", json!(intervals.len()), json!(expected.len()));
    }
    for (have, wanted) in intervals.iter().zip(&expected) {
        if have != wanted {
            compare("interval row", have.clone(), wanted.clone());
            break;
        }
    }
    for p in want["switch_pools"].as_array().expect("switch_pools") {
        let (node, pool) = (p["node"].as_u64().unwrap() as u32, p["pool"].as_i64().unwrap() as i8);
        let peak = got
            .switch_buffers
            .iter()
            .filter(|r| r.node == node && r.pool == pool && r.buff == SwitchBuff::Shared)
            .map(|r| r.occupancy.max)
            .max()
            .unwrap_or(0);
        compare(&format!("pool {node}/{pool}"), json!(peak), p["ingress_max"].clone());
    }
    // Frames: data only, so PFC frames of 64 B are taken off.
    let mut frames: BTreeMap<(u32, u32), [u64; 4]> = BTreeMap::new();
    for c in &got.port_counters {
        frames.insert((c.node, c.port), [c.packets_tx, c.bytes_tx, c.packets_rx, c.bytes_rx]);
    }
    let mut pfc_frames: BTreeMap<(u32, u32, u8), [u64; 2]> = BTreeMap::new();
    for p in &got.pfc {
        pfc_frames.insert((p.node, p.port, p.tc), [p.xoff_tx + p.xon_tx, p.xoff_rx + p.xon_rx]);
    }
    for ((node, port, _), [tx, rx]) in pfc_frames {
        if let Some(f) = frames.get_mut(&(node, port)) {
            f[0] -= tx;
            f[1] -= 64 * tx;
            f[2] -= rx;
            f[3] -= 64 * rx;
        }
    }
    for p in want["ports"].as_array().expect("ports") {
        let key = (p["node"].as_u64().unwrap() as u32, p["port"].as_u64().unwrap() as u32);
        let have = frames.get(&key).copied().unwrap_or_default();
        compare(
            &format!("port {key:?}"),
            json!(have),
            json!([p["tx_packets"], p["tx_wire_bytes"], p["rx_packets"], p["rx_wire_bytes"]]),
        );
    }
    // Trims that succeed are counted at the egress port, in the interval they happen in; the
    // expected ones carry those that fail too, which are also among the drops.
    let mut trims: BTreeMap<(u32, u32), [u64; 2]> = BTreeMap::new();
    for c in got.port_counters.iter().filter(|c| c.trims > 0) {
        trims.insert((c.node, c.port), [c.trims, c.trim_cut_bytes]);
    }
    let (mut sums, mut failed) = ([0; 2], 0);
    for t in want["trims"].as_array().expect("trims") {
        let n = |key: &str| t[key].as_u64().expect("a count");
        let have = trims.remove(&(n("node") as u32, n("port") as u32)).unwrap_or_default();
        compare("trims", json!(have), json!([n("packets"), n("cut_bytes")]));
        sums = [sums[0] + n("packets"), sums[1] + n("cut_bytes")];
        failed += n("failed_packets");
    }
    compare("trims beyond", json!(format!("{trims:?}")), json!("{}"));
    let t = &got.totals;
    let have = (t.trims, t.trim_cut_bytes, t.drops[DropReason::TrimFailed as usize]);
    compare("trims of the job", json!(have), json!((sums[0], sums[1], failed)));
    for (have, wanted) in got.flows.iter().zip(want["flows"].as_array().expect("flows")) {
        let row = json!({
            "id": have.flow_id, "end_ps": have.end, "sent_packets": have.sent_packets,
            "sent_bytes": have.sent_bytes, "received_packets": have.received_packets,
            "received_bytes": have.received_bytes, "received_trimmed": have.received_trimmed,
            "received_ce": have.received_ce,
        });
        compare(&format!("flow {}", have.flow_id), row, wanted.clone());
    }
    compare("flows", json!(got.flows.len()), json!(want["flows"].as_array().expect("flows").len()));
    bad
}

fn check<E: EventList>() {
    let (mut run, mut failures) = (0, Vec::new());
    for path in cases() {
        let case = load(&path);
        let want = load(&path.with_extension("expected.json"));
        let got = run_with::<E>(&scenario(&case), Seeds::default(), &Traces::default())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        run += 1;
        let bad = differences(&got, &want);
        if !bad.is_empty() {
            failures.push(format!(
                "{} ({})\n  {}",
                path.display(),
                case["name"],
                bad[..bad.len().min(6)].join("\n  ")
            ));
        }
    }
    assert!(run >= 27, "only {run} cases were found");
    assert!(
        failures.is_empty(),
        "{} of {run} cases differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn every_known_case_is_exact() {
    check::<WinnerTree>();
}

#[test]
fn every_known_case_is_exact_with_the_other_event_list() {
    check::<HeapList>();
}
