//! Minimal simulations that show what sizing says.
//!
//! Owns two scenarios: one link at a chosen alignment with nothing draining, and every port of a
//! switch at once. Refuses to search: it builds a scenario, runs it, and reports what was held and
//! what was lost.

use super::{LinkCase, worst};
use crate::scenario::{
    Common, FlowEntry, Flows, Hold, HostNic, Incast, Nic, Record, Scenario, SharedBufferManager,
    Switch, Table, Topology, Traffic, Until, refusals,
};
use crate::sim::observe::{DropReason, Observations};
use crate::sim::random::Seeds;
use crate::sim::traffic::Traces;
use crate::units::{BitRate, Bytes, Ps};
use thiserror::Error;

/// A replay of more packets than this is not small.
pub const MOST_PACKETS: u64 = 4_000_000;
/// The largest size the buffer's registers take, bytes.
const LARGEST: u64 = u32::MAX as u64;
/// Most headroom two ports may reserve of it.
const ROOMY: u64 = LARGEST / 4;

/// What a replay measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Largest headroom of a port, bytes.
    pub peak_headroom: u64,
    /// Largest occupancy of a port, headroom apart, bytes.
    pub peak_occupancy: u64,
    /// Packets lost for want of headroom.
    pub headroom_drops: u64,
    /// Packets lost for want of room in a pool.
    pub pool_drops: u64,
    /// Packets lost, whatever the reason.
    pub drops: u64,
}

impl Measured {
    fn of(seen: &Observations) -> Measured {
        let totals = &seen.totals;
        let of = |wanted| {
            let all = DropReason::ALL.iter().zip(totals.drops);
            all.filter(|(reason, _)| **reason == wanted).map(|(_, n)| n).sum()
        };
        Measured {
            peak_headroom: totals.peak_headroom,
            peak_occupancy: totals.peak_ingress,
            headroom_drops: of(DropReason::IngressHeadroom),
            pool_drops: of(DropReason::IngressPool),
            drops: totals.drops.iter().sum(),
        }
    }
}

/// Why a replay was not run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ReplayError {
    #[error("not simulated: about {packets} packets are more than a small simulation")]
    TooLong { packets: u64 },
    #[error("not simulated: {0}")]
    Refused(String),
    #[error(transparent)]
    Unbounded(#[from] worst::Unbounded),
}

/// Runs a scenario that names no trace.
///
/// # Errors
/// A scenario that the checks refuse.
pub fn measure(scenario: &Scenario) -> Result<Measured, ReplayError> {
    if let Some(finding) = refusals(scenario).into_iter().next() {
        return Err(ReplayError::Refused(finding.to_string()));
    }
    let seen = crate::sim::run(scenario, Seeds::default(), &Traces::default());
    Ok(Measured::of(&seen.map_err(|error| ReplayError::Refused(error.to_string()))?))
}

/// What one link needs in the simulator, and what it loses with other headrooms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkReplay {
    /// Headroom that the worst alignment takes when there is more than enough, bytes.
    pub needs: u64,
    /// Headroom in bytes and packets lost with it: one byte less than `needs`, then `needs`.
    pub around: [(u64, u64); 2],
}

/// Replays the worst alignment of a link: with all the headroom it wants, with just what it then
/// took, and with a byte less.
///
/// # Errors
/// A link whose pauses lapse; one whose replay would not be small.
pub fn replay_link(case: &LinkCase) -> Result<LinkReplay, ReplayError> {
    let free = measure(&held(case, Some(0), ROOMY)?)?;
    let needs = free.peak_headroom;
    let lost = |headroom| Ok::<_, ReplayError>(measure(&held(case, Some(0), headroom)?)?.drops);
    let less = needs.saturating_sub(1);
    Ok(LinkReplay { needs, around: [(less, lost(less)?), (needs, lost(needs)?)] })
}

