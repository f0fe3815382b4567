//! Strategies for small, hostile scenarios.

use poolsweep::scenario::links::pause_time;
use poolsweep::scenario::{
    AllToAll, Burst, Common, EcmpHashMethod, EcnHandler, Explicit, FatTree, FlowEntry, Flowlet,
    Flows, Hold, HostNic, Incast, LinkEntry, LoadBalancingMethod, Nic, NodeEntry, NodeKind, OnOff,
    PacketTrimmer, Permutation, Record, Role, Scenario, SharedBufferManager, Switch, Table,
    TierName, TierSwitch, Topology, Traffic, Uniform, Until,
};
use poolsweep::units::{BitRate, Bytes, Ps};
use proptest::collection::{btree_map, vec};
use proptest::option::{self, weighted};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use std::collections::BTreeMap;

/// A scenario that a failure shows as JSON, ready to be run again.
#[derive(Clone)]
pub struct Case(pub Scenario);

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(&self.0).map_err(|_| std::fmt::Error)?)
    }
}

/// Wire time of 100 B at the usual rate, 1 ns a byte.
const GRID: u64 = 100_000;
/// The usual rate, bit/s.
const RATE: u64 = 8_000_000_000;

/// A time on the grid, now and then beside it.
fn on_grid(steps: u64) -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => (0..=steps).prop_map(|n| n * GRID),
        1 => (0..=steps).prop_map(|n| n * GRID + 1),
        1 => 0..=steps * GRID,
    ]
}

fn rate() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => Just(RATE),
        1 => Just(RATE / 2),
        1 => Just(RATE * 2),
        1 => Just(7_000_000_000),
        1 => Just(3_333_333_333),
        1 => Just(400_000_000_000),
    ]
}

fn delay() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0), 3 => Just(GRID), 2 => Just(3 * GRID), 1 => Just(12_345)]
}

fn topology() -> impl Strategy<Value = Topology> {
    let single = (2u32..=6, rate(), delay()).prop_map(|(hosts, rate, delay)| {
        Topology::SingleSwitch { hosts, rate: Some(BitRate(rate)), delay: Some(Ps(delay)) }
    });
    let fabric = (option::of(rate()), option::of(delay()));
    let two_tiers = (1u32..=2, 1u32..=2, 1u32..=2, 1u32..=2, rate(), delay(), fabric)
        .prop_filter("two hosts", |t| t.0 * t.1 >= 2)
        .prop_map(|(leaves, hosts_per_leaf, spines, links_per_spine, rate, delay, fabric)| {
            Topology::LeafSpine {
                leaves,
                hosts_per_leaf,
                spines,
                links_per_spine,
                rate: Some(BitRate(rate)),
                delay: Some(Ps(delay)),
                fabric_rate: fabric.0.map(BitRate),
                fabric_delay: fabric.1.map(Ps),
            }
        });
    prop_oneof![3 => single, 2 => two_tiers, 1 => three_tiers(), 2 => ring()]
}

fn three_tiers() -> impl Strategy<Value = Topology> {
    let counts = (1u32..=2, 1u32..=2, 1u32..=2, 1u32..=2, 1u32..=2);
    let speeds = (rate(), delay(), option::of(rate()), option::of(delay()), option::of(rate()));
    (counts, 1u32..=2, 1u32..=2, speeds)
        .prop_filter("two hosts", |(counts, ..)| counts.0 * counts.1 * counts.2 >= 2)
        .prop_map(|((pods, leaves, hosts, above, plane), links, spine_links, speeds)| {
            Topology::FatTree(FatTree {
                k: None,
                pods: Some(pods),
                leaves_per_pod: Some(leaves),
                hosts_per_leaf: Some(hosts),
                aggregations_per_pod: Some(above),
                spines: Some(above * plane),
                links_per_aggregation: links,
                links_per_spine: spine_links,
                rate: Some(BitRate(speeds.0)),
                delay: Some(Ps(speeds.1)),
                fabric_rate: speeds.2.map(BitRate),
                fabric_delay: speeds.3.map(Ps),
                spine_rate: speeds.4.map(BitRate),
                spine_delay: None,
            })
        })
}

