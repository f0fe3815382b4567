//! One pattern as a generator of flows, and what every generator is made from.

use super::draw::Jitter;
use super::grid::Grid;
use super::listed::Listed;
use super::on_off::OnOff;
use super::opening::Opening;
use super::single::Single;
use super::steps::Steps;
use super::uniform::Uniform;
use super::{FlowStart, Problem, TraceFlow, Traces};
use crate::scenario::{Common, RingSteps, Role, SharedBufferManager, Traffic};
use crate::sim::random::{Seeds, Stream};

/// Most flows that are generated only to be counted: some ten seconds.
pub(super) const MOST_COUNTED: u64 = 1_000_000_000;

/// What a pattern is expanded in.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    /// Place of the pattern in `traffic`.
    pub(super) place: u32,
    /// Id of the pattern's first flow.
    pub(super) first: u64,
    /// Number of hosts, at least 2.
    pub(super) hosts: u32,
    /// Link rate of a host in bit/s.
    pub(super) host_rate: &'a dyn Fn(u32) -> u64,
    /// The job's seeds.
    pub(super) seeds: &'a Seeds,
    /// The job's duration in ps.
    pub(super) duration: u64,
    /// Parsed trace files.
    pub(super) traces: &'a Traces,
    /// What decides the classes.
    pub(super) buffer: &'a SharedBufferManager,
}

impl Setting<'_> {
    /// The pattern's stream of one purpose.
    pub(super) fn stream(&self, purpose: &str) -> Stream {
        self.seeds.stream(&format!("traffic/{}/{purpose}", self.place))
    }

    /// The delays of the pattern's flows.
    pub(super) fn jitter(&self, common: &Common) -> Jitter {
        Jitter::new(common.jitter.0, self.stream("jitter"))
    }

    /// The link rate of a host.
    pub(super) fn rate(&self, host: u32) -> Result<u64, Problem> {
        match (self.host_rate)(host) {
            0 => Err(Problem::LinkRate { host }),
            rate => Ok(rate),
        }
    }

    /// Sender k of `senders` that send to `receiver`, for every k.
    pub(super) fn senders(
        &self,
        receiver: u32,
        senders: u32,
    ) -> Result<impl Iterator<Item = u32> + use<>, Problem> {
        let hosts = self.hosts;
        if receiver >= hosts {
            return Err(Problem::Receiver { receiver, last: hosts - 1 });
        }
        if senders == 0 || senders >= hosts {
            return Err(Problem::Senders { senders, hosts, most: hosts - 1 });
        }
        let host = move |k| (u64::from(receiver) + 1 + u64::from(k)) % u64::from(hosts);
        Ok((0..senders).map(move |k| host(k) as u32))
    }

    /// Where a pattern of this `length` ends: at the job's end if it has none.
    pub(super) fn end(&self, common: &Common, length: Option<crate::units::Ps>) -> u64 {
        length.map_or(self.duration, |length| common.start.0.saturating_add(length.0))
    }
}

/// What the flows of a pattern have in common, checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    template: FlowStart,
    first: u64,
    /// Roles are read, and decide the class.
    roles: bool,
}

impl Shape {
    pub(super) fn new(setting: &Setting<'_>, common: &Common) -> Result<Shape, Problem> {
        let packet = packet(common.packet.0)?;
        check_dscp(common.dscp)?;
        let roles = setting.buffer.uet_policy_enabled;
        let template = FlowStart {
            id: 0,
            pattern: setting.place,
            src: 0,
            dst: 0,
            bytes: 0,
            packet,
            tc: setting.buffer.class_of(common.dscp, common.role),
            ect: common.ect,
            role: common.role.filter(|_| roles).unwrap_or_default(),
            start: common.start.0,
            rate: common.rate.map_or(Ok(0), |rate| cap(rate.0))?,
            entropy: 0,
        };
        Ok(Shape { template, first: setting.first, roles })
    }

    /// IP bytes of a packet.
    pub(super) fn packet(&self) -> u64 {
        self.template.packet.into()
    }

    /// Rate cap in bit/s, if any.
    pub(super) fn cap(&self) -> Option<u64> {
        (self.template.rate > 0).then_some(self.template.rate)
    }

    /// Start of the pattern in ps.
    pub(super) fn start(&self) -> u64 {
        self.template.start
    }

    /// The flow at `place` of the pattern.
    #[inline]
    pub(super) fn flow(&self, place: u64, src: u32, dst: u32, bytes: u64, start: u64) -> FlowStart {
        let id = self.first + place;
        let entropy = entropy(id);
        FlowStart { id, src, dst, bytes, start, entropy, ..self.template }
    }

