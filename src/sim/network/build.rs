//! Lays a network out from a scenario.

use super::hosts::{Behaviour, Holding, HostSide};
use super::nics::Nics;
use super::pause::Pauses;
use super::tally::{CUT, INTERVAL, Plan, Tally, WARM_UP};
use super::{Network, Peer, Port, Switch, order};
use crate::scenario::links::{LinksError, NetworkPlan, Outline, PAUSE_QUANTA};
use crate::scenario::startup::{Startup, StartupError};
use crate::scenario::{
    AllToAll, Collective, Incast, LoadBalancingMethod, Nic, NicModel, OnOff, Permutation, Ring,
    Scenario, Switch as SwitchSettings, Table, TierName, Timing, Topology, Traffic, Uniform, Until,
};
use crate::sim::event::{EventList, Kind, NEVER, Ranks};
use crate::sim::flows::FlowTable;
use crate::sim::host::receiver::{Receiver, ReceiverSettings};
use crate::sim::host::sender::Sender;
use crate::sim::link::Line;
use crate::sim::meter::{Depth, Extremes, Gauges, span};
use crate::sim::observe::{End, Observations};
use crate::sim::packet::{Frame, Framing, PfcFrame};
use crate::sim::random::Seeds;
use crate::sim::switch::buffer::BufferManager;
use crate::sim::switch::ecn::Marker;
use crate::sim::switch::route::{Balancer, FlowletSettings, Forwarding, RouteError, may_circle};
use crate::sim::traffic::{FlowSource, Traces, TrafficError};
use std::borrow::Cow;
use std::collections::{BinaryHeap, VecDeque};
use std::marker::PhantomData;
use thiserror::Error;

/// Why a scenario cannot be simulated. Everything here is also refused by the scenario's checks.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimError {
    /// The topology.
    #[error("{attribute}: {value}: {rule}", attribute = .0.attribute, value = .0.value, rule = .0.rule)]
    Links(LinksError),
    /// The switch's start-up.
    #[error(transparent)]
    Startup(#[from] StartupError),
    /// The paths.
    #[error(transparent)]
    Routes(#[from] RouteError),
    /// The traffic.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// Simulated time does not fit the event keys.
    #[error(
        "duration: {duration} ps is beyond what {ports} switch ports leave room for: \
         at most {most} ps"
    )]
    TooLong {
        /// Asked for, ps.
        duration: u64,
        /// Switch ports.
        ports: usize,
        /// Allowed, ps.
        most: u64,
    },
}

impl<M: BufferManager, E: EventList, D: Depth> Network<M, E, D> {
    /// A network at time 0. `manager` makes the buffer manager of a switch from its start-up and
    /// port count.
    pub fn new(
        scenario: &Scenario,
        seeds: &Seeds,
        traces: &Traces,
        manager: impl Fn(&Startup, usize) -> M,
    ) -> Result<Self, SimError> {
        let outline = Outline::new(scenario).map_err(SimError::Links)?;
        fits(scenario, &outline)?;
        let manager = |startup: &Startup, lines: &[Line]| manager(startup, lines.len());
        Network::laid_out(scenario, &outline.network(), seeds, traces, manager)
    }