/// Switches in a ring, with one or two links between neighbours, of one tier or of two, and a host
/// or two at each: pauses can go round.
fn ring() -> impl Strategy<Value = Topology> {
    let links = vec((1u32..=2, weighted(0.2, rate()), weighted(0.3, delay())), 5);
    (3usize..=5, rate(), delay(), links, vec(any::<bool>(), 5), 1usize..=2).prop_map(
        |(switches, rate, delay, links, spines, hosts)| {
            let mut own = Explicit {
                rate: Some(BitRate(rate)),
                delay: Some(Ps(delay)),
                ..Explicit::default()
            };
            let node = |name: String, kind, tier| NodeEntry { name, kind, tier };
            for at in 0..switches {
                let tier = Some(if spines[at] { TierName::Spine } else { TierName::Leaf });
                own.nodes.push(node(format!("s{at}"), NodeKind::Switch, tier));
                for host in 0..if at == 0 { hosts } else { 1 } {
                    let name = format!("h{at}.{host}");
                    own.nodes.push(node(name.clone(), NodeKind::Host, None));
                    let b = format!("s{at}");
                    own.links.push(LinkEntry { a: name, b, rate: None, delay: None, count: 1 });
                }
                let (count, rate, delay) = links[at];
                own.links.push(LinkEntry {
                    a: format!("s{at}"),
                    b: format!("s{}", (at + 1) % switches),
                    rate: rate.map(BitRate),
                    delay: delay.map(Ps),
                    count,
                });
            }
            Topology::Explicit(own)
        },
    )
}

/// Rate and delay of the host links.
fn host_line(topology: &Topology) -> (u64, u64) {
    let (rate, delay) = match topology {
        Topology::SingleSwitch { rate, delay, .. } => (*rate, *delay),
        Topology::LeafSpine { rate, delay, .. } => (*rate, *delay),
        Topology::FatTree(tree) => (tree.rate, tree.delay),
        Topology::Explicit(own) => (own.rate, own.delay),
    };
    (rate.map_or(RATE, |r| r.0), delay.map_or(0, |d| d.0))
}

fn buffer(most_ports: u64) -> impl Strategy<Value = SharedBufferManager> {
    let pools = select(vec![
        vec![0.9, 0.1],
        vec![0.5, 0.5],
        vec![0.6, 0.3],
        vec![0.3, 0.0, 0.3, 0.2],
        vec![1.0],
    ]);
    let sizes = (300u64..8_000, prop_oneof![Just(0u64), 1..900u64]);
    let points = (1u64..2_000, 0u64..2_000);
    let lossy = (
        select(vec![0.0, 0.0, 0.25, 1.0, 4.0]),
        any::<bool>(),
        1u64..4,
        prop_oneof![2 => 100u64..1_500, 1 => 40..200u64, 1 => Just(4_000)],
    );
    (
        pools,
        vec(any::<prop::sample::Index>(), 8),
        vec(select(vec![1i64, 0, 1]), 8),
        sizes,
        points,
        lossy,
    )
        .prop_map(move |(shares, classes, pfc, (shared, headroom), (xoff, xon), lossy)| {
            let existing: Vec<i64> =
                (0..).zip(&shares).filter(|(_, s)| **s > 0.0).map(|(n, _)| n).collect();
            let mut map = [0.0; 8];
            map[..shares.len()].copy_from_slice(&shares);
            SharedBufferManager {
                total_shared_buffer_size: Bytes(shared + headroom * most_ports),
                pool_allocation_map: map,
                traffic_class_pool_mapping: std::array::from_fn(|n| *classes[n].get(&existing)),
                enable_pfc: std::array::from_fn(|n| pfc[n]),
                head_room_per_port_limit: Bytes(headroom),
                static_pool_xoff_threshold: Bytes(xoff),
                // Mostly below Xoff, as it is meant.
                static_pool_xon_threshold: Bytes(if xon % 7 == 0 { xon } else { xon % (xoff + 1) }),
                lossy_alpha: lossy.0,
                queue_drop_threshold_enable: lossy.1,
                queue_drop_threshold: lossy.2,
                plane_bdp: Bytes(lossy.3),
                ..SharedBufferManager::default()
            }
        })
}

