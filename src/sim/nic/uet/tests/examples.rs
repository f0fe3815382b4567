//! The worked examples, and rules they do not reach.

use super::*;
use crate::scenario::uet::{NewlyAcknowledged, PacketSpraying};
use crate::units::{Bytes, Ps};

const US: u64 = 1_000_000;
const END: u64 = 1_000_000 * US;
const MIB: u64 = 1 << 20;

/// U1.
#[test]
fn a_mebibyte_takes_256_packets_256_acknowledgements_and_a_probe() {
    let mut rig = Rig::new(2, |_, _| {});
    rig.post(0, 0, 1, MIB);
    assert!(rig.run(END));
    rig.assert_over(256);
    let wire = |seen: &[Seen]| seen.iter().map(|s| u64::from(s.packet.ip) + 18).sum::<u64>();
    let time = |seen: &[Seen]| seen.iter().map(|s| s.end - s.at).sum::<u64>();
    let data = rig.of(0, PacketKind::Data);
    assert_eq!((data.len(), wire(&data), time(&data)), (256, 1_075_712, 21_514_240));
    let acks = rig.of(1, PacketKind::Ack);
    assert_eq!((acks.len(), wire(&acks)), (256, 19_968));
    let probes = [rig.of(0, PacketKind::Probe), rig.of(1, PacketKind::ProbeAck)].concat();
    assert_eq!((probes.len(), wire(&probes)), (2, 140));
    // 15 ns to the transmit process, 70.845 ns of fetch.
    assert_eq!(data[0].at, 15_000 + 70_845);
    let (sent, received) = (rig.stats[0], rig.stats[1]);
    assert_eq!((sent.total_pkts_sent, sent.ack_pkts_rcvd, sent.wqes_completed), (256, 256, 1));
    assert_eq!((sent.probe_sent, sent.probe_ack_rcvd, sent.window.count), (1, 1, 256));
    assert_eq!((received.write_pkts_rcvd, received.ack_pkts_sent), (256, 256));
    let flow = rig.flows[0];
    assert_eq!((flow.sent_bytes, flow.received_bytes), (256 * 4_184, 256 * 4_184));
}

#[test]
fn a_message_of_nothing_is_a_packet_of_106_bytes_that_needs_no_fetch() {
    let mut rig = Rig::new(2, |_, _| {});
    rig.post(0, 0, 1, 0);
    rig.post(0, 1, 0, 4_097);
    assert!(rig.run(END));
    rig.assert_over(3);
    assert_eq!((rig.seen[0].at, rig.seen[0].packet.ip), (15_000, 88));
    assert_eq!(rig.of(1, PacketKind::Data).last().map(|s| s.packet.ip), Some(89));
}

/// U2.
#[test]
fn acknowledgements_are_asked_for_by_the_nth_the_first_and_the_last_packet() {
    for (first, last, expected) in
        [(true, true, 33), (true, false, 32), (false, true, 32), (false, false, 32)]
    {
        // First only leaves the tail to a timeout: only the first round counts.
        let mut rig = Rig::new(2, |pds, _| {
            pds.ack_request_every_nth_packet = 8;
            pds.ack_request_first_packet = first;
            pds.ack_request_last_packet = last;
        });
        rig.post(0, 0, 1, MIB);
        rig.run(100 * US);
        let asked =
            rig.of(0, PacketKind::Data).into_iter().filter(|s| s.packet.header.flags & 1 != 0);
        let psns: Vec<u32> = asked.map(|s| s.packet.header.psn + 1).collect();
        let step = if first { 1 } else { 8 };
        let mut every: Vec<u32> = (0..32).map(|n| step + 8 * n).collect();
        if first && last {
            every.push(256);
        }
        assert_eq!((psns, every.len()), (every, expected));
        assert_eq!(rig.of(1, PacketKind::Ack).len(), expected);
    }
}

/// U4.
#[test]
fn unloaded_rtts_are_those_of_the_path_and_an_acknowledgement_held() {
    for (pipe, expected) in [((200, 1), 553_531), ((1_200, 3), 2_724_731), ((2_200, 5), 4_895_931)]
    {
        let mut rig = Rig::new(2, |_, _| {});
        rig.pipe = (pipe.0 * 1_000, pipe.1);
        rig.post(0, 0, 1, 4_096);
        assert!(rig.run(END));
        assert_eq!((rig.stats[0].rtt.min, rig.stats[0].rtt.count), (expected, 1));
        assert_eq!(rig.of(1, PacketKind::Ack)[0].packet.header.service, 0);
    }
}