    /// A network at time 0 on a layout, in place of the one the scenario's topology describes; the
    /// duration has to leave room for its ports' ranks. `manager` makes the buffer manager of a
    /// switch from its start-up and the lines at its ports.
    pub fn laid_out(
        scenario: &Scenario,
        layout: &NetworkPlan,
        seeds: &Seeds,
        traces: &Traces,
        manager: impl Fn(&Startup, &[Line]) -> M,
    ) -> Result<Self, SimError> {
        let port_count: usize = layout.switches.iter().map(|s| s.ports.len()).sum();
        let host_count = layout.hosts as usize;
        let reactive = if scenario.nic.model.is_reactive() { host_count } else { 0 };
        let ranks = Ranks::new(port_count, reactive);
        let outline = Outline::new(scenario).map_err(SimError::Links)?;
        let settings = TierSettings::new(scenario, &outline);
        let (ports, host_port) = ports(layout, scenario.timing);
        let lines: Vec<Line> = ports.iter().map(|port| port.line).collect();
        let (switches, plan, stride) =
            switches(scenario, seeds, layout, &settings, &lines, manager)?;
        let nics: Vec<Nic> = match scenario.nic.hosts.is_empty() {
            true => vec![scenario.nic.of_host(0)],
            false => (0..layout.hosts).map(|host| scenario.nic.of_host(host)).collect(),
        };
        let nic = |host: usize| &nics[host.min(nics.len() - 1)];
        let hosts: Vec<Sender> = host_port
            .iter()
            .enumerate()
            .map(|(host, &port)| Sender::new(host as u32, ports[port as usize].line))
            .collect();
        let receivers =
            (0..host_count).map(|host| receiver(nic(host)).map(Box::new)).collect::<Vec<_>>();
        let host_rate = |host: u32| hosts[host as usize].line().rate;
        let mut source = FlowSource::new(scenario, layout.hosts, &host_rate, seeds, traces)?;
        let routes = Forwarding::new(layout, |at| settings.of(at).ecmp_hash_method)?;
        let balancer = balancer(scenario, &routes, layout, &settings, seeds).map(Box::new);
        let circles = matches!(scenario.topology, Topology::Explicit(_))
            && may_circle(layout, routes.routes());
        let lines: Vec<(Line, u32)> =
            hosts.iter().zip(&host_port).map(|(host, &port)| (*host.line(), port)).collect();
        let nics = Nics::new(scenario, &lines, seeds, routes.has_choices(), source.take_steps())
            .map(Box::new);
        let mut flows = FlowTable::new(scenario.record.has(Table::Flows), routes.has_choices());
        flows.measure_from = scenario.warm_up.0;
        flows.start_before = scenario.duration.0;
        flows.unscheduled = scenario.nic.unscheduled.unwrap_or_default().0;
        let budget = scenario.budget.simulated_time.unwrap_or(scenario.duration);
        let end_time = scenario.duration.0.min(budget.0);
        let end = if end_time < scenario.duration.0 { End::TimeBudget } else { End::Duration };
        let own_framing = match scenario.nic.model {
            NicModel::Hpcc => Framing::NS3,
            _ => Framing::ETHERNET,
        };
        let framing = if M::OWN_FRAMES { own_framing } else { Framing::ETHERNET };
        let early = M::RELEASES_AT_START && nics.is_some() && !circles;
        // Frames by port are counted as they end.
        let quiet_ends = early && !D::SWITCHES;
        let late = !circles && nics.as_ref().is_some_and(|nics| nics.may_be_late());
        let mut network = Network {
            now: 0,
            key: 0,
            list: E::with_slots(ranks.slots()),
            rare: BinaryHeap::new(),
            rare_key: NEVER,
            end_key: ranks.rare(end_time, Kind::Report),
            end_time,
            drain: scenario.until == Until::Drained,
            end,
            last_done: 0,
            in_service: 0,
            events: 0,
            budget: scenario.budget.events,
            watch: 0,
            early,
            quiet_ends,
            late,
            late_frames: 0,
            caught_up: Vec::new(),
            switches,
            marking: settings.any(|switch| switch.ecn_handler.enable_ecn)
                && (scenario.nic.model.is_reactive()
                    || scenario.traffic.iter().any(may_be_ecn_capable)),
            averages: vec![[0.0; 8]; port_count],
            stride,
            routes,
            own_framing,
            balancer,
            members_before: Vec::new(),
            telemetry: nics.as_ref().is_some_and(|nics| nics.wants_telemetry()),
            started: vec![0; if M::OWN_FRAMES { port_count } else { 0 }],
            host_side: host_side(host_count, nic, framing),
            host_inbound: vec![VecDeque::new(); host_count],
            receivers,
            nics,
            flows,
            source,
            pauses: Pauses::new(host_count, port_count),
            effects: vec![VecDeque::new(); host_count + port_count],
            circles,
            stop_on_deadlock: circles && scenario.stop_on_deadlock,
            suspected: None,
            deadlock: None,
            gauges: Gauges::new(if D::PORTS { port_count * stride * M::COUNTERS } else { 0 }),
            switch_levels: match D::SWITCHES {
                true => {
                    let sums = layout.switches.len() * Self::sums_per_switch(stride);
                    vec![Extremes::default(); sums]
                }
                false => Vec::new(),
            },
            tally: Tally::new(host_count, port_count, D::SWITCHES, &plan),
            plan,
            interval_start: 0,
            rows: Observations::default(),
            depth: PhantomData,
            ranks,
            ports,
            hosts,
            host_port,
        };
        network.watch = network.near_budget();
        network.arm();
        Ok(network)
    }

