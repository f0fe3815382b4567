//! What holds whatever happens on the way.

use super::*;
use crate::scenario::uet::{NewlyAcknowledged, PacketSpraying};
use proptest::prelude::*;
use rand_core::Rng;

const US: u64 = 1_000_000;

/// What may happen to a packet, in 256ths.
#[derive(Debug, Clone, Copy)]
struct Odds {
    lost: u64,
    trimmed: u64,
    marked: u64,
    /// Latest a packet may be late, ps.
    late: u64,
}

#[derive(Debug, Clone)]
struct Setting {
    spraying: PacketSpraying,
    groups: bool,
    trimming: bool,
    every: u64,
    window: Option<u64>,
    newly: NewlyAcknowledged,
}

fn settings() -> impl Strategy<Value = Setting> {
    let sprayings =
        [PacketSpraying::None, PacketSpraying::Default, PacketSpraying::RecycledEntropy];
    (
        prop::sample::select(sprayings.to_vec()),
        any::<bool>(),
        any::<bool>(),
        1u64..12,
        prop::option::of(1u64..40),
        any::<bool>(),
    )
        .prop_map(|(spraying, groups, trimming, every, window, bytes)| Setting {
            spraying,
            groups,
            trimming,
            every,
            window,
            newly: match bytes {
                true => NewlyAcknowledged::ReceivedBytes,
                false => NewlyAcknowledged::RetiredPackets,
            },
        })
}

/// Messages: when, source, destination (of the other hosts), bytes.
fn messages() -> impl Strategy<Value = Vec<(u64, u32, u32, u64)>> {
    prop::collection::vec((0..200 * US, 0u32..4, 0u32..3, 0u64..300_000), 1..8)
}

/// Pauses: when, host, class, for how long.
fn pauses() -> impl Strategy<Value = Vec<(u64, u32, u8, u64)>> {
    prop::collection::vec((0..200 * US, 0u32..4, 0u8..2, 0..80 * US), 0..6)
}

fn run<'a>(
    setting: &Setting,
    odds: Odds,
    messages: &[(u64, u32, u32, u64)],
    pauses: &[(u64, u32, u8, u64)],
) -> (Rig<'a>, u64) {
    let mut draws = Seeds::default().stream("fate");
    let mut rig = Rig::new(4, |pds, cc| {
        pds.packet_spraying_type = setting.spraying;
        pds.pdc_groups_enabled = setting.groups;
        pds.trimming_enabled = setting.trimming;
        pds.ack_request_every_nth_packet = setting.every;
        cc.override_uet_spec_max_cwind = setting.window.is_some();
        cc.max_congestion_window = setting.window.unwrap_or(0);
        cc.newly_acknowledged = setting.newly;
    })
    .fate(move |seen| {
        let draw = draws.next_u64();
        let late = if odds.late == 0 { 0 } else { (draw >> 32) % odds.late };
        let ce = draw >> 8 & 255 < odds.marked;
        match draw & 255 {
            byte if byte < odds.lost => Fate::Lost,
            byte if byte < odds.lost + odds.trimmed
                && seen.packet.header.kind == PacketKind::Data
                && seen.packet.code_point != CodePoint::NoTrim =>
            {
                Fate::Trimmed { last_hop: draw >> 16 & 1 == 0 }
            }
            _ => Fate::Arrives { late, ce },
        }
    });
    let mut packets = 0;
    for &(at, src, other, bytes) in messages {
        rig.post(at, src, (src + 1 + other) % 4, bytes);
        packets += bytes.div_ceil(4_096).max(1);
    }
    for &(at, host, class, long) in pauses {
        rig.at(at, Event::Pause(host, class, true));
        rig.at(at + long, Event::Pause(host, class, false));
    }
    let over = rig.run(u64::MAX);
    assert!(over);
    (rig, packets)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Under loss, trims, marks, reordering and pauses everything is delivered at last and
    /// nothing twice; after every event bytes in flight are those of outstanding packets and
    /// windows are within bounds. The same run gives the same transmissions.
    #[test]
    fn everything_is_delivered_once(
        setting in settings(),
        odds in (0u64..80, 0u64..80, 0u64..256, prop::sample::select(vec![0, US, 40 * US, 400 * US])),
        messages in messages(),
        pauses in pauses(),
    ) {
        let odds = Odds { lost: odds.0, trimmed: odds.1, marked: odds.2, late: odds.3 };
        let (rig, packets) = run(&setting, odds, &messages, &pauses);
        rig.assert_over(packets);
        let (again, _) = run(&setting, odds, &messages, &pauses);
        prop_assert_eq!(&rig.seen, &again.seen);
        prop_assert_eq!(&rig.done_at, &again.done_at);
    }

    /// With trimming and no other loss, trims are NACKs sent, and each is retransmitted.
    #[test]
    fn trims_are_nacks(
        setting in settings(),
        trimmed in 1u64..128,
        messages in messages(),
    ) {
        let setting = Setting { trimming: true, every: 1, ..setting };
        let odds = Odds { lost: 0, trimmed, marked: 20, late: US };
        let (rig, packets) = run(&setting, odds, &messages, &[]);
        rig.assert_over(packets);
        let sum = |of: fn(&NicStats) -> u64| rig.stats.iter().map(of).sum::<u64>();
        let trims = sum(|s| s.trimmed_pkts_rcvd);
        prop_assert_eq!(trims, sum(|s| s.nack_pkts_sent));
        prop_assert_eq!(trims, sum(|s| s.nack_pkts_rcvd));
        prop_assert_eq!(trims, sum(|s| s.num_rtx));
        prop_assert_eq!(sum(|s| s.num_rto), 0);
        prop_assert_eq!(sum(|s| s.write_pkts_sent), packets + trims);
    }

    /// Without loss nothing is sent twice, in whatever order packets arrive.
    #[test]
    fn reordering_retransmits_nothing(setting in settings(), messages in messages()) {
        let setting = Setting { every: 1, ..setting };
        let odds = Odds { lost: 0, trimmed: 0, marked: 0, late: 20 * US };
        let (rig, packets) = run(&setting, odds, &messages, &[]);
        rig.assert_over(packets);
        prop_assert_eq!(rig.stats.iter().map(|s| s.write_pkts_sent).sum::<u64>(), packets);
    }
}

/// A new message's first segment, held by what is fetched, does not hold another connection's
/// retransmissions.
#[test]
fn a_new_segment_does_not_block_retransmissions_of_the_group() {
    let setting = Setting {
        spraying: PacketSpraying::None,
        groups: true,
        trimming: false,
        every: 1,
        window: None,
        newly: NewlyAcknowledged::RetiredPackets,
    };
    let odds = Odds { lost: 25, trimmed: 0, marked: 0, late: 40 * US };
    let messages = [
        (98_704_257, 3, 1, 0),
        (15_194_090, 2, 0, 36_865),
        (14_272_769, 3, 2, 180_225),
        (28_411_639, 3, 1, 138_809),
        (30_845_896, 3, 2, 128_256),
    ];
    let pauses = [
        (57_620_225, 1, 0, 26_868_010),
        (53_893_951, 2, 0, 48_711_021),
        (51_994_273, 1, 1, 26_526_960),
    ];
    let (rig, packets) = run(&setting, odds, &messages, &pauses);
    rig.assert_over(packets);
}
