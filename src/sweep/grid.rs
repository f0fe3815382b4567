//! The grid: from a point's number to its scenario.
//!
//! Owns blocks (one for each entry of `scenarios`), the order of points, and the resolving of a
//! single point. A point is kept as a number; its scenario is made when it is asked for, so a
//! plan's memory does not follow the size of a scenario. Refuses to decide what to plan: `load`
//! does.

use super::axis::{Axis, Sort};
use super::base::{self, canonical};
use super::bind::{Binding, Derived, Rule, Values};
use super::cost;
use super::expr::Value;
use super::fault::Fault;
use super::plan::JobId;
use super::template::{self, Slot, Template};
use super::trace::Outlook;
use super::value;
use super::yaml::Map;
use crate::scenario::attributes::Kind;
use crate::scenario::check::{self, Finding};
use crate::scenario::{Scenario, SeedStreams, Traffic};
use crate::sim::random::Seeds;
use std::collections::{BTreeMap, HashMap};

/// Version of the rules by which a scenario gives a result. It is part of every job's identity:
/// raise it when the simulator gives other results for the same scenario.
pub const SEMANTICS_VERSION: u32 = 1;

/// Names of one expression and what they stand for in one block.
pub(crate) type Names = HashMap<String, Binding>;

/// The points of one entry of `scenarios`, or of the whole file.
#[derive(Debug)]
pub(crate) struct Block {
    pub label: Option<String>,
    /// The axes that vary here, slowest first.
    pub active: Vec<usize>,
    /// Points before this block, repetitions not counted.
    pub first: u64,
    /// Points of this block, repetitions not counted.
    pub count: u64,
    /// The tree the block's scenario was read from, for positions.
    pub base: Map,
    pub full: Template,
    pub identity: Template,
    /// The shape of the scenario differs between points: read every one in full.
    pub varied: bool,
    /// By derived value, constraint and check.
    pub derived_names: Vec<Names>,
    pub constraint_names: Vec<Names>,
    pub check_names: Vec<Names>,
}

/// One repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Repeat {
    pub seed: u64,
    pub repetition: u64,
}

/// All points of a plan.
#[derive(Debug)]
pub(crate) struct Grid {
    pub axes: Vec<Axis>,
    pub derived: Vec<Derived>,
    /// In which to compute them.
    pub derived_order: Vec<usize>,
    pub constraints: Vec<Rule>,
    pub checks: Vec<Rule>,
    pub blocks: Vec<Block>,
    pub repeats: Vec<Repeat>,
    /// What points have to know of trace files, by the hash of the file.
    pub traces: BTreeMap<String, Outlook>,
}

/// What a point comes to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// By which constraint.
    Excluded(usize),
    Ready(Box<Ready>),
}

/// A point that may run.
#[derive(Debug)]
pub(crate) struct Ready {
    /// For each repetition.
    pub jobs: Vec<(JobId, Seeds)>,
    pub infeasible: Vec<String>,
    pub warnings: Vec<Finding>,
    pub cost: f64,
}

/// A point and its derived values, in the order of the file.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub outcome: Outcome,
    pub derived: Vec<Value>,
}

/// Buffers that are used again from point to point.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    digits: Vec<usize>,
    text: String,
    hashed: String,
}

impl Grid {
    /// Points, repetitions not counted.
    pub fn points(&self) -> u64 {
        self.blocks.iter().map(|b| b.count).sum()
    }

    /// The block of a point, and the point's place in it.
    pub fn locate(&self, point: u64) -> Option<(&Block, u64)> {
        let after = self.blocks.partition_point(|b| b.first <= point);
        let block = self.blocks.get(after.checked_sub(1)?)?;
        let place = point - block.first;
        (place < block.count).then_some((block, place))
    }

    /// The place of every axis at a point; 0 for those that do not vary.
    pub fn digits(&self, block: &Block, place: u64, out: &mut Vec<usize>) {
        out.clear();
        out.resize(self.axes.len(), 0);
        let mut rest = place;
        for &axis in block.active.iter().rev() {
            let len = self.axes[axis].len as u64;
            out[axis] = (rest % len) as usize;
            rest /= len;
        }
    }