/// Which policy the switches follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    Default,
    Uet,
    /// With trimming, and so without lossless classes.
    Trimming,
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![4 => Just(Policy::Default), 2 => Just(Policy::Uet), 3 => Just(Policy::Trimming)]
}

fn under(policy: Policy, buffer: SharedBufferManager) -> SharedBufferManager {
    let uet_policy_enabled = policy != Policy::Default;
    let enable_pfc = if policy == Policy::Trimming { [0; 8] } else { buffer.enable_pfc };
    SharedBufferManager { uet_policy_enabled, enable_pfc, ..buffer }
}

fn ecn() -> impl Strategy<Value = EcnHandler> {
    (
        prop::bool::weighted(0.9),
        select(vec![0.1, 0.5, 1.0]),
        select(vec![0.0, 0.05, 0.2, 0.5]),
        select(vec![0.5, 0.8, 1.0]),
        select(vec![1.0, 0.5, 0.1]),
    )
        .prop_map(|(enable_ecn, ewma_weight, min_threshold, max_threshold, probability)| {
            EcnHandler {
                enable_ecn,
                ewma_weight,
                min_threshold,
                max_threshold,
                max_mark_probability: probability,
            }
        })
}

fn hash() -> impl Strategy<Value = EcmpHashMethod> {
    select(vec![
        EcmpHashMethod::FlowId,
        EcmpHashMethod::Crc32,
        EcmpHashMethod::Crc32WithSalt,
        EcmpHashMethod::Hash,
        EcmpHashMethod::HashWithSalt,
        EcmpHashMethod::Dpr,
        EcmpHashMethod::DprWithFallback,
    ])
}

/// Whether and how flowlets are told apart.
fn flowlets() -> impl Strategy<Value = (LoadBalancingMethod, Flowlet)> {
    let method = select(vec![LoadBalancingMethod::None, LoadBalancingMethod::Flowlet]);
    let gap = prop_oneof![
        2 => Just(0),
        1 => Just(1),
        3 => on_grid(6),
        1 => on_grid(60),
        1 => Just(2_000_000_000_000),
    ];
    (method, gap, any::<bool>())
        .prop_map(|(method, gap, pfc_aware)| (method, Flowlet { gap: Ps(gap), pfc_aware }))
}

/// What differs in a tier. Classes keep their pools.
fn tier(policy: Policy) -> impl Strategy<Value = TierSwitch> {
    let points = (weighted(0.5, 1u64..2_000), weighted(0.5, 0u64..2_000));
    let limits = (weighted(0.5, select(vec![0.0, 0.5, 2.0])), weighted(0.5, 100u64..1_500));
    let pfc = weighted(0.3, vec(0i64..=1, 8));
    let rest = (weighted(0.3, on_grid(3)), weighted(0.3, any::<bool>()), weighted(0.5, flowlets()));
    (points, limits, pfc, rest).prop_map(move |(points, limits, pfc, rest)| {
        let (response, marks, flowlets) = rest;
        let mut own = TierSwitch { pfc_response_time: response.map(Ps), ..Default::default() };
        own.shared_buffer_manager.static_pool_xoff_threshold = points.0.map(Bytes);
        own.shared_buffer_manager.static_pool_xon_threshold = points.1.map(Bytes);
        own.shared_buffer_manager.lossy_alpha = limits.0;
        own.shared_buffer_manager.plane_bdp = limits.1.map(Bytes);
        own.shared_buffer_manager.enable_pfc =
            pfc.filter(|_| policy != Policy::Trimming).map(|pfc| std::array::from_fn(|n| pfc[n]));
        own.ecn_handler.enable_ecn = marks;
        if let Some((method, flowlet)) = flowlets {
            own.load_balancing_method = Some(method);
            own.ecmp_hash_method = Some(EcmpHashMethod::Crc32WithSalt);
            own.load_balancing_flowlet.gap = Some(flowlet.gap);
            own.load_balancing_flowlet.pfc_aware = Some(flowlet.pfc_aware);
        }
        own
    })
}

