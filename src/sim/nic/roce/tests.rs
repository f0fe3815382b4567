//! Whole transports, joined by a pipe.

use super::pipe::{Fate, Judge, Pipe, Start};
use super::*;
use crate::scenario::roce::{RateControl, StalePackets};
use crate::sim::nic::Done;

const LINE: u64 = 400_000_000_000;
/// Serialization of a full data packet, and of an ACK, ps.
const FULL: u64 = 83_080;
const ACK: u64 = 2_520;
/// Start delay and fetch of a first full packet.
const FIRST: u64 = 80_000 + 1_555 + 69_290;

fn pipe(settings: &Settings, hosts: usize, delay: u64) -> Pipe<Roce> {
    let nics = vec![NicRates { line: LINE, host_link: 504_320_000_000 }; hosts];
    Pipe::new(Roce::new(settings, &nics), hosts, LINE, delay)
}

fn of_kind(pipe: &Pipe<Roce>, kind: PacketKind) -> Vec<&Start> {
    pipe.log.iter().filter(|(.., packet)| packet.header.kind == kind).collect()
}

/// Loses the transmissions (from 0) of data PSNs that are listed.
fn lose(list: &'static [(u32, usize)]) -> Judge {
    let mut sent = BTreeMap::new();
    Box::new(move |_, (.., packet)| {
        if packet.header.kind != PacketKind::Data {
            return Fate::Arrives;
        }
        let count = sent.entry(packet.header.psn).or_insert(0usize);
        *count += 1;
        let lost = list.contains(&(packet.header.psn, *count - 1));
        if lost { Fate::Lost } else { Fate::Arrives }
    })
}

#[test]
fn a_mebibyte_draws_sixteen_acknowledgements() {
    let mut pipe = pipe(&Settings::default(), 2, 100_000);
    pipe.post(0, 0, 1, 1 << 20, 0);
    pipe.run(u64::MAX);
    let data = of_kind(&pipe, PacketKind::Data);
    assert_eq!(data.len(), 256);
    assert!(
        data.iter().all(|(.., packet)| (packet.ip, packet.ect, packet.class) == (4_136, true, 0))
    );
    // One after another from the first fetch on.
    assert!(data.iter().zip(0..).all(|((at, ..), n)| *at == FIRST + n * FULL));
    let acks = of_kind(&pipe, PacketKind::Ack);
    assert_eq!(acks.len(), 16);
    let wire: u64 = acks.iter().map(|(.., packet)| u64::from(packet.ip) + 18).sum();
    assert_eq!(wire, 2_016);
    assert!(acks.iter().all(|(.., packet)| (packet.ect, packet.class, packet.tc) == (false, 1, 1)));
    let last = FIRST + 256 * FULL + 100_000;
    assert_eq!(
        pipe.done.iter().map(|(_, done)| *done).collect::<Vec<_>>(),
        [Done::Sent(0), Done::Received(0), Done::Acknowledged(0)]
    );
    assert_eq!((pipe.done[1].0, pipe.done[2].0), (last, last + ACK + 100_000));
    let flow = pipe.flows[0];
    assert_eq!((flow.sent_packets, flow.received_packets, flow.retransmitted), (256, 256, 0));
    assert_eq!((pipe.stats[0].window.min, pipe.stats[0].ack_pkts_rcvd), (LINE, 16));
    assert_eq!(pipe.stats[0].in_flight.min, 4_136);
}

#[test]
fn the_last_packet_lost_waits_for_the_timer() {
    let mut pipe = pipe(&Settings::default(), 2, 100_000);
    pipe.fate = lose(&[(255, 0)]);
    pipe.post(0, 0, 1, 1 << 20, 0);
    pipe.run(u64::MAX);
    assert_eq!(of_kind(&pipe, PacketKind::Nack).len(), 0);
    let data = of_kind(&pipe, PacketKind::Data);
    assert_eq!(data.len(), 257);
    // Packet 255 draws the fifteenth ACK, which is the last thing that retires something.
    let restarted = FIRST + 255 * FULL + 100_000 + ACK + 100_000;
    assert_eq!(data[256].0, restarted + 64_000_000_000 + FIRST);
    assert_eq!(
        (pipe.stats[0].num_rto, pipe.flows[0].timeouts, pipe.flows[0].retransmitted),
        (1, 1, 1)
    );
    assert_eq!(pipe.completed(), [[0], [0], [0]]);
}

