//! The checks: which scenarios are refused, and which only deserve a warning.
//!
//! Owns every rule about a scenario's values. A refusal makes a grid point infeasible; a warning
//! is for people. Refuses to judge how a file is written: what cannot be read as a [`Scenario`]
//! never gets here. Planning checks every point, so a scenario without listed flows costs a few
//! microseconds.

mod limits;
mod nic;
mod ns3;
mod switch;
mod traffic;
mod warnings;

use super::links::{Outline, SwitchKind};
use super::offered::Offered;
use super::startup::Startup;
use super::{Scenario, SwitchModel};
use crate::units::Ps;
use std::fmt;

pub use limits::MAX_TIME;

/// Most findings of a kind that are kept; a long list of flows may break a rule a million times.
const MAX_FINDINGS: usize = 50;

/// A rule that a scenario breaks, or a warning about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Path of the attribute: `switch.SharedBufferManager.LossyAlpha`, `traffic[0].packet`.
    pub attribute: String,
    /// Its value, with its unit.
    pub value: String,
    /// The rule, and what to do about it.
    pub rule: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}", self.attribute, self.value, self.rule)
    }
}

/// What the checks found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Rules the scenario breaks; empty: it can run.
    pub refusals: Vec<Finding>,
    /// What is allowed but probably not meant. Empty where a refusal keeps the switch from
    /// starting.
    pub warnings: Vec<Finding>,
}

impl Report {
    /// Whether the scenario can run.
    pub fn accepted(&self) -> bool {
        self.refusals.is_empty()
    }

    fn refuse(
        &mut self,
        attribute: impl Into<String>,
        value: impl fmt::Display,
        rule: impl Into<String>,
    ) {
        note(&mut self.refusals, attribute.into(), value, rule.into());
    }

    fn warn(
        &mut self,
        attribute: impl Into<String>,
        value: impl fmt::Display,
        rule: impl Into<String>,
    ) {
        note(&mut self.warnings, attribute.into(), value, rule.into());
    }

    fn append(&mut self, other: Report) {
        for (to, from) in
            [(&mut self.refusals, other.refusals), (&mut self.warnings, other.warnings)]
        {
            for finding in from {
                keep(to, finding);
            }
        }
    }
}

fn note(to: &mut Vec<Finding>, attribute: String, value: impl fmt::Display, rule: String) {
    if to.len() < MAX_FINDINGS {
        keep(to, Finding { attribute, value: value.to_string(), rule });
    }
}

/// Keeps a finding that is new, up to the limit.
fn keep(to: &mut Vec<Finding>, finding: Finding) {
    if to.len() < MAX_FINDINGS && !to.contains(&finding) {
        to.push(finding);
    }
}

/// A kind of switch of the scenario, started.
#[derive(Debug, Clone, PartialEq)]
pub struct Started {
    /// Which switches.
    pub kind: SwitchKind,
    /// What they start with.
    pub startup: Startup,
}

/// Checks a scenario against every rule.
///
/// Never panics, whatever the scenario holds. At most 50 refusals and 50 warnings are kept.
pub fn check(scenario: &Scenario) -> Report {
    let offered = Offered::new(scenario);
    let (mut report, started) = refuse(scenario, &offered);
    if let Some(started) = started {
        match scenario.switch.model {
            SwitchModel::Scala => warnings::check(scenario, &started, &offered, &mut report),
            SwitchModel::Hpcc | SwitchModel::Ns3Datacenter => {
                ns3::warn(scenario, &started, &offered, &mut report);
            }
        }
    }
    report
}

/// The refusals of [`check`] alone, for whoever checks a hundred thousand points: the warnings
/// take several times as long.
pub fn refusals(scenario: &Scenario) -> Vec<Finding> {
    refuse(scenario, &Offered::new(scenario)).0.refusals
}

/// Everything that can refuse, and the switches if they start.
fn refuse(scenario: &Scenario, offered: &Offered) -> (Report, Option<Vec<Started>>) {
    let mut report = Report::default();
    limits::check(scenario, &mut report);
    let outline = match Outline::new(scenario) {
        Ok(outline) => {
            let (duration, longest) = (scenario.duration, outline.longest_duration());
            if duration.0 > longest && duration.0 <= limits::MAX_TIME {
                let ports = outline.port_count();
                let rule = format!("at most {} with {ports} switch ports", Ps(longest));
                report.refuse("duration", duration, rule);
            }
            Some(outline)
        }
        Err(e) => {
            report.refuse(e.attribute, e.value, e.rule);
            None
        }
    };
    let started = switch::check(scenario, outline.as_ref(), offered, &mut report);
    nic::check(scenario, outline.as_ref(), offered, &mut report);
    traffic::check(scenario, outline.as_ref(), &mut report);
    (report, started)
}

#[cfg(test)]
mod tests;