/// U5.
#[test]
fn the_first_acknowledgement_and_the_probe_lower_the_base_rtt() {
    let mut rig = Rig::new(2, |_, _| {});
    rig.pipe = (1_200_000, 3);
    rig.post(0, 0, 1, 16 * MIB);
    let mut bases = Vec::new();
    for at in 0..80 {
        rig.run(at * 100_000);
        let nscc =
            &rig.group(0, 1).map(|group| (group.nscc.base_rtt(), group.nscc.max_window() as u64));
        if let Some(base) = nscc
            && bases.last() != Some(base)
        {
            bases.push(*base);
        }
    }
    assert_eq!(bases, [(6_000_000, 450_000), (3_724_731, 279_354), (3_409_960, 255_747)]);
    rig.seen.clear();
    assert!(rig.run(END));
    rig.assert_over(4_096);
}

#[test]
fn an_acknowledgement_behind_a_full_pool_is_held_and_says_so_and_order_is_kept() {
    let mut rig = Rig::new(2, |_, _| {});
    rig.held = 100_000;
    rig.post(0, 0, 1, 8_192);
    rig.run(US);
    // The pool is empty for the second: it would be held for less than is left of the first.
    rig.held = 0;
    assert!(rig.run(END));
    let acks = rig.of(1, PacketKind::Ack);
    // 104,184 B at 504.32 Gbps: 1,652.7 ns, 12 steps of 128 ns.
    assert_eq!((acks[0].packet.header.service, acks.len()), (12, 2));
    assert!(acks[0].at < acks[1].at);
    assert_eq!(acks[0].packet.header.psn, 0);
    assert_eq!(rig.stats[0].rtt.min, 553_531 - 66_371 + 1_652_665 - 12 * 128_000);
}

/// U11, from the receiver's pool to the sender's window.
#[test]
fn a_receiver_with_half_a_pool_full_cuts_the_window() {
    let mut rig = Rig::new(2, |_, _| {});
    rig.held = 1_800_000 - 4_184;
    rig.post(0, 0, 1, MIB);
    rig.run(40 * US);
    assert_eq!(rig.of(1, PacketKind::Ack)[0].packet.header.penalty, 63);
    let window = rig.group(0, 1).map(|group| group.nscc.window());
    assert!(window.is_some_and(|window| window < 300_000.0), "{window:?}");
    rig.held = 0;
    assert!(rig.run(END));
    rig.assert_over(256);
}

/// U12.
#[test]
fn a_retransmission_may_be_trimmed_where_a_first_transmission_is_lost() {
    let mut left = 2;
    let mut rig = Rig::new(2, |_, _| {}).fate(move |seen| {
        if seen.packet.header.kind == PacketKind::Data && seen.packet.header.psn == 3 && left > 0 {
            left -= 1;
            return match seen.packet.code_point {
                CodePoint::TrimmableRetransmit => Fate::Trimmed { last_hop: false },
                _ => Fate::Lost,
            };
        }
        ARRIVES
    });
    rig.post(0, 0, 1, 16 * 4_096);
    assert!(rig.run(END));
    rig.assert_over(16);
    let sent: Vec<Seen> =
        rig.of(0, PacketKind::Data).into_iter().filter(|s| s.packet.header.psn == 3).collect();
    let points = sent.iter().map(|s| s.packet.code_point).collect::<Vec<_>>();
    assert_eq!(
        points,
        [CodePoint::NoTrim, CodePoint::TrimmableRetransmit, CodePoint::TrimmableRetransmit]
    );
    assert_eq!(sent[1].at, sent[0].end + 150 * US);
    let stats = (rig.stats[0], rig.stats[1]);
    assert_eq!((stats.0.num_rto, stats.0.num_rtx, stats.1.nack_pkts_sent), (1, 2, 1));
    assert_eq!(
        (rig.flows[0].timeouts, rig.flows[0].retransmitted, rig.flows[0].received_trimmed),
        (1, 2, 1)
    );
}

#[test]
fn timeouts_double_up_to_the_cap_from_the_end_of_serialization() {
    for (fixed, expected) in [(false, [150, 300, 600, 1_200, 2_400, 4_800, 4_800]), (true, [70; 7])]
    {
        let mut left = 7;
        let mut rig = Rig::new(2, |pds, _| {
            pds.fixed_rexmit_time_enable = fixed;
            pds.fixed_rexmit_timeout = Ps(70 * US);
        })
        .fate(move |_| {
            left -= 1;
            if left >= 0 { Fate::Lost } else { ARRIVES }
        });
        rig.post(0, 0, 1, 100);
        assert!(rig.run(END));
        rig.assert_over(1);
        let sent = rig.of(0, PacketKind::Data);
        let gaps: Vec<u64> = sent.windows(2).map(|pair| (pair[1].at - pair[0].end) / US).collect();
        assert_eq!(gaps, expected);
    }
}

