//! Packet by packet: hand-worked numbers, then a literal restatement under random traffic.

use super::*;
use crate::units::Bytes;
use proptest::prelude::*;
use std::collections::VecDeque;

const RATE: u64 = 100_000_000_000;

/// Two ports at 100 Gbps and 1 us: headroom 37,500 each.
fn manager(buffer: u64) -> Hpcc {
    let settings = HpccBuffer { buffer_size: Bytes(buffer), ..HpccBuffer::default() };
    Hpcc::new(&settings, &[Line::new(RATE, 1_000_000); 2], |_| Marks::NONE, RATE)
}

/// A packet of queue 3 from port 0 to port 1: where it went and whether it paused.
fn offer(m: &mut Hpcc, bytes: u64) -> Result<(Place, bool), DropReason> {
    m.arrive(0, 3, bytes).admitted?;
    m.enqueue(0, 1, 3, bytes, Place::Pool, false).map(|e| (e.place, e.pause))
}

#[test]
fn reserve_then_shared_then_headroom() {
    // Shared space: 163,192 − 75,000 − 8,192 = 80,000; threshold 10,000 while nothing is used.
    let mut m = manager(163_192);
    assert_eq!((m.shared, m.threshold(0)), (80_000, 10_000));
    for _ in 0..4 {
        assert_eq!(offer(&mut m, 1_024), Ok((Place::Pool, false)));
    }
    assert_eq!((m.held(0, 3), m.shared_used), ((4_096, 0, 0), 0));
    assert_eq!(m.held(1, 3), (0, 0, 4_096));
    // Shared after n more packets: 1,024 n against (80,000 − 1,024 n) ÷ 8: 8 is below, 9 not.
    for _ in 0..8 {
        assert_eq!(offer(&mut m, 1_024), Ok((Place::Pool, false)));
    }
    assert_eq!((m.shared_used, m.threshold(0)), (8_192, 8_976));
    // 9,216 is over 8,976: headroom, and a pause.
    assert_eq!(offer(&mut m, 1_024), Ok((Place::Headroom, true)));
    assert_eq!((m.held(0, 3), m.paused(0, 3)), ((12_288, 1_024, 0), true));
    // 500 more fit the threshold and go to the pool; the pause stands.
    assert_eq!(offer(&mut m, 500), Ok((Place::Pool, false)));
    assert_eq!(m.shared_used, 8_692);
}

#[test]
fn a_packet_is_dropped_only_over_headroom_and_threshold() {
    let mut m = manager(163_192);
    while m.held(0, 3).1 + 1_024 <= 37_500 {
        assert!(offer(&mut m, 1_024).is_ok());
    }
    assert_eq!(m.held(0, 3), (12_288, 36_864, 0));
    assert_eq!(offer(&mut m, 1_024), Err(DropReason::IngressAdmission));
    assert_eq!(offer(&mut m, 636), Ok((Place::Pool, false)), "it fits both");
    assert_eq!(offer(&mut m, 148), Ok((Place::Headroom, false)), "8,828 + 148 is over 8,896");
}

#[test]
fn departures_take_headroom_first_and_resume_an_offset_below() {
    let mut m = manager(163_192);
    for _ in 0..13 {
        assert!(offer(&mut m, 1_024).is_ok());
    }
    let first = m.depart(0, 1, 3, 1_500);
    assert_eq!((first.from_headroom, first.from_pool, first.ingress), (1_024, 476, 11_812));
    assert_eq!((first.queue, first.resume, m.shared_used), (11_812, false, 7_716));
    // 7,716 + 3,072 against 9,035; then 6,692 against 9,163; then 5,668 + 3,072 ≤ 9,291.
    assert!(!m.depart(0, 1, 3, 1_024).resume);
    assert!(m.depart(0, 1, 3, 1_024).resume);
    assert!(!m.paused(0, 3));
    assert!(!m.depart(0, 1, 3, 1_024).resume, "once");
}

#[test]
fn a_pause_may_come_before_headroom_is_used() {
    // Shared space 9,000: threshold 1,125; 1,000 shared leave (9,000 − 1,000) ÷ 8 = 1,000.
    let mut m = manager(9_000 + 75_000 + 8_192);
    assert_eq!(offer(&mut m, 4_096), Ok((Place::Pool, false)));
    assert_eq!(offer(&mut m, 1_000), Ok((Place::Pool, true)));
    assert_eq!(m.held(0, 3).1, 0);
}

#[test]
fn queue_0_is_charged_nowhere() {
    let mut m = manager(163_192);
    for _ in 0..1_000 {
        assert_eq!(m.arrive(0, 0, 9_000).admitted, Ok(Place::Pool));
        assert!(m.enqueue(0, 1, 0, 9_000, Place::Pool, false).is_ok());
    }
    assert_eq!((m.held(0, 0), m.held(1, 0), m.shared_used), ((0, 0, 0), (0, 0, 0), 0));
    assert_eq!(m.depart(0, 1, 0, 9_000), Departed::default());
}

