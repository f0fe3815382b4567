//! Intervals and hulls against every threshold tried out.

use super::*;
use proptest::prelude::*;

#[test]
fn an_interval_is_between_what_passed_and_what_did_not() {
    let mut seen = Interval::default();
    assert!(seen.holds(0) && seen.holds(u64::MAX - 1));
    for (value, passed) in [(7, true), (3, true), (20, false), (12, false)] {
        seen.compared(value, passed);
    }
    assert_eq!([6, 7, 11, 12].map(|t| seen.holds(t)), [false, true, true, false]);
    let mut other = Interval::default();
    other.compared(9, true);
    seen.add(&other);
    assert_eq!([8, 9, 11, 12].map(|t| seen.holds(t)), [false, true, true, false]);
}

/// The manager's own comparison.
fn admits(alpha: f64, size: u64, (queue, held): (u64, u64)) -> bool {
    queue as f64 <= alpha * size.saturating_sub(held) as f64
}

fn alpha() -> impl Strategy<Value = f64> {
    prop_oneof![
        prop::sample::select(vec![0.125, 0.25, 0.5, 1.0, 2.0, 8.0]),
        0.01f64..10.0,
        prop::sample::select(vec![0.1, 0.3, 1.0 / 3.0, 0.7]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Whatever was offered, a limit that the hull holds for answers every offer alike; and it holds
    /// for the limit in force, unless that was within a hair of an offer.
    #[test]
    fn a_hull_answers_for_every_offer(
        of in (alpha(), 500u64..3_000),
        to in (alpha(), 500u64..3_000),
        near in any::<bool>(),
        offers in prop::collection::vec((1u64..2_500, 0u64..3_200), 1..60),
    ) {
        let mut hull = Hull::default();
        let to = if near { (of.0, to.1.clamp(of.1.saturating_sub(20), of.1 + 20)) } else { to };
        for &(queue, held) in &offers {
            hull.offered(queue, held, admits(of.0, of.1, (queue, held)));
        }
        let alike = offers.iter().all(|&o| admits(of.0, of.1, o) == admits(to.0, to.1, o));
        prop_assert!(!hull.holds(to.0, to.1) || alike);
        let hair = |(queue, held): &(u64, u64)| {
            let free = of.1 as f64 - *held as f64;
            (of.0 * free - *queue as f64).abs() < 0.01
        };
        let overflows = hull.admitted.overflow || hull.refused.overflow;
        if !overflows && !offers.iter().any(hair) {
            prop_assert!(hull.holds(of.0, of.1));
            // Not much is given away: where all offers come out alike with room to spare, it holds.
            let spare = |&(queue, held): &(u64, u64)| {
                let free = to.1 as f64 - held as f64;
                (to.0 * free - queue as f64).abs() > 0.01
            };
            if offers.iter().all(spare) {
                prop_assert_eq!(hull.holds(to.0, to.1), alike);
            }
        }
    }
}

#[test]
fn a_hull_is_exact_where_alpha_is() {
    // 300 B admitted with 100 B held, 301 B refused with as many: alpha 1, so 400 ≤ size < 401.
    let mut hull = Hull::default();
    hull.offered(300, 100, true);
    hull.offered(301, 100, false);
    assert_eq!([399, 400, 401].map(|size| hull.holds(1.0, size)), [false, true, false]);
    // With alpha 2 the same is 250 ≤ size and size < 250.5.
    assert_eq!([249, 250, 251].map(|size| hull.holds(2.0, size)), [false, true, false]);
    assert!(!hull.holds(0.0, 400) && !hull.holds(f64::INFINITY, 400) && !hull.holds(1e-300, 400));
    assert!(Hull::default().holds(0.5, 1));
}

#[test]
fn more_corners_than_fit_hold_for_nothing() {
    let mut hull = Hull::default();
    // On a circle: every point is a corner.
    for step in 0..200u32 {
        let angle = f64::from(step) / 200.0 * std::f64::consts::FRAC_PI_2;
        let at = |x: f64| (1e9 * x) as u64;
        hull.offered(at(angle.sin()), at(angle.cos()), true);
    }
    assert!(hull.admitted.overflow);
    assert!(!hull.holds(1.0, 1 << 40));
}
