//! The sweeps of NICs that react: relations their comments promise, and some exact numbers.

use super::{Answer, answers};
use poolsweep::scenario::uet::PacketSpraying;
use poolsweep::scenario::{Table, Topology, Traffic};
use poolsweep::sim::observe::{DropReason, End, TransportRow};

/// IP bytes of a full UET packet, and bits of its payload.
const PACKET: u64 = 4_184;
const PAYLOAD: u64 = 4_096;
const US: u64 = 1_000_000;

/// Payload bit/s handed to applications.
fn goodput(a: &Answer) -> f64 {
    let bytes = a.seen.totals.payload_bytes.expect("NICs that react");
    bytes as f64 * 8e12 / a.seen.totals.measured as f64
}

/// Share of the measured time the most paused port and class was held.
fn paused(a: &Answer) -> f64 {
    a.seen.totals.paused_max as f64 / a.seen.totals.measured as f64
}

/// A counter at the end of the job, summed over NICs.
fn last(a: &Answer, count: impl Fn(&TransportRow) -> u64) -> u64 {
    let mut by_node = std::collections::BTreeMap::new();
    for row in &a.seen.transport {
        by_node.insert(row.node, count(row));
    }
    by_node.values().sum()
}

#[test]
fn trimming_spares_an_incast_its_timeouts() {
    let (_, answers) = answers("uet-trimming.yaml", &[Table::Transport]);
    let (dropping, trimming): (Vec<_>, Vec<_>) =
        answers.iter().partition(|a| a.label == "dropping");
    assert_eq!((dropping.len(), trimming.len()), (9, 18));
    let of = |a: &Answer| {
        let bdp = a.scenario.switch.shared_buffer_manager.plane_bdp.0;
        (a.senders(), bdp, a.scenario.nic.pds_manager.use_distinct_dscp_for_retransmits)
    };
    let line = |a: &Answer| a.senders() * 256 * (PACKET + 18) * 20;
    for a in &answers {
        let (case, totals) = (format!("{} {:?}", a.label, of(a)), &a.seen.totals);
        assert_eq!((totals.end, totals.flows_unfinished), (End::Drained, 0), "{case}");
        assert_eq!(totals.payload_bytes, Some(a.senders() << 20), "{case}: each byte once");
        let limit = a.startup().pools[0].expect("pool 0").static_limit;
        let bound = if of(a).2 { limit * 3 / 2 } else { limit };
        assert!(totals.peak_egress <= bound, "{case}: {} in {bound} B", totals.peak_egress);
        assert!(totals.end_time > line(a), "{case}: faster than the line");
        assert_eq!(totals.timeouts, a.drops(), "{case}: a loss is a timeout, and nothing else");
        assert_eq!(totals.retransmitted, a.drops() + totals.trims, "{case}");
        assert_eq!(totals.data_packets_sent, a.senders() * 256 + totals.retransmitted, "{case}");
        let nacks =
            [last(a, |row| row.stats.nack_pkts_sent), last(a, |row| row.stats.nack_pkts_rcvd)];
        assert_eq!(nacks, [totals.trims; 2], "{case}: a NACK for every trim");
    }
    for a in &dropping {
        let case = format!("dropping {:?}", of(a));
        assert_eq!(a.drops(), a.drops_by(DropReason::EgressQueueLimit), "{case}");
        assert!(a.drops() == 0 || a.seen.totals.end_time > 150 * US, "{case}");
        assert_eq!(a.drops() == 0, (a.senders(), of(a).1) == (8, 1_200_000), "{case}");
    }
    for a in &trimming {
        let case = format!("trimming {:?}", of(a));
        assert_eq!(a.drops(), a.drops_by(DropReason::TrimFailed), "{case}");
        assert_eq!(a.drops() > 0, (a.senders(), of(a).1) == (127, 75_000), "{case}");
        if of(a).1 >= 300_000 {
            let idle = a.seen.totals.end_time - line(a);
            assert!(idle * 40 < line(a), "{case}: the line idles for {idle} ps");
        }
        let same = dropping.iter().find(|d| (of(d).0, of(d).1) == (of(a).0, of(a).1));
        let other = &same.expect("beside it").seen.totals;
        if other.drops.iter().sum::<u64>() > 0 && a.drops() == 0 {
            assert!(a.seen.totals.end_time < other.end_time, "{case}");
            assert!(a.seen.totals.peak_egress * 3 < other.peak_egress, "{case}");
        }
    }
    // Axes: senders, PlaneBDP, marking of retransmissions.
    let end = |a: &Answer| a.seen.totals.end_time;
    for pair in trimming.chunks(2) {
        let case = format!("{:?} and {:?}", of(pair[0]), of(pair[1]));
        assert!(end(pair[0]) <= end(pair[1]), "{case}: room of their own does not slow them");
    }
    assert!(end(trimming[1]) > end(trimming[0]) * 11 / 10, "75KB, 8 senders: idle line");
    // A packet is trimmed over and over where windows of one packet do not fit.
    let trims = |senders: u64, bdp: u64| {
        let a = trimming.iter().find(|a| of(a) == (senders, bdp, true)).expect("a point");
        a.seen.totals.trims as f64 / (senders * 256) as f64
    };
    assert!(trims(127, 75_000) > 3.0 && trims(127, 300_000) > 0.9 && trims(127, 1_200_000) < 0.4);
    assert!(trims(32, 75_000) < 0.7 && trims(8, 300_000) < 0.3);
    let counts = |a: &Answer| (a.drops(), a.seen.totals.trims, a.seen.totals.timeouts);
    assert_eq!(counts(dropping[1]), (192, 0, 192), "8 senders, 300KB");
    assert_eq!(counts(trimming[2]), (0, 484, 0), "8 senders, 300KB");
}

