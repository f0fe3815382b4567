//! The points of a dataset as findings need them.

use super::super::exit::{Exit, Failure};
use super::super::results::{integer, number, parse_id, texts};
use super::super::text::{count, quantity};
use crate::record::{Dataset, StoredTable};
use crate::sizing::explain::{Axis, AxisValue, PointFacts};
use crate::sweep::plan::JobId;
use crate::units::{BitRate, Bytes, Ps};
use std::collections::BTreeSet;

/// Points named in a message.
const NAMED: usize = 5;

/// All points.
pub struct Points {
    /// The columns.
    pub axes: Vec<Axis>,
    /// Unit of each.
    units: Vec<String>,
    /// The points; their `job` is not set before the jobs are read.
    pub points: Vec<PointFacts>,
    /// Job of each; `None`: excluded.
    pub ids: Vec<Option<JobId>>,
}

impl Points {
    /// Reads them; none where there is no table of points.
    pub fn read(dataset: &Dataset) -> Result<Points, Failure> {
        let varied = varied(dataset);
        let fixed = StoredTable::Points.columns().len();
        let mut all =
            Points { axes: Vec::new(), units: Vec::new(), points: Vec::new(), ids: Vec::new() };
        for batch in dataset.read_table(StoredTable::Points)? {
            let batch = batch?;
            let schema = batch.schema();
            if all.axes.is_empty() {
                for field in &schema.fields()[fixed..] {
                    let name = field.name().clone();
                    let varied = varied.as_ref().is_none_or(|names| names.contains(&name));
                    all.axes.push(Axis { name, varied });
                    all.units.push(field.metadata().get("unit").cloned().unwrap_or_default());
                }
            }
            let (ids, scenarios) = (texts(&batch, "job_id"), texts(&batch, "scenario"));
            let shown: Vec<_> = all.axes.iter().map(|axis| texts(&batch, &axis.name)).collect();
            for row in 0..batch.num_rows() {
                let value = |place: usize| {
                    let name = &all.axes[place].name;
                    let whole = integer(&batch, name, row);
                    let text = match whole {
                        Some(whole) => Some(quantity(whole, &all.units[place])),
                        None => shown[place](row),
                    };
                    AxisValue {
                        number: whole.map(|n| n as f64).or_else(|| number(&batch, name, row)),
                        text: text.unwrap_or_else(|| "-".into()),
                    }
                };
                let values = (0..all.axes.len()).map(value).collect();
                all.points.push(PointFacts {
                    scenario: scenarios(row),
                    repetition: integer(&batch, "repetition", row).unwrap_or(0) as u64,
                    job: None,
                    values,
                });
                all.ids.push(ids(row).and_then(|id| parse_id(&id)));
            }
        }
        Ok(all)
    }

    /// A line that names a point by what varies.
    pub fn name(&self, point: usize) -> String {
        let facts = &self.points[point];
        let mut parts: Vec<String> = facts.scenario.iter().cloned().collect();
        for (place, axis) in self.axes.iter().enumerate() {
            let value = &facts.values[place].text;
            if self.points.iter().any(|other| other.values[place].text != *value) {
                parts.push(format!("{}={value}", axis.name));
            }
        }
        if self.points.iter().any(|other| other.repetition > 0) {
            parts.push(format!("repetition {}", facts.repetition));
        }
        if parts.is_empty() { "the only point".into() } else { parts.join(", ") }
    }

    /// The point of a job, the first if several have it.
    pub fn of(&self, id: JobId) -> Option<usize> {
        self.ids.iter().position(|other| *other == Some(id))
    }

