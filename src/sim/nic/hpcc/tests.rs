//! One NIC, packet by packet.

use super::super::egress::{Egress, EgressSettings, Next, Picked, Scheduler};
use super::super::stats::{FlowStats, NicStats};
use super::*;
use crate::scenario::{HpccNic, NicModel};

/// Hosts 0 and 1 with ports of their own and no network between them.
struct Bench {
    hpcc: Hpcc,
    ports: [Egress; 2],
    stats: [NicStats; 2],
    flows: Vec<FlowStats>,
    done: Vec<Done>,
}

impl Bench {
    fn new(settings: HpccNic) -> Bench {
        Bench::of(Nic { hpcc: settings, ..Nic::of_model(NicModel::Hpcc) })
    }

    fn of(nic: Nic) -> Bench {
        let port = || {
            let pools = [u64::MAX / 4; 8];
            Egress::new(EgressSettings { pools, scheduler: Scheduler::Strict })
        };
        Bench {
            hpcc: Hpcc::new(&nic, &[100_000_000_000; 2], false),
            ports: [port(), port()],
            stats: Default::default(),
            flows: vec![FlowStats::default(); 8],
            done: vec![],
        }
    }

    fn with<T>(&mut self, host: usize, act: impl FnOnce(&mut Hpcc, &mut Io<'_>) -> T) -> T {
        let mut io = Io {
            egress: &mut self.ports[host],
            flows: &mut self.flows,
            stats: &mut self.stats[host],
            done: &mut self.done,
        };
        act(&mut self.hpcc, &mut io)
    }

    fn post(&mut self, flow: u32, tc: u8, bytes: u64) {
        let message = Message { flow, src: 0, dst: 1, bytes, tc, id: u64::from(flow) };
        self.with(0, |hpcc, io| hpcc.post(0, &message, io));
    }

    /// What a host starts at `now`, for 10 ps.
    fn start(&mut self, host: usize, now: u64) -> Option<Outgoing> {
        self.ports[host].settle(now);
        if self.ports[host].take_wanted() {
            self.with(host, |hpcc, io| hpcc.room(now, host as u32, io));
        }
        let Some(Picked::Packet(packet)) = self.ports[host].pick(now, false) else { return None };
        self.ports[host].started(now + 10);
        self.with(host, |hpcc, io| hpcc.sending(now, now + 10, host as u32, &packet, io));
        Some(packet)
    }

    fn receive(&mut self, host: usize, now: u64, packet: &Outgoing) {
        let incoming = Incoming {
            header: packet.header,
            entropy: packet.entropy,
            ip: packet.ip,
            whole: Whole::Whole,
            ce: false,
            held: 0,
            pool: 0,
        };
        self.with(host, |hpcc, io| hpcc.receive(now, host as u32, &incoming, io));
    }
}

#[test]
fn flows_take_turns_and_pauses_hold_their_class_only() {
    let mut b = Bench::new(HpccNic::default());
    b.post(0, 3, 2_500);
    b.post(1, 3, 1_000);
    b.post(2, 4, 2_000);
    let sent = |p: Outgoing| (p.header.connection, p.header.bits, p.ip);
    assert_eq!(b.start(0, 0).map(sent), Some((0, 0, 1_034)));
    assert_eq!(b.ports[0].next(0), Next::Free(10), "there is more to send");
    assert_eq!(b.start(0, 10).map(sent), Some((1, 0, 1_034)));
    b.ports[0].set_paused(3, true);
    assert_eq!(b.start(0, 20).map(sent), Some((2, 0, 1_034)));
    assert_eq!(b.start(0, 30).map(sent), Some((2, 1_000, 1_034)));
    assert_eq!(b.start(0, 40), None);
    assert_eq!(b.ports[0].next(40), Next::Never);
    b.ports[0].set_paused(3, false);
    b.with(0, |hpcc, io| hpcc.resumed(45, 0, io));
    assert_eq!(b.start(0, 45).map(sent), Some((0, 1_000, 1_034)));
    assert_eq!(b.start(0, 55).map(sent), Some((0, 2_000, 534)));
    assert_eq!(b.done, [Done::Sent(1), Done::Sent(2), Done::Sent(0)]);
}

#[test]
fn answers_go_first_and_a_flow_ends_with_its_last() {
    let mut b = Bench::new(HpccNic::default());
    b.post(0, 3, 1_500);
    let (first, second) = (b.start(0, 0).unwrap(), b.start(0, 10).unwrap());
    b.receive(1, 100, &first);
    let ack = b.start(1, 100).unwrap();
    assert_eq!((ack.header.kind, ack.header.bits, ack.ip, ack.tc), (PacketKind::Ack, 1_000, 46, 3));
    b.receive(1, 110, &second);
    let last = b.start(1, 110).unwrap();
    b.receive(0, 200, &ack);
    assert!(!b.done.contains(&Done::Acknowledged(0)));
    b.receive(0, 210, &last);
    assert_eq!(b.done[1..], [Done::Received(0), Done::Acknowledged(0)]);
    assert_eq!(b.flows[0].payload_bytes, 1_500);
    // Its place is free once the list has been walked, and is used again.
    assert_eq!(b.start(0, 220), None);
    b.post(1, 3, 10);
    b.post(2, 3, 10);
    assert_eq!((b.hpcc.pairs.len(), b.start(0, 230).is_some()), (2, true));
}

#[test]
fn a_gap_has_the_sender_go_back() {
    let mut b =
        Bench::new(HpccNic { ack_interval: crate::units::Bytes(1 << 40), ..HpccNic::default() });
    b.post(0, 3, 3_000);
    let sent: Vec<Outgoing> = (0..3).map(|n| b.start(0, n * 10).unwrap()).collect();
    b.hpcc.lost(&sent[0].header);
    b.receive(1, 100, &sent[1]);
    b.receive(1, 110, &sent[2]);
    let nack = b.start(1, 110).unwrap();
    assert_eq!((nack.header.kind, nack.header.bits), (PacketKind::Nack, 0));
    assert_eq!(b.start(1, 120), None, "once");
    b.receive(0, 200, &nack);
    let again: Vec<u64> = (0..3).map(|n| b.start(0, 200 + n * 10).unwrap().header.bits).collect();
    assert_eq!(again, [0, 1_000, 2_000]);
    assert_eq!((b.flows[0].retransmitted, b.flows[0].sent_packets), (3, 6));
}

#[test]
fn high_priority_answers_use_queue_0() {
    let mut b = Bench::new(HpccNic { ack_high_prio: true, ..HpccNic::default() });
    b.post(0, 5, 10);
    let data = b.start(0, 0).unwrap();
    b.ports[1].set_paused(3, true);
    b.receive(1, 100, &data);
    assert_eq!(b.start(1, 100).map(|p| (p.tc, p.class)), Some((0, 0)));
    let mut b = Bench::new(HpccNic::default());
    b.post(0, 5, 10);
    let data = b.start(0, 0).unwrap();
    b.ports[1].set_paused(3, true);
    b.receive(1, 100, &data);
    assert_eq!(b.start(1, 100), None, "a pause of class 3 holds all answers");
}

#[test]
fn a_flow_s_first_packets_are_unscheduled_again_and_again() {
    let nic = |unscheduled| Nic { unscheduled, ..Nic::of_model(NicModel::Hpcc) };
    let mut b = Bench::of(nic(Some(crate::units::Bytes(2_000))));
    b.post(0, 3, 5_000);
    let first: Vec<Outgoing> = (0..5).map(|n| b.start(0, n * 10).unwrap()).collect();
    let early: Vec<bool> = first.iter().map(|packet| packet.unscheduled).collect();
    assert_eq!(early, [true, true, true, false, false], "the one that starts at 2,000 too");
    b.hpcc.lost(&first[1].header);
    b.receive(1, 100, &first[0]);
    b.receive(1, 110, &first[2]);
    let answers = [b.start(1, 110).unwrap(), b.start(1, 120).unwrap()];
    assert!(answers.iter().all(|answer| !answer.unscheduled));
    b.receive(0, 200, &answers[0]);
    b.receive(0, 200, &answers[1]);
    let again: Vec<bool> = (0..4).map(|n| b.start(0, 200 + n * 10).unwrap().unscheduled).collect();
    assert_eq!(again, [true, true, false, false]);
    // What 100 Gbps carry in 13 us, 162,500 B: packets 0 to 162; or none.
    for (bytes, count) in [(None, 163), (Some(crate::units::Bytes(0)), 0)] {
        let mut b = Bench::of(nic(bytes));
        b.post(0, 3, 400_000);
        let early = (0..400).filter(|n| b.start(0, n * 10).unwrap().unscheduled);
        assert_eq!(early.collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
    }
}

/// Four senders of 2 MB into one receiver at 100 Gbps and 1 us, through a switch of 12 MiB.
fn incast(law: &str) -> crate::sim::observe::Observations {
    let scenario = serde_json::from_value(serde_json::json!({
        "duration": 10_000_000_000u64,
        "until": "drained",
        "topology": {"kind": "single-switch", "hosts": 5, "rate": 100_000_000_000u64,
            "delay": 1_000_000},
        "switch": {"model": "hpcc"},
        "nic": {"model": "hpcc", "HPCC": {"rate_control": law, "BASE_RTT": 4_500_000}},
        "traffic": [{"pattern": "incast", "senders": 4, "bytes": 2_000_000, "dscp": 24}],
    }))
    .unwrap();
    crate::sim::run(&scenario, Default::default(), &Default::default()).unwrap()
}

#[test]
fn laws_keep_queues_short_and_the_line_busy() {
    let free = incast("none");
    // 8 MB in packets of 1,000 B, each 1,048 B on the wire, take 671 us.
    let least = 8_000 * 1_048 * 80;
    assert!(free.totals.pause_frames > 0 && free.totals.peak_egress > 1_000_000);
    for law in ["hpcc", "powertcp"] {
        let run = incast(law);
        assert_eq!((run.totals.flows_finished, run.totals.drops), (4, [0; 7]), "{law}");
        assert!(run.totals.peak_egress < free.totals.peak_egress / 4, "{law}: {:?}", run.totals);
        let took = run.totals.end_time;
        assert!(took > least && took < 2 * least, "{law}: {took} ps of at least {least}");
    }
}
