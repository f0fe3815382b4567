//! The worked numbers of the switch, packet by packet.

use super::*;
use crate::scenario::Switch;
use crate::scenario::startup::Startup;
use crate::units::Bytes;

const B: u64 = 4_000;

fn switch() -> Switch {
    Switch::default()
}

/// A switch with every one of its `ports` connected.
fn scala(switch: &Switch, ports: u32) -> Scala {
    Scala::new(&Startup::new(switch, ports).unwrap(), ports as usize)
}

/// An arrival that is admitted all the way to the queue of a port.
fn pass(m: &mut Scala, from: usize, to: usize, tc: u8) -> Arrival {
    let answer = m.arrive(from, tc, B);
    let place = answer.admitted.unwrap();
    m.enqueue(from, to, tc, B, place, false).unwrap();
    answer
}

/// Port 0 filled with 240 packets of TC0 for port 1: paused, headroom full.
fn full() -> Scala {
    let mut m = scala(&switch(), 128);
    for _ in 0..240 {
        pass(&mut m, 0, 1, 0);
    }
    m
}

#[test]
fn the_pause_comes_with_packet_176_and_the_drop_with_241() {
    let mut m = scala(&switch(), 128);
    for n in 1..=175 {
        assert_eq!(
            pass(&mut m, 0, 1, 0),
            Arrival { admitted: Ok(Place::Pool), pause: false },
            "{n}"
        );
    }
    assert_eq!(m.held(0, 0), (700_000, 0, 0));
    assert!(!m.paused(0, 0));
    // The packet that pauses still goes to the pool.
    assert_eq!(pass(&mut m, 0, 1, 0), Arrival { admitted: Ok(Place::Pool), pause: true });
    assert_eq!(m.held(0, 0), (704_000, 0, 0));
    assert!(m.paused(0, 0));
    for n in 177..=240u64 {
        assert_eq!(
            pass(&mut m, 0, 1, 0),
            Arrival { admitted: Ok(Place::Headroom), pause: false },
            "{n}"
        );
        assert_eq!(m.held(0, 0), (704_000, (n - 176) * B, 0));
    }
    assert_eq!(m.held(0, 0), (704_000, 256_000, 0));
    assert_eq!(
        m.arrive(0, 0, B),
        Arrival { admitted: Err(DropReason::IngressHeadroom), pause: false }
    );
    // Nothing is charged for the dropped one; one byte less than a packet is refused too.
    assert_eq!(m.held(0, 0), (704_000, 256_000, 0));
    assert_eq!(m.arrive(0, 0, 1).admitted, Err(DropReason::IngressHeadroom));
    assert_eq!(m.held(1, 0), (0, 0, 240 * B));
    // Headroom is not part of the pool, the egress queue holds all.
    assert_eq!(m.pool_held(0), (704_000, 960_000));
    // The port's other pool is not paused.
    assert!(!m.paused(0, 1));
    assert_eq!(m.arrive(0, 1, B), Arrival { admitted: Ok(Place::Pool), pause: false });
}

#[test]
fn departures_empty_the_headroom_first_and_the_resume_is_on_165() {
    let mut m = full();
    for n in 1..=64u64 {
        let gone = m.depart(0, 1, 0, B);
        assert_eq!((gone.from_headroom, gone.from_pool), (B, 0), "{n}");
        assert_eq!((gone.headroom, gone.ingress), (256_000 - n * B, 704_000));
        assert!(!gone.resume);
    }
    for n in 65..=164u64 {
        let gone = m.depart(0, 1, 0, B);
        assert_eq!((gone.from_headroom, gone.from_pool), (0, B), "{n}");
        assert!(!gone.resume, "{n}");
    }
    assert_eq!((m.held(0, 0), m.held(1, 0).2), ((304_000, 0, 0), 76 * B));
    assert!(m.paused(0, 0));
    let gone = m.depart(0, 1, 0, B);
    assert_eq!((gone.ingress, gone.queue, gone.resume), (300_000, 75 * B, true));
    assert!(!m.paused(0, 0));
    // Only the change from paused resumes.
    assert!(!m.depart(0, 1, 0, B).resume);
}