/// The policy, and what differs in some tiers.
fn tiers() -> impl Strategy<Value = (Policy, BTreeMap<TierName, TierSwitch>)> {
    policy().prop_flat_map(|policy| {
        let some = btree_map(select(TierName::ALL.to_vec()), tier(policy), 1..=2);
        let tiers = prop_oneof![3 => Just(BTreeMap::new()), 1 => some];
        (Just(policy), tiers)
    })
}

/// How long PFC takes to act: nothing, little, or about a pause of the line.
fn response(line: (u64, u64)) -> impl Strategy<Value = u64> {
    let pause = pause_time(line.0, line.1);
    prop_oneof![
        6 => Just(0),
        1 => Just(1),
        2 => on_grid(5),
        1 => select(vec![pause / 2, pause / 2 + GRID, pause - 1, pause, pause + 1]),
    ]
}

/// Quanta of a host's pauses; the frames of eight classes take as long as eight quanta.
fn quanta() -> impl Strategy<Value = [i64; 8]> {
    prop::array::uniform8(select(vec![17i64, 40, 41, 200, 1_000, 65_535]))
}

fn hold(line: (u64, u64)) -> impl Strategy<Value = Hold> {
    let half = pause_time(line.0, line.1) / 2;
    let classes = subsequence((0u64..8).collect::<Vec<_>>(), 1..=4);
    let length = prop_oneof![
        3 => on_grid(60).prop_map(|t| t + 1),
        1 => select(vec![half - 1, half, half + 1, 2 * half, 2 * half + GRID]),
    ];
    (classes, on_grid(40), weighted(0.7, length)).prop_map(|(classes, from, length)| Hold {
        classes,
        from: Ps(from),
        until: length.map(|length| Ps(from + length)),
    })
}

fn host_nic(line: (u64, u64)) -> impl Strategy<Value = HostNic> {
    let receive = (
        weighted(
            0.6,
            prop_oneof![
                Just(line.0 / 2),
                Just(line.0),
                Just(line.0 / 3),
                Just(5_000_000_000u64),
                Just(RATE)
            ],
        ),
        60u64..2_500,
        vec(0i64..=1, 8),
        vec(select(vec![0.3, 0.8, 1.0]), 8),
        vec(select(vec![0.0, 0.1, 0.3]), 8),
    );
    let acts =
        (prop_oneof![4 => Just(false), 1 => Just(true)], response(line), weighted(0.4, hold(line)));
    (receive, acts).prop_map(|((rate, pool, pfc, xoff, xon), (ignore_pfc, response, hold))| {
        let held = |class: usize| {
            hold.as_ref().is_some_and(|h: &Hold| h.classes.contains(&(class as u64)))
        };
        HostNic {
            pfc_response_time: Some(Ps(response)),
            ignore_pfc: Some(ignore_pfc),
            receive_rate: rate.map(BitRate),
            receive_pool: Some(Bytes(pool)),
            pfc_enable_vector: Some(std::array::from_fn(|n| {
                if held(n) || rate.is_none() { 0 } else { pfc[n] }
            })),
            pfc_static_xoff_threshold: Some(std::array::from_fn(|n| xoff[n])),
            pfc_xon_resume_threshold: Some(std::array::from_fn(|n| xon[n])),
            hold,
            ..HostNic::default()
        }
    })
}