#[test]
fn what_was_trimmed_goes_before_new_data_and_is_not_fetched_again() {
    let mut trimmed = false;
    let mut rig = Rig::new(2, |pds, _| pds.trimming_enabled = true).fate(move |seen| {
        let data = seen.packet.header.kind == PacketKind::Data;
        if data && seen.packet.header.psn == 5 && !std::mem::replace(&mut trimmed, true) {
            return Fate::Trimmed { last_hop: true };
        }
        ARRIVES
    });
    // The window leaves new data to send when the NACK comes.
    rig.post(0, 0, 1, MIB);
    assert!(rig.run(END));
    rig.assert_over(256);
    let data = rig.of(0, PacketKind::Data);
    let again = data.iter().position(|s| s.packet.header.flags & 2 != 0).unwrap();
    let nack = rig.of(1, PacketKind::Nack)[0];
    let arrives = nack.end + 200_000 + wire_time(44);
    // All that stood in the port's queue before it.
    assert!(data[again].at >= arrives && data[again].at < arrives + 55 * 84_040);
    assert_eq!(
        (data[again].packet.header.psn, data[again].packet.code_point),
        (5, CodePoint::TrimmableRetransmit)
    );
    assert_eq!(nack.packet.header.flags & 8, 8, "last hop");
    assert_eq!(data[0].packet.code_point, CodePoint::Trimmable);
    assert_eq!(
        (nack.packet.header.psn, nack.packet.ip, nack.packet.code_point),
        (5, 44, CodePoint::Control)
    );
    assert_eq!((rig.stats[0].num_rto, rig.stats[1].trimmed_pkts_rcvd), (0, 1));
}

#[test]
fn two_messages_to_one_host_share_a_window_and_alternate_unless_groups_are_off() {
    for groups in [true, false] {
        let mut rig = Rig::new(2, |pds, _| pds.pdc_groups_enabled = groups).fate(|_| Fate::Lost);
        rig.post(0, 0, 1, MIB);
        rig.post(0, 0, 1, MIB);
        rig.run(100 * US);
        let data = rig.of(0, PacketKind::Data);
        let windows = if groups { 1 } else { 2 };
        assert_eq!(data.len(), windows * 107);
        assert_eq!(rig.peak, 107 * 4_184);
        for (place, seen) in data.iter().enumerate() {
            assert_eq!(seen.packet.header.connection as usize, place % 2);
        }
    }
}

#[test]
fn groups_take_turns_packet_by_packet() {
    let mut rig = Rig::new(4, |_, _| {});
    for dst in 1..4 {
        rig.post(0, 0, dst, 10 * 4_096);
    }
    assert!(rig.run(END));
    for (place, seen) in rig.of(0, PacketKind::Data).iter().enumerate() {
        assert_eq!(seen.packet.dst as usize, 1 + place % 3);
    }
}

#[test]
fn a_group_lives_while_a_connection_either_way_is_open() {
    let mut rig = Rig::new(2, |_, _| {});
    rig.post(0, 0, 1, 64 * 4_096);
    // The other way: open at host 0 as a receiver when the first message is acknowledged.
    rig.post(US, 1, 0, 256 * 4_096);
    rig.run(10 * US);
    let lowered = rig.group(0, 1).map(|group| (group.open, group.nscc.base_rtt() < 6 * US));
    assert_eq!(lowered, Some((1, true)));
    assert!(rig.run(END));
    rig.assert_over(320);
    rig.post(2 * END, 0, 1, 4_096);
    rig.run(2 * END + 50_000);
    assert_eq!(rig.group(0, 1).map(|group| group.nscc.base_rtt()), Some(6 * US), "a fresh start");
}

#[test]
fn the_window_is_not_enforced_with_pass_through() {
    let mut rig = Rig::new(2, |_, cc| cc.pass_through = true).fate(|_| Fate::Lost);
    rig.post(0, 0, 1, MIB);
    rig.run(100 * US);
    assert_eq!(rig.of(0, PacketKind::Data).len(), 256);
}

#[test]
fn a_full_window_asks_for_an_acknowledgement_where_it_is_set_to() {
    for asks in [true, false] {
        let mut rig = Rig::new(2, |pds, cc| {
            pds.ack_request_every_nth_packet = 100;
            pds.ack_request_first_packet = false;
            pds.ack_request_when_window_full = asks;
            cc.override_uet_spec_max_cwind = true;
            cc.max_congestion_window = 10;
        });
        rig.post(0, 0, 1, 64 * 4_096);
        // Without the question only the 100th transmission asks, and timeouts make it so.
        assert!(rig.run(100 * END));
        rig.assert_over(64);
        assert_eq!(rig.stats[0].num_rto == 0, asks);
    }
}

