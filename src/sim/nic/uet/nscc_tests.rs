use super::*;
use crate::units::Ps;
use proptest::prelude::*;

const US: u64 = 1_000_000;

fn gains(cc: &CongestionControl) -> Gains {
    Gains::new(cc, false, 400_000_000_000, 4_184)
}

fn group(change: impl FnOnce(&mut CongestionControl)) -> (Gains, Nscc) {
    let mut cc = CongestionControl::default();
    change(&mut cc);
    let gains = gains(&cc);
    let nscc = Nscc::new(&gains, 0);
    (gains, nscc)
}

fn ack(newly: u64, rtt: u64) -> Acked {
    Acked { newly, in_flight: 300_000, rtt: Some(rtt), marked: false, penalty: 0, restore: false }
}

fn near(value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{value}, not {expected}");
}

#[test]
fn the_gains_are_those_of_the_defaults() {
    let (gains, nscc) = group(|_| {});
    near(gains.bdp(), 300_000.0, 1e-9);
    near(nscc.window(), 450_000.0, 1e-9);
    near(gains.alpha * 1e6, 2_789.33, 0.01);
    near(gains.fair, 20_920.0, 1e-9);
    near(gains.eta, 627.6, 1e-9);
    assert_eq!((gains.fast, gains.adjust_bytes, gains.target), (1.0, 8 * 4_184, 6e6));
    let trimming = Gains::new(&CongestionControl::default(), true, 400_000_000_000, 4_184);
    assert_eq!((trimming.target, trimming.alpha), (4.5e6, gains.alpha));
    let (own, _) = group(|cc| {
        cc.override_uet_spec_max_cwind = true;
        cc.override_spec_target_queue_delay = true;
        cc.window_unit = Some(crate::units::Bytes(4_096));
    });
    assert_eq!((own.max_window, own.target, own.fair), (107.0 * 4_184.0, 4.5e6, 20_480.0));
    assert_eq!(own.least(), 4_184.0, "a full packet must fit");
}

/// U5, the arithmetic of it.
#[test]
fn an_rtt_below_the_base_less_the_guard_lowers_base_and_largest_window() {
    let (gains, mut nscc) = group(|_| {});
    nscc.base_sample(&gains, 5_000_000);
    assert_eq!(nscc.base_rtt(), 6 * US, "not below the base less the guard");
    nscc.base_sample(&gains, 2_724_730);
    assert_eq!(nscc.base_rtt(), 3_724_730);
    near(nscc.window(), 279_354.75, 1e-6);
    nscc.base_sample(&gains, 2_409_960);
    assert_eq!((nscc.base_rtt(), (nscc.max_window() / 4_184.0) as u64), (3_409_960, 61));
    near(nscc.window(), 255_747.0, 1e-6);
    nscc.base_sample(&gains, 9_000_000);
    assert_eq!(nscc.base_rtt(), 3_409_960, "it never rises");
}

/// U6.
#[test]
fn the_average_passes_6_us_at_the_fifth_sample_of_8() {
    let (gains, mut nscc) = group(|_| {});
    for (sample, expected) in [2.0, 3.5, 4.625, 5.469, 6.102].into_iter().enumerate() {
        nscc.acked(&gains, sample as u64, &ack(4_184, 14 * US));
        near(nscc.average() / 1e6, expected, 0.0005);
    }
}

/// U7.
#[test]
fn a_decrease_goes_by_the_average_and_comes_once_a_base_rtt() {
    for (average, expected) in [(10.0, 272_000.0), (16.0, 200_000.0), (24.0, 200_000.0)] {
        let (gains, mut nscc) = group(|cc| {
            cc.delay_alpha = 1.0;
            cc.disable_quick_adapt = true;
            cc.eta_multiplier = 0.0;
        });
        nscc.window = 400_000.0;
        let marked = Acked { marked: true, ..ack(4_184, 6 * US + (average * 1e6) as u64) };
        nscc.acked(&gains, 100, &marked);
        near(nscc.window(), expected, 1e-6);
        nscc.acked(&gains, 100 + 6 * US - 1, &marked);
        near(nscc.window(), expected, 1e-6);
        nscc.acked(&gains, 101 + 6 * US, &marked);
        assert!(nscc.window() < expected, "a base RTT is over");
    }
}