    /// Schedules everything that is known at time 0.
    fn arm(&mut self) {
        if self.plan.interval > 0 {
            self.schedule(self.plan.interval, Kind::Report, INTERVAL);
        }
        if D::PORTS && self.plan.span < self.plan.interval.min(self.end_time) {
            self.schedule(self.plan.span, Kind::Report, CUT);
        }
        if self.plan.warm_up > 0 {
            self.schedule(self.plan.warm_up, Kind::Report, WARM_UP);
        }
        let holds: Vec<(u32, Holding)> =
            self.host_side.holds.iter().map(|(&host, hold)| (host, hold.clone())).collect();
        for (host, hold) in holds {
            for tc in hold.classes {
                self.schedule(hold.from, Kind::Refresh, order(host, 0, tc));
            }
        }
        if self.nics.is_some() {
            self.arm_nics();
            return;
        }
        for host in 0..self.hosts.len() {
            self.hosts[host].prepare(&mut self.flows, &mut self.source);
            self.announce(host as u32, self.host_port[host] as usize);
        }
    }

    /// The job ends at `time`, before its duration is over.
    pub(super) fn end_at(&mut self, time: u64, end: End) {
        self.end_time = time;
        self.end_key = self.ranks.rare(time, Kind::Report);
        self.end = end;
    }
}

/// Whether the duration leaves room for the ports' ranks in the keys of events.
pub(in crate::sim) fn fits(scenario: &Scenario, outline: &Outline) -> Result<(), SimError> {
    let (duration, most) = (scenario.duration.0, outline.longest_duration());
    if duration > most {
        let ports = outline.port_count() as usize;
        return Err(SimError::TooLong { duration, ports, most });
    }
    Ok(())
}

/// The settings of every switch.
pub(in crate::sim) struct TierSettings<'a> {
    tiers: Vec<Cow<'a, SwitchSettings>>,
    /// By switch: its place in `tiers`.
    of: Vec<u8>,
}

impl<'a> TierSettings<'a> {
    pub(in crate::sim) fn new(scenario: &'a Scenario, outline: &Outline) -> Self {
        let tiers = TierName::ALL.iter().map(|&tier| scenario.switch.of_tier(tier)).collect();
        // Ids of switches rise with their tier.
        let kinds = outline.switch_kinds();
        let of = kinds
            .flat_map(|kind| std::iter::repeat_n(kind.tier.settings() as u8, kind.count as usize));
        TierSettings { tiers, of: of.collect() }
    }

    /// Those of a switch, by its place in the network's list; one the topology does not have is a
    /// leaf.
    pub(in crate::sim) fn of(&self, switch: usize) -> &SwitchSettings {
        &self.tiers[self.of.get(switch).map_or(0, |&tier| usize::from(tier))]
    }

    /// The tier of a switch, as a number.
    pub(in crate::sim) fn tier(&self, switch: usize) -> u8 {
        self.of.get(switch).copied().unwrap_or(0)
    }

    /// Whether something holds for some switch.
    fn any(&self, holds: impl Fn(&SwitchSettings) -> bool) -> bool {
        let mut used = [false; TierName::ALL.len()];
        self.of.iter().for_each(|&tier| used[usize::from(tier)] = true);
        self.tiers.iter().zip(used).any(|(tier, used)| used && holds(tier))
    }
}

/// Flow tables and counts of members, if flowlets or the table of members ask for them.
fn balancer(
    scenario: &Scenario,
    routes: &Forwarding,
    layout: &NetworkPlan,
    settings: &TierSettings<'_>,
    seeds: &Seeds,
) -> Option<Balancer> {
    let flowlets = |s: &SwitchSettings| s.load_balancing_method == LoadBalancingMethod::Flowlet;
    let wanted = scenario.record.has(Table::LoadBalancing) || settings.any(flowlets);
    if !(wanted && routes.has_choices()) {
        return None;
    }
    let own = layout.switches.iter().enumerate().map(|(at, switch)| {
        let s = settings.of(at);
        let flowlet = &s.load_balancing_flowlet;
        let of = FlowletSettings { gap: flowlet.gap.0, pfc_aware: flowlet.pfc_aware };
        flowlets(s).then(|| (of, seeds.switch_stream(switch.node, "flowlet")))
    });
    Some(Balancer::new(routes.routes(), own))
}

