//! The sweeps of several switches: relations their comments promise, and some exact numbers.

use super::{Answer, answers};
use poolsweep::scenario::{LoadBalancingMethod, Traffic};
use poolsweep::sim::observe::{LoadBalancingRow, Side};
use std::collections::BTreeMap;

const US: u64 = 1_000_000;

/// Every member of the sets at the end of the job, by switch, set and port.
fn members(a: &Answer) -> BTreeMap<(u32, u32, u32), &LoadBalancingRow> {
    (a.seen.load_balancing.iter()).map(|row| ((row.node, row.group, row.port), row)).collect()
}

/// A counter summed over all members.
fn sum(a: &Answer, count: impl Fn(&LoadBalancingRow) -> u64) -> u64 {
    members(a).values().map(|row| count(row)).sum()
}

/// Largest share of a set's bytes that one of its members carried.
fn largest_share(a: &Answer) -> f64 {
    let members = members(a);
    let total = |node: u32, group: u32| -> u64 {
        (members.range((node, group, 0)..=(node, group, u32::MAX)))
            .map(|(_, row)| row.stats.bytes)
            .sum()
    };
    (members.iter())
        .map(|(&(node, group, _), row)| row.stats.bytes as f64 / total(node, group).max(1) as f64)
        .fold(0.0, f64::max)
}

#[test]
fn a_first_choice_by_queue_is_worth_most_and_every_packet_by_itself_the_rest() {
    let (_, answers) = answers("flowlet.yaml", &[]);
    let (none, flowlet): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.label == "none");
    assert_eq!((none.len(), flowlet.len()), (3, 24));
    // Axes: three rates, aware or not, four gaps, the last the fastest.
    let at = |rate: usize, aware: usize, gap: usize| flowlet[(rate * 2 + aware) * 4 + gap];
    let slowest = |a: &Answer| a.seen.totals.fct_max.expect("flows");
    let pauses = |a: &Answer| a.seen.totals.pause_frames;
    for (place, a) in none.iter().chain(&flowlet).enumerate() {
        assert_eq!((a.drops(), a.seen.totals.flows_finished), (0, 24), "point {place}");
        assert_eq!(a.seen.totals.flows_unfinished, 0, "point {place}");
        let Traffic::Permutation(traffic) = &a.scenario.traffic[0] else { panic!("{place}") };
        // 8 MB at the capped rate, without headers.
        let alone = 8_000_000 * 8 * US / (traffic.common.rate.expect("a cap").0 / 1_000_000);
        assert!(slowest(a) > alone, "point {place}: {} us", slowest(a) / US);
        let slots = if a.label == "none" { 0 } else { 512 };
        assert!(a.seen.load_balancing.iter().all(|row| row.slots == slots), "point {place}");
    }
    for (rate, aware) in (0..3).flat_map(|rate| (0..2).map(move |aware| (rate, aware))) {
        let case = format!("rate {rate}, aware {aware}");
        let [each, short, long, default] = [0, 1, 2, 3].map(|gap| at(rate, aware, gap));
        for a in [each, short, long, default] {
            let settings = &a.scenario.switch;
            assert_eq!(settings.load_balancing_method, LoadBalancingMethod::Flowlet);
            assert_eq!(settings.load_balancing_flowlet.pfc_aware, aware == 0, "{case}");
        }
        assert_eq!(long.seen, default.seen, "{case}: 10us is as long as 100us");
        assert_eq!(sum(default, |row| row.stats.movements_in), 0, "{case}: one choice");
        let packets = sum(each, |row| row.stats.packets);
        assert_eq!(sum(each, |row| row.stats.assignments), packets, "{case}: one a packet");
        if rate == 0 {
            assert_eq!([each, short, default].map(pauses), [0; 3], "{case}");
            assert!([each, short].iter().all(|a| slowest(a) == slowest(default)), "{case}");
            continue;
        }
        let moved = |a: &Answer| sum(a, |row| row.stats.movements_in);
        assert!(moved(each) > moved(short) && moved(short) > 0, "{case}");
        assert!(slowest(each) < slowest(short) && slowest(short) < slowest(default), "{case}");
        assert!(slowest(default) * 10 < slowest(none[rate]) * 7, "{case}: the first choice");
        let alone = slowest(at(0, 0, 0)) * 4 / (4 + 2 * rate as u64);
        assert!(slowest(each) * 100 < alone * 112, "{case}: {} us", slowest(each) / US);
        assert!(largest_share(default) <= 0.5 && largest_share(none[rate]) > 0.7, "{case}");
    }
    assert_eq!(pauses(none[0]), 0, "200 Gbps");
    // What is kept from paused up-links, and what that is worth.
    for rate in 1..3 {
        let [aware, blind] = [0, 1].map(|aware| at(rate, aware, 0));
        let skips = |a: &Answer| sum(a, |row| row.stats.paused_skips);
        let onto = |a: &Answer| sum(a, |row| row.stats.paused_selections);
        assert!(skips(aware) > 100 && skips(blind) == 0, "rate {rate}");
        assert!(onto(blind) > 0, "rate {rate}");
        let gain = 1.0 - slowest(aware) as f64 / slowest(blind) as f64;
        assert!(gain > 0.01 && gain < 0.05, "rate {rate}: {gain}");
        let [aware, blind] = [0, 1].map(|aware| slowest(at(rate, aware, 1)));
        assert!(aware.abs_diff(blind) * 1_000 < blind, "rate {rate}: {aware} and {blind} ps");
    }
    assert_eq!([&none[1], &none[2]].map(|a| slowest(a) / US), [394, 398]);
    assert_eq!([0, 1, 2, 3].map(|gap| slowest(at(2, 0, gap)) / US), [172, 212, 243, 243]);
    let peak = |a: &Answer| a.seen.totals.peak_egress;
    assert!(peak(at(2, 0, 1)) > 2 * peak(at(2, 0, 3)), "flows move together");
}

