//! Answers of the shipped sweeps of the buffer models beside `scala`: relations the files
//! describe, and some exact numbers.

use super::{Answer, answers, run};
use poolsweep::scenario::{Switch, SwitchModel};
use poolsweep::sim::observe::{DropReason, Totals};
use poolsweep::units::Bytes;

/// Packets of a flow, and bytes of a frame: in a buffer and on the line.
const PACKETS: u64 = 400;
const FRAME: u64 = 1_048;
/// Bytes that may arrive after a pause.
const LATE: u64 = 27_068;
const US: u64 = 1_000_000;

fn switch(a: &Answer) -> &Switch {
    &a.scenario.switch
}

/// How much later the last flow ended than the line can carry everything, ps; none if one did not.
fn late(a: &Answer) -> Option<u64> {
    // `scala` counts 18 bytes of Ethernet beside IP packets of 1,034.
    let frame = if switch(a).model == SwitchModel::Scala { 1_052 } else { FRAME };
    let line = a.senders() * PACKETS * frame * 80;
    (a.seen.totals.flows_unfinished == 0)
        .then(|| a.seen.totals.fct_max.expect("flows ended").checked_sub(line).expect("the line"))
}

/// Nothing is lost, nothing is sent twice, and the line is never idle.
fn assert_lossless(a: &Answer, case: &str) {
    let totals = &a.seen.totals;
    assert_eq!((a.drops(), totals.retransmitted), (0, 0), "{case}");
    assert_eq!(totals.payload_bytes, Some(a.senders() * 400_000), "{case}");
    assert_eq!(totals.pause_frames, totals.resume_frames, "{case}");
    assert_eq!(totals.stuck_pauses, 0, "{case}");
    assert!(totals.peak_headroom <= LATE, "{case}: {}", totals.peak_headroom);
    assert!(late(a).expect("every flow ends") < 5 * US, "{case}: the line idles, {:?}", late(a));
}

#[test]
fn headroom_decides_what_an_hpcc_incast_loses_and_the_shift_how_long_it_queues() {
    let (_, answers) = answers("hpcc-incast.yaml", &[]);
    // Axes: three factors, three shifts, three fan-ins, the last the fastest.
    let at = |factor: usize, shift: usize, n: usize| &answers[(factor * 3 + shift) * 3 + n];
    assert_eq!(answers.len(), 27);
    for a in &answers {
        let (own, totals) = (&switch(a).hpcc, &a.seen.totals);
        let case = format!("factor {}, shift {}, {}", own.headroom_factor, own.shift, a.senders());
        let headroom = (own.headroom_factor * 12_500.0) as u64;
        assert!(totals.peak_headroom <= headroom, "{case}: {}", totals.peak_headroom);
        assert_eq!(a.drops(), a.drops_by(DropReason::IngressAdmission), "{case}");
        assert_eq!(totals.drops_without_pause, 0, "{case}: each loss had a pause before it");
        if a.drops() == 0 {
            assert_lossless(a, &case);
        } else {
            assert!(headroom < LATE && totals.pause_frames > 0, "{case}");
            assert_eq!(totals.peak_headroom, headroom / FRAME * FRAME, "{case}: full");
            assert!(late(a).is_none_or(|late| late > 30 * US), "{case}: losses take time");
        }
        if totals.pause_frames == 0 {
            // All but what leaves meanwhile, and it is the same whatever the buffer is.
            let all = if a.senders() == 4 { 1_252_360 } else { 2_927_064 };
            assert_eq!((a.drops(), totals.peak_egress), (0, all), "{case}");
        }
    }
    // Small headrooms: no loss only where next to nobody is paused.
    let clean = |factor: usize| {
        let points = (0..3).flat_map(|shift| (0..3).map(move |n| (shift, n)));
        points.filter(|(shift, n)| at(factor, *shift, *n).drops() == 0).collect::<Vec<_>>()
    };
    assert_eq!([clean(0), clean(1)], [vec![(0, 0), (0, 1), (1, 0)], vec![(0, 0), (0, 1), (1, 0)]]);
    assert_eq!(clean(2).len(), 9);
    let pauses = |a: &Answer| a.seen.totals.pause_frames;
    assert_eq!([0, 1, 2].map(|factor| pauses(at(factor, 0, 1))), [0, 0, 24], "less to share");
    assert_eq!([0, 1, 2].map(|factor| pauses(at(factor, 1, 0))), [0, 4, 12], "less to share");
    // A larger shift keeps the queue shorter, whatever is lost.
    for (factor, n) in (0..3).flat_map(|factor| (0..3).map(move |n| (factor, n))) {
        let peaks = [2, 1, 0].map(|shift| at(factor, shift, n).seen.totals.peak_egress);
        assert!(peaks.is_sorted() && peaks[0] * 2 < peaks[2] + 300_000, "by shift {peaks:?}");
    }
    for n in 0..3 {
        let held = [0, 1, 2].map(|shift| at(2, shift, n).seen.totals.paused_max);
        assert!(held.is_sorted() && held[0] < held[2], "paused by shift {held:?}");
    }
    assert_eq!(at(0, 1, 2).drops(), 31_445);
}

