use super::*;
use crate::scenario::Timing;
use proptest::prelude::*;

const G400: u64 = 400_000_000_000;

fn link() -> impl Strategy<Value = LinkCase> {
    let rate = prop_oneof![
        prop::sample::select(vec![10u64, 25, 40, 100, 200, 400, 800])
            .prop_map(|g| g * 1_000_000_000),
        1_000_000_000u64..1_000_000_000_000,
    ];
    // Any delay, and delays at which the sender's frames and the pause meet.
    let delay = prop_oneof![0u64..4_000_000, (0u64..2_000).prop_map(|n| n * 40)];
    let packet = prop_oneof![46u64..9_216, Just(4_000), Just(46)];
    let response = prop_oneof![Just(0u64), 0u64..3_000_000];
    let timing = prop_oneof![4 => Just(Timing::Picoseconds), 1 => Just(Timing::WholeNs)];
    (rate, delay, packet.clone(), packet, response, 1u64..=8, timing).prop_map(
        |(rate, delay, packet, own_packet, response, pfc_frames, timing)| {
            let case = LinkCase { rate, delay, packet, own_packet, response, pfc_frames, timing };
            case.checked().unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The calculation is the simulator, packet for packet, at every alignment.
    #[test]
    fn the_calculation_is_what_the_simulator_does(
        case in link(),
        age in prop_oneof![Just(None), Just(Some(0.0)), Just(Some(1.0)), (0.0..1.0).prop_map(Some)],
    ) {
        // A frame of no time cannot be counted by time.
        prop_assume!(case.frame_time() > 1 && worst::worst(&case).is_ok());
        let own = case.own_time();
        let age = age.map(|share: f64| (own as f64 * share) as u64);
        let left = age.map_or(0, |age| own - age);
        let found = measure(&held(&case, age, ROOMY).unwrap()).unwrap();
        prop_assert_eq!(found.peak_headroom, worst::frames(&case, left) * case.packet);
        prop_assert_eq!(found.drops, 0);
    }

    /// The worst case is enough, a byte less is not, and no alignment takes more.
    #[test]
    fn the_worst_case_is_exact(case in link()) {
        prop_assume!(case.frame_time() > 1);
        let Ok(worst) = worst::worst(&case) else { return Ok(()) };
        let found = replay_link(&case).unwrap();
        prop_assert_eq!(found.needs, worst.bytes);
        prop_assert_eq!(found.around[1], (worst.bytes, 0));
        prop_assert_eq!(found.around[0].0, worst.bytes - 1);
        prop_assert!(found.around[0].1 >= 1);
    }

    /// Flows of several packet sizes in turn stay within the bound for mixes.
    #[test]
    fn mixes_stay_within_their_bound(
        case in link(),
        sizes in prop::collection::vec(0.0f64..1.0, 1..5),
        xoff_packets in 1u64..5,
    ) {
        let Ok(worst) = worst::worst(&case) else { return Ok(()) };
        let Some(bound) = worst.any_mix else { return Ok(()) };
        let mut scenario = held(&case, Some(0), ROOMY).unwrap();
        let Traffic::Flows(listed) = &mut scenario.traffic[0] else { unreachable!() };
        let one = listed.flows[0].clone();
        listed.flows.extend(sizes.iter().map(|share| {
            let packet = 46 + ((case.packet - 46) as f64 * share) as u64;
            FlowEntry { packet: Some(Bytes(packet)), ..one.clone() }
        }));
        let buffer = &mut scenario.switch.shared_buffer_manager;
        buffer.static_pool_xoff_threshold = Bytes(xoff_packets * case.packet);
        scenario.duration = Ps(scenario.duration.0 + 20 * case.frame_time());
        let found = measure(&scenario).unwrap();
        prop_assert!(found.peak_headroom <= bound, "{} above {bound}", found.peak_headroom);
        prop_assert_eq!(found.drops, 0);
    }
}

#[test]
fn the_defaults_need_14_frames_and_lose_one_with_a_byte_less() {
    let found = replay_link(&LinkCase::simple(G400, 500_000, 4_000)).unwrap();
    assert_eq!(found, LinkReplay { needs: 56_000, around: [(55_999, 1), (56_000, 0)] });
}

#[test]
fn a_link_whose_pauses_lapse_overflows_any_headroom() {
    // The sender acts after three quarters of a pause: it is free for a quarter of each.
    let slow = LinkCase { response: 63_000_000, ..LinkCase::simple(G400, 500_000, 4_000) };
    assert!(matches!(replay_link(&slow), Err(ReplayError::Unbounded(_))));
    let quick = LinkCase { response: 0, ..slow };
    let mut scenario = held(&quick, None, 8_000_000).unwrap();
    scenario.nic.pfc_response_time = Ps(slow.response);
    scenario.duration = Ps(2_000_000_000);
    let Traffic::Flows(listed) = &mut scenario.traffic[0] else { unreachable!() };
    listed.flows[0].bytes = Bytes(1_000_000_000);
    let found = measure(&scenario).unwrap();
    assert!(found.headroom_drops > 1_000, "{found:?}");
}

#[test]
fn a_replay_that_is_not_small_is_refused() {
    let long = LinkCase::simple(G400, 1_000_000_000_000, 46);
    assert!(matches!(replay_link(&long), Err(ReplayError::TooLong { .. })));
}

#[test]
fn an_incast_over_every_port_meets_its_conditions() {
    let case = LinkCase::simple(G400, 500_000, 4_000);
    let mut switch = Switch::default();
    switch.shared_buffer_manager.pool_allocation_map[..2].copy_from_slice(&[0.59, 0.41]);
    switch.shared_buffer_manager.head_room_per_port_limit = Bytes(58_000);
    let held = measure(&incast(&case, &switch, 128, 1, false).unwrap()).unwrap();
    assert_eq!((held.drops, held.peak_headroom, held.peak_occupancy), (0, 52_000, 704_000));
    let draining = measure(&incast(&case, &switch, 128, 1, true).unwrap()).unwrap();
    assert_eq!(draining.drops, 0);
    assert!(draining.peak_headroom <= 52_000);
    // At the default split pool 1 holds the pause points of 31 ports only.
    switch.shared_buffer_manager.pool_allocation_map[..2].copy_from_slice(&[0.9, 0.1]);
    let held = measure(&incast(&case, &switch, 128, 1, false).unwrap()).unwrap();
    assert!(held.pool_drops > 0);
}
