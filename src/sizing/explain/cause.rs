//! Why one job lost packets: where, by which rule, what the counters were, which setting to move.
//!
//! Owns the reading of a job's observations around its first drop, and the setting that the broken
//! condition asks for. Refuses to run the job: whoever asks does, with what [`narrowed`] and
//! [`applied`] make of its scenario.

use super::facts::missed;
use crate::scenario::links::{NetworkPlan, Outline, PortPlan, SwitchKind, network};
use crate::scenario::offered::Offered;
use crate::scenario::sizing::{Sizing, guideline, response_bytes};
use crate::scenario::startup::{LimitForm, Startup};
use crate::scenario::{Scenario, Switch, SwitchModel, Table, Until};
use crate::sim::observe::{
    BuffId, DropReason, DropRow, Observations, Occupancy, PfcRow, SwitchBuff,
};
use crate::units::{Bytes, Ps};
use std::collections::BTreeMap;

/// Drops of one port, class and reason over a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropSite {
    /// Node: hosts first, then switches.
    pub node: u32,
    /// Port: the arriving one for ingress drops, the leaving one for egress drops.
    pub port: u32,
    /// Traffic class.
    pub tc: u8,
    /// Pool; the class for drops of a NIC.
    pub pool: u8,
    /// Why.
    pub reason: DropReason,
    /// Packets.
    pub packets: u64,
    /// Charged bytes.
    pub bytes: u64,
    /// End of the first interval with such a drop, ps.
    pub first: u64,
}

/// Where a job dropped packets, most packets first.
pub fn sites(rows: &[DropRow]) -> Vec<DropSite> {
    let mut found: BTreeMap<_, DropSite> = BTreeMap::new();
    for row in rows {
        let &DropRow { node, port, tc, pool, reason, packets, bytes, sim_time } = row;
        let fresh =
            DropSite { node, port, tc, pool, reason, packets: 0, bytes: 0, first: sim_time };
        let site = found.entry((node, port, tc, pool, reason)).or_insert(fresh);
        site.packets += packets;
        site.bytes += bytes;
        site.first = site.first.min(sim_time);
    }
    let mut found: Vec<_> = found.into_values().collect();
    found.sort_by_key(|site| std::cmp::Reverse(site.packets));
    found
}

/// How long a port and class was held as an egress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Node.
    pub node: u32,
    /// Port.
    pub port: u32,
    /// Traffic class.
    pub tc: u8,
    /// Time held over the whole job, ps.
    pub paused: u64,
    /// Pause frames received.
    pub frames: u64,
}

/// The ports and classes that were held, longest first; from running totals, warm-up included.
pub fn held(rows: &[PfcRow]) -> Vec<Held> {
    let mut found: BTreeMap<_, Held> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.paused > 0) {
        let &PfcRow { node, port, tc, paused, xoff_rx: frames, .. } = row;
        found.insert((node, port, tc), Held { node, port, tc, paused, frames });
    }
    let mut found: Vec<_> = found.into_values().collect();
    found.sort_by_key(|held| std::cmp::Reverse(held.paused));
    found
}

/// The scenario ended right after `first_drop` (ps) with two intervals, the second of which is that
/// instant alone: its extremes are the counters before and after.
pub fn narrowed(scenario: &Scenario, first_drop: u64) -> Scenario {
    let mut narrow = scenario.clone();
    narrow.duration = Ps(first_drop + 1);
    narrow.until = Until::Duration;
    narrow.record.interval = Some(Ps(first_drop.max(1)));
    narrow.record.tables = vec![
        Table::Jobs,
        Table::PortBuffers,
        Table::SwitchBuffers,
        Table::Drops,
        Table::Pfc,
        Table::PfcEvents,
    ];
    narrow.record.zeros = true;
    narrow
}

/// A counter at an instant, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counter {
    /// Least it held in the instant.
    pub min: u64,
    /// Most it held.
    pub max: u64,
    /// What it is compared with.
    pub limit: u64,
}

impl From<Occupancy> for Counter {
    fn from(o: Occupancy) -> Self {
        Counter { min: o.min, max: o.max, limit: o.limit }
    }
}

/// The first drop and what the switch held at that instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// When, ps.
    pub time: u64,
    /// Where and why; the first by node, port and class if several fell in this instant.
    pub site: DropSite,
    /// What the port had brought into the pool.
    pub ingress: Option<Counter>,
    /// Its headroom in the pool.
    pub headroom: Option<Counter>,
    /// What was queued to leave by the port from the pool.
    pub egress: Option<Counter>,
    /// The pool over all ports.
    pub pool: Option<Counter>,
    /// What was queued to leave the switch from the pool, bytes.
    pub egress_pool: u64,
    /// Pause frames the port had sent for the class.
    pub pauses_sent: u64,
    /// Resume frames.
    pub resumes_sent: u64,
    /// When the other end of the port had received the first pause for the class, ps.
    pub first_pause_received: Option<u64>,
    /// The other end: node and port.
    pub peer: Option<(u32, u32)>,
}

