//! Packet by packet: hand-worked numbers, then a literal restatement under random traffic.

use super::*;
use crate::units::Bytes;
use proptest::prelude::*;
use std::collections::VecDeque;

const RATE: u64 = 100_000_000_000;

/// Two ports at 100 Gbps and 1 us, headroom 37,500 a queue, an ingress pool of 100,000.
fn manager(change: impl FnOnce(&mut DatacenterBuffer)) -> Datacenter {
    let mut settings = DatacenterBuffer {
        ingress_pool: Bytes(100_000),
        alpha_ingress: 0.125,
        alpha_egress: 65_535.0,
        ..DatacenterBuffer::default()
    };
    change(&mut settings);
    Datacenter::new(&settings, &[Line::new(RATE, 1_000_000); 2], |_| Marks::NONE)
}

/// A packet of 1,000 B from port 0 to port 1.
fn offer(m: &mut Datacenter, queue: u8) -> Result<(Place, bool), DropReason> {
    m.arrive(0, queue, 1_000).admitted?;
    m.enqueue(0, 1, queue, 1_000, Place::Pool, false).map(|e| (e.place, e.pause))
}

/// How many packets of a queue fit, and why the next one does not.
fn fill(m: &mut Datacenter, queue: u8) -> (usize, DropReason) {
    for count in 0..1_000 {
        if let Err(reason) = offer(m, queue) {
            return (count, reason);
        }
    }
    panic!("nothing was refused");
}

#[test]
fn the_twelfth_packet_takes_headroom_and_the_resume_waits() {
    let mut m = manager(|_| {});
    // After n packets: 1,000 n against (100,000 − 1,000 n) ÷ 8.
    for _ in 0..11 {
        assert_eq!(offer(&mut m, 3), Ok((Place::Pool, false)));
    }
    assert_eq!(offer(&mut m, 3), Ok((Place::Headroom, true)));
    assert_eq!((m.held(0, 3), m.held(1, 3)), ((11_000, 1_000, 0), (0, 0, 12_000)));
    let left = m.depart(0, 1, 3, 1_000);
    assert_eq!(
        (left.from_headroom, left.from_pool, left.ingress, left.queue),
        (1_000, 0, 11_000, 11_000)
    );
    // 10,000 and 9,000 are too close to 11,250 and 11,375; 8,000 + 2,496 is not above 11,500.
    let resumes: Vec<bool> = (0..4).map(|_| m.depart(0, 1, 3, 1_000).resume).collect();
    assert_eq!(resumes, [false, false, true, false]);
}

#[test]
fn headroom_is_sticky_until_it_is_empty() {
    let mut m = manager(|_| {});
    for _ in 0..13 {
        assert!(offer(&mut m, 3).is_ok());
    }
    m.depart(0, 1, 3, 1_000);
    assert_eq!(m.held(0, 3), (11_000, 1_000, 0));
    assert_eq!(offer(&mut m, 3), Ok((Place::Headroom, false)));
    assert_eq!(m.held(0, 3), (11_000, 2_000, 0));
}

#[test]
fn headroom_ends_and_its_first_packet_is_not_tested() {
    assert_eq!(fill(&mut manager(|_| {}), 3), (11 + 37, DropReason::IngressHeadroom));
    let mut m = manager(|s| s.xoff = Some(Bytes(500)));
    assert_eq!(fill(&mut m, 3), (11 + 1, DropReason::IngressHeadroom));
    assert_eq!(m.held(0, 3).1, 1_000);
    let total = |s: &mut DatacenterBuffer| s.xoff_total = Some(Bytes(5_000));
    assert_eq!(fill(&mut manager(total), 3), (11 + 5, DropReason::IngressHeadroom));
}

#[test]
fn pools_refuse_at_their_side() {
    let egress = |s: &mut DatacenterBuffer| s.egress_pool_lossless = Bytes(20_000);
    assert_eq!(fill(&mut manager(egress), 3), (20, DropReason::EgressPool));
    let limit = |s: &mut DatacenterBuffer| {
        (s.egress_pool_lossless, s.alpha_egress) = (Bytes(24_000), 0.5);
    };
    // The ninth: 9,000 against (24,000 − 8,000) ÷ 2.
    assert_eq!(fill(&mut manager(limit), 3), (8, DropReason::EgressQueueLimit));
    let buffer = |s: &mut DatacenterBuffer| s.buffer_pool = Bytes(15_000);
    assert_eq!(fill(&mut manager(buffer), 3), (15, DropReason::IngressPool));
}

