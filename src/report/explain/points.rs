//! The points of a dataset as findings need them.

use crate::record::{Dataset, RecordError, StoredTable};
use crate::report::cells::{integer, number, parse_id, texts};
use crate::report::text::quantity;
use crate::sizing::explain::{Axis, AxisValue, PointFacts};
use crate::sweep::plan::JobId;
use std::collections::BTreeSet;

/// All points.
#[derive(Default)]
pub struct Points {
    /// The columns.
    pub axes: Vec<Axis>,
    /// Unit of each.
    pub units: Vec<String>,
    /// The points; their `job` is not set before the jobs are read.
    pub points: Vec<PointFacts>,
    /// Job of each; `None`: excluded.
    pub ids: Vec<Option<JobId>>,
    /// The constraint that excluded each.
    pub excluded: Vec<Option<String>>,
}

impl Points {
    /// Reads them; none where there is no table of points.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read(dataset: &Dataset) -> Result<Points, RecordError> {
        let varied = varied(dataset);
        let fixed = StoredTable::Points.columns().len();
        let mut all = Points::default();
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
            let excluded = texts(&batch, "excluded_by");
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
                all.excluded.push(excluded(row));
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
}

/// The columns that are axes, by the plan beside the dataset; `None`: there is none that says so.
fn varied(dataset: &Dataset) -> Option<BTreeSet<String>> {
    let bytes = std::fs::read(dataset.path().join("plan.json")).ok()?;
    let plan: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let members = plan["axes"].as_array()?.iter().flat_map(|axis| axis["members"].as_array());
    Some(members.flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect())
}