/// IP bytes of a packet: on the grid, tiny (charged more than they are), about the 44 B a trim
/// leaves, odd.
fn packet() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => Just(82u64),
        2 => Just(182),
        1 => Just(32),
        1 => Just(1),
        1 => 20..48u64,
        1 => 1..400u64,
    ]
}

/// Codepoint role: mostly one that may be trimmed.
fn role() -> impl Strategy<Value = Option<Role>> {
    prop_oneof![
        4 => Just(Some(Role::Trimmable)),
        2 => Just(Some(Role::TrimmableRetransmit)),
        1 => Just(Some(Role::Trimmed)),
        1 => Just(Some(Role::Control)),
        1 => Just(Some(Role::NoTrim)),
        1 => Just(None),
    ]
}

fn cap() -> impl Strategy<Value = Option<u64>> {
    weighted(
        0.3,
        prop_oneof![Just(RATE), Just(RATE / 2), Just(RATE / 4), Just(5 * RATE), Just(999_999_999)],
    )
}

fn common() -> impl Strategy<Value = Common> {
    let jitter = prop_oneof![3 => Just(0), 1 => Just(1), 1 => on_grid(4)];
    (packet(), 0u64..64, any::<bool>(), on_grid(20), jitter, cap(), role()).prop_map(
        |(packet, dscp, ect, start, jitter, rate, role)| Common {
            packet: Bytes(packet),
            dscp,
            ect,
            role,
            start: Ps(start),
            jitter: Ps(jitter),
            rate: rate.map(BitRate),
        },
    )
}

/// IP bytes of a flow: enough packets to fill a buffer, few enough to be quick.
fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![1 => 1..200u64, 3 => 200..6_000u64, 1 => (1..40u64).prop_map(|n| n * 82)]
}

fn listed(hosts: u32) -> impl Strategy<Value = Traffic> {
    let class = prop_oneof![3 => Just(0u64), 2 => Just(1u64), 2 => 0..8u64];
    let ends = (0..hosts, 1..hosts);
    let entry = (ends, bytes(), packet(), class, any::<bool>(), on_grid(20), cap(), role());
    let entry =
        entry.prop_map(move |((src, ahead), bytes, packet, class, ect, start, rate, role)| {
            FlowEntry {
                src,
                dst: (src + ahead) % hosts,
                bytes: Bytes(bytes.min(packet * 60)),
                packet: Some(Bytes(packet)),
                dscp: Some(class * 8),
                ect: Some(ect),
                role,
                start: Ps(start),
                rate: rate.map(BitRate),
            }
        });
    vec(entry, 1..10).prop_map(|flows| Traffic::Flows(Flows { flows, common: Common::default() }))
}

fn pattern(hosts: u32) -> impl Strategy<Value = Traffic> {
    let few = |common: &Common, bytes: u64| Bytes(bytes.min(common.packet.0 * 30));
    let incast = (0..hosts, 1..hosts, bytes(), common()).prop_map(
        move |(receiver, senders, bytes, common)| {
            Traffic::Incast(Incast { receiver, senders, bytes: few(&common, bytes), common })
        },
    );
    let permutation = (bytes(), common()).prop_map(move |(bytes, common)| {
        Traffic::Permutation(Permutation { bytes: few(&common, bytes), common })
    });
    let all = (bytes(), common()).prop_map(move |(bytes, common)| {
        Traffic::AllToAll(AllToAll { bytes: few(&common, bytes), common })
    });
    let uniform = (select(vec![0.1, 0.5, 0.9]), 1u64..1_000, 1u64..40, common()).prop_map(
        move |(load, bytes, length, common)| {
            let packet = common.packet.0.max(20);
            Traffic::Uniform(Uniform {
                load,
                bytes: Some(Bytes(bytes.max(200))),
                sizes: None,
                length: Some(Ps(length * GRID)),
                common: Common { packet: Bytes(packet), ..common },
            })
        },
    );
    let on_off = (0..hosts, 1..hosts, 1u64..8, 0u64..8, any::<bool>(), 1u64..40, common())
        .prop_map(move |(receiver, senders, on, off, fixed, length, common)| {
            let packet = common.packet.0.max(20);
            Traffic::OnOff(OnOff {
                receiver,
                senders,
                on: Ps(on * GRID),
                off: Ps(off * GRID),
                burst: if fixed { Burst::Fixed } else { Burst::Exponential },
                length: Some(Ps(length * GRID)),
                common: Common { packet: Bytes(packet), ..common },
            })
        });
    prop_oneof![4 => listed(hosts), 4 => incast, 1 => permutation, 1 => all, 1 => uniform, 1 => on_off]
}