/// Reads the moment out of a run of what [`narrowed`] made; `None` if that run lost nothing.
pub fn moment(narrow: &Scenario, seen: &Observations) -> Option<Moment> {
    let end = narrow.duration.0;
    let row = seen.drops.iter().find(|row| row.sim_time == end)?;
    let site = sites(std::slice::from_ref(row))[0];
    let here = |buff: BuffId| {
        seen.port_buffers
            .iter()
            .rfind(|r| {
                (r.node, r.port, r.pool, r.buff) == (site.node, site.port, site.pool, buff)
                    && r.occupancy.sim_time == end
            })
            .map(|r| Counter::from(r.occupancy))
    };
    let pools = |buff: SwitchBuff| {
        seen.switch_buffers.iter().filter(move |r| {
            (r.node, r.pool, r.buff) == (site.node, site.pool as i8, buff)
                && r.occupancy.sim_time == end
        })
    };
    let pfc = seen.pfc.iter().rfind(|r| (r.node, r.port, r.tc) == (site.node, site.port, site.tc));
    let plan = network(narrow).ok();
    let peer = plan.as_ref().and_then(|plan| peer(plan, site.node, site.port));
    let received = seen
        .pfc_events
        .iter()
        .find(|event| event.pause && Some((event.node, event.port)) == peer && event.tc == site.tc);
    Some(Moment {
        time: end - 1,
        site,
        ingress: here(BuffId::Ingress),
        headroom: here(BuffId::Headroom),
        egress: here(BuffId::Egress),
        pool: pools(SwitchBuff::Shared).next().map(|r| Counter::from(r.occupancy)),
        egress_pool: pools(SwitchBuff::Egress).map(|r| r.occupancy.max).sum(),
        pauses_sent: pfc.map_or(0, |r| r.xoff_tx),
        resumes_sent: pfc.map_or(0, |r| r.xon_tx),
        first_pause_received: received.map(|event| event.sim_time),
        peer,
    })
}

fn peer(plan: &NetworkPlan, node: u32, port: u32) -> Option<(u32, u32)> {
    let end = match plan.switches.iter().find(|switch| switch.node == node) {
        Some(switch) => switch.ports.get(port as usize)?.peer,
        None => plan.links.get(node as usize)?.b,
    };
    Some((end.node, end.port))
}

/// Why a setting is to move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Because {
    /// Condition 1: the guideline and what late senders add, for the port that asks most.
    HeadroomBelowNeed {
        /// Rate of its link, bit/s.
        rate: u64,
        /// One-way delay, ps.
        delay: u64,
        /// Largest packet, bytes.
        mtu: u64,
        /// Time the other end takes to obey a pause, ps.
        response: u64,
    },
    /// Headroom of a queue in models without those conditions: the same for its port.
    HeadroomOfQueue {
        /// Rate of its link, bit/s.
        rate: u64,
        /// One-way delay, ps.
        delay: u64,
        /// Largest packet, bytes.
        mtu: u64,
        /// Time the other end takes to obey a pause, ps.
        response: u64,
        /// What that asks for, bytes.
        need: u64,
    },
    /// Condition 2: every port may reach its pause point before the pool is full.
    PoolBelowNeed {
        /// Connected ports.
        ports: u32,
        /// Xoff and the largest packet, bytes.
        pause_point: u64,
    },
    /// Condition 2, met from the other side.
    XoffAboveShare {
        /// Connected ports.
        ports: u32,
        /// Size of the pool, bytes.
        pool: u64,
    },
    /// A lossy queue at its limit: what would have admitted this packet.
    QueueLimit {
        /// The queue with this packet, bytes.
        queue: u64,
        /// Free bytes of its pool at egress.
        free: u64,
    },
    /// A NIC's receive pool, at what it was asked to hold.
    ReceivePool,
}

/// A setting to move.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// Documented name, with the place in a list.
    pub setting: String,
    /// Value now: bytes, or a plain number.
    pub from: f64,
    /// Value to set.
    pub to: f64,
    /// `B`, or empty.
    pub unit: &'static str,
    /// Why.
    pub because: Because,
    /// Whether the buffer has room for it; if not, something else has to shrink.
    pub fits: bool,
}

/// What conditions and rules say about a drop.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Explained {
    /// The conditions of the class at the switch; `None` for lossy classes, NICs and other models.
    pub sizing: Option<Sizing>,
    /// Those missed: bit n is condition n + 1.
    pub missed: u8,
    /// Settings to move, the one to try first in front.
    pub advice: Vec<Advice>,
}

