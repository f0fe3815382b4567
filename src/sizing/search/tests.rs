//! Random predicates against what the answer promises.

use super::*;
use proptest::prelude::*;

/// Runs a search to its end; the search and how often it asked.
fn run(mut search: Search, verdict: impl Fn(u64) -> Verdict) -> (Search, usize) {
    let mut rounds = 0;
    while let Some(places) = search.ask() {
        assert!(!places.is_empty() && places.is_sorted(), "{places:?}");
        for place in places {
            assert!(!search.seen().contains_key(&place), "asked twice for {place}");
            search.tell(place, verdict(place));
        }
        rounds += 1;
        assert!(rounds < 500, "no end");
    }
    (search, rounds)
}

fn holds_if(holds: bool) -> Verdict {
    if holds { Verdict::Holds } else { Verdict::Fails }
}

/// What monotone verdicts come to when `first` is the first place that holds.
fn expected(first: u64, last: u64) -> Answer {
    match first {
        0 => Answer::Everywhere,
        _ if first > last => Answer::Nowhere,
        _ => Answer::Found { holds: first, fails: first - 1 },
    }
}

#[test]
fn bisection_takes_as_many_rounds_as_bits() {
    let (search, rounds) = run(Search::new(Goal::Smallest, 1 << 20, 1), |p| holds_if(p >= 777_777));
    assert_eq!(search.answer(), Some(Answer::Found { holds: 777_777, fails: 777_776 }));
    assert_eq!(rounds, 20, "the first looks at the middle too");
    let (search, rounds) = run(Search::new(Goal::Smallest, 1 << 20, 3), |p| holds_if(p >= 777_777));
    assert_eq!(search.answer(), Some(Answer::Found { holds: 777_777, fails: 777_776 }));
    assert_eq!(rounds, 10);
}

#[test]
fn the_first_round_looks_at_both_ends() {
    assert_eq!(Search::new(Goal::Smallest, 100, 3).ask(), Some(vec![0, 25, 50, 75, 100]));
    assert_eq!(Search::new(Goal::Largest, 100, 1).ask(), Some(vec![0, 50, 100]));
    assert_eq!(Search::new(Goal::Largest, 1, 7).ask(), Some(vec![0, 1]));
    assert_eq!(Search::new(Goal::Smallest, 0, 7).ask(), Some(vec![0]));
}

#[test]
fn the_widest_range_is_searched() {
    let first = u64::MAX - 3;
    let (search, _) = run(Search::new(Goal::Smallest, u64::MAX, 7), |p| holds_if(p >= first));
    assert_eq!(search.answer(), Some(Answer::Found { holds: first, fails: first - 1 }));
}

#[test]
fn a_dip_is_told() {
    // Holds from 40 on, but not from 70 to 79: the answer is above the dip.
    let dips = |p: u64| holds_if(p >= 40 && !(70..80).contains(&p));
    let (search, _) = run(Search::new(Goal::Smallest, 100, 3), dips);
    assert_eq!(search.answer(), Some(Answer::Found { holds: 80, fails: 79 }));
    assert_eq!(search.flips(), [(50, 75)]);
    // The same seen from the other side.
    let (search, _) = run(Search::new(Goal::Largest, 100, 3), |p| dips(100 - p));
    assert_eq!(search.answer(), Some(Answer::Found { holds: 20, fails: 21 }));
    assert_eq!(search.flips(), [(50, 25)]);
}

#[test]
fn the_wrong_direction_is_told() {
    let (search, _) = run(Search::new(Goal::Smallest, 100, 3), |p| holds_if(p < 60));
    assert_eq!(search.answer(), Some(Answer::UpToEnd { holds: 0 }));
    assert_eq!(search.flips(), [(50, 75)]);
}

#[test]
fn scales_are_exact_or_refused() {
    let whole = Rational::from_integer;
    let new = |from, to, step| Scale::new(whole(from), whole(to), whole(step));
    let scale = new(100, 1_000, 50).unwrap();
    assert_eq!((scale.last(), scale.value(3)), (18, Some(whole(250))));
    assert_eq!(new(5, 5, 1).unwrap().last(), 0);
    assert_eq!(new(0, 1, 0), Err(ScaleError::Step));
    assert_eq!(new(0, 1, -1), Err(ScaleError::Step));
    assert_eq!(new(1, 0, 1), Err(ScaleError::Backwards));
    assert_eq!(new(0, 100, 30), Err(ScaleError::Between));
    assert_eq!(new(0, i128::MAX, 1), Err(ScaleError::TooLong));
    let tenths = Scale::new(whole(0), whole(1), Rational::new(1, 10)).unwrap();
    assert_eq!(tenths.value(3), Some(Rational::new(3, 10)));
}

