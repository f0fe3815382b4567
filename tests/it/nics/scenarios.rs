//! Strategies for small scenarios whose hosts have NICs that react.

use poolsweep::scenario::{Scenario, refusals};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// A scenario that a failure shows as JSON, ready to be run again.
#[derive(Clone)]
pub struct Case(pub Scenario);

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(&self.0).map_err(|_| std::fmt::Error)?)
    }
}

/// How a scenario treats its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Buffers below a packet, pauses without end, short jobs.
    Hostile,
    /// Every queue has room for a few packets, no pause lasts, and jobs have the time to drain.
    Gentle,
}

use Manner::Gentle;

const MICROSECOND: u64 = 1_000_000;

/// What the other parts of a scenario are made to measure for.
#[derive(Debug, Clone, Copy)]
struct Frame {
    model: &'static str,
    manner: Manner,
    hosts: u32,
    rate: u64,
    mss: u64,
    /// IP bytes of a full packet, a bit more for some.
    full: u64,
    policy: bool,
    trimming: bool,
}

fn rate() -> impl Strategy<Value = u64> {
    let rates = [8, 8, 8, 7, 25, 100, 400].map(|gbps| gbps * 1_000_000_000);
    prop_oneof![6 => select(rates.to_vec()), 1 => Just(3_333_333_333)]
}

fn delay() -> impl Strategy<Value = u64> {
    select(vec![0u64, 0, 100_000, 100_000, 500_000, 12_345])
}

fn topology() -> impl Strategy<Value = (Value, u32, u64)> {
    let single = (2u32..=6, rate(), delay()).prop_map(|(hosts, rate, delay)| {
        let topology =
            json!({"kind": "single-switch", "hosts": hosts, "rate": rate, "delay": delay});
        (topology, hosts, rate)
    });
    let tiers = (1u32..=2, 2u32..=3, 1u32..=2, 1u32..=2, rate(), delay(), rate(), delay());
    let tiers = tiers.prop_map(|(leaves, each, spines, links, rate, delay, up, up_delay)| {
        let topology = json!({"kind": "leaf-spine", "leaves": leaves, "hosts_per_leaf": each,
            "spines": spines, "links_per_spine": links, "rate": rate, "delay": delay,
            "fabric_rate": up, "fabric_delay": up_delay});
        (topology, leaves * each, rate)
    });
    prop_oneof![3 => single, 2 => tiers]
}