#[test]
fn ecn_shortens_the_queue_of_uet_senders_only_above_the_target_delay() {
    let (_, answers) = answers("uet-ecn.yaml", &[]);
    // Axes: four bands, two depths, four fan-ins, the last the fastest.
    let at = |band: usize, gamma: usize, n: usize| &answers[(band * 2 + gamma) * 4 + n];
    assert_eq!(answers.len(), 32);
    let peak = |a: &Answer| a.seen.totals.peak_egress;
    let marks = |a: &Answer| a.seen.totals.ecn_marks;
    let target = 300_000;
    for (place, a) in answers.iter().enumerate() {
        let (band, n) = (place / 8, a.senders());
        let case = format!("band {band}, {n} senders, point {place}");
        // One packet of the line more or less at both ends.
        let packets = goodput(a) / 8.0 * 1e-3 / PAYLOAD as f64;
        assert!((packets - 11_899.0).abs() <= 3.0, "{case}: {packets} packets, the line idles");
        assert_eq!(a.drops() > 0, band == 0 && n >= 8, "{case}");
        assert_eq!(a.drops() > 0, a.seen.totals.timeouts > 0, "{case}");
        if marks(a) == 0 && a.drops() == 0 {
            assert_eq!(peak(a), (53 * n - 22) * PACKET, "{case}: every window is the largest");
        }
        match band {
            0 => assert_eq!(marks(a), 0, "{case}"),
            1 => {
                assert_eq!(marks(a), 11_899, "{case}: everything is above the band");
                assert!(peak(a) >= target && peak(a) < target * 3 / 2, "{case}: {}", peak(a));
            }
            _ => {
                let lower = a.startup().pools[0].expect("pool 0").ecn_lower;
                let full = (53 * n - 22) * PACKET;
                assert_eq!(marks(a) > 0, full as f64 > lower, "{case}");
                assert!(marks(a) == 0 || peak(a) as f64 > lower, "{case}: {}", peak(a));
            }
        }
    }
    for (gamma, n) in (0..2).flat_map(|gamma| (0..4).map(move |n| (gamma, n))) {
        let peaks: Vec<u64> = (1..4).map(|band| peak(at(band, gamma, n))).collect();
        assert!(peaks.is_sorted(), "by band {peaks:?}");
        let seen: Vec<u64> = (1..4).map(|band| marks(at(band, gamma, n))).collect();
        assert!(seen.is_sorted_by(|low, high| low >= high), "by band {seen:?}");
    }
    for band in 1..4 {
        for gamma in 0..2 {
            let peaks: Vec<u64> = (0..4).map(|n| peak(at(band, gamma, n))).collect();
            assert!(peaks.is_sorted() && peaks[0] < peaks[3], "by senders {peaks:?}");
        }
        for n in 0..4 {
            let (flat, deep) = (at(band, 0, n), at(band, 1, n));
            assert!(marks(deep) <= marks(flat), "band {band}, fan-in {n}: marks by Gamma");
            assert!(band == 3 || peak(deep) <= peak(flat), "band {band}, fan-in {n}: queue");
        }
    }
}