#[test]
fn a_lossy_queue_is_refused_at_its_threshold() {
    let lossy = |s: &mut DatacenterBuffer| s.lossless_queues[2] = 0;
    let mut m = manager(lossy);
    // The twelfth: 12,000 against (100,000 − 11,000) ÷ 8.
    assert_eq!(fill(&mut m, 2), (11, DropReason::IngressAdmission));
    assert!(!m.paused(0, 2) && m.priority_group(2) == 0);
    let reserve = |s: &mut DatacenterBuffer| {
        lossy(s);
        (s.ingress_reserve, s.alpha_ingress) = (Bytes(4_000), 0.0);
    };
    assert_eq!(fill(&mut manager(reserve), 2), (4, DropReason::IngressAdmission));
}

#[test]
fn reserves_are_not_shared() {
    let mut m = manager(|s| s.ingress_reserve = Bytes(1_000));
    assert_eq!(m.ingress_threshold(3, false), (100_000 - 16_000) / 8);
    assert!(offer(&mut m, 3).is_ok());
    assert_eq!(
        (m.ingress_threshold(3, false), m.reserved_used),
        (10_500, 1_000),
        "inside its reserve"
    );
    assert!(offer(&mut m, 3).is_ok());
    assert_eq!(m.ingress_threshold(3, false), 10_375);
}

#[test]
fn other_algorithms() {
    let with = |algorithm| move |s: &mut DatacenterBuffer| s.algorithm = algorithm;
    // All of the pool before any headroom: 100 packets, then 37.
    let mut m = manager(with(BufferAlgorithm::CompleteSharing));
    assert_eq!(fill(&mut m, 3), (137, DropReason::IngressHeadroom));
    assert_eq!(m.held(0, 3), (100_000, 37_000, 0));
    // 100,000 over 16 queues: 6,250.
    let mut m = manager(with(BufferAlgorithm::StaticPartition));
    assert_eq!(fill(&mut m, 3), (6 + 37, DropReason::IngressHeadroom));
    // A queue of 12,000 B is less than one congested queue, and its drain is not measured.
    let mut m = manager(with(BufferAlgorithm::Abm));
    for _ in 0..11 {
        assert_eq!(offer(&mut m, 3), Ok((Place::Pool, false)));
    }
    assert_eq!(offer(&mut m, 3), Ok((Place::Headroom, true)));
    // Reverie looks at departures: without any, nothing is over its threshold.
    let mut m = manager(with(BufferAlgorithm::Reverie));
    for _ in 0..50 {
        assert_eq!(offer(&mut m, 3), Ok((Place::Pool, false)));
    }
}

/// As [`offer`], of a packet that is unscheduled.
fn offer_early(m: &mut Datacenter, queue: u8) -> Result<(Place, bool), DropReason> {
    m.set_unscheduled(true);
    let offered = offer(m, queue);
    m.set_unscheduled(false);
    offered
}

/// As [`fill`], of such packets.
fn fill_early(m: &mut Datacenter, queue: u8) -> (usize, DropReason) {
    m.set_unscheduled(true);
    let filled = fill(m, queue);
    m.set_unscheduled(false);
    filled
}

#[test]
fn unscheduled_packets_have_a_factor_of_their_own() {
    let lossy = |algorithm| {
        manager(|s| {
            (s.algorithm, s.lossless_queues[2]) = (algorithm, 0);
        })
    };
    // 1,024 × what is free: all of the pool. Without it the twelfth, as with DT.
    for (algorithm, fit) in [
        (BufferAlgorithm::Dt, 11),
        (BufferAlgorithm::Fab, 100),
        (BufferAlgorithm::CompleteSharing, 100),
        (BufferAlgorithm::StaticPartition, 6),
    ] {
        assert_eq!(fill_early(&mut lossy(algorithm), 2).0, fit, "{algorithm:?}");
    }
    for algorithm in [BufferAlgorithm::Fab, BufferAlgorithm::Abm] {
        assert_eq!(fill(&mut lossy(algorithm), 2), (11, DropReason::IngressAdmission));
    }
    // One queue is congested, and its drain is not measured.
    assert_eq!(fill_early(&mut lossy(BufferAlgorithm::Abm), 2).0, 100);
    // 21,000 against 80,000 ÷ 8, then 21,000 against 1,024 × 80,000.
    let mut m = lossy(BufferAlgorithm::Fab);
    for _ in 0..20 {
        assert!(offer_early(&mut m, 2).is_ok());
    }
    assert_eq!(offer(&mut m, 2), Err(DropReason::IngressAdmission));
    assert_eq!(offer_early(&mut m, 2), Ok((Place::Pool, false)));
    // 2 × what is free: 66,000 against 2 × 35,000 fits, 67,000 against 2 × 34,000, 68,000 not
    // against 2 × 33,000.
    let mut m = manager(|s| {
        (s.algorithm, s.lossless_queues[2]) = (BufferAlgorithm::Fab, 0);
        s.alpha_unscheduled = 2.0;
    });
    assert_eq!(fill_early(&mut m, 2), (67, DropReason::IngressAdmission));
}

