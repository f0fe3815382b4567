//! Everything `size` has to say, before it is said.

use crate::scenario::links::Tier;
use crate::scenario::{Scenario, Switch};
use crate::sizing::LinkCase;
use crate::sizing::budget::Budget;
use crate::sizing::formulas::{Cable, Estimate, FormulaError, Sonic, every};
use crate::sizing::proposal::{self, Outcome, TierSizing, apply, by_tier};
use crate::sizing::replay::{LinkReplay, Measured, ReplayError, incast, measure, replay_link};
use crate::sizing::worst::{Unbounded, Worst, worst};
use crate::units::Rational;

/// What is asked beside the scenario.
pub(super) struct Question<'a> {
    /// Delay of a metre, ns.
    pub(super) ns_per_m: Rational,
    /// Inputs of `sonic-mellanox` at a rate in bit/s.
    pub(super) sonic: &'a dyn Fn(u64) -> Sonic,
}

/// The answer for a link, or for every tier of a scenario.
pub(super) struct Answer {
    pub(super) parts: Vec<Part>,
    /// Proposals belong under `switch.tiers`.
    pub(super) by_tier: bool,
    /// Settings "as set" are those of a file.
    pub(super) from_file: bool,
}

/// One link, and the switch that has to hold what arrives on it.
pub(super) struct Part {
    pub(super) case: LinkCase,
    pub(super) cable: Cable,
    pub(super) formulas: Vec<Estimate>,
    pub(super) worst: Result<Worst, Unbounded>,
    /// The least headroom that meets the guideline and holds any mix of packets, bytes.
    pub(super) headroom: u64,
    pub(super) replay: Result<LinkReplay, ReplayError>,
    pub(super) switch: Option<SwitchPart>,
}

/// The switches of a tier.
pub(super) struct SwitchPart {
    pub(super) sizing: TierSizing,
    pub(super) incasts: Vec<Incast>,
}

/// Every port at once, simulated.
pub(super) struct Incast {
    /// The proposed settings, not those now.
    pub(super) proposed: bool,
    /// The receiver takes what comes; else it holds everything back.
    pub(super) drains: bool,
    pub(super) senders: u32,
    pub(super) measured: Result<Measured, ReplayError>,
}

impl Answer {
    /// Of a link alone.
    pub(super) fn of_link(case: &LinkCase, cable: Cable, sonic: &Sonic) -> Answer {
        Answer { parts: vec![part(case, cable, sonic)], by_tier: false, from_file: false }
    }

    /// Of every tier of a scenario.
    pub(super) fn of_scenario(
        scenario: &Scenario,
        sizings: &[TierSizing],
        question: &Question<'_>,
        from_file: bool,
    ) -> Result<Answer, FormulaError> {
        let proposed = apply(scenario, sizings);
        let parts = sizings.iter().map(|sizing| {
            let case = &sizing.case;
            let cable = Cable::of_delay(case.rate, case.delay, question.ns_per_m)?;
            let tier = sizing.kind.tier;
            let mut sizing = sizing.clone();
            if !from_file {
                // Nobody set what a link alone does not say.
                sizing.now = None;
            }
            let incasts = incasts(&sizing, &of_tier(&proposed, tier));
            let switch = SwitchPart { sizing, incasts };
            let part = part(case, cable, &(question.sonic)(case.rate));
            Ok(Part { switch: Some(switch), ..part })
        });
        let by_tier = by_tier(scenario, sizings);
        Ok(Answer { parts: parts.collect::<Result<_, FormulaError>>()?, by_tier, from_file })
    }
}

fn part(case: &LinkCase, cable: Cable, sonic: &Sonic) -> Part {
    Part {
        case: *case,
        cable,
        formulas: every(&cable, case.own_packet.max(case.packet), sonic),
        worst: worst(case),
        headroom: proposal::headroom(case),
        replay: replay_link(case),
        switch: None,
    }
}

fn of_tier(scenario: &Scenario, tier: Tier) -> Switch {
    scenario.switch.of_tier(tier.settings()).into_owned()
}

/// A switch of the tier with every port sending but one: as set, if it starts, and as proposed, if
/// there is a proposal.
fn incasts(sizing: &TierSizing, proposed: &Switch) -> Vec<Incast> {
    let mut switches = Vec::new();
    let scala = LinkCase::applies_to(&sizing.switch);
    if scala && sizing.lossless != 0 && sizing.now.is_some() && sizing.worst.is_ok() {
        switches.push((false, &sizing.switch));
    }
    if matches!(sizing.outcome, Outcome::Fits { .. }) {
        switches.push((true, proposed));
    }
    let ports = sizing.kind.ports();
    let both =
        switches.into_iter().flat_map(|(own, switch)| [(own, switch, false), (own, switch, true)]);
    both.map(|(proposed, switch, drains)| {
        let scenario = incast(&sizing.case, switch, ports, sizing.class, drains);
        Incast {
            proposed,
            drains,
            senders: ports.saturating_sub(1).max(1),
            measured: scenario.and_then(|scenario| measure(&scenario)),
        }
    })
    .collect()
}

impl Part {
    /// Whether the worst case is that of the switch's buffer model.
    pub(super) fn is_modelled(&self) -> bool {
        self.switch.as_ref().is_none_or(|own| LinkCase::applies_to(&own.sizing.switch))
    }
}

impl SwitchPart {
    /// The account of the buffer that decides: with the proposal, or of what does not fit.
    pub(super) fn budget(&self) -> Option<&Budget> {
        match &self.sizing.outcome {
            Outcome::Fits { budget, .. } | Outcome::TooSmall { budget } => Some(budget),
            _ => None,
        }
    }
}