#[test]
fn ecn_spares_roce_senders_pauses_where_the_queue_reaches_it() {
    let (_, answers) = answers("roce-pfc-ecn.yaml", &[]);
    // Axes: three Xoff, four bands, three fan-ins, the last the fastest.
    let at = |xoff: usize, band: usize, n: usize| &answers[(xoff * 4 + band) * 3 + n];
    assert_eq!(answers.len(), 36);
    let marks = |a: &Answer| a.seen.totals.ecn_marks;
    for xoff in 0..3 {
        for (n, senders) in [2u32, 8, 32].into_iter().enumerate() {
            let plain = at(xoff, 0, n);
            let share = 1.0 - 1.0 / f64::from(senders);
            assert!((paused(plain) - share).abs() < 0.015, "{senders}: {}", paused(plain));
            for band in 0..4 {
                let a = at(xoff, band, n);
                let case = format!("Xoff {xoff}, band {band}, {senders} senders");
                assert_eq!(a.drops(), 0, "{case}");
                assert_eq!(a.seen.totals.retransmitted, 0, "{case}");
                let pool = a.startup();
                // What senders bring in before they are paused: Xoff, and their headroom.
                let most = u64::from(senders) * (pool.xoff + PACKET + a.seen.totals.peak_headroom);
                assert!(a.seen.totals.peak_egress <= most, "{case}");
                let reached =
                    a.seen.totals.peak_egress as f64 >= pool.pools[0].expect("pool 0").ecn_lower;
                assert!(marks(a) == 0 || band > 0 && reached, "{case}: marks below the band");
                if marks(a) == 0 {
                    assert!((paused(a) - paused(plain)).abs() < 1e-9, "{case}: as without ECN");
                } else if senders < 32 {
                    assert!(paused(a) < paused(plain) * 0.9, "{case}: {}", paused(a));
                } else {
                    assert!(paused(a) > 0.85, "{case}: the floor is too high for ECN alone");
                }
            }
        }
    }
    // Marks fall as the band moves up, and rise with Xoff and the fan-in.
    for (x, n) in (0..3).flat_map(|x| (0..3).map(move |n| (x, n))) {
        let by_band: Vec<u64> = (1..4).map(|band| marks(at(x, band, n))).collect();
        assert!(by_band.is_sorted_by(|low, high| low >= high), "by band {by_band:?}");
        let by_xoff: Vec<u64> = (0..3).map(|xoff| marks(at(xoff, x + 1, n))).collect();
        assert!(by_xoff.is_sorted(), "by Xoff {by_xoff:?}");
    }
    let never: Vec<u64> = [at(0, 2, 0), at(0, 3, 0), at(0, 3, 1), at(1, 3, 0)].map(marks).to_vec();
    assert_eq!(never, [0; 4], "the queue ends below the band");
    // The lowest band: no pauses of two senders with the largest Xoff, for some goodput.
    assert_eq!(at(2, 1, 0).seen.totals.pause_frames, 0);
    assert!(goodput(at(2, 1, 0)) < 0.9 * goodput(at(2, 0, 0)));
}