    /// The repetitions of the one point that has all these values.
    ///
    /// # Errors
    /// A key that is none, no point, several.
    pub fn find(&self, wanted: &[String]) -> Result<Vec<usize>, Failure> {
        let usage = |text: String| Failure::new(Exit::Usage, text);
        let mut left: Vec<usize> = (0..self.points.len()).collect();
        for pair in wanted {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| usage(format!("--point {pair}: write it as KEY=VALUE")))?;
            match key {
                "scenario" => {
                    left.retain(|&p| self.points[p].scenario.as_deref() == Some(value));
                }
                "repetition" => {
                    left.retain(|&p| self.points[p].repetition.to_string() == value);
                }
                _ => {
                    let place = self.axes.iter().position(|axis| axis.name == key);
                    let place = place.ok_or_else(|| {
                        let names: Vec<&str> = self.axes.iter().map(|a| a.name.as_str()).collect();
                        usage(format!(
                            "the points have no column {key:?}: scenario, repetition, {}",
                            names.join(", ")
                        ))
                    })?;
                    let base = in_base(value, &self.units[place]);
                    left.retain(|&p| {
                        let cell = &self.points[p].values[place];
                        cell.text == value || base.is_some() && cell.number == base
                    });
                }
            }
        }
        let wanted = wanted.join(", ");
        let Some(&first) = left.first() else {
            return Err(usage(format!(
                "no point has {wanted}: poolsweep plan --list shows them, or points.parquet"
            )));
        };
        let alike = |p: usize| {
            let (a, b) = (&self.points[p], &self.points[first]);
            a.scenario == b.scenario && a.values == b.values
        };
        if !left.iter().all(|&p| alike(p)) {
            let names: Vec<String> = left.iter().take(NAMED).map(|&p| self.name(p)).collect();
            return Err(usage(format!(
                "{} have {wanted}: give another --point; the first are\n  {}",
                count(left.len(), "point"),
                names.join("\n  ")
            )));
        }
        Ok(left)
    }
}

/// A value as written, in the base unit of its column.
fn in_base(text: &str, unit: &str) -> Option<f64> {
    let whole = match unit {
        "B" => text.parse::<Bytes>().ok().map(|v| v.0),
        "ps" => text.parse::<Ps>().ok().map(|v| v.0),
        "bit/s" => text.parse::<BitRate>().ok().map(|v| v.0),
        _ => None,
    };
    whole.map(|v| v as f64).or_else(|| text.parse().ok())
}

/// The columns that are axes, by the plan beside the dataset; `None`: there is none that says so.
fn varied(dataset: &Dataset) -> Option<BTreeSet<String>> {
    let bytes = std::fs::read(dataset.path().join("plan.json")).ok()?;
    let plan: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let members = plan["axes"].as_array()?.iter().flat_map(|axis| axis["members"].as_array());
    Some(members.flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Points {
        let point = |job, bytes: u64, repetition| PointFacts {
            scenario: None,
            repetition,
            job,
            values: vec![AxisValue {
                number: Some(bytes as f64),
                text: quantity(bytes as i64, "B"),
            }],
        };
        Points {
            axes: vec![Axis { name: "HeadRoomPerPortLimit".into(), varied: true }],
            units: vec!["B".into()],
            points: vec![point(None, 16_000, 0), point(None, 16_000, 1), point(None, 32_000, 0)],
            ids: vec![Some(JobId(1)), Some(JobId(2)), Some(JobId(3))],
        }
    }

    #[test]
    fn a_point_is_found_in_any_spelling() {
        let points = points();
        let find = |pairs: &[&str]| {
            points.find(&pairs.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(find(&["HeadRoomPerPortLimit=16KB"]).unwrap(), [0, 1]);
        assert_eq!(find(&["HeadRoomPerPortLimit=16000B"]).unwrap(), [0, 1]);
        assert_eq!(find(&["HeadRoomPerPortLimit=16000"]).unwrap(), [0, 1]);
        assert_eq!(find(&["HeadRoomPerPortLimit=16KB", "repetition=1"]).unwrap(), [1]);
        assert_eq!(points.name(1), "HeadRoomPerPortLimit=16KB, repetition 1");
        let refused = |pairs: &[&str]| find(pairs).unwrap_err().text;
        assert!(refused(&["repetition=0"]).starts_with("2 points have repetition=0"));
        assert!(refused(&["HeadRoom=1"]).contains("no column \"HeadRoom\""));
        assert!(refused(&["HeadRoomPerPortLimit=1KB"]).starts_with("no point has"));
        assert!(refused(&["x"]).contains("KEY=VALUE"));
    }
}