/// What to say about the first drop of a scenario.
pub fn explain(scenario: &Scenario, moment: &Moment) -> Explained {
    let mut explained = Explained::default();
    let site = &moment.site;
    if site.reason == DropReason::NicReceivePool {
        let have = scenario.nic.of_host(site.node).receive_pool.0;
        explained.advice.push(Advice {
            setting: "nic.receive_pool".into(),
            from: have as f64,
            // The standing of the pool is not recorded; twice is where to start a search.
            to: have.saturating_mul(2) as f64,
            unit: "B",
            because: Because::ReceivePool,
            fits: true,
        });
        return explained;
    }
    let Some((kind, plan)) = kind_of(scenario, site.node) else { return explained };
    let offered = Offered::new(scenario);
    if scenario.switch.model != SwitchModel::Scala {
        explained.advice.extend(super::ns3::headroom(scenario, &plan, site, &offered));
        return explained;
    }
    let switch = scenario.switch.of_tier(kind.tier.settings());
    let Ok(startup) = Startup::new(&switch, kind.ports()) else { return explained };
    explained.sizing = Sizing::new(&startup, site.tc, &kind.links, &offered);
    explained.missed = explained.sizing.as_ref().map_or(0, missed);
    match site.reason {
        DropReason::IngressHeadroom => {
            explained.advice.extend(headroom(scenario, &switch, &startup, &plan, site, &offered));
        }
        DropReason::IngressPool | DropReason::EgressPool => {
            explained.advice.extend(pool(&switch, &startup, explained.sizing.as_ref(), site));
        }
        DropReason::EgressQueueLimit => {
            explained.advice.extend(queue(&switch, &startup, moment, &offered));
        }
        _ => {}
    }
    explained
}

/// The kind a switch is of, and the whole network.
fn kind_of(scenario: &Scenario, node: u32) -> Option<(SwitchKind, NetworkPlan)> {
    let outline = Outline::new(scenario).ok()?;
    let plan = outline.network();
    let switch = plan.switches.iter().find(|switch| switch.node == node)?;
    let up = switch.ports.iter().filter(|port| port.up).count() as u32;
    let kind =
        outline.switch_kinds().find(|k| k.ports() as usize == switch.ports.len() && k.up == up);
    Some((kind?.clone(), plan.clone()))
}

/// What a port of a switch asks of headroom, with the time its other end takes to obey.
pub(super) struct PortNeed {
    /// Rate of its link, bit/s.
    pub rate: u64,
    /// One-way delay, ps.
    pub delay: u64,
    /// Time the other end takes to obey a pause, ps.
    pub response: u64,
    /// Bytes.
    pub need: u64,
}

/// The same of all ports of a switch, for packets of at most `mtu` bytes.
pub(super) fn needs(
    scenario: &Scenario,
    switch: &Switch,
    plan: &NetworkPlan,
    node: u32,
    mtu: u64,
) -> Vec<PortNeed> {
    let of = plan.switches.iter().find(|switch| switch.node == node);
    let ports = of.map_or(&[][..], |switch| &switch.ports);
    let need = |port: &PortPlan| {
        let (rate, delay) = (plan.links[port.link].rate, plan.links[port.link].delay);
        let response = match port.peer.node < plan.hosts {
            true => scenario.nic.of_host(port.peer.node).pfc_response_time.0,
            false => switch.pfc_response_time.0,
        };
        let need = guideline(rate, delay, mtu).saturating_add(response_bytes(rate, response));
        PortNeed { rate, delay, response, need }
    };
    ports.iter().map(need).collect()
}

/// Condition 1, with the time the other ends take to obey.
fn headroom(
    scenario: &Scenario,
    switch: &Switch,
    startup: &Startup,
    plan: &NetworkPlan,
    site: &DropSite,
    offered: &Offered,
) -> Option<Advice> {
    let mtu = offered.largest_packet();
    let all = needs(scenario, switch, plan, site.node, mtu);
    let PortNeed { rate, delay, response, need } = all.into_iter().max_by_key(|port| port.need)?;
    let have = switch.shared_buffer_manager.head_room_per_port_limit.0;
    (need > have).then(|| Advice {
        setting: "HeadRoomPerPortLimit".into(),
        from: have as f64,
        to: need as f64,
        unit: "B",
        because: Because::HeadroomBelowNeed { rate, delay, mtu, response },
        fits: need.saturating_mul(u64::from(startup.ports)) <= startup.total,
    })
}