    /// A point in words: `lossy: PlaneBDP = 75KB, topology.delay = 500ns`.
    pub fn describe(&self, block: &Block, digits: &[usize]) -> String {
        let members = block.active.iter().flat_map(|&axis| {
            let shown = self.axes[axis].members.iter().filter(|m| !m.hidden);
            shown.map(move |m| format!("{} = {}", m.written, m.values[digits[axis]]))
        });
        let listed = members.collect::<Vec<_>>().join(", ");
        match (&block.label, listed.is_empty()) {
            (Some(label), true) => format!("scenario {label}"),
            (Some(label), false) => format!("scenario {label}: {listed}"),
            (None, true) => "the only point".to_owned(),
            (None, false) => listed,
        }
    }

    /// Resolves one point in full.
    ///
    /// # Errors
    /// A derived value that cannot be, a check that does not hold, a value no scenario can take.
    pub fn resolve(
        &self,
        block: &Block,
        place: u64,
        scratch: &mut Scratch,
    ) -> Result<Resolved, Fault> {
        self.digits(block, place, &mut scratch.digits);
        let derived = self.derive(block, &scratch.digits)?;
        let at = Values { axes: &self.axes, digits: &scratch.digits, derived: &derived };
        for (i, rule) in self.constraints.iter().enumerate() {
            if !self.holds(rule, &block.constraint_names[i], &at, block)? {
                return Ok(Resolved { outcome: Outcome::Excluded(i), derived });
            }
        }
        for (i, rule) in self.checks.iter().enumerate() {
            if !self.holds(rule, &block.check_names[i], &at, block)? {
                return Err(self.check_fails(rule, &block.check_names[i], &at, block));
            }
        }
        let scenario = self.build(block, &derived, scratch)?;
        let hash = |text: &str| *blake3::hash(text.as_bytes()).as_bytes();
        let point = (scenario.seed_streams == SeedStreams::PerPoint).then(|| {
            let mut first = [0; 8];
            first.copy_from_slice(&hash(&scratch.hashed)[..8]);
            u64::from_le_bytes(first)
        });
        let job = |repeat: &Repeat| {
            let Repeat { seed, repetition } = *repeat;
            let mut hasher = blake3::Hasher::new();
            hasher.update(format!("{{\"repetition\":{repetition},\"scenario\":").as_bytes());
            hasher.update(scratch.hashed.as_bytes());
            hasher
                .update(format!(",\"seed\":{seed},\"semantics\":{SEMANTICS_VERSION}}}").as_bytes());
            let mut first = [0; 8];
            first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
            // Big-endian, so that the hex digits of the id are those of the hash.
            (JobId(u64::from_be_bytes(first)), Seeds { sweep: seed, repetition, point })
        };
        let jobs = self.repeats.iter().map(job).collect();
        let report = check::check(&scenario);
        let mut infeasible: Vec<String> = report.refusals.iter().map(Finding::to_string).collect();
        for (place, entry) in scenario.traffic.iter().enumerate() {
            if let Traffic::Trace(trace) = entry
                && let Some(outlook) = self.traces.get(&trace.blake3)
            {
                let refusals = outlook.refusals(place, trace, &scenario);
                infeasible.extend(refusals.iter().map(Finding::to_string));
            }
        }
        let cost = cost::estimate(&scenario);
        let ready = Ready { jobs, infeasible, warnings: report.warnings, cost };
        Ok(Resolved { outcome: Outcome::Ready(Box::new(ready)), derived })
    }

    /// The scenario of a point and its canonical text.
    pub fn scenario(&self, point: u64) -> Result<(Scenario, String), Fault> {
        let Some((block, place)) = self.locate(point) else {
            return Err(Fault::nowhere(format!("the plan has no point {point}")));
        };
        let mut scratch = Scratch::default();
        self.digits(block, place, &mut scratch.digits);
        let derived = self.derive(block, &scratch.digits)?;
        let scenario = self.build(block, &derived, &mut scratch)?;
        Ok((scenario, scratch.text))
    }