/// Ports that stood still for the whole last interval: NICs, down-links and up-links of leaves,
/// spines.
fn still(a: &Answer) -> [u64; 4] {
    let mut counts = [0; 4];
    let last = (a.seen.pfc.iter()).filter(|row| row.sim_time == a.scenario.duration.0);
    for row in last.filter(|row| row.tc == 0 && row.interval_paused == row.length) {
        let place = match (row.node, row.side) {
            (0..24, _) => 0,
            (24..28, Side::Down) => 1,
            (24..28, _) => 2,
            _ => 3,
        };
        counts[place] += 1;
    }
    counts
}

#[test]
fn pauses_of_a_dead_receiver_reach_every_sender_and_whoever_shares_their_links() {
    let (_, answers) = answers("pfc-storm.yaml", &[]);
    assert_eq!(answers.len(), 18);
    // Scenarios quiet, busy, lossy; axes: three fan-ins, two Xoff, the last the fastest.
    let at = |scenario: usize, n: usize, xoff: usize| &answers[(scenario * 3 + n) * 2 + xoff];
    let delivered = |a: &Answer| a.seen.totals.delivered_bytes;
    for a in &answers {
        let case = format!("{}, {} senders, Xoff {}", a.label, a.senders(), a.startup().xoff);
        assert_eq!(a.drops() > 0, a.label == "lossy", "{case}");
        assert_eq!(a.seen.totals.deadlock, None, "{case}");
        let [nics, down, up, spines] = still(a);
        assert_eq!(down, 1, "{case}: the port of host 0 and no other host's");
        match a.label.as_str() {
            "quiet" => {
                assert_eq!((nics, delivered(a)), (a.senders(), 0), "{case}");
                assert_eq!(spines > 0, a.senders() > 5, "{case}");
            }
            "busy" => {
                assert!(nics >= 15 && nics > a.senders(), "{case}: {nics} NICs");
                assert!(spines >= 2 && up >= 6, "{case}");
            }
            _ => assert_eq!([nics, up, spines], [0; 3], "{case}"),
        }
    }
    for n in 0..3 {
        let case = format!("fan-in {n}");
        assert_eq!(still(at(0, n, 0)), still(at(0, n, 1)), "{case}: Xoff changes nothing");
        assert!(delivered(at(1, n, 0)) < delivered(at(1, n, 1)), "{case}: a larger Xoff");
        for xoff in 0..2 {
            let [busy, lossy] = [1, 2].map(|scenario| delivered(at(scenario, n, xoff)));
            assert!(busy * 3 < lossy * 2, "{case}: {busy} and {lossy} B");
            let fewer = n > 0 && delivered(at(1, n - 1, xoff)) > busy;
            assert!(n == 0 || fewer, "{case}: more senders, less delivered");
        }
    }
    let quiet = [0, 1, 2].map(|n| still(at(0, n, 0)));
    assert_eq!(quiet, [[1, 1, 0, 0], [6, 1, 1, 1], [18, 1, 7, 3]]);
    assert_eq!([0, 1].map(|xoff| still(at(1, 2, xoff))[0]), [23; 2], "all other NICs");
    assert_eq!([0, 1].map(|xoff| still(at(1, 0, xoff))[0]), [22, 15]);
}
