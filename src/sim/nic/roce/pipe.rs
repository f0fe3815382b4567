//! NICs joined by a pipe, for tests: every packet arrives a delay after it has left, unless the
//! test has it lost; its mark is the test's as well.

use crate::sim::nic::egress::{CLASSES, Egress, EgressSettings, Next, Picked, Scheduler};
use crate::sim::nic::stats::{FlowStats, NicStats};
use crate::sim::nic::{Done, Incoming, Io, Message, Outgoing, Transport, Whole};
use crate::sim::packet::ETHERNET_BYTES;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What happens to a packet on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    ArrivesMarked,
    Lost,
}

/// What happens at an instant; at one instant in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Port(u32),
    Arrive(u32, u64),
    Timer(u32),
    Pause(u32, u8, bool),
    Post(u64),
}

/// A packet that has started: when, from where, and itself.
pub type Start = (u64, u32, Outgoing);

/// Decides what happens to a packet, by its place in the log.
pub type Judge = Box<dyn FnMut(usize, &Start) -> Fate>;

pub struct Pipe<T> {
    pub transport: T,
    pub line: u64,
    pub delay: u64,
    pub ports: Vec<Egress>,
    pub stats: Vec<NicStats>,
    pub flows: Vec<FlowStats>,
    /// Completions with their times.
    pub done: Vec<(u64, Done)>,
    pub log: Vec<Start>,
    pub fate: Judge,
    pub messages: Vec<Message>,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    flying: BTreeMap<u64, (u64, Incoming)>,
    /// Earliest event of a port and of its timer that is in the queue.
    armed: Vec<[u64; 2]>,
}

impl<T: Transport> Pipe<T> {
    pub fn new(transport: T, hosts: usize, line: u64, delay: u64) -> Pipe<T> {
        let mut pools = [230_400; CLASSES];
        pools[1] = 25_600;
        let settings = EgressSettings { pools, scheduler: Scheduler::Strict };
        Pipe {
            transport,
            line,
            delay,
            ports: (0..hosts).map(|_| Egress::new(settings)).collect(),
            stats: vec![NicStats::default(); hosts],
            flows: Vec::new(),
            done: Vec::new(),
            log: Vec::new(),
            fate: Box::new(|_, _| Fate::Arrives),
            messages: Vec::new(),
            events: BinaryHeap::new(),
            flying: BTreeMap::new(),
            armed: vec![[u64::MAX; 2]; hosts],
        }
    }

    /// A message to be posted; flows are numbered in order.
    pub fn post(&mut self, at: u64, src: u32, dst: u32, bytes: u64, tc: u8) {
        let flow = self.flows.len() as u32;
        self.flows.push(FlowStats::default());
        self.messages.push(Message { flow, src, dst, bytes, tc, id: u64::from(flow) });
        self.events.push(Reverse((at, Event::Post(u64::from(flow)))));
    }

    /// A class of a port held from one time to another.
    pub fn pause(&mut self, host: u32, class: u8, from: u64, until: u64) {
        self.events.push(Reverse((from, Event::Pause(host, class, true))));
        self.events.push(Reverse((until, Event::Pause(host, class, false))));
    }

    /// Runs until `end`, or until nothing is left; whether something is.
    pub fn run(&mut self, end: u64) -> bool {
        while let Some(Reverse((now, event))) = self.events.pop() {
            if now > end {
                self.events.push(Reverse((now, event)));
                return true;
            }
            let host = match event {
                Event::Port(host) => {
                    if self.armed[host as usize][0] == now {
                        self.armed[host as usize][0] = u64::MAX;
                    }
                    host
                }
                Event::Timer(host) => {
                    if self.armed[host as usize][1] == now {
                        self.armed[host as usize][1] = u64::MAX;
                    }
                    if self.transport.deadline(host) <= now {
                        self.act(now, host, |transport, io| transport.timer(now, host, io));
                    }
                    host
                }
                Event::Arrive(host, id) => {
                    let Some((_, packet)) = self.flying.remove(&id) else { continue };
                    self.act(now, host, |transport, io| transport.receive(now, host, &packet, io));
                    host
                }
                Event::Pause(host, class, held) => {
                    self.ports[host as usize].set_paused(class, held);
                    host
                }
                Event::Post(number) => {
                    let message = self.messages[number as usize];
                    let host = message.src;
                    self.act(now, host, |transport, io| transport.post(now, &message, io));
                    host
                }
            };
            self.after(now, host);
        }
        false
    }

    /// Flows with each of the three completions, in order.
    pub fn completed(&self) -> [Vec<u32>; 3] {
        let mut of = [Vec::new(), Vec::new(), Vec::new()];
        for (_, done) in &self.done {
            match *done {
                Done::Sent(flow) => of[0].push(flow),
                Done::Received(flow) => of[1].push(flow),
                Done::Acknowledged(flow) => of[2].push(flow),
            }
        }
        of
    }

    fn act(&mut self, now: u64, host: u32, action: impl FnOnce(&mut T, &mut Io<'_>)) {
        let mut done = Vec::new();
        let egress = &mut self.ports[host as usize];
        egress.settle(now);
        let stats = &mut self.stats[host as usize];
        action(
            &mut self.transport,
            &mut Io { egress, flows: &mut self.flows, stats, done: &mut done },
        );
        self.done.extend(done.into_iter().map(|done| (now, done)));
    }

    fn after(&mut self, now: u64, host: u32) {
        let number = host as usize;
        self.ports[number].settle(now);
        if self.ports[number].has_room() {
            self.act(now, host, |transport, io| transport.room(now, host, io));
        }
        let next = match self.ports[number].next(now) {
            Next::Free(at) | Next::Ready(at) => at,
            Next::Never => u64::MAX,
        };
        if next <= now
            && let Some(Picked::Packet(packet)) = self.ports[number].pick(now, false)
        {
            self.start(now, host, packet);
            return self.after(now, host);
        }
        let wanted = [next.max(now), self.transport.deadline(host).max(now)];
        let events = [Event::Port(host), Event::Timer(host)];
        for ((at, event), armed) in wanted.into_iter().zip(events).zip(&mut self.armed[number]) {
            if at < *armed {
                *armed = at;
                self.events.push(Reverse((at, event)));
            }
        }
    }

    fn start(&mut self, now: u64, host: u32, packet: Outgoing) {
        let rate = match self.transport.rate(now, &packet) {
            0 => self.line,
            rate => rate.min(self.line),
        };
        let wire = u64::from(packet.ip) + ETHERNET_BYTES;
        let end = now + (wire * 8_000_000_000_000).div_ceil(rate);
        self.ports[host as usize].started(end);
        self.act(now, host, |transport, io| transport.sending(now, end, host, &packet, io));
        let (id, start) = (self.log.len(), (now, host, packet));
        self.log.push(start);
        let fate = (self.fate)(id, &start);
        if fate == Fate::Lost {
            self.transport.lost(&packet.header);
            return;
        }
        let incoming = Incoming {
            header: packet.header,
            entropy: packet.entropy,
            ip: packet.ip,
            whole: Whole::Whole,
            ce: fate == Fate::ArrivesMarked,
            held: u64::from(packet.ip),
            pool: 3_600_000,
        };
        self.flying.insert(id as u64, (end, incoming));
        self.events.push(Reverse((end + self.delay, Event::Arrive(packet.dst, id as u64))));
    }
}