#[test]
fn unscheduled_packets_take_no_headroom_and_do_not_hold_back_a_resume() {
    let mut m = manager(|s| s.algorithm = BufferAlgorithm::Fab);
    for _ in 0..20 {
        assert_eq!(offer_early(&mut m, 3), Ok((Place::Pool, false)));
    }
    // A scheduled one is over: 21,000 against 79,000 ÷ 8. Headroom is sticky for every packet.
    assert_eq!(offer(&mut m, 3), Ok((Place::Headroom, true)));
    assert_eq!(offer_early(&mut m, 3), Ok((Place::Headroom, false)));
    assert_eq!(m.held(0, 3), (20_000, 2_000, 0));
    // Whatever arrived last, the resume waits for the usual factor: 9,000 + 2,496 is above
    // 91,000 ÷ 8, 8,000 + 2,496 is not above 92,000 ÷ 8.
    m.set_unscheduled(true);
    let resumed: Vec<u64> =
        (0..22).filter(|_| m.depart(0, 1, 3, 1_000).resume).map(|_| 0).collect();
    assert_eq!((resumed.len(), m.total_used), (1, 0));
    let mut m = manager(|s| s.algorithm = BufferAlgorithm::Fab);
    for _ in 0..20 {
        assert!(offer_early(&mut m, 3).is_ok());
    }
    assert!(offer(&mut m, 3).is_ok());
    let first = (1..=21).find(|_| m.depart(0, 1, 3, 1_000).resume);
    assert_eq!(first, Some(13), "with 8,000 left");
}

#[test]
fn unscheduled_packets_count_at_egress() {
    let limit = |algorithm| {
        manager(|s| {
            s.algorithm = algorithm;
            (s.egress_pool_lossless, s.alpha_egress) = (Bytes(24_000), 0.5);
        })
    };
    // The ninth: 9,000 against (24,000 − 8,000) ÷ 2; the 25th does not fit the pool.
    assert_eq!(fill(&mut limit(BufferAlgorithm::Fab), 3), (8, DropReason::EgressQueueLimit));
    assert_eq!(fill_early(&mut limit(BufferAlgorithm::Dt), 3), (8, DropReason::EgressQueueLimit));
    for algorithm in [BufferAlgorithm::Fab, BufferAlgorithm::Abm] {
        assert_eq!(fill_early(&mut limit(algorithm), 3), (24, DropReason::EgressPool));
    }
}

#[test]
fn reverie_shares_one_pool_without_headroom() {
    let reverie = |shared| {
        manager(|s| {
            (s.algorithm, s.lossless_queues[2]) = (BufferAlgorithm::Reverie, 0);
            (s.shared_pool, s.alpha_egress) = (Bytes(shared), 0.125);
            (s.egress_pool_lossy, s.ingress_pool) = (Bytes(1), Bytes(10_000_000));
        })
    };
    // Lossy packets meet neither the ingress pool's rules nor the egress pool: 1,000 and a smoothed
    // queue of 0 against (20,000 − used) ÷ 8, to 12,000; unscheduled ones fill the pool.
    assert_eq!(fill(&mut reverie(20_000), 2), (13, DropReason::EgressQueueLimit));
    assert_eq!(fill_early(&mut reverie(20_000), 2), (20, DropReason::EgressPool));
    // A lossless packet's factor stays: a smoothed queue of 0 is never above its threshold.
    let mut m = reverie(20_000);
    for _ in 0..30 {
        assert_eq!(offer_early(&mut m, 3), Ok((Place::Pool, false)));
    }
    // Smoothed: 29,000 × 0.01. It is above 0, of 20,000 − 29,000; that much is a pause.
    assert_eq!(m.depart(0, 1, 3, 1_000).queue, 29_000);
    assert_eq!(m.ingress.compared(Datacenter::<Off>::index(0, 3)), 290);
    assert_eq!(offer(&mut m, 3), Ok((Place::Headroom, true)));
    // Bytes in headroom are none of the shared pool's.
    assert_eq!((m.outside_headroom(), m.total_used), (29_000, 30_000));
    // The smoothed queue is below Xon as soon as headroom is empty.
    assert!(m.depart(0, 1, 3, 1_000).resume);
}

#[test]
fn queue_0_is_charged_nowhere() {
    let mut m = manager(|s| s.lossless_queues = [1; 8]);
    for _ in 0..1_000 {
        assert_eq!(offer(&mut m, 0), Ok((Place::Pool, false)));
    }
    assert_eq!((m.total_used, m.held(1, 0)), (0, (0, 0, 0)));
    assert_eq!(m.depart(0, 1, 0, 1_000), Departed::default());
}

/// The documented rules of DT once more, in signed arithmetic and one counter a name.
#[derive(Default)]
struct Restated {
    ingress: [[i64; 8]; 2],
    xoff: [[i64; 8]; 2],
    egress: [[i64; 8]; 2],
    paused: [[bool; 8]; 2],
    pool_used: [i64; 2],
}