type Switches<M> = (Vec<Switch<M>>, Plan, usize);

/// The switches of a layout, what is to be recorded of them, and the pools a port.
fn switches<M: BufferManager>(
    scenario: &Scenario,
    seeds: &Seeds,
    layout: &NetworkPlan,
    settings: &TierSettings<'_>,
    lines: &[Line],
    manager: impl Fn(&Startup, &[Line]) -> M,
) -> Result<Switches<M>, StartupError> {
    let record = &scenario.record;
    let buffer = &scenario.switch.shared_buffer_manager;
    let tables = [
        Table::PortBuffers,
        Table::SwitchBuffers,
        Table::Drops,
        Table::Pfc,
        Table::PortCounters,
        Table::Transport,
        Table::LoadBalancing,
    ];
    let any = tables.iter().any(|&table| record.has(table));
    let interval = record.interval.unwrap_or(buffer.buffer_stats_report_interval).0;
    let mut plan = Plan {
        interval: if any { interval } else { 0 },
        zeros: record.zeros,
        port_buffers: record.has(Table::PortBuffers),
        switch_buffers: record.has(Table::SwitchBuffers),
        drops: record.has(Table::Drops),
        pfc: record.has(Table::Pfc),
        port_counters: record.has(Table::PortCounters),
        transport: record.has(Table::Transport),
        load_balancing: record.has(Table::LoadBalancing),
        pfc_events: record.has(Table::PfcEvents),
        warm_up: scenario.warm_up.0,
        span: u64::MAX,
        ..Plan::default()
    };
    let mut made = Vec::with_capacity(layout.switches.len());
    let (mut first_port, mut stride) = (0, 1);
    for (at, switch) in layout.switches.iter().enumerate() {
        let ports = switch.ports.len();
        let own = settings.of(at);
        let startup = Startup::new(own, ports as u32)?;
        // A class counts as lossless where some tier has it so.
        plan.lossless |= startup.lossless;
        stride =
            startup.pools.iter().rposition(Option::is_some).map_or(1, |last| last + 1).max(stride);
        // No counter exceeds the buffer and a full headroom of every port in every pool.
        plan.span = plan.span.min(span(9 * startup.total));
        let stream = seeds.switch_stream(switch.node, "ecn");
        let manager = manager(&startup, &lines[first_port..first_port + ports]);
        let RowLimits { counters, pools, total } = RowLimits::new(&startup, &manager);
        plan.sizes.push((pools, total));
        plan.limits.push(counters);
        made.push(Switch {
            manager,
            marker: Marker::new(&own.ecn_handler, &startup, stream),
            response: own.pfc_response_time.0,
            first_port,
            ports,
            node: switch.node,
        });
        first_port += ports;
    }
    Ok((made, plan, stride))
}

/// What the recorded counters of a switch are compared with, bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowLimits {
    /// By pool and [`BuffId`](crate::sim::observe::BuffId); `u64::MAX` marks what does not exist: a
    /// pool, or headroom in a pool without lossless classes.
    pub counters: [[u64; 5]; 8],
    /// Sizes of the pools.
    pub pools: [u64; 8],
    /// The whole buffer.
    pub total: u64,
}

impl RowLimits {
    /// Those of a switch that starts so.
    pub fn new<M: BufferManager>(startup: &Startup, manager: &M) -> RowLimits {
        let (mut counters, mut pools) = ([[u64::MAX; 5]; 8], [0; 8]);
        for (index, pool) in startup.pools.iter().enumerate() {
            let Some(pool) = pool else { continue };
            let lossless = pool.priority_group != 0;
            let ingress = if lossless { startup.xoff } else { pool.size };
            let headroom = if lossless { pool.headroom_per_port } else { u64::MAX };
            counters[index][..3].copy_from_slice(&[ingress, pool.static_limit, headroom]);
            pools[index] = pool.size;
        }
        for (pool, limits) in counters.iter_mut().enumerate() {
            *limits = manager.limits(pool).unwrap_or(*limits);
        }
        RowLimits { counters, pools, total: startup.total }
    }
}