#[test]
fn with_xon_equal_to_xoff_the_resume_is_on_departure_65() {
    let mut s = switch();
    s.shared_buffer_manager.static_pool_xon_threshold = Bytes(700_000);
    let mut m = scala(&s, 128);
    for _ in 0..240 {
        pass(&mut m, 0, 1, 0);
    }
    for n in 1..=64 {
        assert!(!m.depart(0, 1, 0, B).resume, "{n}");
    }
    assert_eq!((m.held(0, 0), m.held(1, 0).2), ((704_000, 0, 0), 176 * B));
    assert!(m.depart(0, 1, 0, B).resume);
    assert_eq!((m.held(0, 0), m.held(1, 0).2), ((700_000, 0, 0), 175 * B));
}

#[test]
fn a_departure_is_split_between_headroom_and_pool() {
    let mut m = full();
    for _ in 0..63 {
        m.depart(0, 1, 0, B);
    }
    // A packet of another size: 4,000 B of headroom are left for its 6,000 B.
    let gone = m.depart(0, 1, 0, 6_000);
    assert_eq!((gone.from_headroom, gone.from_pool), (4_000, 2_000));
    assert_eq!((gone.headroom, gone.ingress), (0, 702_000));
    assert_eq!(m.pool_held(0).0, 702_000);
}

#[test]
fn pool_1_holds_the_pause_points_of_31_ports() {
    let mut m = scala(&switch(), 128);
    for port in 0..31 {
        for n in 1..=176 {
            assert_eq!(pass(&mut m, port, 100, 1).pause, n == 176, "{port} {n}");
        }
    }
    assert_eq!(m.pool_held(1).0, 21_824_000);
    // What is left, 499,200 B, is 124 packets; port 31 never reaches its pause point.
    for n in 1..=124 {
        assert!(!pass(&mut m, 31, 100, 1).pause, "{n}");
    }
    assert_eq!(
        m.arrive(31, 1, B),
        Arrival { admitted: Err(DropReason::IngressPool), pause: false }
    );
    assert_eq!(m.held(31, 1), (496_000, 0, 0));
    assert_eq!(m.pool_held(1).0, 22_320_000);
    // Exactly full is still admitted, one byte more is not.
    assert_eq!(m.arrive(31, 1, 3_201).admitted, Err(DropReason::IngressPool));
    assert_eq!(m.arrive(31, 1, 3_200).admitted, Ok(Place::Pool));
    assert_eq!(m.pool_held(1).0, 22_323_200);
    // Headroom of a paused port is not checked against the pool.
    assert_eq!(m.arrive(0, 1, B).admitted, Ok(Place::Headroom));
    assert_eq!(m.pool_held(1).0, 22_323_200);
}