#[test]
fn up_to_seventeen_packets_draw_one_acknowledgement() {
    for bytes in [0, 1, 4_096, 17 * 4_096] {
        let mut pipe = pipe(&Settings::default(), 2, 100_000);
        pipe.post(0, 0, 1, bytes, 0);
        pipe.run(u64::MAX);
        assert_eq!(of_kind(&pipe, PacketKind::Ack).len(), 1, "{bytes} B");
        assert_eq!(pipe.completed(), [[0], [0], [0]]);
    }
}

#[test]
fn without_coalescing_every_packet_is_acknowledged() {
    let settings = Settings { ack_coalescing_enabled: false, ..Settings::default() };
    let mut pipe = pipe(&settings, 2, 100_000);
    pipe.post(0, 0, 1, 50 * 4_096, 0);
    pipe.run(u64::MAX);
    assert_eq!(of_kind(&pipe, PacketKind::Ack).len(), 50);
}

#[test]
fn held_acknowledgements_go_after_their_delay() {
    let mut pipe = pipe(&Settings::default(), 2, 100_000);
    pipe.post(0, 0, 1, 30 * 4_096, 0);
    // The rest of the message is held back longer than the delay.
    pipe.pause(0, 0, FIRST + 20 * FULL - 1, 3_000_000_000);
    pipe.run(u64::MAX);
    let acks: Vec<u64> = of_kind(&pipe, PacketKind::Ack).iter().map(|(at, ..)| *at).collect();
    let seventeenth = FIRST + 17 * FULL + 100_000;
    assert_eq!(acks[..2], [seventeenth, seventeenth + 1_000_000_000]);
    assert_eq!(acks.len(), 3);
}

#[test]
fn a_blocked_port_takes_55_packets_and_restarts_at_27() {
    let mut pipe = pipe(&Settings::default(), 2, 100_000);
    pipe.post(0, 0, 1, 1 << 20, 0);
    pipe.pause(0, 0, 0, 50_000_000);
    pipe.run(49_000_000);
    assert_eq!((pipe.ports[0].used(0), pipe.transport.pairs[0].tx.next), (228_470, 55));
    // The 28th packet has left: 27 are in the pool, and 80 ns later it is filled again.
    pipe.run(50_000_000 + 28 * FULL + 79_999);
    assert_eq!((pipe.ports[0].used(0), pipe.transport.pairs[0].tx.next), (112_158, 55));
    pipe.run(50_000_000 + 28 * FULL + 80_000);
    assert_eq!(pipe.transport.pairs[0].tx.next, 83);
    pipe.run(u64::MAX);
    assert_eq!((pipe.flows[0].sent_packets, pipe.flows[0].received_packets), (256, 256));
}

#[test]
fn a_loss_wastes_the_33_packets_behind_it() {
    // The way there and back as the two tiers have it: the NAK is at the sender 2,742.4 ns after
    // the lost packet has left, with one packet behind it as the first out of order.
    let delay = (2_742_400 - FULL - ACK) / 2;
    for (stale, resent) in [(StalePackets::Flushed, 35), (StalePackets::Sent, 35 + 26)] {
        let settings = Settings { stale_packets: stale, ..Settings::default() };
        let mut pipe = pipe(&settings, 2, delay);
        pipe.fate = lose(&[(100, 0)]);
        pipe.post(0, 0, 1, 1 << 20, 0);
        pipe.run(u64::MAX);
        assert_eq!(of_kind(&pipe, PacketKind::Nack).len(), 1);
        let left = FIRST + 101 * FULL;
        let arrival = left + 2_742_400;
        let data = of_kind(&pipe, PacketKind::Data);
        let ended = data.iter().filter(|(at, ..)| *at >= left && at + FULL <= arrival).count();
        assert_eq!((left, ended), (data[101].0, 33));
        assert!(data[134].0 < arrival && data[134].0 + FULL > arrival, "the 34th is on the wire");
        assert_eq!(pipe.stats[0].num_rtx, resent, "{stale:?}");
        assert_eq!(pipe.stats[1].num_out_of_order_events_on_nic, resent - 1);
        assert_eq!(pipe.completed(), [[0], [0], [0]]);
    }
}

