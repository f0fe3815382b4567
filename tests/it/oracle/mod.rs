//! A literal simulator to compare with: every rule of the switch page written down as it reads.
//!
//! Owns a second, independent implementation of the switch under both policies, the open-loop
//! hosts and every table they leave. One event for everything that happens, all events in one ordered map, plain
//! structs, no laziness and no fusion: slow, and easy to compare with the rules. Refuses to share
//! code with the simulator beyond plain data: the scenario, its start-up and links, the list of
//! flows, the random streams and the shape of the rows.
//!
//! Not covered: whole-nanosecond timing, the budget of events.

mod deadlock;
mod flowlet;
mod host;
mod measure;
mod route;
mod switch;

use host::{FlowState, Host};
use measure::Meters;
use poolsweep::scenario::links::{self, NetworkPlan};
use poolsweep::scenario::{Role, Scenario, Table, Until};
use poolsweep::sim::observe::{DropReason, End, HeldPort, LoadBalancingRow, Observations, Side};
use poolsweep::sim::random::Seeds;
use poolsweep::sim::traffic::{FlowSource, Traces};
use std::collections::{BTreeMap, VecDeque};
use switch::Switch;

/// Order of simultaneous events: the kinds of the page, split where it orders inside a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Report,
    TxEnd,
    Service,
    Arrival,
    Effect,
    Expiry,
    Refresh,
    Timer,
    FlowStart,
}

/// Time, kind, node, port, class, and the order of creation (which nothing may depend on).
type Key = (u64, Kind, u32, u32, u8, u64);