#[test]
fn larger_shares_or_a_lower_xoff_give_pool_1_room_for_128_pause_points() {
    let mut wide = switch();
    wide.shared_buffer_manager.pool_allocation_map = [0.59, 0.41, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let mut low = switch();
    low.shared_buffer_manager.static_pool_xoff_threshold = Bytes(170_400);
    for (name, settings) in [("share", &wide), ("xoff", &low)] {
        let mut m = scala(settings, 128);
        let xoff = settings.shared_buffer_manager.static_pool_xoff_threshold.0;
        for port in 0..128 {
            while !pass(&mut m, port, 100, 1).pause {}
            assert!(m.held(port, 1).0 <= xoff + B, "{name}");
        }
    }
    // One byte of Xoff more and the last packet of all, at its largest, finds no room.
    low.shared_buffer_manager.static_pool_xoff_threshold = Bytes(170_401);
    let mut m = scala(&low, 128);
    for port in 0..128 {
        assert_eq!(m.arrive(port, 1, 170_401).admitted, Ok(Place::Pool));
        let last = m.arrive(port, 1, B);
        assert!(last.pause);
        assert_eq!(last.admitted.is_ok(), port < 127, "{port}");
    }
}

#[test]
fn a_pause_stands_although_its_packet_found_no_room() {
    let mut s = switch();
    s.shared_buffer_manager.static_pool_xoff_threshold = Bytes(22_323_200);
    let mut m = scala(&s, 128);
    assert!(!m.arrive(0, 1, 22_320_000).pause);
    assert_eq!(m.arrive(0, 1, B), Arrival { admitted: Err(DropReason::IngressPool), pause: true });
    assert!(m.paused(0, 1));
    assert_eq!(m.held(0, 1), (22_320_000, 0, 0));
}

#[test]
fn lossy_bytes_count_for_xoff_and_do_not_resume() {
    // Class 2 is lossy and shares pool 0 with lossless class 0.
    let mut m = scala(&switch(), 128);
    for _ in 0..175 {
        assert_eq!(pass(&mut m, 0, 1, 2), Arrival { admitted: Ok(Place::Pool), pause: false });
    }
    assert!(pass(&mut m, 0, 1, 0).pause);
    // A lossy packet of a paused port is charged to the pool, not to the headroom.
    assert_eq!(pass(&mut m, 0, 1, 2).admitted, Ok(Place::Pool));
    assert_eq!(m.held(0, 0), (708_000, 0, 0));
    // The last lossless packet leaves while lossy bytes keep the occupancy above Xon; the
    // lossy ones that follow are not checked: the port stays paused with nothing inside.
    assert!(!m.depart(0, 1, 0, B).resume);
    for _ in 0..176 {
        let gone = m.depart(0, 1, 2, B);
        assert_eq!((gone.from_headroom, gone.from_pool, gone.resume), (0, B, false));
    }
    assert_eq!(m.held(0, 0), (0, 0, 0));
    assert!(m.paused(0, 0));
}

#[test]
fn a_lossy_departure_leaves_the_headroom_alone() {
    let mut m = full();
    pass(&mut m, 0, 1, 2);
    let gone = m.depart(0, 1, 2, B);
    assert_eq!((gone.from_headroom, gone.from_pool), (0, B));
    assert_eq!((gone.headroom, gone.ingress), (256_000, 704_000));
}

/// How many packets of a lossy class one port's queue takes from many, and why not the next.
fn lossy_fill(switch: &Switch, tc: u8) -> (u64, DropReason) {
    let mut m = scala(switch, 128);
    for n in 0.. {
        let from = (n % 100) as usize;
        let place = m.arrive(from, tc, B).admitted.unwrap();
        let before = (m.held(from, m.pool_of(tc)), m.pool_held(m.pool_of(tc)));
        if let Err(reason) = m.enqueue(from, 127, tc, B, place, false) {
            // The ingress charge is given back at once.
            let after = (m.held(from, m.pool_of(tc)), m.pool_held(m.pool_of(tc)));
            assert_eq!(after.0, (before.0.0 - B, before.0.1, before.0.2));
            assert_eq!(after.1, (before.1.0 - B, before.1.1));
            return (n, reason);
        }
    }
    unreachable!("some packet is refused")
}

/// The defaults with class 2 lossy in pool 0 and class 3 lossy in pool 1.
fn lossy_switch() -> Switch {
    let mut s = switch();
    s.shared_buffer_manager.traffic_class_pool_mapping = [0, 1, 0, 1, 0, 0, 0, 0];
    s
}

#[test]
fn the_even_split_limits_queues_to_their_share() {
    let mut s = lossy_switch();
    s.shared_buffer_manager.lossy_alpha = 0.0;
    // 1,569,600 and 174,400 B a port.
    assert_eq!(lossy_fill(&s, 2), (392, DropReason::EgressQueueLimit));
    assert_eq!(lossy_fill(&s, 3), (43, DropReason::EgressQueueLimit));
    let mut m = scala(&s, 128);
    let place = m.arrive(0, 3, 174_400).admitted.unwrap();
    assert!(m.enqueue(0, 1, 3, 174_400, place, false).is_ok());
    let place = m.arrive(0, 3, 46).admitted.unwrap();
    assert_eq!(m.enqueue(0, 1, 3, 46, place, false), Err(DropReason::EgressQueueLimit));
    // Another port has its own share.
    let place = m.arrive(0, 3, 174_400).admitted.unwrap();
    assert!(m.enqueue(0, 2, 3, 174_400, place, false).is_ok());
}

#[test]
fn the_fixed_cap_limits_queues_of_every_pool_alike() {
    let mut s = lossy_switch();
    s.shared_buffer_manager.lossy_alpha = 0.0;
    s.shared_buffer_manager.queue_drop_threshold_enable = true;
    assert_eq!(lossy_fill(&s, 2), (375, DropReason::EgressQueueLimit));
    assert_eq!(lossy_fill(&s, 3), (375, DropReason::EgressQueueLimit));
    // Pool 1 holds 14 full caps; the 15th ends at the pool, on the egress side where
    // lossless bytes from headroom fill it (those are not in the ingress pool).
    let mut m = scala(&s, 128);
    for port in 0..14 {
        let place = m.arrive(port, 3, 1_500_000).admitted.unwrap();
        assert!(m.enqueue(port, port, 3, 1_500_000, place, false).is_ok());
    }
    assert_eq!(m.arrive(14, 3, 1_500_000).admitted, Err(DropReason::IngressPool));
    // Port 20 pauses on its first packet and puts the rest into headroom.
    let place = m.arrive(20, 1, 700_001).admitted;
    assert_eq!(place, Ok(Place::Pool));
    assert!(m.paused(20, 1));
    assert!(m.enqueue(20, 20, 1, 700_001, Place::Pool, false).is_ok());
    for _ in 0..64 {
        let place = m.arrive(20, 1, B).admitted.unwrap();
        assert_eq!(place, Place::Headroom);
        assert!(m.enqueue(20, 20, 1, B, place, false).is_ok());
    }
    assert_eq!(m.pool_held(1), (21_700_001, 21_956_001));
    let place = m.arrive(21, 3, 400_000).admitted.unwrap();
    assert_eq!(m.enqueue(21, 21, 3, 400_000, place, false), Err(DropReason::EgressPool));
    assert_eq!(m.held(21, 1), (0, 0, 0));
    // Lossless packets are admitted whatever the egress pool holds.
    let place = m.arrive(21, 1, 400_000).admitted.unwrap();
    assert!(m.enqueue(21, 21, 1, 400_000, place, false).is_ok());
    assert_eq!(m.pool_held(1), (22_100_001, 22_356_001));
    // The egress pool is now above its size: the dynamic form must not go below 0.
    let place = m.arrive(22, 3, 46).admitted.unwrap();
    assert_eq!(m.enqueue(22, 22, 3, 46, place, false), Err(DropReason::EgressPool));
}

#[test]
fn a_dynamic_limit_levels_off_at_alpha_over_one_plus_alpha() {
    let mut s = lossy_switch();
    for alpha in [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0] {
        s.shared_buffer_manager.lossy_alpha = alpha;
        // q + b ≤ alpha × (size − q) with q = n × b: the most packets is one above the
        // largest n with n + 1 ≤ alpha × (size ÷ b − n).
        let level = (alpha * 22_323_200.0 / 4_000.0 - 1.0) / (1.0 + alpha);
        assert_eq!(
            lossy_fill(&s, 3),
            (level.floor() as u64 + 1, DropReason::EgressQueueLimit),
            "alpha {alpha}"
        );
    }
}

#[test]
fn equal_queues_level_off_near_alpha_pool_over_one_plus_alpha_times_their_number() {
    let mut s = lossy_switch();
    for (alpha, queues) in [(1.0, 4usize), (0.5, 8), (2.0, 3)] {
        s.shared_buffer_manager.lossy_alpha = alpha;
        let mut m = scala(&s, 128);
        let mut open = vec![true; queues];
        while open.iter().any(|&o| o) {
            for (queue, open) in open.iter_mut().enumerate().filter(|(_, o)| **o) {
                let place = m.arrive(100 + queue, 3, B).admitted.unwrap();
                *open = m.enqueue(100 + queue, queue, 3, B, place, false).is_ok();
            }
        }
        let level = alpha * 22_323_200.0 / (1.0 + alpha * queues as f64);
        for queue in 0..queues {
            let held = m.held(queue, 1).2 as f64;
            assert!((held - level).abs() <= 2.0 * B as f64, "{alpha} {queues}: {held}");
        }
    }
}

#[test]
fn a_dynamic_limit_never_goes_below_zero() {
    let mut s = lossy_switch();
    s.shared_buffer_manager.lossy_alpha = 1_000.0;
    let mut m = scala(&s, 128);
    // Lossless bytes of pool and headroom take the egress pool above its size.
    let place = m.arrive(0, 1, 22_323_200).admitted.unwrap();
    assert!(m.enqueue(0, 1, 1, 22_323_200, place, false).is_ok());
    let place = m.arrive(0, 1, 256_000).admitted.unwrap();
    assert_eq!(place, Place::Headroom);
    assert!(m.enqueue(0, 1, 1, 256_000, place, false).is_ok());
    assert_eq!(m.pool_held(1), (22_323_200, 22_579_200));
    m.depart(0, 1, 1, 256_000);
    m.depart(0, 1, 1, 100);
    assert_eq!(m.pool_held(1), (22_323_100, 22_323_100));
    // 100 B are free, the limit is 100,000 B for this queue: the pool binds.
    let place = m.arrive(5, 3, 100).admitted.unwrap();
    assert!(m.enqueue(5, 6, 3, 100, place, false).is_ok());
    assert_eq!(m.held(6, 1), (0, 0, 100));
    m.depart(5, 6, 3, 100);
    let place = m.arrive(0, 1, 256_000).admitted.unwrap();
    assert_eq!(place, Place::Headroom);
    assert!(m.enqueue(0, 1, 1, 256_000, place, false).is_ok());
    let place = m.arrive(5, 3, 46).admitted.unwrap();
    assert_eq!(m.enqueue(5, 6, 3, 46, place, false), Err(DropReason::EgressQueueLimit));
}

#[test]
fn two_lossless_classes_of_one_pool_share_pause_and_headroom() {
    let mut s = switch();
    s.shared_buffer_manager.enable_pfc = [1, 1, 1, 0, 0, 0, 0, 0];
    let mut m = scala(&s, 128);
    assert_eq!((m.priority_group(0), m.priority_group(1)), (0b101, 0b10));
    for _ in 0..175 {
        assert!(!pass(&mut m, 0, 1, 2).pause);
    }
    assert!(pass(&mut m, 0, 1, 0).pause);
    assert_eq!(pass(&mut m, 0, 1, 2).admitted, Ok(Place::Headroom));
    assert_eq!(m.held(0, 0), (704_000, 4_000, 0));
}

/// A lossy switch under the UET policy, its whole buffer shared by the pools.
fn uet(trimming: bool, buffer: u64, plane_bdp: u64) -> Switch {
    let mut s = switch();
    s.packet_trimmer.trimming_enabled = trimming;
    let b = &mut s.shared_buffer_manager;
    b.uet_policy_enabled = true;
    b.enable_pfc = [0; 8];
    b.head_room_per_port_limit = Bytes(0);
    b.total_shared_buffer_size = Bytes(buffer);
    b.plane_bdp = Bytes(plane_bdp);
    s
}

/// Charges a packet at ingress and offers it.
fn offer(
    m: &mut Scala,
    from: usize,
    to: usize,
    bytes: u64,
    retransmit: bool,
) -> Option<DropReason> {
    let place = m.arrive(from, 0, bytes).admitted.unwrap();
    m.enqueue(from, to, 0, bytes, place, retransmit).err()
}

#[test]
fn trimmable_retransmits_have_one_and_a_half_times_the_limit_rounded_down() {
    const LIMIT: Option<DropReason> = Some(DropReason::EgressQueueLimit);
    let mut m = scala(&uet(true, 7_000_000, 10_001), 12);
    assert_eq!(offer(&mut m, 0, 1, 9_955, false), None);
    assert_eq!(offer(&mut m, 0, 1, 47, false), LIMIT, "10,002 B in the queue");
    assert_eq!(offer(&mut m, 0, 1, 46, false), None, "just the limit");
    assert_eq!(offer(&mut m, 0, 1, 46, false), LIMIT);
    assert_eq!(m.held(0, 0), (10_001, 0, 0));
    // 1.5 × 10,001 is 15,001.5.
    assert_eq!(offer(&mut m, 0, 1, 5_001, true), LIMIT);
    assert_eq!(offer(&mut m, 0, 1, 5_000, true), None);
    assert_eq!(offer(&mut m, 0, 1, 1, true), LIMIT);
    assert_eq!((m.held(0, 0), m.held(1, 0)), ((15_001, 0, 0), (0, 0, 15_001)));

    // Without trimming the limit is QueueDropThreshold times as large, and has the factor too.
    let mut m = scala(&uet(false, 7_000_000, 10_001), 12);
    assert!(!m.trims());
    assert_eq!(offer(&mut m, 0, 1, 50_005, false), None);
    assert_eq!(offer(&mut m, 0, 1, 46, false), LIMIT);
    assert_eq!(offer(&mut m, 0, 1, 25_003, true), LIMIT);
    assert_eq!(offer(&mut m, 0, 1, 25_002, true), None);

    // The factor is the policy's: the same cap by the default policy has none.
    let mut s = lossy_switch();
    s.shared_buffer_manager.enable_pfc = [0; 8];
    s.shared_buffer_manager.lossy_alpha = 0.0;
    s.shared_buffer_manager.queue_drop_threshold_enable = true;
    let mut m = scala(&s, 12);
    assert_eq!(offer(&mut m, 0, 1, 1_500_000, true), None);
    assert_eq!(offer(&mut m, 0, 1, 46, true), LIMIT);
}

#[test]
fn a_trim_moves_the_charge_to_pool_1_and_fails_when_its_queue_is_full() {
    let mut m = scala(&uet(true, 7_000_000, 10_001), 12);
    assert!(m.trims());
    assert_eq!(offer(&mut m, 0, 1, 10_001, false), None);
    for n in 1..=217u64 {
        assert_eq!(offer(&mut m, 2, 1, 4_000, false), Some(DropReason::EgressQueueLimit));
        assert_eq!(m.held(2, 0), (0, 0, 0), "the original's charge is given back");
        let both = Enqueued { ingress: 46 * n, queue: 46 * n, place: Place::Pool, pause: false };
        assert_eq!(m.trim(2, 1, 46), Ok(both), "{n}");
    }
    // 217 × 46 = 9,982; the 218th would make it 10,028. It leaves nothing charged.
    assert_eq!(offer(&mut m, 2, 1, 4_000, false), Some(DropReason::EgressQueueLimit));
    assert_eq!(m.trim(2, 1, 46), Err(DropReason::TrimFailed));
    assert_eq!((m.held(2, 1), m.held(1, 1)), ((9_982, 0, 0), (0, 0, 9_982)));
    assert_eq!((m.pool_held(0), m.pool_held(1)), ((10_001, 10_001), (9_982, 9_982)));
    // Another port's queue has room; one departure makes room here.
    assert!(m.trim(2, 3, 46).is_ok());
    let gone = m.depart(2, 1, 1, 46);
    assert_eq!((gone.from_pool, gone.ingress, gone.queue), (46, 9_982, 9_936));
    assert!(m.trim(2, 1, 46).is_ok());
}

#[test]
fn a_trim_fails_when_pool_1_is_full() {
    // Pools of 1,500, 1,000 and 1,000 B; a queue may hold 700 B.
    let mut m = scala(&uet(true, 3_500, 700), 12);
    for port in [1, 2] {
        assert_eq!(offer(&mut m, 0, port, 700, false), None);
    }
    for _ in 0..15 {
        assert!(m.trim(3, 1, 46).is_ok());
    }
    for _ in 0..6 {
        assert!(m.trim(3, 2, 46).is_ok());
    }
    // 21 × 46 = 966: the queue of port 2 holds only 276 B, but the pool takes no more.
    assert_eq!(m.trim(4, 2, 46), Err(DropReason::TrimFailed));
    assert_eq!((m.held(4, 1), m.held(2, 1)), ((0, 0, 0), (0, 0, 276)));
    assert_eq!(m.pool_held(1), (966, 966));
    m.depart(3, 1, 1, 46);
    assert_eq!(
        m.trim(4, 2, 46),
        Ok(Enqueued { ingress: 46, queue: 322, place: Place::Pool, pause: false })
    );
}

#[test]
fn a_lossless_class_of_the_uet_policy_pauses_and_has_headroom() {
    let mut s = uet(false, 7_000_000, 10_000);
    s.shared_buffer_manager.enable_pfc[0] = 1;
    s.shared_buffer_manager.head_room_per_port_limit = Bytes(8_000);
    let mut m = scala(&s, 12);
    assert_eq!(
        (m.pool_of(0), m.pool_of(2), m.priority_group(0), m.priority_group(1)),
        (0, 2, 1, 0)
    );
    for n in 1..=176 {
        assert_eq!(pass(&mut m, 0, 1, 0).pause, n == 176, "{n}");
    }
    // Two packets of headroom; the egress limit is for lossy classes.
    for _ in 0..2 {
        assert_eq!(m.arrive(0, 0, B).admitted, Ok(Place::Headroom));
        assert!(m.enqueue(0, 1, 0, B, Place::Headroom, false).is_ok());
    }
    assert_eq!(m.arrive(0, 0, B).admitted, Err(DropReason::IngressHeadroom));
    // Control keeps its own pool and its cap of 5 × 10,000 B.
    for _ in 0..12 {
        pass(&mut m, 0, 1, 2);
    }
    let place = m.arrive(0, 2, B).admitted.unwrap();
    assert_eq!(m.enqueue(0, 1, 2, B, place, false), Err(DropReason::EgressQueueLimit));
    assert_eq!(m.held(0, 2), (48_000, 0, 0));
}