#[test]
fn a_second_loss_waits_for_the_timer() {
    let settings = Settings { stale_packets: StalePackets::Flushed, ..Settings::default() };
    let mut pipe = pipe(&settings, 2, 1_000_000);
    pipe.fate = lose(&[(10, 0), (10, 1)]);
    pipe.post(0, 0, 1, 1 << 20, 0);
    pipe.run(u64::MAX);
    assert_eq!(of_kind(&pipe, PacketKind::Nack).len(), 1);
    assert_eq!(pipe.stats[0].num_rto, 1);
    assert_eq!(pipe.completed(), [[0], [0], [0]]);
}

#[test]
fn every_marked_packet_draws_a_cnp_at_once_and_the_rate_falls_to_its_floor() {
    let mut pipe = pipe(&Settings::default(), 2, 100_000);
    pipe.fate = Box::new(|_, (.., packet)| match packet.header.kind {
        PacketKind::Data => Fate::ArrivesMarked,
        _ => Fate::Arrives,
    });
    pipe.post(0, 0, 1, 4 << 20, 0);
    pipe.run(u64::MAX);
    let cnps = of_kind(&pipe, PacketKind::Cnp);
    assert_eq!(cnps.len(), 1_024);
    assert!(cnps.iter().all(|(.., packet)| (packet.ip, packet.tc, packet.ect) == (104, 1, false)));
    assert_eq!((pipe.stats[0].num_cnp_recvd, pipe.stats[1].num_cnp_sent), (1_024, 1_024));
    assert_eq!((pipe.flows[0].received_ce, pipe.stats[1].m_marked_pkts_rcvd), (1_024, 1_024));
    let window = pipe.stats[0].window;
    assert_eq!((window.max, window.min), (LINE, LINE / 10));
    // Slowed packets are apart by their size at the allowed rate.
    let data = of_kind(&pipe, PacketKind::Data);
    assert!(data.windows(2).any(|pair| pair[1].0 - pair[0].0 == 10 * FULL));
}

#[test]
fn cnps_are_spaced_with_dcqcn() {
    let settings = Settings { rate_control: RateControl::Dcqcn, ..Settings::default() };
    let mut pipe = pipe(&settings, 2, 100_000);
    pipe.fate = Box::new(|_, _| Fate::ArrivesMarked);
    pipe.post(0, 0, 1, 4 << 20, 0);
    pipe.run(u64::MAX);
    let cnps = of_kind(&pipe, PacketKind::Cnp);
    assert!(cnps.len() > 3);
    let gaps: Vec<u64> = cnps.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    // An ACK in serialization may delay one; slowed packets come less often in the end.
    assert!(gaps[..3].iter().all(|gap| gap.abs_diff(50_000_000) < ACK), "{gaps:?}");
    assert!(gaps.iter().all(|gap| *gap > 50_000_000 - ACK), "{gaps:?}");
    assert_eq!(pipe.completed(), [[0], [0], [0]]);
}

#[test]
fn without_ecn_nothing_is_marked_capable_and_nothing_slows() {
    for settings in [
        Settings { enable_ecn: false, ..Settings::default() },
        Settings { rate_control: RateControl::None, ..Settings::default() },
    ] {
        let mut pipe = pipe(&settings, 2, 100_000);
        pipe.fate = Box::new(|_, _| Fate::ArrivesMarked);
        pipe.post(0, 0, 1, 1 << 20, 0);
        pipe.run(u64::MAX);
        assert_eq!(pipe.done[1].0, FIRST + 256 * FULL + 100_000);
        assert!(of_kind(&pipe, PacketKind::Data).iter().all(|s| s.2.ect == settings.enable_ecn));
        assert_eq!(pipe.stats[0].num_cnp_recvd, 256);
    }
}

