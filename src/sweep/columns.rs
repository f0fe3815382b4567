//! The columns of `points`: one for each axis member, its labels, and each derived value.
//!
//! Owns their types. Refuses to write them anywhere.

use super::axis::{Member, Sort};
use super::expr::Value;
use super::grid::{Block, Grid};
use super::plan::{Column, ColumnValues};
use super::value::float;
use crate::scenario::attributes::Kind;
use crate::units::Rational;

/// Columns under construction.
pub(crate) struct Columns {
    list: Vec<Growing>,
    repeats: usize,
}

struct Growing {
    name: String,
    unit: String,
    from: From,
    values: ColumnValues,
}

#[derive(Clone, Copy)]
enum From {
    Value { axis: usize, member: usize },
    Label { axis: usize, member: usize },
    Derived(usize),
}

/// How a column holds its values.
#[derive(Clone, Copy)]
enum Shape {
    Int,
    Float,
    Bool,
    Text,
    IntList,
    FloatList,
}

impl Columns {
    /// The columns a grid has, without values.
    pub fn new(grid: &Grid) -> Columns {
        let mut list = Vec::new();
        for (axis, a) in grid.axes.iter().enumerate() {
            for (member, m) in a.members.iter().enumerate().filter(|(_, m)| !m.hidden) {
                let (shape, unit) = of_member(m);
                list.push(Growing {
                    name: m.written.clone(),
                    unit: unit.to_owned(),
                    from: From::Value { axis, member },
                    values: shape.empty(),
                });
                if m.labels.is_some() && !matches!(m.sort, Sort::Inner(_)) {
                    list.push(Growing {
                        name: format!("{}.label", m.written),
                        unit: String::new(),
                        from: From::Label { axis, member },
                        values: Shape::Text.empty(),
                    });
                }
            }
        }
        for (i, d) in grid.derived.iter().enumerate() {
            let (shape, unit) = match d.sort {
                Sort::Leaf(kind) => of_kind(kind),
                // A free value's kind shows only when it is computed; the first one decides.
                _ => (Shape::Float, ""),
            };
            list.push(Growing {
                name: d.rule.key.clone(),
                unit: unit.to_owned(),
                from: From::Derived(i),
                values: shape.empty(),
            });
        }
        Columns { list, repeats: grid.repeats.len() }
    }

    /// Adds the rows of one point.
    pub fn push(&mut self, grid: &Grid, block: &Block, digits: &[usize], derived: &[Value]) {
        for column in &mut self.list {
            let label;
            let value = match column.from {
                From::Value { axis, member } if block.active.contains(&axis) => {
                    grid.axes[axis].members[member].values.get(digits[axis])
                }
                From::Label { axis, member } if block.active.contains(&axis) => {
                    let labels = grid.axes[axis].members[member].labels.as_ref();
                    label = labels.and_then(|l| l.get(digits[axis])).cloned().map(Value::Text);
                    label.as_ref()
                }
                From::Derived(i) => {
                    let value = derived.get(i);
                    if let (Some(value), Sort::Free) = (value, grid.derived[i].sort)
                        && len(&column.values) == 0
                    {
                        let (shape, unit) = of_value(value, false);
                        column.unit = unit.to_owned();
                        column.values = shape.empty();
                    }
                    value
                }
                From::Value { .. } | From::Label { .. } => None,
            };
            for _ in 0..self.repeats {
                put(&mut column.values, value);
            }
        }
    }

    /// The finished columns.
    pub fn finish(self) -> Vec<Column> {
        let done = |g: Growing| {
            let values = if g.unit.is_empty() { g.values } else { whole(g.values) };
            Column { name: g.name, unit: g.unit, values }
        };
        self.list.into_iter().map(done).collect()
    }
}

/// Computed quantities as integers, if all of them are whole base units.
fn whole(values: ColumnValues) -> ColumnValues {
    // Up to here every whole number has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match values {
        ColumnValues::Float(floats)
            if floats.iter().flatten().all(|v| v.fract() == 0.0 && v.abs() < EXACT) =>
        {
            ColumnValues::Int(floats.into_iter().map(|v| v.map(|v| v as i64)).collect())
        }
        other => other,
    }
}

fn of_member(m: &Member) -> (Shape, &'static str) {
    match m.sort {
        Sort::Leaf(kind) => of_kind(kind),
        Sort::Inner(_) => (Shape::Text, ""),
        Sort::Free => {
            let whole = m.values.iter().all(is_whole);
            m.values.first().map_or((Shape::Float, ""), |v| of_value(v, whole))
        }
    }
}