#[test]
fn buffer_models_differ_in_which_limit_an_incast_meets_first() {
    let (plan, answers) = answers("buffer-models.yaml", &[]);
    assert_eq!(answers.len(), 36);
    let of = |label: &str| {
        let of: Vec<&Answer> = answers.iter().filter(|a| a.label == label).collect();
        assert_eq!(of.iter().map(|a| a.senders()).collect::<Vec<_>>(), [4, 8, 16, 32], "{label}");
        of
    };
    let peaks =
        |label: &str| -> Vec<u64> { of(label).iter().map(|a| a.seen.totals.peak_egress).collect() };
    let drops = |label: &str| -> Vec<u64> { of(label).iter().map(|a| a.drops()).collect() };
    for a in &answers {
        let (case, totals) = (format!("{} {}", a.label, a.senders()), &a.seen.totals);
        assert!(totals.peak_egress <= 4 << 20, "{case}: {}", totals.peak_egress);
        assert!(totals.peak_headroom <= LATE, "{case}: {}", totals.peak_headroom);
        if a.drops() == 0 {
            assert_lossless(a, &case);
        }
        let reason = match a.label.as_str() {
            "Reverie" => DropReason::IngressPool,
            _ => DropReason::EgressQueueLimit,
        };
        assert_eq!(a.drops(), a.drops_by(reason), "{case}");
    }
    for label in ["scala", "hpcc", "DT-open", "CS"] {
        assert_eq!(drops(label), [0; 4], "{label}");
        assert!(of(label)[3].seen.totals.pause_frames > 0, "{label}");
    }
    // A number, a share of an eighth, all that ingress has free, everything.
    for n in 0..4 {
        let by_model = ["scala", "hpcc", "DT-open", "CS"].map(|label| peaks(label)[n]);
        assert!(by_model.is_sorted() && by_model[0] < by_model[1], "{by_model:?}");
    }
    for a in of("scala") {
        let totals = &a.seen.totals;
        assert_eq!(totals.peak_ingress, 60_000u64.next_multiple_of(1_034), "Xoff, {}", a.senders());
        assert!(totals.peak_egress <= a.senders() * (totals.peak_ingress + totals.peak_headroom));
    }
    // DT: half the egress pool, before any port has what is free at ingress.
    assert_eq!(drops("DT"), [0, 792, 3_988, 10_388]);
    for a in of("DT") {
        let totals = &a.seen.totals;
        assert_eq!(totals.pause_frames, 0);
        assert!(totals.peak_ingress < 1 << 20, "{}", totals.peak_ingress);
        assert!(totals.peak_egress <= 2 << 20, "{}", totals.peak_egress);
        let full = totals.peak_egress + FRAME > 2 << 20;
        assert_eq!((a.drops() > 0, totals.flows_unfinished > 0), (full, full));
    }
    // What DT and ABM do without unscheduled packets.
    let all_scheduled = |label: &str| -> Vec<Totals> {
        let points = of(label).into_iter().map(|a| {
            let mut scenario = a.scenario.clone();
            scenario.nic.unscheduled = Some(Bytes(0));
            let job = plan.points[a.point].job.expect("no point is excluded");
            run(&scenario, &plan.jobs[job]).totals
        });
        points.collect()
    };
    for (dt, fab) in of("DT").iter().zip(all_scheduled("FAB")) {
        assert_eq!(dt.seen.totals, fab, "nothing is unscheduled");
    }
    // 100 Gbps × 13 us: the packets that start at 0 to 162,000 B. From 16 senders on these 163 of
    // each are more than DT's limit: all of them pass, and none of the others.
    assert_eq!(drops("FAB"), [0, 792, 16 * (400 - 163), 32 * (400 - 163)]);
    for (n, a) in of("FAB").into_iter().enumerate() {
        let totals = &a.seen.totals;
        let tails = n >= 2;
        assert_eq!(totals.flows_finished == 0, tails);
        assert_eq!(totals.peak_egress > 2 << 20, tails);
        assert_eq!(totals.retransmitted == 0, n == 0 || tails, "nothing follows a lost tail");
        if tails {
            assert_eq!(totals.payload_bytes, Some(a.senders() * 163_000));
        }
    }
    // ABM: the same limit at egress, but earlier pauses.
    for (abm, open) in all_scheduled("ABM").iter().zip(of("DT-open")) {
        let open = &open.seen.totals;
        assert!(abm.paused_max > open.paused_max && abm.peak_egress < open.peak_egress);
    }
    assert_eq!(drops("ABM"), [0, 0, 16 * (400 - 163), 1_921]);
    let lost = |totals: &Totals| totals.drops.iter().sum::<u64>();
    assert_eq!(all_scheduled("ABM").iter().map(lost).collect::<Vec<_>>(), [0, 0, 0, 581]);
    // Reverie: no pause yet for most of what is lost.
    assert_eq!(drops("Reverie"), [0, 0, 0, 1_908]);
    let totals = &of("Reverie")[3].seen.totals;
    assert!(totals.drops_without_pause * 10 > 1_908 * 9, "{}", totals.drops_without_pause);
    assert!(totals.peak_egress + FRAME > 4 << 20, "the whole buffer: {}", totals.peak_egress);
    // SP: a 264th each, and losses from the smallest fan-in on.
    assert_eq!(peaks("SP"), [(4 << 20) / 264 / FRAME * FRAME; 4]);
    for n in 0..4 {
        let most = ["DT", "ABM", "Reverie"].map(|label| drops(label)[n]);
        assert!(most.iter().all(|lost| *lost < drops("SP")[n]), "{most:?}");
    }
}