#[derive(Debug, Clone, Copy)]
enum Event {
    /// An interval ends.
    Report,
    /// The warm-up ends.
    WarmUp,
    /// End of serialization at a port.
    TxEnd(usize),
    /// End of receive service at a host.
    Service(usize),
    /// Arrival of a frame at a port.
    Arrival(usize, Frame),
    /// A PFC frame for a class takes effect; the time a pause is over, or `None` for a resume.
    Effect(usize, u8, Option<u64>),
    /// The pause of a class may be over.
    Expiry(usize, u8),
    /// A switch port sends its pause of a pool again, unless it was resumed since.
    Refresh { port: usize, pool: usize, round: u64 },
    /// A host looks again at a class it has paused.
    NicRefresh { host: usize, tc: u8, round: u64 },
    /// A host sends the pause frame of a class of its `hold`, or ends it.
    Hold { host: usize, tc: u8, pause: bool },
    /// A rate cap falls due.
    Timer(usize),
    /// Flows start at a host.
    FlowStart(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Data(Packet),
    /// With 0 quanta it resumes.
    Pfc {
        tc: u8,
        quanta: u16,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packet {
    flow: usize,
    ip: u64,
    /// IP bytes it left its host with.
    sent: u64,
    tc: u8,
    role: Role,
    /// A switch has cut it.
    trimmed: bool,
    ect: bool,
    ce: bool,
    /// Port it came in by at the switch it is in.
    from: usize,
}

impl Packet {
    fn charged(&self) -> u64 {
        self.ip.max(46)
    }
}

impl Frame {
    fn wire(&self) -> u64 {
        match self {
            Frame::Data(packet) => packet.ip + 18,
            Frame::Pfc { .. } => 64,
        }
    }
}

/// One end of a link, of a host or a switch alike.
#[derive(Debug)]
struct Port {
    node: u32,
    number: u32,
    side: Side,
    rate: u64,
    delay: u64,
    peer: usize,
    /// PFC frames to be sent: class and quanta.
    pfc: VecDeque<(u8, u16)>,
    sending: Option<Frame>,
    /// Until when each class is held.
    held: [Option<u64>; 8],
    /// The switch it belongs to; a host's port is its place in `hosts`.
    switch: Option<usize>,
}

impl Port {
    /// A quantum is 512 bit, 64 B.
    fn pause_time(&self, quanta: u16) -> u64 {
        time_on_wire(64 * u64::from(quanta), self.rate) + self.delay
    }
}

fn time_on_wire(bytes: u64, rate: u64) -> u64 {
    let ps = (u128::from(bytes) * 8 * 1_000_000_000_000).div_ceil(u128::from(rate));
    u64::try_from(ps).expect("a frame takes less than half a year")
}

struct World {
    now: u64,
    end: u64,
    events: BTreeMap<Key, Event>,
    created: u64,
    ports: Vec<Port>,
    hosts: Vec<Host>,
    switches: Vec<Switch>,
    flows: Vec<FlowState>,
    meters: Meters,
    /// Packets sent by their hosts and neither served nor dropped.
    inside: u64,
    interval: u64,
    /// The switch whose buffer the current event may have changed.
    touched: Option<usize>,
    /// When pauses were first found to wait for one another, and which.
    deadlock: Option<(u64, Vec<HeldPort>)>,
    stop_on_deadlock: bool,
    balance: Vec<LoadBalancingRow>,
    zeros: bool,
}

/// Runs a scenario by the rules as they read.
pub fn run(scenario: &Scenario, seeds: Seeds) -> Observations {
    let plan = links::network(scenario).expect("a topology");
    let mut world = World::new(scenario, seeds, &plan);
    let drain = scenario.until == Until::Drained;
    let mut how = End::Duration;
    while let Some(first) = world.events.first_entry().filter(|first| first.key().0 < world.end) {
        let (key, event) = first.remove_entry();
        assert!(key.0 >= world.now, "time goes forward");
        world.now = key.0;
        world.happen(event);
        if let Some(switch) = world.touched.take() {
            world.meters.observe(world.now, switch, &world.switches[switch]);
        }
        if drain && how == End::Duration && world.drained() {
            how = End::Drained;
            world.end = world.end.min(world.now + 1);
        }
    }
    world.check_conservation();
    if world.end > world.meters.interval_start() {
        world.report_balance(world.end);
    }
    let World { end, meters, switches, flows, ports, deadlock, balance, .. } = world;
    if deadlock.as_ref().is_some_and(|(at, _)| world.stop_on_deadlock && *at + 1 == end) {
        how = End::Deadlock;
    }
    let stuck = switches.iter().map(|s| s.stuck_pauses(&ports)).sum();
    let mut found = meters.finish(end, how, stuck, &flows);
    if let Some((at, held)) = deadlock {
        found.totals.deadlock = Some(at);
        found.totals.deadlock_ports = held;
    }
    if scenario.record.has(Table::LoadBalancing) {
        found.load_balancing = balance;
    }
    found
}

impl World {
    fn new(scenario: &Scenario, seeds: Seeds, plan: &NetworkPlan) -> World {
        let hosts = plan.hosts as usize;
        let mut ports: Vec<Port> = Vec::new();
        let place = |end: links::LinkEnd| {
            if (end.node as usize) < hosts {
                return end.node as usize;
            }
            let at = end.node as usize - hosts;
            let before: usize = plan.switches[..at].iter().map(|s| s.ports.len()).sum();
            hosts + before + end.port as usize
        };
        let port = |node, number, side, link: usize, peer, switch| {
            let link = &plan.links[link];
            Port {
                node,
                number,
                side,
                rate: link.rate,
                delay: link.delay,
                peer,
                pfc: VecDeque::new(),
                sending: None,
                held: [None; 8],
                switch,
            }
        };
        for host in 0..plan.hosts {
            let link = host as usize;
            ports.push(port(host, 0, Side::Up, link, place(plan.links[link].b), None));
        }
        let mut switches = Vec::new();
        let outline = links::Outline::new(scenario).expect("a topology");
        let mut tiers = outline
            .kinds
            .iter()
            .flat_map(|kind| std::iter::repeat_n(kind.tier.settings(), kind.count as usize));
        for (at, s) in plan.switches.iter().enumerate() {
            let tier = tiers.next().expect("a tier for every switch");
            let settings = scenario.switch.of_tier(tier);
            switches.push(Switch::new(&settings, &seeds, plan, at, ports.len()));
            for (number, p) in (0..).zip(&s.ports) {
                let side = if p.up { Side::Up } else { Side::Down };
                ports.push(port(s.node, number, side, p.link, place(p.peer), Some(at)));
            }
        }
        let rate = |host: u32| plan.links[host as usize].rate;
        let mut source = FlowSource::new(scenario, plan.hosts, &rate, &seeds, &Traces::default())
            .expect("flows");
        let mut flows = Vec::new();
        for host in 0..plan.hosts {
            while let Some(flow) = source.pop(host) {
                // Flows that would start at or after the bound never do.
                if flow.start >= scenario.duration.0 {
                    break;
                }
                flows.push(FlowState::new(flow));
            }
        }
        let interval = scenario
            .record
            .interval
            .unwrap_or(scenario.switch.shared_buffer_manager.buffer_stats_report_interval)
            .0;
        let meters = Meters::new(scenario, &ports, &switches);
        let mut world = World {
            now: 0,
            end: scenario.duration.0,
            events: BTreeMap::new(),
            created: 0,
            ports,
            hosts: (0..plan.hosts).map(|h| Host::new(scenario.nic.of_host(h))).collect(),
            switches,
            flows,
            meters,
            inside: 0,
            interval,
            touched: None,
            deadlock: None,
            stop_on_deadlock: scenario.stop_on_deadlock,
            balance: Vec::new(),
            zeros: scenario.record.zeros,
        };
        world.insert((interval, Kind::Report, 0, 0, 1), Event::Report);
        world.insert((scenario.warm_up.0, Kind::Report, 0, 0, 0), Event::WarmUp);
        world.schedule_hosts();
        world
    }

    fn insert(&mut self, at: (u64, Kind, u32, u32, u8), event: Event) {
        self.created += 1;
        let (time, kind, node, port, class) = at;
        self.events.insert((time, kind, node, port, class, self.created), event);
    }

    /// Adds an event that is ordered by the place of a port.
    fn schedule(&mut self, time: u64, kind: Kind, port: usize, class: u8, event: Event) {
        let (node, number) = (self.ports[port].node, self.ports[port].number);
        self.insert((time, kind, node, number, class), event);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Report => {
                self.report_balance(self.now);
                self.meters.report(self.now);
                let next = self.now + self.interval;
                self.insert((next, Kind::Report, 0, 0, 1), Event::Report);
            }
            Event::WarmUp => self.meters.warm_up(),
            Event::TxEnd(port) => self.tx_end(port),
            Event::Service(host) => self.service_end(host),
            Event::Arrival(port, frame) => self.arrival(port, frame),
            Event::Effect(port, tc, until) => self.take_effect(port, tc, until),
            Event::Expiry(port, tc) => {
                // A fresh pause has moved the end, a resume has removed it.
                if self.ports[port].held[usize::from(tc)] == Some(self.now) {
                    self.let_go(port, tc);
                }
            }
            Event::Refresh { port, pool, round } => self.switch_refresh(port, pool, round),
            Event::NicRefresh { host, tc, round } => self.nic_refresh(host, tc, round),
            Event::Hold { host, tc, pause } => self.hold(host, tc, pause),
            Event::Timer(host) => self.pick(host),
            Event::FlowStart(host) => self.flow_start(host),
        }
    }

    fn report_balance(&mut self, now: u64) {
        let hosts = self.hosts.len();
        for (at, switch) in self.switches.iter_mut().enumerate() {
            let node = (hosts + at) as u32;
            self.balance.extend(switch.router.flowlets.report(now, node, self.zeros));
        }
    }

    /// An idle port starts its next frame, if it has one.
    fn pick(&mut self, port: usize) {
        if self.ports[port].sending.is_some() {
            return;
        }
        let frame = if let Some((tc, quanta)) = self.ports[port].pfc.pop_front() {
            Some(Frame::Pfc { tc, quanta })
        } else if let Some(switch) = self.ports[port].switch {
            self.pick_queued(switch, port).map(Frame::Data)
        } else {
            self.pick_flow(port).map(Frame::Data)
        };
        let Some(frame) = frame else { return };
        self.ports[port].sending = Some(frame);
        let end = self.now + time_on_wire(frame.wire(), self.ports[port].rate);
        self.schedule(end, Kind::TxEnd, port, 0, Event::TxEnd(port));
    }

    fn tx_end(&mut self, port: usize) {
        let frame = self.ports[port].sending.take().expect("a frame in serialization");
        self.meters.sent(port, &frame);
        let arrives = self.now + self.ports[port].delay;
        let peer = self.ports[port].peer;
        self.schedule(arrives, Kind::Arrival, peer, 0, Event::Arrival(peer, frame));
        if let Frame::Data(packet) = frame {
            match self.ports[port].switch {
                Some(switch) => self.release(switch, port, packet),
                None => {
                    let flow = &mut self.flows[packet.flow];
                    flow.sent_packets += 1;
                    flow.sent_bytes += packet.ip;
                }
            }
        }
        self.pick(port);
        if self.ports[port].switch.is_some() && matches!(frame, Frame::Data(_)) {
            self.look_for_circle();
        }
    }

    fn arrival(&mut self, port: usize, frame: Frame) {
        self.meters.received(port, &frame);
        match frame {
            Frame::Pfc { tc, quanta } => self.pfc_arrival(port, tc, quanta),
            Frame::Data(packet) => match self.ports[port].switch {
                Some(switch) => self.admit(switch, port, packet),
                None => self.receive(port, packet),
            },
        }
    }

    /// Queues PFC frames at a port, one a class in rising order, and sends if it is idle.
    fn send_pfc(&mut self, port: usize, classes: u8, pause: bool) {
        for tc in (0..8).filter(|tc| classes >> tc & 1 == 1) {
            let quanta = if pause { self.quanta(port, tc) } else { 0 };
            self.ports[port].pfc.push_back((tc, quanta));
        }
        self.pick(port);
    }

    /// What a pause of a class asks for that a port sends.
    fn quanta(&self, port: usize, tc: u8) -> u16 {
        match self.ports[port].switch {
            Some(_) => 65_535,
            None => self.hosts[port].quanta[usize::from(tc)],
        }
    }

    /// Half of the time that a pause lasts that a port sends.
    fn half_time(&self, port: usize, tc: u8) -> u64 {
        self.ports[port].pause_time(self.quanta(port, tc)) / 2
    }

    fn pfc_arrival(&mut self, port: usize, tc: u8, quanta: u16) {
        let (response, ignores) = match self.ports[port].switch {
            Some(switch) => (self.switches[switch].response, false),
            None => (self.hosts[port].response, self.hosts[port].ignore_pfc),
        };
        if ignores {
            return;
        }
        let until = (quanta > 0).then(|| self.now + self.ports[port].pause_time(quanta));
        if response == 0 {
            self.take_effect(port, tc, until);
        } else {
            let event = Event::Effect(port, tc, until);
            self.schedule(self.now + response, Kind::Effect, port, tc, event);
        }
    }

    fn take_effect(&mut self, port: usize, tc: u8, until: Option<u64>) {
        match until {
            // Over before it took effect.
            Some(until) if until <= self.now => {}
            Some(until) => {
                let held = &mut self.ports[port].held[usize::from(tc)];
                if held.is_none() {
                    self.meters.held(port, tc, self.now);
                }
                *held = Some(until);
                self.schedule(until, Kind::Expiry, port, tc, Event::Expiry(port, tc));
                self.look_for_deadlock(port);
            }
            None => {
                if self.ports[port].held[usize::from(tc)].is_some() {
                    self.let_go(port, tc);
                }
            }
        }
    }

    fn let_go(&mut self, port: usize, tc: u8) {
        self.ports[port].held[usize::from(tc)] = None;
        self.meters.let_go(port, tc, self.now);
        self.pick(port);
    }

    fn dropped(&mut self, port: usize, packet: &Packet, pool: u8, reason: DropReason) {
        self.inside -= 1;
        self.flows[packet.flow].lost += packet.sent;
        let bytes = match reason {
            DropReason::NicReceivePool => packet.ip,
            _ => packet.charged(),
        };
        self.meters.dropped(self.now, port, packet.tc, pool, reason, bytes);
    }

    /// Nothing is anywhere and nothing is to come. A job without flows has no event that could
    /// leave it so: it lasts to its bound.
    fn drained(&self) -> bool {
        let sent = self.flows.iter().all(|f| f.remaining == 0);
        self.inside == 0 && sent && !self.flows.is_empty()
    }

    /// Every byte sent was received, dropped or is still somewhere.
    fn check_conservation(&self) {
        let mut inside: BTreeMap<usize, u64> = BTreeMap::new();
        let mut add = |packet: &Packet| *inside.entry(packet.flow).or_default() += packet.sent;
        for port in &self.ports {
            if let Some(Frame::Data(packet)) = &port.sending {
                add(packet);
            }
        }
        for event in self.events.values() {
            if let Event::Arrival(_, Frame::Data(packet)) = event {
                add(packet);
            }
        }
        for switch in &self.switches {
            switch.queues.iter().flatten().flatten().for_each(&mut add);
        }
        for (place, flow) in self.flows.iter().enumerate() {
            let there = inside.get(&place).copied().unwrap_or(0);
            assert_eq!(
                flow.spec.bytes,
                flow.remaining + flow.received_bytes + flow.lost + flow.trimmed_bytes + there,
                "bytes of flow {}",
                flow.spec.id
            );
        }
    }
}