/// Duration, warm-up and interval.
fn times(line: (u64, u64)) -> impl Strategy<Value = (u64, u64, u64)> {
    let half = pause_time(line.0, line.1) / 2;
    let duration = prop_oneof![
        4 => on_grid(250).prop_map(|t| t + 1),
        2 => select(vec![half + GRID, 2 * half + 3 * GRID, 5 * half]),
        1 => (1u64..5).prop_map(move |n| n * half),
    ];
    (duration, 0u64..24, 0u64..30, -1i64..=1).prop_map(|(duration, intervals, warm, beside)| {
        let interval = (duration / (intervals + 1)).max(1);
        // On the grid where that leaves a sensible number of intervals, then a little beside it.
        let interval = if interval > GRID { interval / GRID * GRID } else { interval };
        let interval = interval.saturating_add_signed(beside).max(duration / 40).max(1);
        let warm_up = match warm {
            0..12 => 0,
            12..24 => duration * (warm - 12) / 12 / GRID * GRID,
            24 => interval,
            25 => 2 * interval,
            26 => duration - 1,
            27 => 1,
            _ => duration / 3,
        };
        (duration, warm_up.min(duration - 1), interval)
    })
}

/// A small scenario that is allowed, with every table asked for.
pub fn case() -> impl Strategy<Value = Case> {
    topology().prop_flat_map(|topology| {
        let hosts = topology.hosts() as u32;
        let line = host_line(&topology);
        (
            Just(topology),
            (buffer(8), ecn(), hash(), response(line), tiers(), flowlets()),
            btree_map(0..hosts, host_nic(line), 0..=hosts as usize),
            vec(pattern(hosts), 1..=3),
            times(line),
            (prop::bool::weighted(0.4), prop::bool::weighted(0.1), any::<bool>()),
            // Drawn last: what was found before is still drawn alike.
            btree_map(0..hosts, quanta(), 0..=hosts as usize),
        )
            .prop_map(|(topology, switch, mut hosts, traffic, times, ends, quanta)| {
                let (drained, zeros, stop_on_deadlock) = ends;
                for (host, quanta) in quanta {
                    hosts.entry(host).or_default().quanta_value = Some(quanta);
                }
                let (buffer, ecn, hash, response, (policy, tiers), flowlets) = switch;
                let (method, load_balancing_flowlet) = flowlets;
                // What spreads by destination alone does not go with flowlets.
                let hash = match (method, hash) {
                    (LoadBalancingMethod::None, hash) => hash,
                    (_, EcmpHashMethod::Dpr | EcmpHashMethod::DprWithFallback) => {
                        EcmpHashMethod::Crc32
                    }
                    (_, hash) => hash,
                };
                let (duration, warm_up, interval) = times;
                Case(Scenario {
                    duration: Ps(duration),
                    until: if drained { Until::Drained } else { Until::Duration },
                    stop_on_deadlock,
                    warm_up: Ps(warm_up),
                    seed_streams: Default::default(),
                    timing: Default::default(),
                    topology,
                    switch: Switch {
                        shared_buffer_manager: under(policy, buffer),
                        packet_trimmer: PacketTrimmer {
                            trimming_enabled: policy == Policy::Trimming,
                        },
                        ecn_handler: ecn,
                        ecmp_hash_method: hash,
                        load_balancing_method: method,
                        load_balancing_flowlet,
                        tiers,
                        pfc_response_time: Ps(response),
                        ..Switch::default()
                    },
                    nic: Nic { hosts, ..Nic::default() },
                    traffic,
                    record: Record {
                        interval: Some(Ps(interval)),
                        tables: vec![
                            Table::Jobs,
                            Table::PortBuffers,
                            Table::SwitchBuffers,
                            Table::Drops,
                            Table::Pfc,
                            Table::PortCounters,
                            Table::Flows,
                            Table::LoadBalancing,
                        ],
                        zeros,
                    },
                    budget: Default::default(),
                })
            })
    })
}