/// One link with nothing draining: host 1 sends packets of the class at line rate to host 0, which
/// keeps its port held; the second one takes the port above Xoff.
///
/// `own_age` is how long the switch has been sending a largest frame of its own to host 1 when it
/// queues the pause, ps, at most [`LinkCase::own_time`]; `None`: it sends nothing.
///
/// # Errors
/// A link whose pauses lapse; one whose replay would not be small.
pub fn held(case: &LinkCase, own_age: Option<u64>, headroom: u64) -> Result<Scenario, ReplayError> {
    let frames = worst::worst(case)?.frames;
    if frames > MOST_PACKETS {
        return Err(ReplayError::TooLong { packets: frames });
    }
    let (frame, own, pfc) = (case.frame_time(), case.own_time(), case.pfc_time());
    let class = case.pfc_frames - 1;
    // Late enough that the frame of its own, which host 0 sends, leaves after the hold's.
    let start = pfc + 2 * own;
    let entry = |src, packets: u64, packet, start| FlowEntry {
        src,
        dst: 1 - src,
        bytes: Bytes(packets.saturating_mul(packet)),
        packet: Some(Bytes(packet)),
        dscp: Some(class * 8),
        ect: None,
        role: None,
        start: Ps(start),
        rate: None,
    };
    // More than can leave before the pause takes effect.
    let mut flows = vec![entry(1, 2 * frames + 8, case.packet, start)];
    if let Some(age) = own_age {
        flows.push(entry(0, 1, case.own_packet, start + 2 * frame - age.min(own) - own));
    }
    let group = (0..8).map(|tc| i64::from(tc < case.pfc_frames));
    let mut enable_pfc = [0; 8];
    enable_pfc.iter_mut().zip(group).for_each(|(to, from)| *to = from);
    let buffer = SharedBufferManager {
        total_shared_buffer_size: Bytes(LARGEST),
        pool_allocation_map: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        traffic_class_pool_mapping: [0; 8],
        enable_pfc,
        head_room_per_port_limit: Bytes(headroom.min(ROOMY)),
        static_pool_xoff_threshold: Bytes(case.packet),
        static_pool_xon_threshold: Bytes(0),
        ..SharedBufferManager::default()
    };
    // Everything sent has arrived by then.
    let sent = (frames + 4).saturating_mul(frame).saturating_add(2 * own);
    let duration = start.saturating_add(sent).saturating_add(4 * case.delay + 1);
    let switch = Switch { shared_buffer_manager: buffer, ..Switch::default() };
    let traffic = vec![Traffic::Flows(Flows { flows, common: Common::default() })];
    Ok(scenario(case, 2, duration, switch, traffic, &[class]))
}

/// Every port of a switch at once: all hosts but one send a class at line rate to that one, which
/// keeps its port held (`drains` false) or takes what comes.
///
/// # Errors
/// A link whose pauses lapse; an incast that would not be small.
pub fn incast(
    case: &LinkCase,
    switch: &Switch,
    ports: u32,
    class: u8,
    drains: bool,
) -> Result<Scenario, ReplayError> {
    let worst = worst::worst(case)?;
    let buffer = &switch.shared_buffer_manager;
    let fills = buffer.static_pool_xoff_threshold.0 / case.packet + worst.frames + 8;
    let senders = ports.saturating_sub(1).max(1);
    let packets = fills.saturating_mul(u64::from(senders));
    if packets > MOST_PACKETS {
        return Err(ReplayError::TooLong { packets });
    }
    let frame = case.frame_time();
    let held_for = fills.saturating_mul(frame).saturating_add(worst.held_after + 4 * case.delay);
    let drained = packets.saturating_add(fills).saturating_mul(2 * frame);
    let duration = if drains { held_for.saturating_add(drained) } else { held_for };
    let traffic = vec![Traffic::Incast(Incast {
        receiver: 0,
        senders,
        bytes: Bytes(fills.saturating_mul(case.packet)),
        common: Common {
            packet: Bytes(case.packet),
            dscp: u64::from(class) * 8,
            // The hold is under way.
            start: Ps(case.pfc_time() * 8),
            ..Common::default()
        },
    })];
    let plain = Switch {
        network_interface: Default::default(),
        tiers: Default::default(),
        pfc_response_time: Ps(0),
        ..switch.clone()
    };
    let hold: &[u64] = if drains { &[] } else { &[u64::from(class)] };
    let mut scenario = scenario(case, u64::from(senders) + 1, duration, plain, traffic, hold);
    if drains {
        scenario.until = Until::Drained;
    }
    Ok(scenario)
}

fn scenario(
    case: &LinkCase,
    hosts: u64,
    duration: u64,
    switch: Switch,
    traffic: Vec<Traffic>,
    held: &[u64],
) -> Scenario {
    let mut nic = Nic { pfc_response_time: Ps(case.response), ..Nic::default() };
    if !held.is_empty() {
        let hold = Hold { classes: held.to_vec(), from: Ps(0), until: None };
        nic.hosts.insert(0, HostNic { hold: Some(hold), ..HostNic::default() });
    }
    Scenario {
        duration: Ps(duration),
        until: Until::Duration,
        stop_on_deadlock: false,
        warm_up: Ps(0),
        seed_streams: Default::default(),
        timing: case.timing,
        topology: Topology::SingleSwitch {
            hosts: u32::try_from(hosts).unwrap_or(u32::MAX),
            rate: Some(BitRate(case.rate)),
            delay: Some(Ps(case.delay)),
        },
        switch,
        nic,
        traffic,
        record: Record { tables: vec![Table::Jobs], ..Record::default() },
        budget: Default::default(),
    }
}

#[cfg(test)]
mod tests;