fn of_kind(kind: Kind) -> (Shape, &'static str) {
    match kind {
        Kind::Bytes => (Shape::Int, "B"),
        Kind::Rate => (Shape::Int, "bit/s"),
        Kind::Time => (Shape::Int, "ps"),
        Kind::Count | Kind::Int => (Shape::Int, ""),
        Kind::Number => (Shape::Float, ""),
        Kind::Bool => (Shape::Bool, ""),
        Kind::Enum(_) | Kind::Text => (Shape::Text, ""),
        Kind::Eight(inner) | Kind::List(inner) => match of_kind(*inner) {
            (Shape::Int, unit) => (Shape::IntList, unit),
            (Shape::Float, unit) => (Shape::FloatList, unit),
            (_, unit) => (Shape::Text, unit),
        },
    }
}

/// The shape of a free value. Bare numbers are whole only if all of them are known to be.
fn of_value(value: &Value, whole: bool) -> (Shape, &'static str) {
    let number = if whole { Shape::Int } else { Shape::Float };
    match value {
        Value::Number(_) => (number, ""),
        Value::Bytes(_) => (number, "B"),
        Value::Rate(_) => (number, "bit/s"),
        Value::Time(_) => (number, "ps"),
        Value::Bool(_) => (Shape::Bool, ""),
        Value::Text(_) => (Shape::Text, ""),
        Value::List(items) => match items.iter().all(|v| matches!(v, Value::Number(_))) {
            true => (Shape::FloatList, ""),
            false => (Shape::Text, ""),
        },
    }
}

fn is_whole(value: &Value) -> bool {
    number(value).is_some_and(|r| r.is_integer() && i64::try_from(r.to_integer()).is_ok())
}

fn number(value: &Value) -> Option<&Rational> {
    match value {
        Value::Number(r) | Value::Bytes(r) | Value::Rate(r) | Value::Time(r) => Some(r),
        _ => None,
    }
}

impl Shape {
    fn empty(self) -> ColumnValues {
        match self {
            Shape::Int => ColumnValues::Int(Vec::new()),
            Shape::Float => ColumnValues::Float(Vec::new()),
            Shape::Bool => ColumnValues::Bool(Vec::new()),
            Shape::Text => ColumnValues::Text(Vec::new()),
            Shape::IntList => ColumnValues::IntList(Vec::new()),
            Shape::FloatList => ColumnValues::FloatList(Vec::new()),
        }
    }
}

fn len(values: &ColumnValues) -> usize {
    match values {
        ColumnValues::Int(v) => v.len(),
        ColumnValues::Float(v) => v.len(),
        ColumnValues::Bool(v) => v.len(),
        ColumnValues::Text(v) => v.len(),
        ColumnValues::IntList(v) => v.len(),
        ColumnValues::FloatList(v) => v.len(),
    }
}

fn put(values: &mut ColumnValues, value: Option<&Value>) {
    let int = |v: &Value| number(v).and_then(|r| i64::try_from(r.to_integer()).ok());
    let real = |v: &Value| number(v).map(float);
    let list = |v: &Value| match v {
        Value::List(items) => Some(items.clone()),
        _ => None,
    };
    match values {
        ColumnValues::Int(v) => v.push(value.and_then(int)),
        ColumnValues::Float(v) => v.push(value.and_then(real)),
        ColumnValues::Bool(v) => v.push(match value {
            Some(Value::Bool(b)) => Some(*b),
            _ => None,
        }),
        ColumnValues::Text(v) => v.push(value.map(|value| match value {
            Value::Text(text) => text.clone(),
            other => other.to_string(),
        })),
        ColumnValues::IntList(v) => {
            v.push(value.and_then(list).map(|items| items.iter().filter_map(int).collect()));
        }
        ColumnValues::FloatList(v) => {
            v.push(value.and_then(list).map(|items| items.iter().filter_map(real).collect()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_quantities_are_integers() {
        let floats = ColumnValues::Float(vec![Some(20_500.0), None]);
        assert_eq!(whole(floats), ColumnValues::Int(vec![Some(20_500), None]));
        let floats = ColumnValues::Float(vec![Some(20_500.0), Some(0.5)]);
        assert_eq!(whole(floats.clone()), floats);
    }
}