    /// Derived values, in the order of the file.
    fn derive(&self, block: &Block, digits: &[usize]) -> Result<Vec<Value>, Fault> {
        let mut derived = vec![Value::Bool(false); self.derived.len()];
        for &i in &self.derived_order {
            let Derived { rule, sort, .. } = &self.derived[i];
            let names = &block.derived_names[i];
            let at = Values { axes: &self.axes, digits, derived: &derived };
            let value = rule.expr.eval(&|name| names.get(name)?.get(&at)).map_err(|e| {
                Fault::new(rule.at, &rule.key, e.to_string())
                    .help(format!("at {}", self.describe(block, digits)))
            })?;
            derived[i] = match sort {
                Sort::Leaf(kind) => value::conform(*kind, value).map_err(|(message, help)| {
                    let at = self.describe(block, digits);
                    let help = help.map_or_else(String::new, |h| format!("; {h}"));
                    Fault::new(rule.at, &rule.key, message).help(format!("at {at}{help}"))
                })?,
                _ => value,
            };
        }
        Ok(derived)
    }

    fn holds(
        &self,
        rule: &Rule,
        names: &Names,
        at: &Values<'_>,
        block: &Block,
    ) -> Result<bool, Fault> {
        match rule.expr.eval(&|name| names.get(name)?.get(at)) {
            Ok(Value::Bool(b)) => Ok(b),
            Ok(other) => Err(Fault::new(
                rule.at,
                &rule.key,
                format!("`{}` gives {other}, not true or false", rule.expr.source()),
            )),
            Err(e) => Err(Fault::new(rule.at, &rule.key, e.to_string())
                .help(format!("at {}", self.describe(block, at.digits)))),
        }
    }

    fn check_fails(&self, rule: &Rule, names: &Names, at: &Values<'_>, block: &Block) -> Fault {
        let values: Vec<String> = rule
            .expr
            .names()
            .iter()
            .filter_map(|name| Some(format!("{name} = {}", names.get(*name)?.get(at)?)))
            .collect();
        let message = format!(
            "`{}` does not hold at {}",
            rule.expr.source(),
            self.describe(block, at.digits)
        );
        let fault = Fault::new(rule.at, &rule.key, message);
        if values.is_empty() { fault } else { fault.help(format!("there {}", values.join(", "))) }
    }

    /// Fills `scratch.text` with the canonical text of a point and `scratch.hashed` with the part
    /// of it that identities are computed over.
    fn build(
        &self,
        block: &Block,
        derived: &[Value],
        scratch: &mut Scratch,
    ) -> Result<Scenario, Fault> {
        let digits = &scratch.digits;
        let fill = |slot: Slot, out: &mut String| match slot {
            Slot::Axis { axis, member } => {
                if let Some(json) = self.axes[axis].members[member].json.get(digits[axis]) {
                    canonical(json, out);
                }
            }
            Slot::Derived(i) => {
                let kind = match self.derived[i].sort {
                    Sort::Leaf(kind) => kind,
                    _ => Kind::Number,
                };
                canonical(&value::json(kind, &derived[i]), out);
            }
        };
        block.full.fill(&mut scratch.text, fill);
        if !block.varied {
            block.identity.fill(&mut scratch.hashed, fill);
            return serde_json::from_str(&scratch.text)
                .map_err(|e| self.unreadable(block, digits, &e));
        }
        let json: serde_json::Value =
            serde_json::from_str(&scratch.text).map_err(|e| self.unreadable(block, digits, &e))?;
        let scenario = base::scenario(&json, &block.base).map_err(|fault| {
            let at = self.describe(block, digits);
            let help = fault.help.as_ref().map_or_else(String::new, |h| format!("; {h}"));
            fault.help(format!("at {at}{help}"))
        })?;
        let mut json =
            serde_json::to_value(&scenario).map_err(|e| self.unreadable(block, digits, &e))?;
        scratch.text.clear();
        canonical(&json, &mut scratch.text);
        template::strip(&mut json);
        scratch.hashed.clear();
        canonical(&json, &mut scratch.hashed);
        Ok(scenario)
    }

    fn unreadable(&self, block: &Block, digits: &[usize], e: &serde_json::Error) -> Fault {
        // The position serde adds is one in the canonical text, which nobody sees.
        let message = e.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        Fault::nowhere(format!("no scenario can take this: {message}"))
            .help(format!("at {}", self.describe(block, digits)))
    }
}
