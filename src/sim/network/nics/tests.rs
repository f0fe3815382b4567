//! PFC frames that reach a NIC, and what its port starts from then on.

use super::super::Network;
use crate::scenario::Scenario;
use crate::sim::event::{EventList, WinnerTree};
use crate::sim::meter::Peaks;
use crate::sim::observe::{End, Observations};
use crate::sim::packet::PfcFrame;
use crate::sim::switch::buffer::Scala;
use serde_json::{Value, json};

/// What a pause of 65,535 quanta lasts at 400 Gbps with a delay of 100 ns.
const PAUSE: u64 = 83_984_800;
/// When the first pause arrives; a frame is on the wire then.
const AT: u64 = 1_000_000;

/// Two NICs and a job that is driven by hand.
struct Pair {
    network: Network<Scala, WinnerTree, Peaks>,
    /// Starts of data frames of host 0.
    data: Vec<u64>,
    /// Starts of its acknowledgements.
    acks: Vec<u64>,
}

/// A long message from host 0 to host 1, and one back if `both`.
fn pair(nic: Value, both: bool) -> Pair {
    let mut flows = vec![json!({"src": 0, "dst": 1, "bytes": 4_000_000})];
    if both {
        flows.push(json!({"src": 1, "dst": 0, "bytes": 8_000_000}));
    }
    let scenario = json!({
        "duration": 1_000_000_000_000u64,
        "until": "drained",
        "topology": {"kind": "single-switch", "hosts": 2, "rate": 400_000_000_000u64,
            "delay": 100_000},
        "switch": {"SharedBufferManager": {"EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0]}},
        "nic": nic,
        "traffic": [{"pattern": "flows", "flows": flows}],
        "record": {"tables": ["jobs"]},
    });
    let scenario: Scenario = serde_json::from_value(scenario).expect("a scenario");
    let traces = Default::default();
    let network = Network::new(&scenario, &Default::default(), &traces, Scala::new);
    let mut network = network.expect("it is valid");
    // Starts of frames are watched: each has to be an event.
    network.make_nics_prompt();
    Pair { network, data: Vec::new(), acks: Vec::new() }
}

fn uet() -> Value {
    // The window stays at 107 packets, more than the port's pool takes.
    json!({"model": "uet", "ScalaUETCongestionControl": {"OverrideUetSpecMaxCWind": true}})
}

fn roce() -> Value {
    json!({"model": "roce", "PFCEnableVector": [0, 0, 0, 0, 0, 0, 0, 0]})
}

impl Pair {
    fn sent(&self) -> (u64, u64) {
        let nics = self.network.nics.as_ref().expect("hosts react");
        let stats = &nics.hosts[0].stats;
        (stats.write_pkts_sent, stats.ack_pkts_sent)
    }

    /// Handles every event before `time`.
    fn until(&mut self, time: u64) {
        loop {
            let key = self.network.list.first().min(self.network.rare_key);
            if self.network.ranks.time(key) >= time {
                return;
            }
            let before = self.sent();
            assert_eq!(self.network.step(), None, "the job runs on");
            let after = self.sent();
            self.data.extend((before.0..after.0).map(|_| self.network.now));
            self.acks.extend((before.1..after.1).map(|_| self.network.now));
        }
    }

    /// A pause or resume of class 0 reaches host 0 at `time`.
    fn pfc(&mut self, time: u64, pause: bool) {
        self.until(time);
        self.network.now = time;
        let before = self.sent();
        let quanta = if pause { 65_535 } else { 0 };
        self.network.host_pfc(0, PfcFrame { tc: 0, quanta, wire: 64 });
        let after = self.sent();
        self.data.extend((before.0..after.0).map(|_| time));
        self.acks.extend((before.1..after.1).map(|_| time));
    }

    /// First start of data at `time` or later.
    fn data_from(&self, time: u64) -> Option<u64> {
        self.data.iter().copied().find(|&start| start >= time)
    }

    fn finish(mut self) -> Observations {
        while self.network.step().is_none() {
            self.network.audit().expect("the books balance");
        }
        self.network.finish(false)
    }
}

/// P1.
#[test]
fn a_pause_silences_its_class_from_the_next_frame_until_it_runs_out() {
    for nic in [uet(), roce()] {
        let mut pair = pair(nic, false);
        pair.pfc(AT, true);
        let nics = pair.network.nics.as_ref().expect("hosts react");
        assert!(nics.hosts[0].egress.free_at() > AT, "a frame goes on");
        assert!(pair.data.len() > 5);
        pair.until(AT + PAUSE + 1_000_000);
        assert_eq!(pair.data_from(AT), Some(AT + PAUSE));
        let o = pair.finish();
        assert_eq!((o.totals.end, o.totals.drops), (End::Drained, [0; 7]));
        assert_eq!((o.totals.flows_unfinished, o.totals.timeouts), (0, 0));
    }
}

#[test]
fn the_other_class_of_a_paused_nic_sends_on() {
    for nic in [uet(), roce()] {
        let mut pair = pair(nic, true);
        pair.pfc(AT, true);
        pair.until(AT + PAUSE);
        assert_eq!(pair.data_from(AT), None);
        let during = pair.acks.iter().filter(|&&start| start > AT + 100_000).count();
        assert!(during > 50, "{during} acknowledgements");
        // An acknowledgement may be on the wire when the pause runs out.
        pair.until(AT + PAUSE + 1_000_000);
        let resumed = pair.data_from(AT).expect("it sends again");
        assert!((AT + PAUSE..AT + PAUSE + 3_000).contains(&resumed), "{resumed}");
    }
}

/// A pause that a NIC sends lasts for the quanta that it asks for.
#[test]
fn a_switch_port_is_held_for_the_quanta_of_the_frame() {
    // 512 bit at 400 Gbps take 1,280 ps; the cable's 100 ns are part of the pause.
    for (quanta, lasts) in [(1, 101_280), (1_000, 1_380_000), (65_535, PAUSE)] {
        let mut pair = pair(roce(), false);
        let port = pair.network.host_port[1] as usize;
        pair.until(AT);
        pair.network.now = AT;
        pair.network.pfc_arrival(port, PfcFrame { tc: 0, quanta, wire: 84 });
        assert_eq!(pair.network.ports[port].paused, 1);
        pair.until(AT + lasts);
        assert_eq!(pair.network.ports[port].paused, 1, "{quanta}");
        pair.until(AT + lasts + 1);
        assert_eq!(pair.network.ports[port].paused, 0, "{quanta}");
    }
}

/// P2.
#[test]
fn a_second_pause_starts_the_time_again() {
    let mut pair = pair(uet(), false);
    pair.pfc(AT, true);
    pair.pfc(AT + 41_992_000, true);
    pair.until(AT + 130_000_000);
    assert_eq!(pair.data_from(AT), Some(AT + 125_976_800));
}

/// P3.
#[test]
fn a_resume_starts_the_class_at_once() {
    for nic in [uet(), roce()] {
        let mut pair = pair(nic, false);
        pair.pfc(AT, true);
        pair.pfc(AT + 5_000_000, false);
        assert_eq!(pair.data_from(AT), Some(AT + 5_000_000));
        // The pause that was ended does not run out later.
        pair.pfc(AT + PAUSE - 10_000_000, true);
        let last = pair.data.len();
        pair.until(AT + 2 * PAUSE - 10_000_000);
        assert_eq!(pair.data.len(), last);
    }
}

/// P4.
#[test]
fn a_paused_nic_reserves_what_its_pool_takes_and_loses_nothing() {
    for (nic, packets, wire) in [(uet(), 54, 4_202), (roce(), 55, 4_154)] {
        let mut pair = pair(nic, false);
        // Before anything is generated: a pool that was full before refills at half only.
        pair.pfc(1_000, true);
        pair.until(1_000 + PAUSE);
        assert!(pair.data.is_empty());
        let nics = pair.network.nics.as_ref().expect("hosts react");
        assert_eq!(nics.hosts[0].egress.used(0), packets * wire);
        assert_eq!(nics.hosts[0].egress.waiting(), packets * (wire - 18));
        let o = pair.finish();
        assert_eq!((o.totals.end, o.totals.drops), (End::Drained, [0; 7]));
        assert_eq!((o.totals.payload_bytes, o.totals.retransmitted), (Some(4_000_000), 0));
    }
}
