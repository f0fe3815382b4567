//! The port's pools: what they refuse, and when generation goes on.

use super::*;

const US: u64 = 1_000_000;

/// U3.
#[test]
fn a_blocked_port_takes_54_packets_and_restarts_with_27_left() {
    let mut rig = Rig::new(2, |_, _| {}).fate(|_| Fate::Lost);
    rig.egress[0].set_paused(0, true);
    rig.post(0, 0, 1, 1 << 20);
    rig.run(US);
    assert_eq!((rig.egress[0].used(0), rig.egress[0].starved()), (226_908, 1));
    rig.at(US, Event::Pause(0, 0, false));
    let mut least = u64::MAX;
    while rig.of(0, PacketKind::Data).len() < 40 {
        let next = rig.events.first_key_value().map_or(NEVER, |(key, _)| key.0);
        least = least.min(rig.egress[0].used(0) - 4_202);
        rig.run(next + 1);
        if rig.of(0, PacketKind::Data).len() == 27 {
            assert_eq!(rig.group(0, 1).map(|group| group.in_flight), Some(54 * 4_184));
        }
    }
    // 27 packets remained when the 28th started, and the window lets 107 out.
    assert_eq!(rig.group(0, 1).map(|group| group.in_flight), Some(81 * 4_184));
    assert_eq!(least, 113_454);
}

#[test]
fn a_full_pool_keeps_the_group_at_the_head_and_the_turn_is_not_lost() {
    let mut rig = Rig::new(4, |_, _| {});
    for dst in 1..4 {
        rig.post(0, 0, dst, 100 * 4_096);
    }
    assert!(rig.run(1_000_000 * US));
    rig.assert_over(300);
    // 54 is a multiple of 3: the order stays 1, 2, 3 through the restarts without a response.
    for (place, seen) in rig.of(0, PacketKind::Data).iter().take(54).enumerate() {
        assert_eq!(seen.packet.dst as usize, 1 + place % 3);
    }
}

#[test]
fn acknowledgements_that_do_not_fit_the_control_pool_wait_in_order() {
    let mut rig = Rig::new(2, |_, _| {});
    // Class 1 of the receiver is held: 25,600 B are 328 acknowledgements of 78 B.
    rig.at(0, Event::Pause(1, 1, true));
    for _ in 0..4 {
        rig.post(0, 0, 1, 107 * 4_096);
    }
    rig.uet.cc.pass_through = true;
    rig.run(100 * US);
    assert_eq!((rig.egress[1].used(1), rig.egress[1].starved()), (328 * 78, 2));
    rig.at(100 * US, Event::Pause(1, 1, false));
    assert!(rig.run(1_000_000 * US));
    rig.assert_over(428);
    let acks = rig.of(1, PacketKind::Ack);
    assert_eq!((acks.len(), rig.stats[0].num_rto), (428, 0));
    let connections = acks.iter().map(|s| (s.packet.header.psn, s.packet.header.connection));
    assert!(connections.is_sorted());
}