/// Two queue pairs of host 0; the first is slowed to 100 Gbps by CNPs for its first two packets.
fn two_pairs(pacing: Pacing) -> Pipe<Roce> {
    let settings = Settings {
        pacing,
        rate_control: RateControl::Dcqcn,
        cnp_interval: Some(crate::units::Ps(0)),
        ..Settings::default()
    };
    let mut pipe = pipe(&settings, 3, 100_000);
    pipe.fate = Box::new(|_, (.., packet)| {
        let header = packet.header;
        let marks = header.kind == PacketKind::Data && header.connection == 0 && header.psn < 2;
        if marks { Fate::ArrivesMarked } else { Fate::Arrives }
    });
    pipe.post(0, 0, 1, 40 * 4_096, 0);
    pipe.post(0, 0, 2, 400 * 4_096, 0);
    pipe.run(u64::MAX);
    pipe
}

#[test]
fn a_slowed_packet_occupies_the_port_or_is_only_spaced() {
    for pacing in [Pacing::Occupies, Pacing::Spaced] {
        let pipe = two_pairs(pacing);
        assert_eq!((pipe.stats[0].num_cnp_recvd, pipe.stats[0].window.min), (2, LINE / 4));
        let slowed = 4 * FULL;
        let data = of_kind(&pipe, PacketKind::Data);
        let gaps = |connection| {
            let mut of = data.iter().filter(|s| s.2.header.connection == connection).map(|s| s.0);
            let first = of.next();
            of.scan(first, |last, at| Some(at - last.replace(at)?)).collect::<Vec<u64>>()
        };
        let ports: Vec<u64> = data.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        match pacing {
            Pacing::Occupies => assert!(ports.contains(&slowed)),
            Pacing::Spaced => {
                assert!(ports.iter().all(|gap| *gap == FULL || *gap < FULL + FULL));
                assert!(!ports.contains(&slowed), "the other one's packets fill the gaps");
                // Those already queued at line rate are spaced as well; one delayed by the other
                // queue pair does not delay the next.
                let tail = &gaps(0)[5..30];
                let mean = tail.iter().sum::<u64>() / tail.len() as u64;
                assert!(mean.abs_diff(slowed) < slowed / 5, "{slowed} {tail:?}");
                assert_eq!(pipe.flows[0].retransmitted, 0);
            }
        }
        assert_eq!(pipe.completed()[2].len(), 2);
    }
}

#[test]
fn queue_pairs_take_turns_and_messages_of_one_wait_for_each_other() {
    let mut pipe = pipe(&Settings::default(), 3, 100_000);
    pipe.post(0, 0, 1, 3 * 4_096, 0);
    pipe.post(0, 0, 1, 4_096, 0);
    pipe.post(0, 0, 2, 3 * 4_096, 0);
    pipe.run(u64::MAX);
    let data = of_kind(&pipe, PacketKind::Data);
    let order: Vec<(u32, u32)> =
        data.iter().map(|s| (s.2.header.connection, s.2.header.psn)).collect();
    assert_eq!(order, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (0, 3)]);
    let acknowledged = pipe.done.iter().find(|(_, done)| *done == Done::Acknowledged(0));
    assert_eq!(data[6].0, acknowledged.map_or(0, |(at, _)| *at) + FIRST);
    assert_eq!(data.iter().map(|s| s.2.entropy).collect::<Vec<_>>()[5..], [49_154, 49_152]);
}

#[test]
fn source_ports_by_flow() {
    let settings = Settings { source_port: SourcePort::Flow, ..Settings::default() };
    let mut pipe = pipe(&settings, 2, 100_000);
    pipe.post(0, 0, 1, 1, 0);
    pipe.post(0, 0, 1, 1, 0);
    pipe.run(u64::MAX);
    let ports: Vec<u16> = pipe.log.iter().map(|s| s.2.entropy).collect();
    assert_eq!(ports, [49_152, 49_152, 49_153, 49_153], "each message and its ACK");
}