/// Whether a flow of a pattern may be ECN-capable; flows that are listed say so one by one.
fn may_be_ecn_capable(traffic: &Traffic) -> bool {
    match traffic {
        Traffic::Incast(Incast { common, .. })
        | Traffic::Permutation(Permutation { common, .. })
        | Traffic::AllToAll(AllToAll { common, .. })
        | Traffic::Ring(Ring { common, .. })
        | Traffic::Uniform(Uniform { common, .. })
        | Traffic::OnOff(OnOff { common, .. })
        | Traffic::Collective(Collective { common, .. }) => common.ect,
        Traffic::Flows(_) | Traffic::Trace(_) => true,
    }
}

/// The lines at the ports of every switch.
pub(in crate::sim) fn lines(layout: &NetworkPlan, timing: Timing) -> Vec<Vec<Line>> {
    let of_switch = |switch: &crate::scenario::links::SwitchPlan| {
        switch.ports.iter().map(|port| line(layout, port.link, timing)).collect()
    };
    layout.switches.iter().map(of_switch).collect()
}

fn line(layout: &NetworkPlan, link: usize, timing: Timing) -> Line {
    let link = &layout.links[link];
    let line = Line::new(link.rate, link.delay);
    match timing {
        Timing::Picoseconds => line,
        Timing::WholeNs => line.in_whole_ns(),
    }
}

/// Every switch port, and the port of each host.
fn ports(layout: &NetworkPlan, timing: Timing) -> (Vec<Port>, Vec<u32>) {
    let mut first = Vec::with_capacity(layout.switches.len());
    let mut count = 0;
    for switch in &layout.switches {
        first.push(count);
        count += switch.ports.len() as u32;
    }
    let mut ports = Vec::with_capacity(count as usize);
    let mut host_port = vec![0; layout.hosts as usize];
    for (s, switch) in layout.switches.iter().enumerate() {
        for (local, port) in switch.ports.iter().enumerate() {
            let peer = if port.peer.node < layout.hosts {
                host_port[port.peer.node as usize] = ports.len() as u32;
                Peer::Host(port.peer.node)
            } else {
                Peer::Port(first[(port.peer.node - layout.hosts) as usize] + port.peer.port)
            };
            ports.push(Port {
                line: line(layout, port.link, timing),
                sending: Frame::Pfc(PfcFrame { tc: 0, quanta: 0, wire: 0 }),
                free: 0,
                ready: 0,
                paused: 0,
                pfc_waits: false,
                turn: 0,
                up: port.up,
                local: local as u16,
                switch: s as u32,
                peer,
                queues: Default::default(),
                pfc: VecDeque::new(),
                inbound: VecDeque::new(),
            });
        }
    }
    (ports, host_port)
}

fn receiver(nic: &Nic) -> Option<Receiver> {
    let rate = nic.receive_rate?;
    let classes = nic.pfc_enable_vector.iter().enumerate();
    Some(Receiver::new(ReceiverSettings {
        rate: rate.0,
        pool: nic.receive_pool.0,
        pfc_classes: classes.fold(0, |mask, (tc, &on)| mask | u8::from(on != 0) << tc),
        xoff: nic.pfc_static_xoff_threshold,
        xon: nic.pfc_xon_resume_threshold,
    }))
}

fn host_side<'a>(hosts: usize, nic: impl Fn(usize) -> &'a Nic, framing: Framing) -> HostSide {
    let mut side = HostSide { wake_at: vec![0; hosts], ..HostSide::default() };
    for host in 0..hosts {
        let nic = nic(host);
        side.behaviours.push(Behaviour {
            ignore_pfc: nic.ignore_pfc,
            response: nic.pfc_response_time.0,
            quanta: nic.quanta_value.map(|quanta| u16::try_from(quanta).unwrap_or(PAUSE_QUANTA)),
            pfc_wire: match nic.model.has_pools() {
                true => u16::try_from(nic.egress.pfc_frame_size.0).unwrap_or(framing.pfc),
                false => framing.pfc,
            },
        });
        if let Some(hold) = &nic.hold {
            let holding = Holding {
                classes: hold.classes.iter().map(|&tc| tc as u8).collect(),
                from: hold.from.0,
                until: hold.until.map(|until| until.0),
            };
            side.holds.insert(host as u32, holding);
        }
        let sends = nic.receive_rate.is_some() && nic.pfc_enable_vector.iter().any(|&on| on != 0);
        if sends || nic.hold.is_some() {
            side.pfc_senders.push(host as u32);
        }
    }
    side
}