#[test]
fn recycled_entropy_uses_what_came_back_and_freezes_on_an_early_failure() {
    let mut rig = Rig::new(2, |pds, _| pds.packet_spraying_type = PacketSpraying::RecycledEntropy);
    rig.pipe = (600_000, 3);
    rig.post(0, 0, 1, 4 * MIB);
    rig.run(40 * US);
    let data = rig.of(0, PacketKind::Data);
    let drawn: std::collections::BTreeSet<u16> = data.iter().map(|s| s.packet.entropy).collect();
    assert!(drawn.len() < data.len() / 2, "{} of {}", drawn.len(), data.len());
    // Every packet from now on is lost: only early failures and then timeouts tell.
    rig.fate = Box::new(|_| Fate::Lost);
    let (at, before) = (rig.seen.len(), drawn);
    rig.run(160 * US);
    let late: Vec<u16> =
        rig.seen[at..].iter().filter(|s| s.at > 70 * US).map(|s| s.packet.entropy).collect();
    assert!(late.iter().all(|value| before.contains(value)), "frozen: no new values");
    rig.fate = Box::new(|_| ARRIVES);
    assert!(rig.run(END));
    rig.assert_over(1_024);
}

#[test]
fn a_message_is_sent_with_its_last_fetch_received_whole_and_then_acknowledged() {
    let mut rig = Rig::new(2, |_, _| {});
    rig.post(0, 0, 1, 4_096);
    assert!(rig.run(END));
    let left = 15_000 + 70_845 + 84_040;
    assert_eq!(rig.when(Done::Sent(0)), Some(15_000));
    assert_eq!(rig.when(Done::Received(0)), Some(left + 200_000 + 84_040));
    assert_eq!(rig.when(Done::Acknowledged(0)), Some(left + 553_531));
}

#[test]
fn marks_are_echoed_and_with_delay_they_cut_the_window() {
    for ce in [true, false] {
        let late = 12 * US;
        let mut rig = Rig::new(2, |_, cc| cc.disable_quick_adapt = true)
            .fate(move |_| Fate::Arrives { late, ce });
        rig.post(0, 0, 1, 2 * MIB);
        rig.run(60 * US);
        let acks = rig.of(1, PacketKind::Ack);
        assert!(acks.iter().all(|s| (s.packet.header.flags & 4 != 0) == ce));
        let window = rig.group(0, 1).map(|group| group.nscc.window() < 440_000.0);
        assert_eq!(window, Some(ce));
        assert_eq!(rig.stats[1].m_marked_pkts_rcvd > 0, ce);
        assert!(rig.run(END));
        rig.assert_over(512);
    }
}

/// What acknowledgements move the window by: packets, or bytes in whole units of 256 B.
#[test]
fn newly_acknowledged_bytes_are_those_of_packets_or_the_growth_of_received_bytes() {
    // Sums after each of the first acknowledgements, every packet drawing one.
    let sums = |newly: NewlyAcknowledged, every: u64, acks: u64, lost: Option<u32>| {
        let mut rig = Rig::new(2, |pds, cc| {
            pds.ack_request_every_nth_packet = every;
            cc.newly_acknowledged = newly;
            // Nothing sets the sum back.
            cc.disable_quick_adapt = true;
            cc.adjust_bytes = Some(Bytes(1 << 30));
            cc.adjust_period = Some(Ps(END));
        })
        .fate(move |seen| {
            let data = seen.packet.header.kind == PacketKind::Data;
            if data && Some(seen.packet.header.psn) == lost { Fate::Lost } else { ARRIVES }
        });
        rig.post(0, 0, 1, 40 * 4_096);
        let mut sums = Vec::new();
        let mut now = 0;
        while (sums.len() as u64) < acks {
            now += 1_000;
            assert!(!rig.run(now));
            if rig.stats[0].ack_pkts_rcvd > sums.len() as u64 {
                sums.push(rig.uet.groups[0].nscc.received());
            }
        }
        sums
    };
    let (packets, bytes) = (NewlyAcknowledged::RetiredPackets, NewlyAcknowledged::ReceivedBytes);
    assert_eq!(sums(packets, 1, 4, None), [4_184, 8_368, 12_552, 16_736]);
    // 16, 32, 49 and 65 units.
    assert_eq!(sums(bytes, 1, 4, None), [4_096, 8_192, 12_544, 16_640]);
    // Transmissions 1, 9 and 17 ask: 1, 9 and 17 packets have come, 16, 147 and 277 units.
    assert_eq!(sums(packets, 8, 3, None), [4_184, 37_656, 71_128]);
    assert_eq!(sums(bytes, 8, 3, None), [4_096, 37_632, 70_912]);
    // Without the third packet 1, 8 and 16 have come: 16, 130 and 261 units.
    assert_eq!(sums(packets, 8, 3, Some(2)), [4_184, 33_472, 66_944]);
    assert_eq!(sums(bytes, 8, 3, Some(2)), [4_096, 33_280, 66_816]);
}