#[test]
fn replies_wait_for_room_in_the_control_pool() {
    let settings = Settings { ack_coalescing_enabled: false, ..Settings::default() };
    let mut pipe = pipe(&settings, 2, 100_000);
    pipe.post(0, 0, 1, 400 * 4_096, 0);
    pipe.pause(1, 1, 0, 100_000_000);
    pipe.run(99_000_000);
    assert_eq!(pipe.ports[1].used(1), 203 * 126);
    pipe.run(u64::MAX);
    // 203 that found room, and one for all that did not.
    assert_eq!(of_kind(&pipe, PacketKind::Ack).len(), 204);
    assert_eq!(pipe.completed(), [[0], [0], [0]]);
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    fn settings() -> impl Strategy<Value = Settings> {
        (
            prop_oneof![
                Just(RateControl::Scala),
                Just(RateControl::Dcqcn),
                Just(RateControl::None)
            ],
            prop_oneof![Just(Pacing::Occupies), Just(Pacing::Spaced)],
            prop_oneof![Just(StalePackets::Sent), Just(StalePackets::Flushed)],
            any::<bool>(),
        )
            .prop_map(|(rate_control, pacing, stale_packets, ack_coalescing_enabled)| {
                Settings {
                    rate_control,
                    pacing,
                    stale_packets,
                    ack_coalescing_enabled,
                    retransmit_timeout: crate::units::Ps(200_000_000),
                    ack_delay: crate::units::Ps(20_000_000),
                    ..Settings::default()
                }
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        /// Under loss, marks and pauses every message is sent, received and acknowledged once,
        /// nothing is left outstanding, rates stay within bounds, and twice is the same.
        #[test]
        fn everything_is_delivered_once(
            settings in settings(),
            messages in prop::collection::vec((0u64..30_000_000, 0u32..3, 1u32..3, 0u64..300_000, 0u8..3), 1..12),
            pauses in prop::collection::vec((0u32..3, 0u8..3, 0u64..30_000_000, 0u64..40_000_000), 0..6),
            dice in prop::collection::vec(0u8..100, 64),
            (loss, marks) in (0u8..12, 0u8..50),
        ) {
            let run = || {
                let mut pipe = pipe(&settings, 3, 700_000);
                let dice = dice.clone();
                pipe.fate = Box::new(move |n, (at, ..)| {
                    let die = (u64::from(dice[n % 64]) * 31 + n as u64 * 17 + at % 97) % 100;
                    match die as u8 {
                        die if die < loss => Fate::Lost,
                        die if die < loss + marks => Fate::ArrivesMarked,
                        _ => Fate::Arrives,
                    }
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
            // Messages of a queue pair arrive in the order in which they were posted.
            let mut latest = BTreeMap::new();
            for &flow in &pipe.completed()[1] {
                let message = &pipe.messages[flow as usize];
                let posted = (messages[flow as usize].0, flow);
                let before = latest.insert((message.src, message.dst, message.tc), posted);
                prop_assert!(before < Some(posted));
            }
            for pair in &pipe.transport.pairs {
                prop_assert!(!pair.tx.active());
                prop_assert_eq!((pair.tx.base, pair.tx.waiting, pair.rx.expected), (pair.tx.end, 0, pair.tx.end));
            }
            for port in &mut pipe.ports {
                port.settle(u64::MAX);
                prop_assert!((0..8).all(|class| port.used(class) == 0));
            }
            for (flow, message) in pipe.flows.iter().zip(&messages) {
                let packets = message.3.div_ceil(4_096).max(1);
                prop_assert!(flow.received_packets >= packets);
                prop_assert!(flow.sent_packets - flow.retransmitted >= packets);
            }
            for stats in &pipe.stats {
                if stats.window.count > 0 {
                    prop_assert!(stats.window.max <= LINE && stats.window.min > 0);
                    if settings.rate_control == RateControl::Scala {
                        prop_assert!(stats.window.min >= LINE / 10);
                    }
                }
                prop_assert_eq!(stats.wqes_created, stats.wqes_completed);
            }
            let (again, _) = run();
            prop_assert_eq!(pipe.log, again.log);
            prop_assert_eq!(pipe.done, again.done);
        }
    }
}