/// Condition 2: a larger pool, or pauses that come sooner.
fn pool(
    switch: &Switch,
    startup: &Startup,
    sizing: Option<&Sizing>,
    site: &DropSite,
) -> Vec<Advice> {
    let Some(sizing) = sizing.filter(|s| !s.pool_size.met()) else { return Vec::new() };
    let mut advice = Vec::new();
    let buffer = &switch.shared_buffer_manager;
    if let Some(xoff) = sizing.largest_xoff() {
        advice.push(Advice {
            setting: "StaticPoolXoffThreshold".into(),
            from: startup.xoff as f64,
            to: xoff as f64,
            unit: "B",
            because: Because::XoffAboveShare { ports: sizing.ports, pool: sizing.pool_size.have },
            // Xon has to stay below it.
            fits: xoff > startup.xon,
        });
    }
    if !buffer.uet_policy_enabled {
        let place = usize::from(site.pool);
        let others: f64 = (0..8)
            .filter(|&other| other != place)
            .map(|other| match startup.pools[other] {
                Some(pool) if pool.priority_group != 0 => buffer.pool_allocation_map[other],
                _ => 0.0,
            })
            .sum();
        // Rounded up to a hundred-thousandth: sizes round down.
        let share = sizing.pool_size.need as f64 / startup.sizing_total.max(1) as f64;
        let share = (share * 1e5).ceil() / 1e5;
        advice.push(Advice {
            setting: format!("PoolAllocationMap[{place}]"),
            from: buffer.pool_allocation_map[place],
            to: share,
            unit: "",
            because: Because::PoolBelowNeed {
                ports: sizing.ports,
                pause_point: startup.xoff + sizing.largest_packet,
            },
            fits: share + others <= 1.0,
        });
    }
    advice.sort_by_key(|a| !a.fits);
    advice
}

/// What would have admitted this lossy packet.
fn queue(switch: &Switch, startup: &Startup, moment: &Moment, offered: &Offered) -> Option<Advice> {
    let site = &moment.site;
    let packet = site.bytes / site.packets.max(1);
    let queue = moment.egress.map_or(0, |counter| counter.max) + packet;
    let pool = startup.pools[usize::from(site.pool)]?;
    let free = pool.size.saturating_sub(moment.egress_pool);
    let because = Because::QueueLimit { queue, free };
    let buffer = &switch.shared_buffer_manager;
    match startup.limit {
        LimitForm::Alpha(alpha) => (free > 0).then(|| Advice {
            setting: "LossyAlpha".into(),
            from: alpha,
            // The field's alphas are powers of two.
            to: (queue as f64 / free as f64).log2().ceil().exp2().max(alpha * 2.0),
            unit: "",
            because,
            fits: true,
        }),
        LimitForm::EvenSplit => Some(Advice {
            setting: "LossyAlpha".into(),
            from: 0.0,
            to: (queue as f64 / free.max(1) as f64).log2().ceil().exp2(),
            unit: "",
            because,
            fits: offered.classes.count_ones() > 0 && free > 0,
        }),
        LimitForm::FixedCap | LimitForm::Uet { .. } => {
            let need = queue.div_ceil(buffer.plane_bdp.0.max(1));
            Some(Advice {
                setting: "QueueDropThreshold".into(),
                from: buffer.queue_drop_threshold as f64,
                to: need as f64,
                unit: "",
                because,
                fits: need.saturating_mul(buffer.plane_bdp.0) <= pool.size,
            })
        }
    }
}

/// The scenario with a setting moved, to try it; `None` where tiers differ, or for a setting that
/// takes others along.
pub fn applied(scenario: &Scenario, advice: &Advice) -> Option<Scenario> {
    if !scenario.switch.tiers.is_empty() || !advice.fits {
        return None;
    }
    let mut tried = scenario.clone();
    let buffer = &mut tried.switch.shared_buffer_manager;
    match advice.because {
        Because::HeadroomBelowNeed { .. } => {
            buffer.head_room_per_port_limit = Bytes(advice.to as u64);
        }
        Because::XoffAboveShare { .. } => {
            buffer.static_pool_xoff_threshold = Bytes(advice.to as u64);
        }
        Because::QueueLimit { .. } if advice.setting == "LossyAlpha" => {
            buffer.lossy_alpha = advice.to;
        }
        Because::QueueLimit { .. } => buffer.queue_drop_threshold = advice.to as u64,
        Because::ReceivePool => tried.nic.receive_pool = Bytes(advice.to as u64),
        Because::PoolBelowNeed { .. } => return None,
        Because::HeadroomOfQueue { .. } => match advice.setting.as_str() {
            "HPCC.HeadroomFactor" => tried.switch.hpcc.headroom_factor = advice.to,
            "Ns3Datacenter.Xoff" => tried.switch.datacenter.xoff = Some(Bytes(advice.to as u64)),
            _ => tried.switch.datacenter.xoff_factor = advice.to,
        },
    }
    tried.record.tables = vec![Table::Jobs];
    Some(tried)
}