    /// The listed flow at `place`, starting at `start`; what it does not say is the pattern's.
    pub(super) fn listed(&self, place: u64, flow: &TraceFlow, start: u64) -> FlowStart {
        let base = self.flow(place, flow.src, flow.dst, flow.bytes, start);
        let (role, tc) = match (self.roles, flow.role, flow.dscp) {
            (true, Some(role), _) => (role, role.class()),
            (false, _, Some(dscp)) => (Role::NoTrim, dscp / 8),
            _ => (base.role, base.tc),
        };
        FlowStart {
            packet: flow.packet.unwrap_or(base.packet),
            tc,
            ect: flow.ect.unwrap_or(base.ect),
            role,
            rate: flow.rate.unwrap_or(base.rate),
            ..base
        }
    }
}

/// The sender's entropy: 49,152 + id mod 16,384, the dynamic ports.
#[inline]
pub(super) fn entropy(id: u64) -> u16 {
    0xc000 | (id & 0x3fff) as u16
}

/// IP bytes of a packet, checked.
pub(super) fn packet(packet: u64) -> Result<u32, Problem> {
    match packet {
        1..=65_535 => Ok(packet as u32),
        _ => Err(Problem::Packet { packet }),
    }
}

/// Checks a code point, whether or not it decides the class.
pub(super) fn check_dscp(dscp: u64) -> Result<(), Problem> {
    if dscp > 63 { Err(Problem::Dscp { dscp }) } else { Ok(()) }
}

/// A rate cap, checked.
pub(super) fn cap(rate: u64) -> Result<u64, Problem> {
    if rate == 0 { Err(Problem::Rate) } else { Ok(rate) }
}

/// A flow's size, checked.
pub(super) fn size(bytes: u64) -> Result<u64, Problem> {
    if bytes == 0 { Err(Problem::Bytes) } else { Ok(bytes) }
}

/// A pattern that generates its flows host by host.
#[derive(Debug)]
pub(super) enum Pattern {
    Single(Single),
    Grid(Grid),
    Listed(Listed),
    Uniform(Uniform),
    OnOff(OnOff),
    Opening(Opening),
}

impl Pattern {
    /// A pattern; the state of a collective goes to `steps`.
    pub(super) fn new(
        traffic: &Traffic,
        setting: &Setting<'_>,
        steps: &mut Steps,
    ) -> Result<Pattern, Problem> {
        Ok(match traffic {
            Traffic::Incast(incast) => Pattern::Single(Single::incast(incast, setting)?),
            Traffic::Permutation(p) => Pattern::Single(Single::permutation(p, setting)?),
            Traffic::AllToAll(all) => Pattern::Grid(Grid::all_to_all(all, setting)?),
            Traffic::Ring(ring) => match ring.steps {
                RingSteps::One => Pattern::Single(Single::ring(ring, setting)?),
                RingSteps::AllReduce => Pattern::Grid(Grid::all_reduce(ring, setting)?),
            },
            Traffic::Uniform(uniform) => Pattern::Uniform(Uniform::new(uniform, setting)?),
            Traffic::OnOff(on_off) => Pattern::OnOff(OnOff::new(on_off, setting)?),
            Traffic::Flows(flows) => Pattern::Listed(Listed::flows(flows, setting)?),
            Traffic::Trace(trace) => Pattern::Listed(Listed::trace(trace, setting)?),
            Traffic::Collective(collective) => {
                let (flows, count) = steps.add(collective, setting)?;
                Pattern::Opening(Opening::new(flows, count, setting.hosts))
            }
        })
    }

    /// How many flows the pattern stands for, those after the job's end included.
    pub(super) fn count(&self) -> Result<u64, Problem> {
        match self {
            Pattern::Single(single) => Ok(single.count()),
            Pattern::Grid(grid) => Ok(grid.count()),
            Pattern::Listed(listed) => Ok(listed.count()),
            Pattern::Uniform(uniform) => uniform.count(),
            Pattern::OnOff(on_off) => Ok(on_off.count()),
            Pattern::Opening(opening) => Ok(opening.count()),
        }
    }

    /// The next flow of a host in order of (start, id); `None`: never again.
    #[inline]
    pub(super) fn next(&mut self, host: u32) -> Option<FlowStart> {
        match self {
            Pattern::Single(single) => single.next(host),
            Pattern::Grid(grid) => grid.next(host),
            Pattern::Listed(listed) => listed.next(host),
            Pattern::Uniform(uniform) => uniform.next(host),
            Pattern::OnOff(on_off) => on_off.next(host),
            Pattern::Opening(opening) => opening.next(host),
        }
    }

    /// Flows generated and not yet handed out.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        match self {
            Pattern::Uniform(uniform) => uniform.waiting(),
            Pattern::OnOff(on_off) => on_off.waiting(),
            _ => 0,
        }
    }
}
