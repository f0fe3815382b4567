//! NICs joined by a pipe: what a transport does, packet by packet, without a switch.

mod examples;
mod pools;
mod properties;

use super::super::egress::{Egress, EgressSettings, Next, Picked, Scheduler};
use super::super::stats::{FlowStats, NicStats};
use super::super::{
    CodePoint, Done, Incoming, Io, Message, NEVER, NicRates, Outgoing, PacketKind, Transport, Whole,
};
use super::connection::State;
use super::{Group, Uet};
use crate::scenario::uet::{CongestionControl, HostLink, PdsManager};
use crate::sim::random::Seeds;
use std::collections::BTreeMap;

/// Link rate of every host.
const RATE: u64 = 400_000_000_000;

/// What becomes of a packet on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It arrives, so much later than the pipe takes, marked or not.
    Arrives { late: u64, ce: bool },
    /// Cut, by the last switch or another.
    Trimmed { last_hop: bool },
    /// Gone.
    Lost,
}

const ARRIVES: Fate = Fate::Arrives { late: 0, ce: false };

#[derive(Debug)]
enum Event {
    Arrive(u32, Incoming),
    Port(u32),
    Timer(u32),
    Pause(u32, u8, bool),
    Post(Message),
}

/// Everything about a transmission.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    at: u64,
    end: u64,
    host: u32,
    packet: Outgoing,
}

/// NICs and the pipe between them.
struct Rig<'a> {
    uet: Uet,
    egress: Vec<Egress>,
    flows: Vec<FlowStats>,
    stats: Vec<NicStats>,
    done: Vec<Done>,
    /// When each of `done` came.
    done_at: Vec<(u64, Done)>,
    seen: Vec<Seen>,
    /// One-way propagation and store-and-forward hops on the way.
    pipe: (u64, u64),
    /// Bytes in a receive pool besides the packet.
    held: u64,
    fate: Box<dyn FnMut(&Seen) -> Fate + 'a>,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    port_at: Vec<u64>,
    timer_at: Vec<u64>,
    /// Transmissions and deliveries still to come back.
    away: u64,
    /// Invariants are checked after every event.
    checked: bool,
    /// Most bytes in flight of any group.
    peak: u64,
}

fn wire_time(ip: u16) -> u64 {
    (u64::from(ip) + 18) * 20
}

