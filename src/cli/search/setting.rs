//! The setting that is moved: its range, and its values as an axis of the sweep.

use super::SearchArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::plan::PLAN_FILE;
use crate::sizing::search::{Scale, ScaleError};
use crate::sweep::expr::{Value, parse_quantity};
use crate::sweep::float;
use crate::sweep::plan::{Column, ColumnValues, Plan};
use crate::units::Rational;
use std::collections::BTreeSet;
use std::path::Path;

/// The range as given: two values of one kind, the first not above the second.
pub struct Range {
    from: Value,
    to: Value,
    step: Option<Value>,
}

/// A setting and the values it may have.
pub struct Setting {
    /// Its name, as given.
    pub name: String,
    /// One base unit, for its kind.
    unit: Value,
    step: Rational,
    scale: Scale,
}

fn usage(text: String) -> Failure {
    Failure::new(Exit::Usage, text)
}

/// A value of the same kind as another.
fn like(kind: &Value, amount: Rational) -> Value {
    match kind {
        Value::Bytes(_) => Value::Bytes(amount),
        Value::Rate(_) => Value::Rate(amount),
        Value::Time(_) => Value::Time(amount),
        _ => Value::Number(amount),
    }
}

impl Range {
    /// Reads `--from`, `--to` and `--step`.
    pub fn read(args: &SearchArgs) -> Result<Self, Failure> {
        let read = |option: &str, text: &str| {
            let value =
                parse_quantity(text).map_err(|error| usage(format!("{option}: {error}")))?;
            match value.amount() {
                Some(_) => Ok(value),
                None => Err(usage(format!(
                    "{option} {text}: a search goes over numbers and quantities, such as 64KB"
                ))),
            }
        };
        let (from, to) = (read("--from", &args.from)?, read("--to", &args.to)?);
        let step = args.step.as_deref().map(|text| read("--step", text)).transpose()?;
        for (option, text, value) in [
            ("--to", &args.to, Some(&to)),
            ("--step", args.step.as_ref().unwrap_or(&args.to), step.as_ref()),
        ] {
            if let Some(value) = value
                && value.dimension_name() != from.dimension_name()
            {
                return Err(usage(format!(
                    "--from {} is a {}, {option} {text} a {}: write both with units, 0B and not 0",
                    args.from,
                    from.dimension_name(),
                    value.dimension_name()
                )));
            }
        }
        if from.amount() > to.amount() {
            return Err(usage(format!(
                "--from {} is above --to {}: give the smaller one first, also with --largest",
                args.from, args.to
            )));
        }
        Ok(Range { from, to, step })
    }

    /// The two ends as an axis.
    pub fn axis(&self, name: &str) -> String {
        match self.from == self.to {
            true => format!("{name}=[{}]", self.from),
            false => format!("{name}=[{}, {}]", self.from, self.to),
        }
    }
}

impl Setting {
    /// The setting, as the sweep with its two ends as values has it.
    pub fn new(name: &str, range: Range, ends: &Plan) -> Result<Self, Failure> {
        let column = ends.columns.iter().find(|column| column.name == name).ok_or_else(|| {
            usage(format!(
                "--setting {name}: it is fixed by --set or by another axis: leave that out"
            ))
        })?;
        let whole = match &column.values {
            ColumnValues::Int(values) if values.iter().any(Option::is_some) => true,
            ColumnValues::Float(values) if values.iter().any(Option::is_some) => false,
            ColumnValues::Int(_) | ColumnValues::Float(_) => {
                return Err(usage(format!(
                    "--setting {name}: every scenario of {} drops this axis",
                    ends.name
                )));
            }
            _ => {
                return Err(usage(format!(
                    "--setting {name}: a search goes over numbers and quantities, and it is neither"
                )));
            }
        };
        let step = match range.step.as_ref().and_then(Value::amount) {
            Some(step) => step,
            None if whole => Rational::from_integer(1),
            None => {
                return Err(usage(format!(
                    "--setting {name} is a ratio, which has no smallest unit: add --step, such as \
                     --step 0.01"
                )));
            }
        };
        let (Some(from), Some(to)) = (range.from.amount(), range.to.amount()) else {
            return Err(Failure::new(Exit::Internal, "a range without amounts"));
        };
        let shown = like(&range.from, step);
        if whole && !step.is_integer() {
            return Err(usage(format!(
                "--step {shown}: {name} takes whole {} only",
                if column.unit.is_empty() { "numbers" } else { &column.unit }
            )));
        }
        let scale = Scale::new(from, to, step).map_err(|error| {
            let then = match error {
                ScaleError::Between => {
                    format!(" {} from {}: move one of them", range.to, range.from)
                }
                _ => String::new(),
            };
            usage(format!("--step {shown}: {error}{then}"))
        })?;
        Ok(Setting { name: name.to_owned(), unit: range.from, step, scale })
    }

    /// The highest place.
    pub fn last(&self) -> u64 {
        self.scale.last()
    }

    /// How many values the two ends are.
    pub fn ends(&self) -> usize {
        if self.last() == 0 { 1 } else { 2 }
    }

    /// The distance of neighbouring values.
    pub fn step(&self) -> Value {
        like(&self.unit, self.step)
    }

    /// The amount at a place.
    pub fn amount(&self, place: u64) -> Rational {
        // Every place up to the last is exact: the last was when the scale was made.
        self.scale.value(place).unwrap_or_default()
    }

    /// The value at a place.
    pub fn value(&self, place: u64) -> Value {
        like(&self.unit, self.amount(place))
    }

    /// These values as an axis.
    pub fn axis(&self, amounts: &BTreeSet<Rational>) -> String {
        let values: Vec<String> =
            amounts.iter().map(|&amount| like(&self.unit, amount).to_string()).collect();
        format!("{}=[{}]", self.name, values.join(", "))
    }

    /// Whether a point is one of a place: it has its value, or the setting has no meaning there.
    pub fn is_at(&self, column: &Column, point: usize, place: u64) -> bool {
        let amount = self.amount(place);
        match &column.values {
            ColumnValues::Int(all) => all
                .get(point)
                .copied()
                .flatten()
                .is_none_or(|value| Rational::from_integer(value.into()) == amount),
            ColumnValues::Float(all) => {
                all.get(point).copied().flatten().is_none_or(|value| value == float(&amount))
            }
            _ => false,
        }
    }

    /// The values that the plan frozen in a folder has, if it is of a search over the same sweep.
    pub fn planned(&self, folder: &Path, ends: &Plan) -> BTreeSet<Rational> {
        // A plan that cannot be used is replaced, as `run` does.
        let Ok(plan) = Plan::load_frozen(&folder.join(PLAN_FILE)) else {
            return BTreeSet::new();
        };
        let ours = ends.overrides.axis.split_last().map(|(_, others)| others);
        let theirs = plan.overrides.axis.split_last();
        let same = plan.files == ends.files
            && plan.overrides.set == ends.overrides.set
            && theirs.map(|(_, others)| others) == ours;
        let list = theirs.filter(|_| same).and_then(|(axis, _)| {
            axis.strip_prefix(&self.name)?.strip_prefix("=[")?.strip_suffix(']')
        });
        let read = |text: &str| parse_quantity(text).ok()?.amount();
        list.unwrap_or_default().split(", ").filter_map(read).collect()
    }
}