#[test]
fn a_port_of_twice_the_rate_has_twice_the_threshold() {
    let settings = HpccBuffer { buffer_size: Bytes(1_000_000), ..HpccBuffer::default() };
    let lines = [Line::new(RATE, 0), Line::new(4 * RATE, 0)];
    let m = Hpcc::new(&settings, &lines, |_| Marks::NONE, RATE);
    assert_eq!((m.threshold(0), m.threshold(1)), (991_808 >> 3, 991_808 >> 1));
}

#[test]
fn marks_follow_the_queue_that_is_left() {
    let marks = |_| Marks { kmin: 1_000.0, kmax: 3_000.0, pmax: 0.5 };
    let mut m = Hpcc::new(&HpccBuffer::default(), &[Line::new(RATE, 0); 2], marks, RATE);
    for _ in 0..4 {
        assert!(offer(&mut m, 1_000).is_ok());
    }
    assert_eq!(m.mark_probability(1, 3), 1.0);
    m.depart(0, 1, 3, 1_000);
    assert_eq!(m.mark_probability(1, 3), 0.5);
    m.depart(0, 1, 3, 1_000);
    m.depart(0, 1, 3, 1_000);
    assert_eq!((m.mark_probability(1, 3), m.mark_probability(0, 3)), (0.0, 0.0));
}

/// The documented rules once more, in signed arithmetic and one counter a name.
#[derive(Default)]
struct Restated {
    ingress: [[i64; 8]; 3],
    hdrm: [[i64; 8]; 3],
    egress: [[i64; 8]; 3],
    paused: [[bool; 8]; 3],
    shared_used: i64,
    space: i64,
    limit: i64,
}

impl Restated {
    const R: i64 = 4_096;

    fn shared(&self, p: usize, q: usize) -> i64 {
        (self.ingress[p][q] - Self::R).max(0)
    }

    fn thr(&self) -> i64 {
        (self.space - self.shared_used) >> 3
    }

    /// `None`: dropped; else whether it paused.
    fn arrive(&mut self, p: usize, o: usize, q: usize, z: i64) -> Option<bool> {
        if z + self.hdrm[p][q] > self.limit && z + self.shared(p, q) > self.thr() {
            return None;
        }
        let nb = self.ingress[p][q] + z;
        if nb <= Self::R {
            self.ingress[p][q] = nb;
        } else if nb - Self::R > self.thr() {
            self.hdrm[p][q] += z;
        } else {
            self.ingress[p][q] = nb;
            self.shared_used += z.min(nb - Self::R);
        }
        self.egress[o][q] += z;
        let pause = !self.paused[p][q] && (self.hdrm[p][q] > 0 || self.shared(p, q) >= self.thr());
        self.paused[p][q] |= pause;
        Some(pause)
    }

    fn leave(&mut self, p: usize, o: usize, q: usize, z: i64) -> bool {
        self.egress[o][q] -= z;
        let fh = self.hdrm[p][q].min(z);
        let fs = (z - fh).min(self.shared(p, q));
        self.hdrm[p][q] -= fh;
        self.ingress[p][q] -= z - fh;
        self.shared_used -= fs;
        let shared = self.shared(p, q);
        let resume = self.paused[p][q]
            && self.hdrm[p][q] == 0
            && (shared == 0 || shared + 3_072 <= self.thr());
        self.paused[p][q] &= !resume;
        resume
    }
}

proptest! {
    #[test]
    fn as_restated(
        buffer in 130_000u64..400_000,
        steps in prop::collection::vec((0usize..3, 0usize..3, 1u8..8, 1u64..9_000, 0u8..3), 1..400),
    ) {
        let settings = HpccBuffer { buffer_size: Bytes(buffer), ..HpccBuffer::default() };
        let lines = [Line::new(RATE, 1_000_000); 3];
        let mut m = Hpcc::new(&settings, &lines, |_| Marks::NONE, RATE);
        let space = buffer as i64 - 3 * 37_500 - 3 * 4_096;
        let mut r = Restated { space, limit: 37_500, ..Restated::default() };
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
            for port in 0..3 {
                for q in 0..8 {
                    let (ingress, hdrm, egress) = m.held(port, q);
                    let own = (ingress as i64, hdrm as i64, egress as i64, m.paused(port, q));
                    let restated =
                        (r.ingress[port][q], r.hdrm[port][q], r.egress[port][q], r.paused[port][q]);
                    prop_assert_eq!(own, restated);
                }
            }
            prop_assert_eq!(m.shared_used as i64, r.shared_used);
        }
        for (p, o, q, z) in inside {
            m.depart(p, o, q, z);
        }
        prop_assert_eq!(m.shared_used, 0);
        prop_assert!((0..8).all(|q| m.pool_held(q) == (0, 0)));
    }
}