impl<'a> Rig<'a> {
    fn new(hosts: usize, change: impl FnOnce(&mut PdsManager, &mut CongestionControl)) -> Rig<'a> {
        let (mut pds, mut cc) = (PdsManager::default(), CongestionControl::default());
        change(&mut pds, &mut cc);
        let settings = EgressSettings {
            pools: [230_400, 25_600, 0, 0, 0, 0, 0, 0],
            scheduler: Scheduler::Strict,
        };
        let nics = vec![NicRates { line: RATE, host_link: HostLink::default().rate() }; hosts];
        Rig {
            uet: Uet::new(&pds, &cc, &nics, &Seeds::default()),
            egress: (0..hosts).map(|_| Egress::new(settings)).collect(),
            flows: Vec::new(),
            stats: vec![NicStats::default(); hosts],
            done: Vec::new(),
            done_at: Vec::new(),
            seen: Vec::new(),
            pipe: (200_000, 1),
            held: 0,
            fate: Box::new(|_| ARRIVES),
            events: BTreeMap::new(),
            count: 0,
            port_at: vec![NEVER; hosts],
            timer_at: vec![NEVER; hosts],
            away: 0,
            checked: true,
            peak: 0,
        }
    }

    fn fate(mut self, fate: impl FnMut(&Seen) -> Fate + 'a) -> Self {
        self.fate = Box::new(fate);
        self
    }

    fn post(&mut self, at: u64, src: u32, dst: u32, bytes: u64) -> u32 {
        let flow = self.flows.len() as u32;
        self.flows.push(FlowStats::default());
        let message = Message { flow, src, dst, bytes, tc: 0, id: u64::from(flow) };
        self.at(at, Event::Post(message));
        flow
    }

    fn at(&mut self, at: u64, event: Event) {
        self.events.insert((at, self.count), event);
        self.count += 1;
    }

    fn call<R>(&mut self, host: u32, call: impl FnOnce(&mut Uet, &mut Io<'_>) -> R) -> R {
        let mut io = Io {
            egress: &mut self.egress[host as usize],
            flows: &mut self.flows,
            stats: &mut self.stats[host as usize],
            done: &mut self.done,
        };
        call(&mut self.uet, &mut io)
    }

    /// Runs until nothing is left to happen or `end`, and says whether nothing is.
    fn run(&mut self, end: u64) -> bool {
        while let Some(entry) = self.events.first_entry() {
            let now = entry.key().0;
            if now >= end {
                return false;
            }
            let host = match entry.remove() {
                Event::Arrive(host, packet) => {
                    self.away -= 1;
                    self.call(host, |uet, io| uet.receive(now, host, &packet, io));
                    host
                }
                Event::Port(host) => {
                    self.port_at[host as usize] = NEVER;
                    host
                }
                Event::Timer(host) => {
                    self.timer_at[host as usize] = NEVER;
                    self.call(host, |uet, io| uet.timer(now, host, io));
                    host
                }
                Event::Pause(host, class, held) => {
                    self.egress[host as usize].set_paused(class, held);
                    host
                }
                Event::Post(message) => {
                    self.call(message.src, |uet, io| uet.post(now, &message, io));
                    message.src
                }
            };
            self.port(now, host);
            self.done_at.extend(self.done.drain(..).map(|done| (now, done)));
            let timer = self.uet.deadline(host);
            if timer < self.timer_at[host as usize] {
                self.timer_at[host as usize] = timer;
                self.at(timer, Event::Timer(host));
            }
            if self.checked {
                self.check();
            }
        }
        true
    }

    fn port(&mut self, now: u64, host: u32) {
        let own = host as usize;
        self.egress[own].settle(now);
        if self.egress[own].has_room() {
            self.call(host, |uet, io| uet.room(now, host, io));
        }
        if self.egress[own].free_at() <= now
            && let Some(Picked::Packet(packet)) = self.egress[own].pick(now, false)
        {
            let end = now + wire_time(packet.ip);
            self.egress[own].started(end);
            self.call(host, |uet, io| uet.sending(now, end, host, &packet, io));
            self.carry(Seen { at: now, end, host, packet });
        }
        if let Next::Free(at) | Next::Ready(at) = self.egress[own].next(now)
            && at < self.port_at[own]
        {
            self.port_at[own] = at;
            self.at(at, Event::Port(host));
        }
        let end = self.egress[own].free_at();
        if end > now && end < self.port_at[own] {
            self.port_at[own] = end;
            self.at(end, Event::Port(host));
        }
    }

    fn carry(&mut self, seen: Seen) {
        self.seen.push(seen);
        let packet = seen.packet;
        let (late, ce, whole, ip) = match (self.fate)(&seen) {
            Fate::Arrives { late, ce } => (late, ce, Whole::Whole, packet.ip),
            Fate::Trimmed { last_hop } => {
                assert_eq!(packet.header.kind, PacketKind::Data);
                let whole = if last_hop { Whole::TrimmedLastHop } else { Whole::Trimmed };
                (0, false, whole, 44)
            }
            Fate::Lost => {
                self.uet.lost(&packet.header);
                return;
            }
        };
        self.away += 1;
        let arrives = seen.end + self.pipe.0 + self.pipe.1 * wire_time(ip) + late;
        let incoming = Incoming {
            header: packet.header,
            entropy: packet.entropy,
            ip,
            whole,
            ce,
            held: self.held + u64::from(ip),
            pool: 3_600_000,
        };
        self.at(arrives, Event::Arrive(packet.dst, incoming));
    }

    /// Bytes in flight are those of outstanding packets, and windows are within bounds.
    fn check(&mut self) {
        let (groups, senders) = (&self.uet.groups, &mut self.uet.senders);
        let mut sums = vec![(0u64, 0u64); groups.len()];
        for sender in senders {
            for slot in sender.outstanding_slots() {
                let sum = &mut sums[sender.group as usize];
                sum.0 += if slot.state == State::Waiting { 0 } else { u64::from(slot.ip) };
                sum.1 += u64::from(slot.ip);
            }
        }
        for (group, sum) in groups.iter().zip(sums) {
            assert_eq!((group.in_flight, group.fetched), sum);
            let least = self.uet.hosts[group.host as usize].gains.least();
            let window = group.nscc.window();
            assert!(window >= least && window <= group.nscc.max_window(), "{window}");
            self.peak = self.peak.max(group.in_flight);
        }
    }

    /// The group of a host and peer.
    fn group(&self, host: u32, peer: u32) -> Option<&Group> {
        self.uet.peers.get(&(host, peer)).map(|&group| &self.uet.groups[group as usize])
    }

    /// Transmissions of a kind by a host.
    fn of(&self, host: u32, kind: PacketKind) -> Vec<Seen> {
        let of = |seen: &&Seen| seen.host == host && seen.packet.header.kind == kind;
        self.seen.iter().filter(of).copied().collect()
    }

    /// When something was done.
    fn when(&self, done: Done) -> Option<u64> {
        self.done_at.iter().find(|(_, what)| *what == done).map(|(at, _)| *at)
    }

    /// Every flow is sent, received and acknowledged once, nothing is left anywhere.
    fn assert_over(&self, packets: u64) {
        let mut done: Vec<Done> = self.done_at.iter().map(|(_, done)| *done).collect();
        done.sort_by_key(|done| format!("{done:?}"));
        let mut expected = Vec::new();
        for flow in 0..self.flows.len() as u32 {
            expected.extend([Done::Acknowledged(flow), Done::Received(flow), Done::Sent(flow)]);
        }
        expected.sort_by_key(|done| format!("{done:?}"));
        assert_eq!(done, expected);
        let sum = |of: fn(&NicStats) -> u64| self.stats.iter().map(of).sum::<u64>();
        let new = sum(|s| s.write_pkts_rcvd) - sum(|s| s.num_dup_events_on_nic);
        assert_eq!(new, packets, "each packet is delivered once");
        assert_eq!(self.uet.free_connections.len(), self.uet.senders.len(), "entries are free");
        assert_eq!(self.uet.free_groups.len(), self.uet.groups.len(), "groups have ended");
        assert!(self.uet.peers.is_empty());
        assert_eq!(self.away, 0);
        assert!(self.egress.iter().all(|egress| egress.used(0) + egress.used(1) == 0));
    }
}
