//! Expressions over what jobs came to: columns of `jobs`, axes and derived values.
//!
//! Owns which names such an expression may use and what they stand for at a point. Refuses to know
//! what the expression is for.

use super::exit::{Exit, Failure};
use super::results::{parse_id, texts};
use crate::record::{Column as JobColumn, Dataset, Kind, StoredTable};
use crate::sweep::expr::{self, Expr, ExprError, Value};
use crate::sweep::plan::{Column, ColumnValues, JobId, Plan};
use crate::sweep::{decimal, nearest};
use crate::units::Rational;
use arrow::array::{Array, BooleanArray, Float64Array, Int64Array, RecordBatch};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// An expression, its names known.
#[derive(Debug)]
pub struct Figure {
    expr: Expr,
    /// The names in it that are columns of `jobs`.
    job_columns: Vec<&'static JobColumn>,
}

/// What an expression comes to at a point.
#[derive(Debug, Clone, PartialEq)]
pub enum Computed {
    /// A value.
    Value(Value),
    /// A name in it has no value there.
    Missing(String),
}

/// The row of a job, as far as expressions look at it.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// `ok`, `infeasible`, `failed`, `budget`, `quarantined`.
    pub status: String,
    /// Why it is not `ok`.
    pub reason: Option<String>,
    /// Its values by column; a column without one is not there.
    pub values: BTreeMap<&'static str, Value>,
}