#[test]
fn collectives_are_slowed_by_paths_in_steps_and_by_losses_at_once() {
    let (_, answers) = answers("collectives.yaml", &[]);
    // Axes: three policies, two operations, with and without a barrier, three sprayers.
    let at = |policy: usize, operation: usize, barrier: usize, sprayer: usize| {
        &answers[((policy * 2 + operation) * 2 + barrier) * 3 + sprayer]
    };
    assert_eq!(answers.len(), 36);
    let end = |a: &Answer| a.seen.totals.end_time;
    for (place, a) in answers.iter().enumerate() {
        let (case, totals) = (format!("point {place}"), &a.seen.totals);
        let Traffic::Collective(collective) = &a.scenario.traffic[0] else { panic!("{case}") };
        assert!(matches!(a.scenario.topology, Topology::LeafSpine { spines: 4, .. }));
        assert_eq!((totals.end, totals.flows_unfinished), (End::Drained, 0), "{case}");
        // 62 steps of 32 messages, or 31 messages of each rank; a barrier is 62 more, empty.
        let messages = if place / 6 % 2 == 0 { 62 * 32 } else { 31 * 32 };
        let barrier = if collective.synchronize { 62 } else { 0 };
        assert_eq!(totals.flows_finished, messages + barrier, "{case}");
        assert_eq!(totals.payload_bytes, Some(messages << 17), "{case}: each byte once");
        assert_eq!(totals.timeouts, a.drops(), "{case}");
        assert_eq!(totals.retransmitted, a.drops() + totals.trims, "{case}");
        assert!(totals.trims == 0 || a.label == "trimming", "{case}");
        assert!(totals.pause_frames == 0 || a.label == "lossless", "{case}");
        let sprayed = a.scenario.nic.pds_manager.packet_spraying_type != PacketSpraying::None;
        if place / 6 % 2 == 0 && sprayed {
            assert_eq!((a.drops(), totals.trims, totals.pause_frames), (0, 0, 0), "{case}");
        }
    }
    for (policy, barrier) in (0..3).flat_map(|policy| (0..2).map(move |b| (policy, b))) {
        let case = format!("policy {policy}, barrier {barrier}");
        for sprayer in 1..3 {
            // Steps: one path makes all wait; at once: it makes little difference.
            let [one, many] = [0, sprayer].map(|s| end(at(policy, 0, barrier, s)));
            assert!(one > many * 2, "{case}: {one} and {many}");
            let [one, many] = [0, sprayer].map(|s| end(at(policy, 1, barrier, s)));
            assert!(one > many && one < many * 5 / 4, "{case}: {one} and {many}");
        }
        for sprayer in 0..3 {
            let a = at(policy, 1, barrier, sprayer);
            // 8 x 24 messages of 32 packets over 4 uplinks of each leaf.
            assert!(
                end(a) > 8 * 24 * 32 * (PACKET + 18) * 20 / 4,
                "{case}: faster than the fabric"
            );
            assert_eq!(a.label == "dropping", a.seen.totals.timeouts > 0, "{case}");
            assert_eq!(a.label == "dropping", end(a) > 230 * US, "{case}: {}", end(a));
        }
    }
    for sprayer in 1..3 {
        for barrier in 0..2 {
            let ends: Vec<u64> =
                (0..3).map(|policy| end(at(policy, 0, barrier, sprayer))).collect();
            let (least, most) = (ends.iter().min(), ends.iter().max());
            assert!(most.expect("3") * 50 < least.expect("3") * 51, "by policy {ends:?}");
        }
        for (policy, operation) in (0..3).flat_map(|policy| (0..2).map(move |o| (policy, o))) {
            let [with, without] =
                [0, 1].map(|barrier| end(at(policy, operation, barrier, sprayer)));
            assert!(with > without, "the barrier costs its messages");
        }
    }
}
