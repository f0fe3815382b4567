//! Whole transports, joined by a pipe.

use super::*;
use crate::sim::nic::roce::pipe::{Fate, Pipe};
use crate::units::{Bytes, Ps};
use proptest::prelude::*;

const LINE: u64 = 400_000_000_000;
/// Serialization of a full data packet and of an acknowledgement, ps.
const FULL: u64 = 84_040;
const ACK: u64 = 1_560;

fn pipe(settings: &Settings, hosts: usize, delay: u64) -> Pipe<FixedWindow> {
    Pipe::new(FixedWindow::new(settings, hosts as u32), hosts, LINE, delay)
}

#[test]
fn a_window_a_round_trip() {
    let settings = Settings { window: Bytes(4 * 4_184), ..Settings::default() };
    let mut pipe = pipe(&settings, 2, 1_000_000);
    pipe.post(0, 0, 1, 12 * 4_096, 0);
    pipe.run(u64::MAX);
    let starts: Vec<u64> = pipe.log.iter().filter(|s| s.1 == 0).map(|s| s.0).collect();
    let round = FULL + 1_000_000 + ACK + 1_000_000;
    let expected: Vec<u64> = (0..12).map(|n| n / 4 * round + n % 4 * FULL).collect();
    assert_eq!(starts, expected);
    assert_eq!(pipe.stats[0].in_flight.max, 4 * 4_184);
    assert_eq!(
        pipe.done,
        [
            (expected[11], Done::Sent(0)),
            (expected[11] + FULL + 1_000_000, Done::Received(0)),
            (expected[11] + round, Done::Acknowledged(0)),
        ]
    );
}

#[test]
fn a_packet_larger_than_the_window_goes_alone() {
    let settings = Settings { window: Bytes(0), ..Settings::default() };
    let mut pipe = pipe(&settings, 2, 1_000_000);
    pipe.post(0, 0, 1, 3 * 4_096, 0);
    pipe.run(u64::MAX);
    assert_eq!(pipe.stats[0].in_flight.max, 4_184);
    assert_eq!(pipe.completed(), [[0], [0], [0]]);
}

#[test]
fn one_lost_packet_is_sent_again_alone() {
    let mut pipe = pipe(&Settings::default(), 2, 1_000_000);
    pipe.fate = Box::new(|n, _| if n == 3 { Fate::Lost } else { Fate::Arrives });
    pipe.post(0, 0, 1, 20 * 4_096, 0);
    pipe.run(u64::MAX);
    let data: Vec<_> = pipe.log.iter().filter(|s| s.1 == 0).collect();
    assert_eq!((data.len(), data[20].2.header.psn), (21, 3));
    assert_eq!(data[20].0, 4 * FULL + 6_000_000_000);
    let flow = pipe.flows[0];
    assert_eq!((flow.sent_packets, flow.retransmitted, flow.timeouts), (21, 1, 1));
    assert_eq!(flow.received_packets, 20);
    assert_eq!(pipe.completed(), [[0], [0], [0]]);
}

#[test]
fn nothing_is_sent_again_without_loss() {
    let mut pipe = pipe(&Settings::default(), 3, 1_000_000);
    pipe.post(0, 0, 1, 3_000_000, 0);
    pipe.post(0, 0, 2, 3_000_000, 0);
    pipe.post(0, 1, 0, 0, 0);
    // Paused for longer than the timeout: it runs from the end of serialization.
    pipe.pause(0, 0, 20_000_000, 9_000_000_000);
    pipe.run(u64::MAX);
    assert_eq!(pipe.stats[0].num_rtx + pipe.stats[0].num_rto, 0);
    let data = pipe.log.iter().filter(|s| s.1 == 0 && s.2.header.kind == PacketKind::Data);
    let order: Vec<u32> = data.map(|s| s.2.dst).collect();
    assert_eq!(order[52..58], [1, 1, 1, 2, 1, 2], "turns, once the first pool is empty");
    assert_eq!(pipe.completed()[2], [2, 0, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Under loss and pauses every message is sent, received and acknowledged once, nothing is
    /// left in flight, the window holds, and twice is the same.
    #[test]
    fn everything_is_delivered_once(
        window in 0u64..100_000,
        messages in prop::collection::vec((0u64..30_000_000, 0u32..3, 1u32..3, 0u64..200_000, 0u8..3), 1..12),
        pauses in prop::collection::vec((0u32..3, 0u8..3, 0u64..30_000_000, 0u64..40_000_000), 0..6),
        dice in prop::collection::vec(0u8..100, 64),
        loss in 0u8..30,
    ) {
        let settings = Settings {
            window: Bytes(window),
            retransmit_timeout: Ps(10_000_000),
            ..Settings::default()
        };
        let run = || {
            let mut pipe = pipe(&settings, 3, 700_000);
            let dice = dice.clone();
            pipe.fate = Box::new(move |n, (at, ..)| {
                let die = (u64::from(dice[n % 64]) * 31 + n as u64 * 17 + at % 97) % 100;
                if (die as u8) < loss { Fate::Lost } else { Fate::Arrives }
            });
            for &(at, src, step, bytes, tc) in &messages {
                pipe.post(at, src, (src + step) % 3, bytes, tc);
            }
            for &(host, class, from, time) in &pauses {
                pipe.pause(host, class, from, from + time);
            }
            let left = pipe.run(60_000_000_000);
            (pipe, left)
        };
        let (mut pipe, left) = run();
        prop_assert!(!left, "still busy after 60 ms");
        let all: Vec<u32> = (0..messages.len() as u32).collect();
        for mut flows in pipe.completed() {
            flows.sort();
            prop_assert_eq!(&flows, &all);
        }
        for connection in &pipe.transport.connections {
            prop_assert_eq!(connection.in_flight, 0);
            prop_assert_eq!(connection.base(), connection.expected());
        }
        for (port, stats) in pipe.ports.iter_mut().zip(&pipe.stats) {
            port.settle(u64::MAX);
            prop_assert!((0..8).all(|class| port.used(class) == 0));
            prop_assert!(stats.in_flight.max <= window.max(4_184));
            prop_assert_eq!(stats.wqes_created, stats.wqes_completed);
        }
        let (again, _) = run();
        prop_assert_eq!(pipe.log, again.log);
        prop_assert_eq!(pipe.done, again.done);
    }
}
