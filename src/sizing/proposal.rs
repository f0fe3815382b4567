//! Settings that meet the three sizing conditions, or by how much they cannot.
//!
//! Owns the rules by which headroom, Xoff, Xon and pool shares are chosen, and the proof: every
//! proposal is started as the switch would start it, roundings and all, and must meet the
//! conditions. Refuses to touch which classes are lossless.
//!
//! The rules, for each tier and its port that asks for most:
//!
//! - **Headroom**: the least that meets the guideline, `PfcResponseTime` included, and that no mix
//!   of packet sizes can overflow.
//! - **Pools**: each lossless class with traffic gets the pool of its number to itself, of
//!   `ports × (Xoff + largest packet)`; lossy classes with traffic share what is left in the
//!   proportions they have now.
//! - **Xoff**: as set, if that fits and leaves lossy pools a packet a port. Else the largest that
//!   leaves lossy classes the share they have now; where that would be too low for a port to send
//!   on while a resume is under way, the least that is not.
//! - **Xon**: as set, if it is at least two packets below Xoff. Else half of Xoff, or the headroom
//!   (what leaves while a resume is under way) if that is more, but two packets below Xoff.

mod pools;
mod settings;

pub use settings::{Settings, XoffRule, apply, by_tier};

use super::budget::{Budget, Line, Part, largest};
use super::worst::{Unbounded, Worst, worst};
use super::{LinkCase, LinkCaseError};
use crate::scenario::links::{LinksError, Outline, SwitchKind, Tier};
use crate::scenario::offered::Offered;
use crate::scenario::sizing::{guideline, response_bytes};
use crate::scenario::startup::Startup;
use crate::scenario::{Scenario, Switch, SwitchModel, Topology};
use pools::Demand;
use thiserror::Error;

/// What the switches of a tier need.
#[derive(Debug, Clone, PartialEq)]
pub struct TierSizing {
    /// Those of them with the most ports.
    pub kind: SwitchKind,
    /// Every kind of the tier, each by its ports.
    pub ports: Vec<u32>,
    /// Their settings now.
    pub switch: Switch,
    /// Lossless classes that carry traffic, bit n is class n.
    pub lossless: u8,
    /// The class that headroom is sized for: the one with the largest packets.
    pub class: u8,
    /// The link that asks for most.
    pub case: LinkCase,
    /// Guideline for it, `PfcResponseTime` included, bytes.
    pub guideline: u64,
    /// Worst case on it.
    pub worst: Result<Worst, Unbounded>,
    /// The account of the buffer as set; `None` if the switch would not start.
    pub now: Option<Budget>,
    /// What to set.
    pub outcome: Outcome,
}

/// Whether there are settings that meet the conditions.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// There are.
    Fits {
        /// They are these.
        settings: Settings,
        /// The account of the buffer with them.
        budget: Budget,
    },
    /// The buffer is too small; an account of the least that is needed.
    TooSmall {
        /// Its last line is what does not fit.
        budget: Budget,
    },
    /// No lossless class carries traffic: nothing pauses, nothing needs headroom.
    NothingLossless,
    /// A sender cannot be stopped.
    Unstoppable(String),
    /// Another buffer model: its own headroom of a port and queue on the link, bytes.
    OtherModel {
        /// The model.
        model: SwitchModel,
        /// What its settings give.
        headroom: u64,
    },
}