/// U8.
#[test]
fn proportional_and_fair_increase_and_the_increase_with_time() {
    // A sample is a delay of 2 us: the RTT is 2 us above what delays are counted from.
    let (gains, mut nscc) = group(|_| {});
    nscc.window = 200_000.0;
    nscc.acked(&gains, 1, &ack(4_184, 8 * US));
    near(nscc.growth, 46_682_282.7, 0.1);
    let applied = nscc.growth / nscc.window();
    near(applied, 233.4, 0.05);
    assert_eq!(nscc.window(), 200_000.0, "not applied yet");
    // 9 packets are more than 8 of the unit.
    for _ in 0..7 {
        nscc.acked(&gains, 1, &ack(4_184, 8 * US));
    }
    assert_eq!(nscc.window(), 200_000.0);
    nscc.acked(&gains, 1, &ack(4_184, 8 * US));
    near(nscc.window(), 200_000.0 + 9.0 * applied, 1e-6);
    // A window's worth at once, and a fair increase of the same; then a period is over.
    nscc.window = 200_000.0;
    nscc.acked(&gains, 2, &ack(200_000, 8 * US));
    near(nscc.window(), 211_157.3, 0.1);
    nscc.window = 200_000.0;
    nscc.acked(&gains, 3, &ack(200_000, 12 * US));
    near(nscc.window(), 220_920.0, 1e-6);
    nscc.window = 200_000.0;
    nscc.acked(&gains, 6 * US, &Acked { marked: true, ..ack(10, 8 * US) });
    near(nscc.window(), 200_627.6, 1e-6);
}

#[test]
fn fast_increase_starts_after_a_window_next_to_no_delay_and_ends_with_delay() {
    let (gains, mut nscc) = group(|cc| cc.disable_quick_adapt = true);
    nscc.window = 10_000.0;
    for _ in 0..2 {
        nscc.acked(&gains, 1, &ack(4_184, 6 * US));
        assert_eq!((nscc.window(), nscc.fast), (10_000.0, false));
    }
    nscc.acked(&gains, 1, &ack(4_184, 6 * US));
    assert_eq!((nscc.window(), nscc.fast), (14_184.0, true));
    nscc.acked(&gains, 1, &ack(4_184, 7 * US));
    assert_eq!((nscc.window(), nscc.fast), (14_184.0, false));
}

/// U9.
#[test]
fn a_trim_takes_a_packet_off_the_window() {
    let (gains, mut nscc) = group(|_| {});
    nscc.window = 300_000.0;
    nscc.trimmed(&gains, 1, 4_184, 0, None);
    assert_eq!(nscc.window(), 295_816.0);
    near(nscc.average(), 1.5e6, 1e-6);
    nscc.timed_out(&gains, 4_184);
    assert_eq!(nscc.window(), 291_632.0);
    nscc.window = 5_000.0;
    nscc.timed_out(&gains, 4_184);
    assert_eq!(nscc.window(), 4_184.0, "no less than a packet");
}

/// U10: an observation window of 12 us, an average of 25 us at its end.
#[test]
fn quick_adapt_fires_below_an_eighth_of_the_largest_window() {
    for (packets, expected) in [(12, Some(50_208.0)), (14, None)] {
        let (gains, mut nscc) = group(|cc| cc.delay_alpha = 1.0);
        nscc.acked(&gains, 0, &ack(0, 31 * US));
        assert_eq!(nscc.observed, Some(12 * US));
        for packet in 1..=packets {
            nscc.acked(&gains, packet * US * 12 / packets, &ack(4_184, 31 * US));
        }
        assert_eq!(nscc.quick_adapts, u64::from(expected.is_some()));
        match expected {
            Some(window) => assert_eq!(nscc.window(), window),
            None => assert!(nscc.window() > 400_000.0),
        }
    }
}