/// Lossless traffic that goes round a ring of four or five switches: pauses may wait for one
/// another, and mostly do.
pub fn circling() -> impl Strategy<Value = Case> {
    let points = (100u64..900, 0u64..=100, 0u64..3_000);
    let packet = prop_oneof![3 => Just(82u64), 2 => Just(182), 1 => 1..400u64];
    let flows = vec((2_000u64..15_000, on_grid(10), packet, 0u64..2, 1usize..=2), 5..=9);
    let links = vec(prop_oneof![4 => Just(1u32), 1 => Just(2)], 5);
    (
        case(),
        prop_oneof![1 => Just(4usize), 3 => Just(5)],
        links,
        points,
        flows,
        delay(),
        1u64..900,
        any::<bool>(),
    )
        .prop_map(
            |(
                Case(mut case),
                count,
                links,
                (xoff, percent, headroom),
                flows,
                delay,
                duration,
                two,
            )| {
                let name = |kind: char, at: usize| format!("{kind}{}", at % count);
                let mut own = Explicit {
                    rate: Some(BitRate(RATE)),
                    delay: Some(Ps(delay)),
                    ..Explicit::default()
                };
                for (at, &parallel) in links.iter().enumerate().take(count) {
                    for (kind, of) in [(NodeKind::Host, 'h'), (NodeKind::Switch, 's')] {
                        own.nodes.push(NodeEntry { name: name(of, at), kind, tier: None });
                    }
                    for (a, b, count) in [
                        (name('h', at), name('s', at), 1),
                        (name('s', at), name('s', at + 1), parallel),
                    ] {
                        own.links.push(LinkEntry { a, b, rate: None, delay: None, count });
                    }
                }
                case.topology = Topology::Explicit(own);
                case.duration = Ps(duration * GRID);
                case.warm_up = Ps(0);
                case.record.interval = Some(Ps(duration * GRID / 3 + 1));
                case.nic = Nic::default();
                case.switch.tiers.clear();
                case.switch.packet_trimmer.trimming_enabled = false;
                case.switch.shared_buffer_manager = SharedBufferManager {
                    total_shared_buffer_size: Bytes(60_000),
                    head_room_per_port_limit: Bytes(headroom),
                    static_pool_xoff_threshold: Bytes(xoff),
                    static_pool_xon_threshold: Bytes(xoff * percent / 100),
                    pool_allocation_map: [0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                    traffic_class_pool_mapping: [0, i64::from(two), 0, 0, 0, 0, 0, 0],
                    ..SharedBufferManager::default()
                };
                let entries = flows.into_iter().enumerate().map(|(at, flow)| {
                    let (bytes, start, packet, class, ahead) = flow;
                    FlowEntry {
                        src: (at % count) as u32,
                        // The first of every host goes two switches on, round the ring.
                        dst: ((at + if at < count { 2 } else { ahead }) % count) as u32,
                        bytes: Bytes(bytes.min(packet * 80)),
                        packet: Some(Bytes(packet)),
                        dscp: Some(class * 8),
                        ect: None,
                        role: None,
                        start: Ps(start),
                        rate: None,
                    }
                });
                let flows = entries.collect();
                case.traffic = vec![Traffic::Flows(Flows { flows, common: Common::default() })];
                Case(case)
            },
        )
}