/// Why a scenario cannot be sized.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SizingError {
    /// Its topology makes no network.
    #[error(transparent)]
    Links(#[from] LinksError),
    /// One of its links is out of range.
    #[error(transparent)]
    Case(#[from] LinkCaseError),
}

/// Sizes every tier of a scenario, the lowest first.
///
/// # Errors
/// A topology that makes no network; links or packets out of range.
pub fn propose(scenario: &Scenario) -> Result<Vec<TierSizing>, SizingError> {
    let outline = Outline::new(scenario)?;
    let offered = Offered::new(scenario);
    let mut tiers: Vec<Vec<&SwitchKind>> = Vec::new();
    for kind in outline.switch_kinds() {
        match tiers.last_mut() {
            Some(tier) if tier[0].tier == kind.tier => tier.push(kind),
            _ => tiers.push(vec![kind]),
        }
    }
    tiers.iter().map(|kinds| tier(scenario, kinds, &offered)).collect()
}

fn tier(
    scenario: &Scenario,
    kinds: &[&SwitchKind],
    offered: &Offered,
) -> Result<TierSizing, SizingError> {
    // More ports need larger pools of a smaller rest: the conditions of the others follow.
    let first = kinds[0];
    let kind = kinds
        .iter()
        .fold(first, |most, kind| if kind.ports() > most.ports() { kind } else { most });
    let switch = scenario.switch.of_tier(kind.tier.settings()).into_owned();
    let lossless = lossless(&switch) & offered.classes;
    let classes = || (0..8u8).filter(|class| lossless >> class & 1 == 1);
    // The lowest of those with the largest packets.
    let class = classes().rev().max_by_key(|&class| offered.largest_of(class)).unwrap_or(0);
    let mut most: Option<(u64, LinkCase)> = None;
    for link in kinds.iter().flat_map(|kind| &kind.links) {
        let case = LinkCase {
            rate: link.rate,
            delay: link.delay,
            packet: offered.largest_of(class),
            own_packet: offered.largest_packet(),
            response: response(scenario, kind.tier),
            pfc_frames: u64::from(lossless.count_ones()).max(1),
            timing: scenario.timing,
        }
        .checked()?;
        let needs = headroom(&case);
        if most.is_none_or(|(before, _)| needs > before) {
            most = Some((needs, case));
        }
    }
    // An outline has no switch without links.
    let Some((headroom, case)) = most else { unreachable!("a switch without links") };
    let worst = worst(&case);
    let now = match switch.model {
        SwitchModel::Scala => Startup::new(&switch, kind.ports()).ok(),
        SwitchModel::Hpcc | SwitchModel::Ns3Datacenter => None,
    };
    let outcome = if let Some(headroom) = other_model(&switch, &case) {
        Outcome::OtherModel { model: switch.model, headroom }
    } else if lossless == 0 {
        Outcome::NothingLossless
    } else if let Some(why) = unstoppable(scenario) {
        Outcome::Unstoppable(why)
    } else if let Err(why) = worst {
        Outcome::Unstoppable(why.to_string())
    } else {
        fit(&Demand::new(&switch, kinds, lossless, offered, headroom))
    };
    Ok(TierSizing {
        kind: kind.clone(),
        ports: kinds.iter().map(|kind| kind.ports()).collect(),
        lossless,
        class,
        guideline: with_response(&case),
        now: now.map(|startup| Budget::of(&startup, offered)),
        switch,
        case,
        worst,
        outcome,
    })
}

/// The settings of a demand, or the account of what it lacks.
fn fit(demand: &Demand) -> Outcome {
    if let Some((settings, budget)) = demand.settle() {
        return Outcome::Fits { settings, budget };
    }
    Outcome::TooSmall { budget: demand.account() }
}

/// Guideline with the response time, bytes; the guideline's packets are the largest of any class.
fn with_response(case: &LinkCase) -> u64 {
    let mtu = case.own_packet.max(case.packet);
    guideline(case.rate, case.delay, mtu).saturating_add(response_bytes(case.rate, case.response))
}

/// The least headroom that meets the guideline and holds whatever mix of packets arrives, bytes.
pub fn headroom(case: &LinkCase) -> u64 {
    let most = worst(case).map_or(0, |worst| worst.any_mix.unwrap_or(worst.bytes).max(worst.bytes));
    with_response(case).max(most)
}

/// The headroom that the models without pools give a port and queue.
fn other_model(switch: &Switch, case: &LinkCase) -> Option<u64> {
    match switch.model {
        SwitchModel::Scala => None,
        SwitchModel::Hpcc => Some(switch.hpcc.headroom(case.rate, case.delay)),
        SwitchModel::Ns3Datacenter => Some(switch.datacenter.headroom(case.rate, case.delay)),
    }
}

/// Classes a switch is told to keep lossless, bit n is class n.
fn lossless(switch: &Switch) -> u8 {
    let buffer = &switch.shared_buffer_manager;
    match switch.model {
        SwitchModel::Scala => (0..8).filter(|&class| buffer.enable_pfc[class] == 1),
        SwitchModel::Hpcc => return 0b1111_1110,
        SwitchModel::Ns3Datacenter => return switch.datacenter.lossless(),
    }
    .fold(0, |mask, class| mask | 1 << class)
}

/// The longest time any sender towards a tier takes to act on a pause, ps.
fn response(scenario: &Scenario, tier: Tier) -> u64 {
    let nic = &scenario.nic;
    let hosts = nic.hosts.values().filter_map(|host| host.pfc_response_time);
    let hosts = hosts.chain([nic.pfc_response_time]).max().unwrap_or_default();
    if tier == Tier::Single || matches!(scenario.topology, Topology::SingleSwitch { .. }) {
        return hosts.0;
    }
    let tiers = scenario.switch.tiers.values().filter_map(|tier| tier.pfc_response_time);
    tiers.chain([hosts, scenario.switch.pfc_response_time]).max().unwrap_or_default().0
}

/// Why some sender cannot be stopped at all.
fn unstoppable(scenario: &Scenario) -> Option<String> {
    let host = scenario.nic.hosts.iter().find(|(_, host)| host.ignore_pfc == Some(true));
    let key = match host {
        Some((host, _)) => format!("nic.hosts.{host}.ignore_pfc"),
        None if scenario.nic.ignore_pfc => "nic.ignore_pfc".to_owned(),
        None => return None,
    };
    Some(format!("no headroom is enough: {key} = true, and what ignores pauses never stops"))
}

/// An account of a demand that the buffer cannot meet.
fn shortfall(total: u64, mut lines: Vec<Line>) -> Budget {
    let sum: i128 = lines.iter().map(|line| line.bytes).sum();
    lines.push(Line::new(Part::DoesNotFit, i128::from(total) - sum));
    Budget { total, lines }
}

#[cfg(test)]
mod tests;
