//! Drops and going back, worked out by hand.
//!
//! Host 0 at 100 Gbps sends to host 1 at 10 Gbps, 100 ns each: a frame of 1,048 B takes 83 ns and
//! then 838. Packet n (from 1) reaches the switch at `83 n + 100`; the first one starts there at
//! once, at 183, and another one every 838 after it, received 938 after its start. An answer, 60 B,
//! takes 48 + 100 + 4 + 100 = 252.

use super::script::{Flow, Script, drops, ends, frames, in_order, nacks};
use poolsweep::sim::observe::DropReason;
use serde_json::{Value, json};

fn script(switch: Value, nic: Value, packets: u64) -> Script {
    Script {
        lines: vec![(100, 100), (10, 100)],
        switch,
        nic,
        hold: None,
        flows: vec![(0, 1, 3, packets * 1_000, 0)],
        duration: 100_000,
        interval: 1,
    }
}

/// No headroom, 24,000 B to share, of which a port may have an eighth of what is free.
///
/// A packet that starts is charged no more. Packets 2 to 4 fill 3,144 B of the reserve of 4,096; of
/// the fifth, 96 B are shared, with 6 and 7 it is 1,144 and 2,192: of (24,000 − 1,144) ÷ 8 = 2,857
/// the last may have them, and 2,192 are below (24,000 − 2,192) ÷ 8 = 2,726, so there is no pause.
/// One more would have 3,240 of these 2,726: it is dropped, until a packet starts and leaves
/// 1,144. Every start has room for one.
fn no_headroom() -> Value {
    json!({"model": "hpcc", "HPCC": {"BufferSize": 24_000 + 2 * 4_096, "HeadroomFactor": 0}})
}

const INGRESS: DropReason = DropReason::IngressAdmission;

/// When packets `first` to `last` of a burst whose packet 0 would arrive at `zero` come.
fn arrivals(zero: u64, first: u64, last: u64) -> impl Iterator<Item = u64> {
    (first..=last).map(move |n| zero + 83 * n)
}

/// Packets 8 to 10 come at 764, 847 and 930, before the second start, 1,021. Nothing follows them,
/// so nothing is out of order, nobody is told and nothing is sent again.
#[test]
fn a_flow_whose_last_packets_are_lost_never_ends() {
    let run = script(no_headroom(), json!({}), 10).run();
    assert_eq!(drops(&run), [764, 847, 930].map(|at| (at, 0, INGRESS)));
    assert_eq!((ends(&run), frames(&run)), (vec![None], vec![]));
    let flow = in_order(&run)[0];
    assert_eq!((flow.sent_packets, flow.received_packets, flow.retransmitted), (10, 7, 0));
    assert!(nacks(&run, 1).is_empty());
}

/// Packet 12 comes at 1,096, after the second start, and is admitted; 8 to 11 are not. It is
/// received eighth, 183 + 7 × 838 + 938 = 6,987, and draws an answer that
/// names 7,000. The sender has it at 7,239 and goes on with packet 8: it comes at 7,422, after the
/// line to the receiver has been idle since 6,887, starts at once, and 12 starts 4 × 838 later, at
/// 10,774, and is received at 11,712; the last answer is back at 11,964.
#[test]
fn a_gap_has_the_sender_go_back_to_it() {
    let run = script(no_headroom(), json!({}), 12).run();
    let lost: Vec<_> = arrivals(100, 8, 11).map(|at| (at, 0, INGRESS)).collect();
    assert_eq!(drops(&run), lost);
    assert_eq!((ends(&run), nacks(&run, 1)), (vec![Some(11_964)], vec![6_987]));
    let flow = in_order(&run)[0];
    assert_eq!((flow.sent_packets, flow.received_packets, flow.retransmitted), (17, 13, 5));
}

/// The same, acknowledged at every 4,000 B in order: after packets 4, 8 and 12.
#[test]
fn answers_are_few_where_chunks_are_asked_for() {
    let nic = json!({"L2_CHUNK_SIZE": 4_000, "L2_ACK_INTERVAL": 1_000_000});
    let run = script(no_headroom(), nic, 12).run();
    assert_eq!((ends(&run), nacks(&run, 1)), (vec![Some(11_964)], vec![6_987]));
    let acks: Vec<u64> = run
        .transport
        .iter()
        .filter(|row| row.node == 1 && row.stats.ack_pkts_sent > row.before.ack_pkts_sent)
        .map(|row| row.sim_time / 1_000 - 1)
        .collect();
    // Packet 4 starts at 183 + 3 × 838, packet 8 at 7,422.
    assert_eq!(acks, [2_697 + 938, 8_360, 11_712]);
}