impl Figure {
    /// Reads an expression given on the command line as `option`.
    ///
    /// # Errors
    /// Text that is no expression; a name that is neither a column of `jobs` nor varied or derived
    /// in the plan; values that do not go together.
    pub fn read(option: &str, text: &str, plan: &Plan) -> Result<Self, Failure> {
        let usage = |error: String| Failure::new(Exit::Usage, format!("{option}: {error}"));
        let expr = expr::parse(text).map_err(|error| usage(error.to_string()))?;
        let columns = StoredTable::Jobs.columns();
        let words = expr.words();
        for name in expr.names() {
            let known = columns.iter().any(|column| column.name == name)
                || plan.columns.iter().any(|column| column.name == name);
            if known || words.contains(&name) {
                continue;
            }
            let all = columns.iter().map(|c| c.name);
            let all = all.chain(plan.columns.iter().map(|c| c.name.as_str()));
            let help = match nearest(name, all) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    "the README lists the columns of jobs, poolsweep plan shows the axes".to_owned()
                }
            };
            return Err(usage(format!(
                "`{name}` is neither a column of jobs nor an axis or derived value of {}\n  help: \
                 {help}",
                plan.name
            )));
        }
        let names = expr.names();
        let named = |column: &&JobColumn| names.contains(&column.name);
        let job_columns = columns.iter().filter(named).collect();
        let figure = Figure { expr, job_columns };
        figure.try_out(plan).map_err(|error| usage(error.to_string()))?;
        Ok(figure)
    }

    /// The text it was read from.
    pub fn source(&self) -> &str {
        self.expr.source()
    }

    /// What it comes to at a point whose job has this row. Columns of `jobs` come before axes.
    ///
    /// # Errors
    /// Values that do not go together, a division by zero, a result too large to be exact.
    pub fn at(&self, plan: &Plan, point: usize, row: &Row) -> Result<Computed, ExprError> {
        let missing = RefCell::new(None);
        let value = self.expr.eval(&|name| {
            let value = match self.job_columns.iter().find(|column| column.name == name) {
                Some(column) => row.values.get(column.name).cloned(),
                None => axis_value(plan.columns.iter().find(|c| c.name == name)?, point),
            };
            if value.is_none() {
                missing.borrow_mut().get_or_insert_with(|| name.to_owned());
            }
            value
        });
        match missing.into_inner() {
            // The error, if there is one, comes of that.
            Some(name) => Ok(Computed::Missing(name)),
            None => value.map(Computed::Value),
        }
    }

    /// The values its names have at a point, for people: `drops = 4, topology.delay = 500ns`.
    pub fn names_at(&self, plan: &Plan, point: usize, row: &Row) -> String {
        let words = self.expr.words();
        let named = |name: &str| -> Option<Value> {
            match self.job_columns.iter().find(|column| column.name == name) {
                Some(column) => row.values.get(column.name).cloned(),
                None => axis_value(plan.columns.iter().find(|c| c.name == name)?, point),
            }
        };
        let show = |name: &str| match named(name) {
            Some(value) => Some(format!("{name} = {value}")),
            None if words.contains(&name) => None,
            None => Some(format!("{name} has no value")),
        };
        self.expr.names().into_iter().filter_map(show).collect::<Vec<_>>().join(", ")
    }

    /// Finds what cannot be computed at any point, before anything runs.
    fn try_out(&self, plan: &Plan) -> Result<Value, ExprError> {
        let try_with = |amount: i128| {
            self.expr.eval(&|name| {
                if let Some(column) = self.job_columns.iter().find(|c| c.name == name) {
                    return Some(example(column, amount));
                }
                let column = plan.columns.iter().find(|c| c.name == name)?;
                (0..plan.points.len()).find_map(|point| axis_value(column, point))
            })
        };
        // One of them may divide by zero where real values would not.
        try_with(1).or_else(|_| try_with(7))
    }

    /// Refuses one that does not say yes or no.
    ///
    /// # Errors
    /// What it is instead.
    pub fn must_be_condition(&self, option: &str, plan: &Plan) -> Result<(), Failure> {
        self.must_be(option, plan, |value| matches!(value, Value::Bool(_)), "`drops == 0`")
    }

    /// Refuses one that is no number and no quantity.
    ///
    /// # Errors
    /// What it is instead.
    pub fn must_be_amount(&self, option: &str, plan: &Plan) -> Result<(), Failure> {
        self.must_be(option, plan, |value| value.amount().is_some(), "`pause_time_fraction`")
    }

    fn must_be(
        &self,
        option: &str,
        plan: &Plan,
        right: impl Fn(&Value) -> bool,
        such_as: &str,
    ) -> Result<(), Failure> {
        match self.try_out(plan) {
            Ok(value) if !right(&value) => Err(Failure::new(
                Exit::Usage,
                format!(
                    "{option}: `{}` is a {}: write an expression such as {such_as}",
                    self.source(),
                    value.dimension_name()
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// The rows of these jobs that a dataset has, with what these figures look at.
///
/// # Errors
/// A damaged file.
pub fn rows(
    dataset: &Dataset,
    wanted: &BTreeSet<JobId>,
    figures: &[&Figure],
) -> Result<BTreeMap<JobId, Row>, Failure> {
    let mut columns: Vec<&'static JobColumn> = Vec::new();
    for column in figures.iter().flat_map(|figure| &figure.job_columns) {
        if !columns.iter().any(|known| known.name == column.name) {
            columns.push(column);
        }
    }
    let mut rows = BTreeMap::new();
    for batch in dataset.read_table(StoredTable::Jobs)? {
        let batch = batch?;
        let (ids, statuses) = (texts(&batch, "job_id"), texts(&batch, "status"));
        let reasons = texts(&batch, "reason");
        for index in 0..batch.num_rows() {
            let id = ids(index).and_then(|id| parse_id(&id)).filter(|id| wanted.contains(id));
            let Some(id) = id else { continue };
            let value = |column: &&'static JobColumn| {
                Some((column.name, job_value(&batch, column, index)?))
            };
            let row = Row {
                status: statuses(index).unwrap_or_default(),
                reason: reasons(index),
                values: columns.iter().filter_map(value).collect(),
            };
            rows.insert(id, row);
        }
    }
    Ok(rows)
}

fn with_unit(amount: Rational, unit: &str) -> Value {
    match unit {
        "B" => Value::Bytes(amount),
        "ps" => Value::Time(amount),
        "us" => amount_in_ps(amount),
        "bit/s" => Value::Rate(amount),
        _ => Value::Number(amount),
    }
}

fn amount_in_ps(microseconds: Rational) -> Value {
    Value::Time(microseconds * Rational::from_integer(1_000_000))
}

/// A measured number as the shortest decimal that reads back as it: 0.1 is one tenth.
fn of_float(value: f64) -> Option<Rational> {
    decimal(&value.to_string())
}

fn job_value(batch: &RecordBatch, column: &JobColumn, index: usize) -> Option<Value> {
    let array = batch.column_by_name(column.name)?;
    if array.is_null(index) {
        return None;
    }
    let any = array.as_any();
    match column.kind {
        Kind::Int64 | Kind::Walk64 => {
            let value = any.downcast_ref::<Int64Array>()?.value(index);
            Some(with_unit(Rational::from_integer(value.into()), column.unit))
        }
        Kind::Float64 => {
            let value = any.downcast_ref::<Float64Array>()?.value(index);
            Some(with_unit(of_float(value)?, column.unit))
        }
        Kind::Bool => Some(Value::Bool(any.downcast_ref::<BooleanArray>()?.value(index))),
        _ => texts(batch, column.name)(index).map(Value::Text),
    }
}

/// The value of an axis or derived value at a point; `None` where the axis was dropped.
pub fn axis_value(column: &Column, point: usize) -> Option<Value> {
    let unit = column.unit.as_str();
    let whole = |value: i64| with_unit(Rational::from_integer(value.into()), unit);
    let list = |items: Option<Vec<Value>>| items.map(Value::List);
    match &column.values {
        ColumnValues::Int(all) => (*all.get(point)?).map(whole),
        ColumnValues::Float(all) => {
            all.get(point)?.and_then(of_float).map(|value| with_unit(value, unit))
        }
        ColumnValues::Bool(all) => (*all.get(point)?).map(Value::Bool),
        ColumnValues::Text(all) => all.get(point)?.clone().map(Value::Text),
        ColumnValues::IntList(all) => {
            list(all.get(point)?.as_ref().map(|items| items.iter().map(|&v| whole(v)).collect()))
        }
        ColumnValues::FloatList(all) => {
            let items = all.get(point)?.as_ref()?.iter();
            list(items.map(|&v| of_float(v).map(|v| with_unit(v, unit))).collect())
        }
    }
}

fn example(column: &JobColumn, amount: i128) -> Value {
    match column.kind {
        Kind::Int64 | Kind::Walk64 | Kind::Int32 | Kind::Float64 => {
            with_unit(Rational::from_integer(amount), column.unit)
        }
        Kind::Bool => Value::Bool(amount == 1),
        _ => Value::Text(String::new()),
    }
}