#[test]
fn trims_of_what_was_in_flight_when_quick_adapt_fired_are_ignored() {
    let cc = CongestionControl::default();
    let gains = Gains::new(&cc, true, 400_000_000_000, 4_184);
    let mut nscc = Nscc::new(&gains, 0);
    nscc.trimmed(&gains, 0, 4_184, 90_000, None);
    assert_eq!((nscc.quick_adapts, nscc.window()), (0, 445_816.0), "it only starts to observe");
    nscc.trimmed(&gains, 10_500_000, 4_184, 9_000, None);
    assert_eq!((nscc.quick_adapts, nscc.window()), (1, 4_184.0));
    nscc.window = 100_000.0;
    nscc.trimmed(&gains, 10_500_001, 4_184, 4_816, None);
    nscc.trimmed(&gains, 10_500_002, 4_184, 632, None);
    assert_eq!(nscc.window(), 100_000.0, "8,368 of 9,000 bytes");
    nscc.trimmed(&gains, 10_500_003, 4_184, 0, None);
    assert_eq!(nscc.window(), 95_816.0);
}

/// U11.
#[test]
fn the_receiver_penalty_cuts_from_what_is_in_flight_and_is_restored() {
    let (gains, mut nscc) = group(|_| {});
    let limited = Acked { penalty: 63, rtt: None, restore: true, ..ack(4_184, 0) };
    nscc.acked(&gains, 1, &limited);
    assert_eq!(nscc.window(), 300_000.0 - 2_059.0);
    nscc.acked(&gains, 2, &Acked { penalty: 0, restore: false, ..limited });
    assert_eq!(nscc.window(), 297_941.0);
    nscc.acked(&gains, 3, &Acked { penalty: 0, ..limited });
    assert_eq!((nscc.window(), nscc.saved), (450_000.0, 0.0));
}

#[test]
fn without_congestion_control_the_window_is_the_largest_one() {
    let (gains, mut nscc) = group(|cc| {
        cc.nscc_enable = false;
        cc.base_rtt_guard = Ps(0);
    });
    nscc.trimmed(&gains, 1, 4_184, 0, None);
    nscc.timed_out(&gains, 4_184);
    nscc.acked(&gains, 2, &Acked { marked: true, penalty: 127, ..ack(4_184, 40 * US) });
    assert_eq!(nscc.window(), 450_000.0);
    nscc.acked(&gains, 3, &ack(4_184, 3 * US));
    near(nscc.window(), 225_000.0, 1e-6);
}

proptest! {
    /// Whatever comes back, the window stays between a packet and the largest window, and both
    /// stay numbers.
    #[test]
    fn the_window_stays_within_bounds(
        trimming: bool,
        steps in prop::collection::vec((0u8..4, 0u64..40 * US, 0u64..3 * US, any::<bool>(), 0u8..128), 1..400),
    ) {
        let gains = Gains::new(&CongestionControl::default(), trimming, 400_000_000_000, 4_184);
        let mut nscc = Nscc::new(&gains, 0);
        let mut now = 0;
        for (kind, rtt, later, marked, penalty) in steps {
            now += later;
            match kind {
                0 => nscc.trimmed(&gains, now, 4_184, rtt / 100, Some(rtt)),
                1 => nscc.timed_out(&gains, 4_184),
                kind => {
                    let penalty = if kind == 2 { penalty } else { 0 };
                    let ack = Acked { marked, penalty, restore: true, in_flight: rtt / 100, ..ack(4_184, rtt) };
                    nscc.acked(&gains, now, &ack);
                }
            }
            prop_assert!(nscc.window() >= 4_184.0, "{}", nscc.window());
            prop_assert!(nscc.window() <= nscc.max_window(), "{} {}", nscc.window(), nscc.max_window());
            prop_assert!(nscc.average() >= 0.0 && nscc.average() <= 4e7);
        }
    }
}