/// 22 packets. The third start is at 1,859: of 13 to 22 only 22, at 1,926, comes after it.
///
/// Both 12 and 22 are out of order behind 7, at 6,987 and 7,825; the second one is told only if so
/// little time is asked for between two answers that name the same bytes.
///
/// The sender goes on with 8 at 7,239. Packet n comes at 7,339 + 83 (n − 7), the line is busy
/// until 7,725, and 8 starts then, with 9, 10 and 11 behind it: 3,144 B, and 12 to 14 fill up. 15
/// to 21, from 8,003 to 8,501, are dropped; 9 starts at 8,563, and 22 is admitted at 8,584. It is
/// eighth again: 7,725 + 7 × 838 + 938 = 14,529, behind 14, which nobody has named yet.
///
/// The sender goes on with 15 at 14,781, on an idle line: 14,964, and 16 to 21 fill up. 22, at
/// 15,545, is dropped. It is the last.
#[test]
fn the_same_gap_is_named_once_in_a_while_and_another_one_at_once() {
    let nic = |interval: u64| json!({"NACK_INTERVAL": interval * 1_000});
    let burst = |nic| script(no_headroom(), nic, 22).run();
    let run = burst(nic(500_000));
    let lost: Vec<_> = arrivals(100, 8, 11)
        .chain(arrivals(100, 13, 21))
        .chain(arrivals(7_339 - 7 * 83, 15, 21))
        .chain([15_545])
        .map(|at| (at, 0, INGRESS))
        .collect();
    assert_eq!(drops(&run), lost);
    assert_eq!((ends(&run), nacks(&run, 1)), (vec![None], vec![6_987, 14_529]));
    let flow = in_order(&run)[0];
    assert_eq!((flow.sent_packets, flow.received_packets), (22 + 15 + 8, 45 - 21));
    assert_eq!(flow.retransmitted, 15 + 8);
    // 838 ns lie between the two.
    assert_eq!(nacks(&burst(nic(839)), 1), [6_987, 14_529]);
    assert_eq!(nacks(&burst(nic(838)), 1)[..2], [6_987, 7_825]);
}

/// Answers that wait at a switch are charged to it as any packet. Host 0 pauses class 3 at 0, 3 ns;
/// then its 5 packets of 10 B, 58 on the wire, take 4 each and cross at once. Their answers, 4 ns
/// too, are at the switch at 3 + 104 + 104 + 100 + 4 n, and wait there.
///
/// Without reserve or headroom, with 2,400 B to share: 4 answers have 240 of (2,400 − 240) ÷ 8 =
/// 270, no pause; a fifth would have 300, and is dropped at 331. It is the last: the receiver has
/// everything, and the sender never learns.
#[test]
fn a_flow_whose_last_answer_is_lost_never_ends() {
    let run = |packets: u64| {
        Script {
            lines: vec![(100, 100), (100, 100)],
            switch: json!({"model": "hpcc", "HPCC": {"BufferSize": 2_400, "Reserve": 0,
                "HeadroomFactor": 0}}),
            nic: json!({"PACKET_PAYLOAD_SIZE": 10}),
            hold: Some((0, 3, 0, 1_000)),
            flows: vec![(0, 1, 3, packets * 10, 0)],
            duration: 10_000,
            interval: 1,
        }
        .run()
    };
    let five = run(5);
    assert_eq!((drops(&five), ends(&five)), (vec![(331, 1, INGRESS)], vec![None]));
    let flow = in_order(&five)[0];
    assert_eq!((flow.sent_packets, flow.received_packets, flow.retransmitted), (5, 5, 0));
    assert_eq!(five.totals.payload_bytes, Some(50));
    // With one less nothing is lost: the resume is there at 1,103, 4 answers take 4 ns each.
    assert_eq!((drops(&run(4)), ends(&run(4))), (vec![], vec![Some(1_103 + 16 + 100)]));
}

/// An egress pool of 8,000 B: 7 packets wait, 7,336 B, while the first one is on the wire. 9 to 11,
/// from 847 to 1,013, find no room at the port they would leave by; 12 comes after the second
/// start. It is received ninth, at 183 + 8 × 838 + 938 = 7,825, and draws an answer; 9 is back at
/// the switch at 8,077 + 183, and 12 starts 3 × 838 later, is received 938 after that, and its
/// answer 252 later.
#[test]
fn an_egress_pool_drops_at_the_leaving_port() {
    let switch = json!({"model": "ns3-datacenter", "Ns3Datacenter": {"EgressPoolLossless": 8_000,
        "AlphaEgress": 65_535}});
    let run = script(switch, json!({}), 12).run();
    let lost: Vec<_> = arrivals(100, 9, 11).map(|at| (at, 1, DropReason::EgressPool)).collect();
    assert_eq!(drops(&run), lost);
    assert_eq!((ends(&run), nacks(&run, 1)), (vec![Some(11_964)], vec![7_825]));
    let flow = in_order(&run)[0];
    assert_eq!((flow.sent_packets, flow.received_packets, flow.retransmitted), (16, 13, 4));
}

/// Two flows of a host take turns also while one of them goes back, and a gap of one is nothing to
/// the other. Twice 6 packets in turn, a and b: a1 b1 a2 b2 a3 b3 a4, then b4 a5 b5 are dropped, a6
/// is too, as packet 11 of the burst, and b6 as the twelfth is admitted, received eighth.
///
/// Flow a has lost its last two packets and never ends. Flow b is told at 6,987 that 3,000 is
/// missing, and sends b4 to b6 from 7,239 on: starts at 7,422, 8,260 and 9,098.
#[test]
fn flows_of_a_host_go_back_one_by_one() {
    let mut script = script(no_headroom(), json!({}), 6);
    let twice: [Flow; 2] = [script.flows[0], script.flows[0]];
    script.flows = twice.to_vec();
    let run = script.run();
    let lost: Vec<_> = arrivals(100, 8, 11).map(|at| (at, 0, INGRESS)).collect();
    assert_eq!(drops(&run), lost);
    assert_eq!(ends(&run), [None, Some(9_098 + 938 + 252)]);
    let sent: Vec<u64> = in_order(&run).iter().map(|flow| flow.sent_packets).collect();
    assert_eq!(sent, [6, 9]);
}
