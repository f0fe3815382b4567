//! Whatever a scenario holds, the checks end with a report.

use super::*;
use proptest::prelude::*;

/// Numbers near every edge, and any other.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..10u64,
        Just(46u64),
        Just(65_535u64),
        Just(u64::from(u32::MAX)),
        Just(u64::from(u32::MAX) + 1),
        Just(u64::MAX),
        any::<u64>(),
    ]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..1.0, any::<f64>()]
}

prop_compose! {
    fn arbitrary_scenario()(
        times in proptest::array::uniform8(number()),
        bytes in proptest::array::uniform8(number()),
        rates in proptest::array::uniform4(proptest::option::of(number())),
        shares in proptest::array::uniform8(float()),
        odds in proptest::array::uniform6(float()),
        pools in proptest::array::uniform8(prop_oneof![0..8i64, any::<i64>()]),
        pfc in proptest::array::uniform8(prop_oneof![0..2i64, any::<i64>()]),
        sizes in proptest::array::uniform5(any::<u32>().prop_flat_map(|wide| {
            prop_oneof![0..5u32, Just(wide)]
        })),
        single in any::<bool>(),
        dscp in number(),
        flags in proptest::array::uniform4(any::<bool>()),
    ) -> Scenario {
        use crate::scenario::*;
        use crate::units::{BitRate, Bytes, Ps};
        let rate = |i: usize| rates[i].map(BitRate);
        let topology = if single {
            Topology::SingleSwitch { hosts: sizes[0], rate: rate(0), delay: Some(Ps(times[0])) }
        } else {
            Topology::LeafSpine {
                leaves: sizes[0],
                hosts_per_leaf: sizes[1],
                spines: sizes[2],
                links_per_spine: sizes[3],
                rate: rate(0),
                delay: None,
                fabric_rate: rate(1),
                fabric_delay: Some(Ps(times[0])),
            }
        };
        let switch = Switch {
            load_balancing_method: LoadBalancingMethod::None,
            pfc_response_time: Ps(times[1]),
            shared_buffer_manager: SharedBufferManager {
                total_shared_buffer_size: Bytes(bytes[0]),
                uet_policy_enabled: flags[0],
                pool_allocation_map: shares,
                traffic_class_pool_mapping: pools,
                enable_pfc: pfc,
                head_room_per_port_limit: Bytes(bytes[1]),
                static_pool_xoff_threshold: Bytes(bytes[2]),
                static_pool_xon_threshold: Bytes(bytes[3]),
                lossy_alpha: odds[0],
                queue_drop_threshold_enable: flags[1],
                queue_drop_threshold: bytes[4],
                plane_bdp: Bytes(bytes[5]),
                buffer_stats_report_interval: Ps(times[2]),
            },
            ecn_handler: EcnHandler {
                enable_ecn: true,
                ewma_weight: odds[1],
                min_threshold: odds[2],
                max_threshold: odds[3],
                max_mark_probability: odds[4],
            },
            ..Switch::default()
        };
        let hold = Hold { classes: vec![dscp], from: Ps(times[3]), until: Some(Ps(times[4])) };
        let own = HostNic { receive_pool: Some(Bytes(bytes[6])), ..HostNic::default() };
        let models = [NicModel::OpenLoop, NicModel::FixedWindow, NicModel::Uet, NicModel::Roce];
        let mut usual = Nic::of_model(models[(dscp % 4) as usize]);
        usual.ingress.total_buffer_size = Bytes(bytes[0]);
        usual.ingress.pool_allocation_vector = if flags[1] { shares } else { [0.125; 8] };
        usual.egress.total_buffer_size = Bytes(bytes[1]);
        usual.egress.wrr_queue_weights = pools;
        usual.host_link.lane_bps = BitRate(bytes[2]);
        usual.host_link.lane_count = bytes[3];
        usual.pds_manager.rdma_data_mss = Bytes(bytes[4]);
        usual.pds_manager.ack_request_every_nth_packet = bytes[5];
        usual.pds_manager.max_exponential_rto_backoff_count = bytes[6];
        usual.congestion_control.initial_base_rtt = Ps(times[0]);
        usual.congestion_control.max_congestion_window = bytes[7];
        usual.congestion_control.override_uet_spec_max_cwind = flags[3];
        usual.congestion_control.gamma = odds[0];
        usual.roce.mss = Bytes(bytes[4]);
        usual.roce.rdma_control_packet_tc = dscp;
        usual.roce.control_interval_duration_ns = times[1];
        usual.fixed_window.header = Bytes(bytes[5]);
        usual.fixed_window.mss = Bytes(bytes[6]);
        usual.fixed_window.control_class = bytes[7];
        let nic = Nic {
            receive_rate: rate(2),
            pfc_enable_vector: pfc,
            hold: flags[2].then_some(hold),
            hosts: std::collections::BTreeMap::from([(sizes[4], own)]),
            ..usual
        };
        let common = Common {
            packet: Bytes(bytes[7]),
            dscp,
            start: Ps(times[5]),
            jitter: Ps(times[6]),
            rate: rate(3),
            ..Common::default()
        };
        let bytes = Bytes(bytes[6]);
        let entry = FlowEntry {
            src: sizes[2],
            dst: sizes[3],
            bytes,
            packet: None,
            dscp: Some(dscp),
            ect: None,
            role: None,
            start: Ps(times[5]),
            rate: rate(3),
        };
        let traffic = vec![
            Traffic::Incast(Incast {
                receiver: sizes[3],
                senders: sizes[4],
                bytes,
                common: common.clone(),
            }),
            Traffic::Ring(Ring {
                bytes,
                steps: RingSteps::AllReduce,
                step_time: Some(Ps(times[6])),
                common: common.clone(),
            }),
            Traffic::Uniform(Uniform {
                load: odds[5],
                bytes: flags[3].then_some(bytes),
                sizes: None,
                length: Some(Ps(times[6])),
                common: common.clone(),
            }),
            Traffic::OnOff(OnOff {
                receiver: 0,
                senders: sizes[4],
                on: Ps(times[6]),
                off: Ps(times[7]),
                burst: Burst::Fixed,
                length: None,
                common: common.clone(),
            }),
            Traffic::Collective(Collective {
                operation: if flags[0] { Operation::AllReduce } else { Operation::Gather },
                algorithm: flags[1].then_some(Algorithm::HalvingDoubling),
                bytes: flags[2].then_some(bytes),
                ranks: flags[3].then(|| vec![sizes[2], sizes[3]]),
                group: flags[1].then_some(sizes[4]),
                root: sizes[3],
                repeat: sizes[4],
                synchronize: flags[0],
                common: common.clone(),
            }),
            Traffic::Flows(Flows { flows: vec![entry], common }),
        ];
        Scenario {
            duration: Ps(times[7]),
            stop_on_deadlock: flags[0],
            until: Until::Drained,
            warm_up: Ps(times[3]),
            seed_streams: SeedStreams::default(),
            timing: Timing::default(),
            topology,
            switch,
            nic,
            traffic,
            record: Record { interval: Some(Ps(times[4])), ..Record::default() },
            budget: Budget { events: dscp, simulated_time: None },
        }
    }
}

proptest! {
    #[test]
    fn checking_never_panics(scenario in arbitrary_scenario()) {
        let report = check(&scenario);
        prop_assert!(report.refusals.len() <= MAX_FINDINGS);
        prop_assert_eq!(&refusals(&scenario), &report.refusals);
        prop_assert!(!crate::scenario::inspect::inspect(&scenario).is_empty());
        // What the checks accept, the start-up and the network accept too.
        if report.accepted() {
            let outline = Outline::new(&scenario).unwrap();
            for kind in outline.switch_kinds() {
                prop_assert!(Startup::new(&scenario.switch, kind.ports()).is_ok());
            }
        }
    }
}
