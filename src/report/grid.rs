//! The points: axes with their values, and which job each point is.

use super::jobs::JobColumns;
use crate::report::explain::points::Points;
use indexmap::IndexSet;
use serde::{Serialize, Serializer};

/// One axis, label or derived value over all points: every value once, and a place in them a point.
#[derive(Debug, Serialize, PartialEq)]
pub struct AxisColumn {
    name: String,
    unit: String,
    /// `scenario`, `axis`, `derived` or `repetition`.
    kind: &'static str,
    /// The values as a sweep file has them; numbers in rising order, else as they come.
    values: Vec<String>,
    /// The same in base units, where they are numbers.
    numbers: Vec<Option<f64>>,
    codes: Vec<usize>,
}

/// What else there is to know of the points.
#[derive(Debug, Serialize)]
pub struct PointColumns {
    count: usize,
    /// Place of its job; none: excluded or outstanding.
    job: Vec<Option<usize>>,
    /// Place of the constraint that excluded it.
    excluded: Vec<Option<usize>>,
    #[serde(serialize_with = "in_order")]
    constraints: IndexSet<String>,
}

/// Words as a list.
pub fn in_order<S: Serializer>(words: &IndexSet<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(words)
}

/// The axes of some points.
pub fn axes(points: &Points) -> Vec<AxisColumn> {
    let mut all = Vec::new();
    if points.points.iter().any(|point| point.scenario.is_some()) {
        let label = |p: usize| (points.points[p].scenario.clone().unwrap_or("-".into()), None);
        all.push(AxisColumn::of("scenario", "", "scenario", points.points.len(), label));
    }
    for (place, axis) in points.axes.iter().enumerate() {
        let value = |p: usize| {
            let value = &points.points[p].values[place];
            (value.text.clone(), value.number)
        };
        let kind = if axis.varied { "axis" } else { "derived" };
        let unit = points.units[place].as_str();
        all.push(AxisColumn::of(&axis.name, unit, kind, points.points.len(), value));
    }
    if points.points.iter().any(|point| point.repetition > 0) {
        let number = |p: usize| {
            let repetition = points.points[p].repetition;
            (repetition.to_string(), Some(repetition as f64))
        };
        all.push(AxisColumn::of("repetition", "1", "repetition", points.points.len(), number));
    }
    all
}

impl AxisColumn {
    fn of(
        name: &str,
        unit: &str,
        kind: &'static str,
        points: usize,
        value: impl Fn(usize) -> (String, Option<f64>),
    ) -> Self {
        let mut values: IndexSet<String> = IndexSet::new();
        let mut numbers: Vec<Option<f64>> = Vec::new();
        let mut codes = Vec::with_capacity(points);
        for point in 0..points {
            let (text, number) = value(point);
            let (code, new) = values.insert_full(text);
            if new {
                numbers.push(number);
            }
            codes.push(code);
        }
        let mut order: Vec<usize> = (0..values.len()).collect();
        // One that was dropped somewhere has `-` there, which goes last.
        if numbers.iter().any(Option::is_some) {
            order.sort_by(|&a, &b| {
                let key = |n: Option<f64>| n.unwrap_or(f64::INFINITY);
                key(numbers[a]).total_cmp(&key(numbers[b]))
            });
        }
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &code)| places[code] = place);
        AxisColumn {
            name: name.to_owned(),
            unit: unit.to_owned(),
            kind,
            values: order.iter().map(|&code| values[code].clone()).collect(),
            numbers: order.iter().map(|&code| numbers[code]).collect(),
            codes: codes.into_iter().map(|code| places[code]).collect(),
        }
    }
}

/// The points of a dataset and their jobs.
pub fn points(points: &Points, jobs: &JobColumns) -> PointColumns {
    let mut constraints = IndexSet::new();
    let excluded = points
        .excluded
        .iter()
        .map(|constraint| constraint.as_ref().map(|text| constraints.insert_full(text.clone()).0));
    PointColumns {
        excluded: excluded.collect(),
        count: points.points.len(),
        job: points.ids.iter().map(|id| jobs.place((*id)?)).collect(),
        constraints,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_order_and_named_once() {
        let cells = [("32KB", Some(32e3)), ("-", None), ("4KB", Some(4e3)), ("32KB", Some(32e3))];
        let cell = |p: usize| (cells[p].0.to_owned(), cells[p].1);
        let axis = AxisColumn::of("x", "B", "axis", 4, cell);
        assert_eq!(axis.values, ["4KB", "32KB", "-"]);
        assert_eq!(axis.numbers, [Some(4e3), Some(32e3), None]);
        assert_eq!(axis.codes, [1, 2, 0, 1]);
        let words = AxisColumn::of("x", "", "scenario", 2, |p| (["b", "a"][p].to_owned(), None));
        assert_eq!(words.values, ["b", "a"]);
    }
}