proptest! {
    #[test]
    fn monotone_verdicts_give_the_exact_edge(
        last in 0u64..5_000_000,
        share in 0.0..1.01f64,
        probes in 1u32..20,
    ) {
        let first = (last as f64 * share) as u64;
        let (search, rounds) =
            run(Search::new(Goal::Smallest, last, probes), |p| holds_if(p >= first));
        prop_assert_eq!(search.answer(), Some(expected(first, last)));
        prop_assert_eq!(search.flips(), []);
        let most = (last.max(1) as f64).log(f64::from(probes) + 1.0).ceil() as usize + 2;
        prop_assert!(rounds <= most, "{} rounds of {}", rounds, most);
        // The other direction is its mirror image.
        let (turned, _) =
            run(Search::new(Goal::Largest, last, probes), |p| holds_if(last - p >= first));
        let mirrored = match expected(first, last) {
            Answer::Found { holds, fails } => {
                Answer::Found { holds: last - holds, fails: last - fails }
            }
            other => other,
        };
        prop_assert_eq!(turned.answer(), Some(mirrored));
    }

    #[test]
    fn any_verdicts_give_a_true_edge_and_a_warning(
        verdicts in prop::collection::vec(0u8..3, 1..200),
        probes in 1u32..8,
        largest: bool,
    ) {
        let last = verdicts.len() as u64 - 1;
        let at = |p: u64| [Verdict::Holds, Verdict::Fails, Verdict::Infeasible]
            [usize::from(verdicts[p as usize])];
        let goal = if largest { Goal::Largest } else { Goal::Smallest };
        let (search, _) = run(Search::new(goal, last, probes), at);
        let seen = search.seen();
        prop_assert!(seen.iter().all(|(&place, &verdict)| at(place) == verdict));
        prop_assert!(seen.contains_key(&0) && seen.contains_key(&last));
        let held: Vec<u64> =
            seen.iter().filter(|(_, v)| **v == Verdict::Holds).map(|(&p, _)| p).collect();
        match search.answer().unwrap() {
            Answer::Found { holds, fails } => {
                prop_assert_eq!(at(holds), Verdict::Holds);
                prop_assert_ne!(at(fails), Verdict::Holds);
                prop_assert_eq!(if largest { holds + 1 } else { holds.wrapping_sub(1) }, fails);
                prop_assert!(seen.contains_key(&holds) && seen.contains_key(&fails));
            }
            Answer::Everywhere => prop_assert_eq!(held.len(), seen.len()),
            Answer::UpToEnd { holds } => {
                prop_assert_eq!(holds, if largest { last } else { 0 });
                prop_assert_eq!(at(holds), Verdict::Holds);
                prop_assert!(held.len() < seen.len());
            }
            Answer::Nowhere => prop_assert!(held.is_empty()),
        }
        // A place that holds has none beyond it that fails, unless that is told.
        let beyond = |a: u64, b: u64| if largest { b < a } else { b > a };
        let surprise = held.iter().any(|&a| {
            seen.iter().any(|(&b, &v)| v == Verdict::Fails && beyond(a, b))
        });
        prop_assert_eq!(!search.flips().is_empty(), surprise);
    }

    #[test]
    fn too_little_then_right_then_refused_is_found(
        last in 1u64..1_000_000,
        one in 0.0..1.0f64,
        other in 0.0..1.0f64,
        probes in 1u32..8,
    ) {
        let place = |share: f64| (last as f64 * share) as u64;
        let (first, refused) = (place(one.min(other)) + 1, place(one.max(other)) + 1);
        let verdict = |p: u64| match p {
            p if p >= refused => Verdict::Infeasible,
            p => holds_if(p >= first),
        };
        let (search, _) = run(Search::new(Goal::Smallest, last, probes), verdict);
        let wanted = if first < refused {
            Answer::Found { holds: first, fails: first - 1 }
        } else {
            Answer::Nowhere
        };
        prop_assert_eq!(search.answer(), Some(wanted));
        prop_assert_eq!(search.flips(), []);
    }

    #[test]
    fn told_the_same_it_asks_the_same(last in 0u64..10_000, first in 0u64..10_000) {
        let verdict = |p: u64| holds_if(p >= first);
        let (whole, _) = run(Search::new(Goal::Smallest, last, 3), verdict);
        // Verdicts of an earlier search that was interrupted come in their order.
        let mut again = Search::new(Goal::Smallest, last, 3);
        let known = whole.seen();
        while let Some(places) = again.ask() {
            for place in places {
                prop_assert!(known.contains_key(&place), "asks for {place} only now");
                again.tell(place, known[&place]);
            }
        }
        prop_assert_eq!(again, whole);
    }

    /// Values fall into boxes of equal simulations; what is known of them saves questions, and never
    /// changes the answer nor costs many.
    #[test]
    fn what_is_known_changes_no_answer(
        last in 2u64..1_000_000,
        share in 0.0..1.0f64,
        width in prop_oneof![Just(1u64), Just(u64::MAX), 1u64..100_000],
        largest in any::<bool>(),
        probes in 1u32..4,
    ) {
        let edge = (last as f64 * share) as u64;
        let goal = if largest { Goal::Largest } else { Goal::Smallest };
        let verdict = |p: u64| holds_if(if largest { p <= edge } else { p >= edge });
        // Counted from the edge, which no box reaches across.
        let of = |p: u64| (verdict(p) == Verdict::Holds, p.abs_diff(edge) / width);
        let (plain, _) = run(Search::new(goal, last, probes), verdict);
        let mut knowing = Search::new(goal, last, probes);
        while let Some(places) = knowing.ask_knowing(|one, other| of(one) == of(other)) {
            for place in places {
                prop_assert!(!knowing.seen().contains_key(&place), "asked twice for {}", place);
                knowing.tell(place, verdict(place));
            }
        }
        prop_assert_eq!(knowing.answer(), plain.answer());
        let (told, without) = (knowing.seen().len(), plain.seen().len());
        prop_assert!(told <= 3 * without + 4, "{} places, {} without", told, without);
        if width == u64::MAX {
            // All that holds is one simulation: the edge and its neighbour, after the first round.
            prop_assert!(told <= 4 + probes as usize, "{}", told);
        }
    }
}