impl Restated {
    fn total(&self) -> i64 {
        self.ingress.iter().flatten().sum()
    }

    fn xoff_total(&self) -> i64 {
        self.xoff.iter().flatten().sum()
    }

    fn thr(&self) -> i64 {
        let reserved: i64 = self.ingress.iter().flatten().map(|&bytes| bytes.min(500)).sum();
        let used = (self.total() - self.xoff_total() - reserved).max(0);
        ((0.125 * (100_000 - 8_000 - used) as f64).floor() as i64).max(0)
    }

    fn lossless(q: usize) -> bool {
        q != 2
    }

    fn arrive(&mut self, p: usize, o: usize, q: usize, z: i64) -> Option<bool> {
        const POOL: i64 = 100_000;
        const XOFF: i64 = 37_500;
        const BUFFER: i64 = 140_000;
        let (ingress, xoff, total) = (self.ingress[p][q], self.xoff[p][q], self.total());
        let xoffs = self.xoff_total();
        let drop = if Restated::lossless(q) {
            (z + ingress > 500 && z + xoff > XOFF && xoff > 0)
                || (z + xoffs > 16 * XOFF && xoff > 0)
                || z + total > POOL + 16 * XOFF
                || z + total > BUFFER
        } else {
            (z + ingress > self.thr() && z + ingress > 500)
                || z + total - xoffs > POOL
                || z + total > BUFFER
        };
        let kind = usize::from(Restated::lossless(q));
        let pool = [30_000, 60_000][kind];
        let limit = (2.0 * (pool - self.pool_used[kind]) as f64).floor() as i64;
        if drop
            || z + self.egress[o][q] > limit.max(0)
            || z + self.pool_used[kind] > pool
            || z + total > BUFFER
        {
            return None;
        }
        self.ingress[p][q] += z;
        if kind == 1 && (xoff > 0 || self.ingress[p][q] > self.thr()) {
            self.xoff[p][q] += z;
        }
        self.egress[o][q] += z;
        self.pool_used[kind] += z;
        let pause = !self.paused[p][q] && self.xoff[p][q] > 0;
        self.paused[p][q] |= pause;
        Some(pause)
    }

    fn leave(&mut self, p: usize, o: usize, q: usize, z: i64) -> bool {
        let fh = self.xoff[p][q].min(z);
        self.xoff[p][q] -= fh;
        self.ingress[p][q] -= z;
        self.egress[o][q] -= z;
        self.pool_used[usize::from(Restated::lossless(q))] -= z;
        let held = self.ingress[p][q];
        let resume = self.paused[p][q]
            && self.xoff[p][q] == 0
            && (held < 1_248 || held + 2_496 <= self.thr());
        self.paused[p][q] &= !resume;
        resume
    }
}

proptest! {
    #[test]
    fn as_restated(
        steps in prop::collection::vec((0usize..2, 0usize..2, 1u8..5, 1u64..5_000, 0u8..3), 1..400),
    ) {
        let mut m = manager(|s| {
            s.lossless_queues[2] = 0;
            s.ingress_reserve = Bytes(500);
            s.buffer_pool = Bytes(140_000);
            s.egress_pool_lossless = Bytes(60_000);
            s.egress_pool_lossy = Bytes(30_000);
            s.alpha_egress = 2.0;
        });
        let mut r = Restated::default();
        let mut inside = VecDeque::new();
        for (p, o, q, z, leave) in steps {
            if leave == 0 && let Some((p, o, q, z)) = inside.pop_front() {
                let departed = m.depart(p, o, q, z);
                prop_assert_eq!(departed.resume, r.leave(p, o, usize::from(q), z as i64));
            } else {
                let admitted = m.arrive(p, q, z).admitted;
                let own = admitted.and_then(|place| m.enqueue(p, o, q, z, place, false));
                prop_assert_eq!(own.ok().map(|e| e.pause), r.arrive(p, o, usize::from(q), z as i64));
                if own.is_ok() {
                    inside.push_back((p, o, q, z));
                }
            }
            for port in 0..2 {
                for q in 0..8 {
                    let (pool, xoff, egress) = m.held(port, q);
                    let own = ((pool + xoff) as i64, xoff as i64, egress as i64, m.paused(port, q));
                    let restated =
                        (r.ingress[port][q], r.xoff[port][q], r.egress[port][q], r.paused[port][q]);
                    prop_assert_eq!(own, restated);
                }
            }
        }
        for (p, o, q, z) in inside {
            m.depart(p, o, q, z);
        }
        prop_assert_eq!((m.total_used, m.xoff_total_used, m.reserved_used), (0, 0, 0));
        prop_assert_eq!(m.egress_used, [0; 2]);
    }
}
