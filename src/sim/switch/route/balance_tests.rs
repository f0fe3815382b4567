//! Choices worked out by hand.

use super::*;
use crate::scenario::Scenario;
use crate::scenario::links::network;
use crate::sim::random::Seeds;
use rand_core::Rng;
use serde_json::json;
use std::cell::Cell;

/// A leaf with up-links 1 to 4, each to a spine of its own.
fn routes() -> Routes {
    let scenario: Scenario = serde_json::from_value(json!({
        "duration": 1, "traffic": [], "topology":
            {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 1, "spines": 4},
    }))
    .unwrap();
    Routes::new(&network(&scenario).unwrap()).unwrap()
}

struct Leaf {
    routes: Routes,
    balancer: Balancer,
    /// Egress bytes and held state of ports 1 to 4.
    loads: [u64; 4],
    held: [bool; 4],
    /// What the switch's stream will draw.
    expected: Stream,
    looked: Cell<u64>,
}

impl Leaf {
    fn new(gap: u64, pfc_aware: bool) -> Leaf {
        let routes = routes();
        let stream = || Seeds::default().switch_stream(2, "flowlet");
        let settings = FlowletSettings { gap, pfc_aware };
        let balancer = Balancer::new(&routes, (0..6).map(|_| Some((settings, stream()))));
        let (loads, held, looked) = ([0; 4], [false; 4], Cell::new(0));
        Leaf { routes, balancer, loads, held, expected: stream(), looked }
    }

    fn choose(&mut self, hash: u64, now: u64) -> Choice {
        let set = self.routes.set(0, 1);
        let (loads, held, looked) = (self.loads, self.held, &self.looked);
        let load = |port: u32| {
            looked.set(looked.get() + 1);
            loads[port as usize - 1]
        };
        let held = |port: u32| held[port as usize - 1];
        let asking = Asking { switch: 0, set, hash, now };
        self.balancer.choose(&self.routes, asking, load, held, true)
    }

    /// Chooses, and has the packet of 100 B admitted.
    fn send(&mut self, hash: u64, now: u64) -> u32 {
        let choice = self.choose(hash, now);
        self.balancer.admitted(choice, 100, now);
        choice.port
    }

    fn stats(&self, port: u32) -> MemberStats {
        let places = self.routes.places(self.routes.set(0, 1));
        self.balancer.stats()[places.start + port as usize - 1]
    }
}

#[test]
fn the_least_loaded_member_is_taken_and_kept_until_the_gap() {
    let mut leaf = Leaf::new(1_000, true);
    leaf.loads = [300, 200, 100, 200];
    assert_eq!(leaf.send(7, 0), 3);
    leaf.loads = [0, 0, 900, 0];
    assert_eq!(leaf.send(7, 999), 3, "within the gap");
    assert_eq!(leaf.looked.get(), 4, "nothing was asked again");
    leaf.loads = [5, 0, 900, 1];
    assert_eq!(leaf.send(7, 1_999), 2, "a gap of exactly 1,000 is one");
    assert_eq!(leaf.send(7 + 512, 2_000), 2, "the same slot");
    let three = leaf.stats(3);
    assert_eq!((three.packets, three.bytes, three.assignments), (2, 200, 1));
    assert_eq!((three.movements_in, three.movements_out), (0, 1));
    let two = leaf.stats(2);
    assert_eq!((two.packets, two.assignments, two.movements_in), (2, 1, 1));
}

#[test]
fn the_present_member_is_kept_among_equals_without_a_draw() {
    let mut leaf = Leaf::new(10, true);
    leaf.loads = [1, 1, 0, 1];
    assert_eq!(leaf.send(0, 0), 3);
    leaf.loads = [0; 4];
    assert_eq!(leaf.send(0, 10), 3);
    assert_eq!(leaf.stats(3).assignments, 2);
    // An empty slot among four equals takes the first draw there is.
    let draw = leaf.expected.next_u64() % 4;
    assert_eq!(u64::from(leaf.send(1, 10)), 1 + draw);
    // Three equals, the present member not among them: the next draw, in port order.
    leaf.loads = [0, 0, 9, 0];
    let draw = leaf.expected.next_u64() % 3;
    assert_eq!(leaf.send(0, 20), [1, 2, 4][draw as usize]);
}

#[test]
fn a_held_member_is_passed_over_unless_all_are() {
    let mut leaf = Leaf::new(0, true);
    leaf.loads = [0, 10, 20, 30];
    leaf.held = [true, false, false, false];
    assert_eq!(leaf.send(0, 5), 2);
    assert_eq!(leaf.stats(1).paused_skips, 1);
    leaf.held = [true; 4];
    assert_eq!(leaf.send(0, 5), 1, "a gap of 0 chooses at every packet");
    assert_eq!((leaf.stats(1).paused_selections, leaf.stats(1).paused_skips), (1, 1));
    let mut blind = Leaf::new(0, false);
    blind.loads = [0, 10, 20, 30];
    blind.held = [true, false, false, false];
    assert_eq!(blind.send(0, 5), 1);
    assert_eq!((blind.stats(1).paused_selections, blind.stats(1).paused_skips), (1, 0));
}

#[test]
fn time_moves_only_with_what_is_admitted() {
    let mut leaf = Leaf::new(100, true);
    leaf.loads = [0, 1, 1, 1];
    assert_eq!(leaf.send(3, 0), 1);
    leaf.loads = [9, 0, 9, 9];
    // Dropped at egress: the slot has moved, its time has not.
    assert_eq!(leaf.choose(3, 100).port, 2);
    leaf.loads = [9, 9, 0, 9];
    assert_eq!(leaf.choose(3, 101).port, 3, "still silent since 0");
    let moved = leaf.stats(2);
    assert_eq!((moved.packets, moved.movements_in, moved.movements_out), (0, 1, 1));
    // A slot whose only packet was dropped chooses again.
    leaf.loads = [0, 9, 9, 9];
    assert_eq!(leaf.choose(4, 101).port, 1);
    leaf.loads = [9, 0, 9, 9];
    assert_eq!(leaf.choose(4, 101).port, 2);
}

#[test]
fn only_the_first_128_sets_have_slots() {
    // One spine with two links to each of 130 leaves.
    let scenario: Scenario = serde_json::from_value(json!({
        "duration": 1, "traffic": [], "topology": {"kind": "leaf-spine", "leaves": 130,
            "hosts_per_leaf": 1, "spines": 1, "links_per_spine": 2},
    }))
    .unwrap();
    let routes = Routes::new(&network(&scenario).unwrap()).unwrap();
    let settings = FlowletSettings { gap: 1_000, pfc_aware: true };
    let stream = Seeds::default().switch_stream(260, "flowlet");
    let of = |switch| (switch == 130).then(|| (settings, stream.clone()));
    let mut balancer = Balancer::new(&routes, (0..131).map(of));
    for host in 0..130 {
        let set = routes.set(130, host);
        // The hash says the first member, the load the second.
        let load = |port: u32| u64::from(port.is_multiple_of(2));
        let asking = Asking { switch: 130, set, hash: 512, now: 0 };
        let choice = balancer.choose(&routes, asking, load, |_| false, false);
        let second = u32::from(host < 128);
        assert_eq!(choice.port, 2 * host + second, "host {host}");
        assert_eq!(balancer.slots_of(set), if host < 128 { 512 } else { 0 });
        balancer.admitted(choice, 46, 0);
    }
    assert_eq!(balancer.stats().iter().map(|s| s.packets).sum::<u64>(), 130);
    assert_eq!(balancer.stats().iter().map(|s| s.assignments).sum::<u64>(), 128);
}