fn switch(f: Frame) -> impl Strategy<Value = Value> {
    let full = f.full;
    let gentle = f.manner == Gentle;
    let sizes = if gentle {
        (40 * full..80 * full, 0..4 * full, 4 * full..12 * full, 4 * full..10 * full)
    } else {
        (2 * full..20 * full, 0..3 * full, 1..8 * full, 1..6 * full)
    };
    let lossy = if gentle { vec![0.0, 1.0, 4.0] } else { vec![0.0, 0.0, 0.25, 1.0, 4.0] };
    let hash = select(vec!["dpr", "hash", "crc32", "crc32WithSalt", "dprWithFallback", "flowId"]);
    let ecn = (
        prop::bool::weighted(0.8),
        select(vec![0.1, 1.0]),
        select(vec![0.0, 0.02, 0.1, 0.3]),
        select(vec![0.3, 0.8, 1.0]),
        select(vec![1.0, 0.5]),
    );
    let response = prop_oneof![3 => Just(0u64), 1 => Just(1), 1 => 0..2 * MICROSECOND];
    let classes = (vec(0u8..2, 8), vec(0u8..2, 8), prop::bool::weighted(0.6));
    (sizes, select(lossy), any::<bool>(), 1u64..4, hash, ecn, response, classes).prop_map(
        move |(sizes, alpha, cap, factor, hash, ecn, response, (pools, pfc, lossless))| {
            let (shared, headroom, xoff, bdp) = sizes;
            // Gentle queues always have a limit of some packets.
            let cap = cap || (gentle && alpha == 0.0);
            // A lossless class that shares its pool with a lossy one may be paused for good.
            let (pools, pfc) = if gentle {
                let pools: Vec<u8> = (0..8).map(|class| class % 2).collect();
                let pfc = pools.iter().map(|&pool| pfc[usize::from(pool)]).collect();
                (pools, pfc)
            } else {
                (pools, pfc)
            };
            let pfc = if f.trimming || !lossless { vec![0; 8] } else { pfc };
            json!({
                "SharedBufferManager": {
                    "TotalSharedBufferSize": shared + 8 * headroom,
                    "UETPolicyEnabled": f.policy,
                    "PoolAllocationMap": [0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                    "TrafficClassPoolMapping": pools,
                    "EnablePFC": pfc,
                    "HeadRoomPerPortLimit": headroom,
                    "StaticPoolXoffThreshold": xoff,
                    "StaticPoolXonThreshold": xoff / 2,
                    "LossyAlpha": alpha,
                    "QueueDropThresholdEnable": cap,
                    "QueueDropThreshold": factor,
                    "PlaneBDP": bdp,
                },
                "PacketTrimmer": {"TrimmingEnabled": f.trimming},
                "EcnHandler": {"EnableEcn": ecn.0, "EwmaWeight": ecn.1, "MinThreshold": ecn.2,
                    "MaxThreshold": ecn.3, "MaxMarkProbability": ecn.4},
                "EcmpHashMethod": hash,
                "PfcResponseTime": response,
            })
        },
    )
}

/// Timeouts from far too short to long. One below the RTT of a loaded network keeps a sender
/// without a window repeating itself, so that nothing but repetitions gets through.
fn timeout(f: Frame) -> impl Strategy<Value = u64> {
    let of = |all: &[u64]| select(all.iter().map(|n| n * MICROSECOND).collect::<Vec<_>>());
    if f.manner == Gentle { of(&[500, 1_000]) } else { of(&[3, 20, 150, 1_000]) }
}

fn uet(f: Frame) -> impl Strategy<Value = Value> {
    let spray = (
        select(vec!["None", "Default Packet Spraying", "Recycled Entropy Packet Spraying"]),
        0u64..=4,
        0u64..=3,
        select(vec![4u64, 300, 65_536]),
        select(vec![5 * MICROSECOND, 100 * MICROSECOND]),
        0u64..=3,
    );
    let timers = (timeout(f), 0u64..=5, prop::bool::weighted(0.3), timeout(f));
    let acks = (any::<bool>(), any::<bool>(), prop_oneof![2 => Just(1u64), 1 => 2..7u64]);
    let marks = (prop::bool::weighted(if f.trimming { 0.8 } else { 0.3 }), any::<bool>());
    let flags = vec(any::<bool>(), 4);
    (spray, timers, acks, marks, flags).prop_map(move |(spray, timers, acks, marks, flags)| {
        json!({
            "RdmaDataMSS": f.mss,
            "TrimmingEnabled": marks.0,
            "UseDistinctDSCPForRetransmits": marks.1,
            "PDCGroupsEnabled": flags[0],
            "PacketSprayingType": spray.0,
            "EntropyMaskBits": spray.1,
            "REPSBufferSizeMaskBits": spray.2,
            "EntropyValueSetSize": spray.3,
            "FreezingTimeout": spray.4,
            "FailureDetectionRTTMultiplier": spray.5,
            "InitialRetransmitTimeout": timers.0,
            "MaxExponentialRTOBackoffCount": timers.1,
            "FixedRexmitTimeEnable": timers.2,
            "FixedRexmitTimeout": timers.3,
            "AckRequestFirstPacket": acks.0,
            "AckRequestLastPacket": acks.1,
            "AckRequestEveryNthPacket": acks.2,
            "ack_request_when_window_full": flags[1],
        })
    })
}

fn congestion(f: Frame) -> impl Strategy<Value = Value> {
    // Trims go first: unless windows shrink, what is trimmed again and again keeps data waiting.
    let gated = f.manner == Gentle && f.trimming;
    let rtt = select(vec![MICROSECOND, 6 * MICROSECOND, 30 * MICROSECOND]);
    let most = (prop::bool::weighted(0.3), 1u64..12);
    let adapt = (prop::bool::weighted(0.3), 0u64..=4, select(vec![MICROSECOND, 24 * MICROSECOND]));
    let band = select(vec![(0.0, 10.0), (25.0, 75.0), (5.0, 30.0)]);
    let rare = (prop::bool::weighted(0.1), prop::bool::weighted(0.9), any::<bool>());
    (rtt, most, adapt, band, rare, select(vec![0u64, 1, MICROSECOND])).prop_map(
        move |(rtt, most, adapt, band, rare, guard)| {
            json!({
                "PassThrough": rare.0 && !gated,
                "NSCCEnable": rare.1 || gated,
                "RestoreCWindEnable": rare.2,
                "InitialBaseRTT": rtt,
                "OverrideUetSpecMaxCWind": most.0,
                "MaxCongestionWindow": most.1,
                "DisableQuickAdapt": adapt.0,
                "QuickAdaptGate": adapt.1,
                "QuickAdaptThreshold": adapt.2,
                "ReceiverCongestionLowThreshold": band.0,
                "ReceiverCongestionHighThreshold": band.1,
                "base_rtt_guard": guard,
            })
        },
    )
}

fn roce(f: Frame) -> impl Strategy<Value = Value> {
    let acks = (any::<bool>(), 0u64..6, select(vec![MICROSECOND, 50 * MICROSECOND]));
    let ecn = (
        prop::bool::weighted(0.8),
        select(vec!["scala", "scala", "dcqcn", "none"]),
        select(vec!["occupies", "spaced"]),
        select(vec!["sent", "flushed"]),
        select(vec!["queue-pair", "flow"]),
        select(vec![None, Some(0u64), Some(20 * MICROSECOND)]),
    );
    let control = (select(vec![2_000u64, 45_000]), select(vec![0.1, 0.5]));
    (acks, ecn, control, timeout(f), 0u64..3).prop_map(
        move |(acks, ecn, control, timeout, start)| {
            json!({
                "MSS": f.mss,
                "RetransmitTimeout": timeout,
                "AckCoalescingEnabled": acks.0,
                "AckThreshold": acks.1 + 1,
                "AckDelay": acks.2,
                "EnableECN": ecn.0,
                "rate_control": ecn.1,
                "pacing": ecn.2,
                "stale_packets": ecn.3,
                "source_port": ecn.4,
                "cnp_interval": ecn.5,
                "ControlIntervalDurationNs": control.0,
                "MinimumRatePercentage": control.1,
                "start_delay": start * 40_000,
            })
        },
    )
}

fn window(f: Frame) -> impl Strategy<Value = Value> {
    (1u64..20, timeout(f), any::<bool>(), 1..=f.full).prop_map(move |(n, timeout, ect, beside)| {
        json!({"window": n * f.full + beside, "mss": f.mss, "retransmit_timeout": timeout,
            "ect": ect})
    })
}

/// What one host's NIC has of its own, or all have.
fn port(f: Frame) -> impl Strategy<Value = Value> {
    let gentle = f.manner == Gentle;
    let lanes = select(vec![f.rate / 4, f.rate / 2, f.rate, 2 * f.rate, 504_320_000_000]);
    let pfc = prop_oneof![
        2 => Just(vec![0u8; 8]),
        2 => Just(vec![1u8, 1, 0, 0, 0, 0, 0, 0]),
        1 => vec(0u8..2, 8)
    ];
    let points = (vec(select(vec![0.3, 0.8, 1.0]), 8), vec(select(vec![0.0, 0.1, 0.3]), 8));
    let until = prop_oneof![
        3 => (1u64..60).prop_map(|n| Some(n * MICROSECOND)),
        if gentle { 0 } else { 1 } => Just(None)
    ];
    let hold = prop_oneof![
        3 => Just(None),
        1 => (select(vec![vec![0], vec![1], vec![0, 1, 2]]), 0u64..20, until).prop_map(
            |(classes, from, length)| {
                let from = from * MICROSECOND;
                Some((classes, from, length.map(|length| from + length)))
            }
        )
    ];
    let ignore = if gentle { 0.05 } else { 0.15 };
    let response = prop_oneof![3 => Just(0u64), 1 => 0..2 * MICROSECOND];
    (lanes, pfc, points, hold, prop::bool::weighted(ignore), response).prop_map(
        |(lanes, pfc, points, hold, ignore, response)| {
            let mut port = json!({
                "HostLink": {"LaneBps": lanes, "LaneCount": 1},
                "PFCEnableVector": pfc,
                "PfcStaticXoffThreshold": points.0,
                "PfcXonResumeThreshold": points.1,
                "ignore_pfc": ignore,
                "PfcResponseTime": response,
            });
            if let Some((classes, from, until)) = hold {
                port["PFCEnableVector"] = json!(vec![0; 8]);
                port["hold"] = json!({"classes": classes, "from": from, "until": until});
            }
            port
        },
    )
}

fn nic(f: Frame) -> impl Strategy<Value = Value> {
    let least = if f.manner == Gentle { 4 } else { 1 };
    let queueing = select(vec!["StrictPriority", "RoundRobin", "WeightedRoundRobin"]);
    let own = prop::collection::btree_map(0..f.hosts, port(f), 0..=2);
    let pools = (least..12u64, 1u64..8);
    (port(f), own, pools, queueing, (uet(f), congestion(f), roce(f), window(f))).prop_map(
        move |(all, own, (rx, tx), queueing, (uet, congestion, roce, window))| {
            let mut nic = all;
            // An acknowledgement of RoCE is 126 B on the wire.
            let packet = f.full.max(110) + 18;
            let shares = [0.4, 0.3, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0];
            nic["model"] = json!(f.model);
            nic["Ingress"] = json!({"TotalBufferSize": rx * packet * 7 / 2,
                "PoolAllocationVector": shares});
            nic["Egress"] = json!({"TotalBufferSize": tx * packet * 7 / 2,
                "PoolAllocationVector": shares, "QueueSchedulingType": queueing,
                "WRRQueueWeights": [1, 3, 2, 0, 0, 0, 0, 0]});
            let hosts: serde_json::Map<String, Value> =
                own.into_iter().map(|(host, own)| (host.to_string(), own)).collect();
            nic["hosts"] = Value::Object(hosts);
            match f.model {
                "uet" => {
                    nic["ScalaUETPdsManager"] = uet;
                    nic["ScalaUETCongestionControl"] = congestion;
                }
                "roce" => nic["ScalaRoceTransport"] = roce,
                _ => nic["fixed_window"] = window,
            }
            nic
        },
    )
}

/// Constants of the NIC that its documentation leaves open, and quanta.
fn open_constants(f: Frame) -> impl Strategy<Value = Value> {
    let quanta =
        prop_oneof![Just(vec![65_535i64; 8]), vec(select(vec![40i64, 100, 1_000, 65_535]), 8)];
    let reading = select(vec!["retired-packets", "received-bytes"]);
    (quanta, select(vec![64u64, 84, 300]), reading).prop_map(move |(quanta, size, reading)| {
        let mut nic = json!({"QuantaValue": quanta, "Egress": {"pfc_frame_size": size}});
        if f.model == "uet" {
            nic["ScalaUETCongestionControl"] = json!({"newly_acknowledged": reading});
        }
        nic
    })
}

/// Lays objects over one another key by key.
fn merge(onto: &mut Value, over: Value) {
    match (onto, over) {
        (Value::Object(onto), Value::Object(over)) => {
            for (key, value) in over {
                merge(onto.entry(key).or_insert(Value::Null), value);
            }
        }
        (onto, over) => *onto = over,
    }
}

fn pattern(f: Frame) -> impl Strategy<Value = Value> {
    let mss = f.mss;
    let bytes =
        prop_oneof![3 => 1..30 * mss, 1 => Just(mss), 1 => (1u64..20).prop_map(move |n| n * mss)];
    let dscp = select(if f.model == "uet" { vec![0u64] } else { vec![0u64, 0, 16, 8] });
    let hosts = f.hosts;
    let kind = select(vec![
        "incast",
        "incast",
        "list",
        "permutation",
        "all-to-all",
        "uniform",
        "collective",
        "collective",
    ]);
    let collective = select(vec![
        ("all-reduce", "ring"),
        ("all-reduce", "tree"),
        ("all-reduce", "double-tree"),
        ("all-gather", "ring"),
        ("broadcast", "interleaved"),
        ("broadcast", "sequential"),
        ("gather", "direct"),
        ("scatter", "direct"),
        ("all-to-all", "interleaved"),
        ("all-to-all", "sequential"),
        ("barrier", "ring"),
        ("barrier", "tree"),
    ]);
    let ends = vec((0..hosts, 1..hosts, 1..30 * mss, 0u64..20), 1..8);
    let times = (0u64..20, select(vec![0u64, 0, 1, MICROSECOND]));
    (kind, bytes, dscp, (0..hosts, 1..hosts), times, collective, ends, 1u32..=2, any::<bool>())
        .prop_map(
            move |(kind, bytes, dscp, (to, n), (start, jitter), collective, ends, repeat, on)| {
                let common =
                    json!({"dscp": dscp, "start": start * MICROSECOND / 4, "jitter": jitter});
                let own = match kind {
                    "incast" => json!({"receiver": to, "senders": n, "bytes": bytes}),
                    "list" => {
                        let flows: Vec<Value> = ends
                            .iter()
                            .map(|(src, ahead, bytes, start)| {
                                json!({"src": src, "dst": (src + ahead) % hosts, "bytes": bytes,
                                "start": start * MICROSECOND / 2})
                            })
                            .collect();
                        return json!({"pattern": "flows", "flows": flows, "dscp": dscp});
                    }
                    "uniform" => json!({"load": 0.4, "bytes": bytes.max(200),
                    "length": 30 * mss * 8_000_000_000_000 / f.rate}),
                    "collective" => {
                        let (operation, algorithm) = collective;
                        let mut own = json!({"operation": operation, "algorithm": algorithm,
                        "repeat": repeat, "synchronize": on});
                        match operation {
                            "barrier" => {
                                drop(own.as_object_mut().and_then(|o| o.remove("synchronize")))
                            }
                            _ => own["bytes"] = json!(bytes),
                        }
                        own
                    }
                    _ => json!({"bytes": bytes}),
                };
                let mut pattern = common;
                pattern["pattern"] = json!(kind);
                if let (Some(all), Value::Object(own)) = (pattern.as_object_mut(), own) {
                    all.extend(own);
                }
                pattern
            },
        )
}

/// Duration, warm-up, interval, and whether the job ends when it has drained.
fn times(f: Frame) -> BoxedStrategy<(u64, u64, u64, bool)> {
    let interval = select(vec![7 * MICROSECOND, 20 * MICROSECOND + 1, 100 * MICROSECOND]);
    if f.manner == Gentle {
        // A window of one packet and an acknowledgement every sixth time take seconds of timeouts.
        return interval.prop_map(|i| (20_000_000 * MICROSECOND, 0, i * 1_000, true)).boxed();
    }
    (5u64..400, 0u64..12, interval, prop::bool::weighted(0.4))
        .prop_map(|(duration, warm, interval, drained)| {
            let duration = duration * MICROSECOND + 1;
            let warm_up = if warm < 8 { 0 } else { duration * (warm - 7) / 7 };
            (duration, warm_up, interval, drained)
        })
        .boxed()
}

/// A scenario that is allowed, with every table asked for.
pub fn case(manner: Manner) -> impl Strategy<Value = Case> {
    let model = select(vec!["uet", "uet", "roce", "fixed-window"]);
    let mss = select(vec![1u64, 40, 64, 200, 512, 1_000]);
    (topology(), model, mss, 0u8..8)
        .prop_flat_map(move |((topology, hosts, rate), model, mss, policy)| {
            let uet = model == "uet";
            let (policy, trimming) = (uet && policy < 5, uet && policy < 4);
            let mss = if manner == Gentle && trimming { mss.max(200) } else { mss };
            let f = Frame { model, manner, hosts, rate, mss, full: mss + 108, policy, trimming };
            // Drawn last: what was found before is still drawn alike.
            let open = open_constants(f);
            (Just(topology), switch(f), nic(f), vec(pattern(f), 1..=2), times(f), open)
        })
        .prop_filter_map("refused", |(topology, switch, mut nic, traffic, times, open)| {
            merge(&mut nic, open);
            let (duration, warm_up, interval, drained) = times;
            let scenario = json!({
                "duration": duration,
                "warm_up": warm_up,
                "until": if drained { "drained" } else { "duration" },
                "topology": topology,
                "switch": switch,
                "nic": nic,
                "traffic": traffic,
                "record": {"interval": interval, "tables": ["jobs", "port_buffers",
                    "switch_buffers", "drops", "pfc", "port_counters", "flows", "transport"]},
                "budget": {"events": 300_000},
            });
            let scenario: Scenario =
                serde_json::from_value(scenario).expect("every attribute has its name and kind");
            refusals(&scenario).is_empty().then_some(Case(scenario))
        })
}
