//! Priorities that share an egress, worked out by hand: whose turn it is, whom a pause holds, which
//! queue an answer is in.

use super::script::{Script, ends, frames};
use serde_json::json;

/// Hosts 0 to 2 and 4 send to host 3. A frame of 1,048 B takes ⌊20.96⌋ = 20 ns from a sender and 83
/// on the way to the receiver; a delay is 1,000. Senders start 0, 5 and 10 ns late, so that packet n
/// (from 0) of sender h reaches the switch at 1,020 + 20 n + 5 h.
///
/// A packet that starts at the switch at `s` is received at `s + 1,083`; the answer, 60 B, takes 4
/// and 1,000 to the switch and 1 and 1,000 to the sender: its flow ends at `s + 3,088`.
fn script() -> Script {
    let mut flows = Vec::new();
    for (host, priority) in [(0, 3), (1, 5), (2, 1)] {
        flows.extend((0..3).map(|_| (host, 3, priority, 1_000, 5 * u64::from(host))));
    }
    let fast = (400, 1_000);
    Script {
        lines: vec![fast, fast, fast, (100, 1_000), fast],
        switch: json!({"model": "hpcc"}),
        nic: json!({}),
        hold: None,
        flows,
        duration: 20_000,
        interval: 1,
    }
}

fn ended(starts: &[u64]) -> Vec<Option<u64>> {
    starts.iter().map(|start| Some(start + 3_088)).collect()
}

/// The first packet of queue 3 starts at 1,020. By its end, 1,103, all others have come: after
/// queue 3 it is 5's turn, then 1's, 3's, 5's … one packet each.
#[test]
fn a_switch_serves_a_packet_of_each_queue_in_turn() {
    let run = script().run();
    let [three, five, one] = [[1_020, 1_269, 1_518], [1_103, 1_352, 1_601], [1_186, 1_435, 1_684]];
    assert_eq!(ends(&run), ended(&[three, five, one].concat()));
    assert!(run.pfc_events.is_empty());
}

/// Two packets of queue 0 come at 1,200 and 1,220, during the first one of queue 1. They go next,
/// and turns go on as if they had not.
#[test]
fn queue_0_goes_first_and_takes_no_turn() {
    let mut script = script();
    script.flows.extend([(4, 3, 0, 1_000, 180), (4, 3, 0, 1_000, 180)]);
    let [three, five, one] = [[1_020, 1_435, 1_684], [1_103, 1_518, 1_767], [1_186, 1_601, 1_850]];
    let zero = [1_269, 1_352];
    let starts = [three.to_vec(), five.to_vec(), one.to_vec(), zero.to_vec()].concat();
    assert_eq!(ends(&script.run()), ended(&starts));
}

/// The receiver pauses class 3 at 150: 43 B take 3 and 1,000 more. Its second packet would have had
/// its turn at 1,269. Classes 5 and 1 go on alternately; the port is idle from 1,601 until the
/// resume of 1,000 comes at 2,003.
#[test]
fn a_pause_holds_its_own_queue_only() {
    let mut script = script();
    script.hold = Some((3, 3, 150, 1_000));
    let run = script.run();
    let [three, five, one] = [[1_020, 2_003, 2_086], [1_103, 1_269, 1_435], [1_186, 1_352, 1_518]];
    assert_eq!(ends(&run), ended(&[three, five, one].concat()));
    assert_eq!(frames(&run), [(1_153, 5, 3, true), (2_003, 5, 3, false)]);
}

/// Host 3 sends host 1 a packet of class 3 at 100 and one of class 5 at 300, and has paused class 3
/// of the switch's port to it until 9,000.
#[test]
fn answers_have_the_queue_of_their_data_or_queue_0() {
    let script = |high: bool| Script {
        lines: vec![(100, 1_000); 4],
        switch: json!({"model": "hpcc"}),
        nic: json!({"ACK_HIGH_PRIO": high}),
        hold: Some((3, 3, 0, 9_000)),
        flows: vec![(3, 1, 3, 1_000, 100), (3, 1, 5, 1_000, 300)],
        duration: 20_000,
        interval: 1,
    };
    // Out: 83 + 1,000, 83 + 1,000; the answer back at the switch after 4 + 1,000 more, at 3,170 of
    // its start. Of class 5 it goes on, 4 + 1,000: 4,174. Of class 3 it waits for the resume, which
    // takes 3 + 1,000 from 9,000, and is there at 11,007.
    assert_eq!(ends(&script(false).run()), [Some(11_007), Some(300 + 4_174)]);
    // In queue 0 both go on.
    assert_eq!(ends(&script(true).run()), [Some(100 + 4_174), Some(300 + 4_174)]);
}
