//! A point or job named on the command line.

use super::super::exit::{Exit, Failure};
use super::super::text::count;
use super::points::Points;
use super::whole::Whole;
use crate::sizing::explain::JobFacts;
use crate::sweep::plan::JobId;
use crate::units::{BitRate, Bytes, Ps};
use std::path::Path;

/// Points named in a message.
const NAMED: usize = 5;

/// The repetitions of the one point that has all these values.
///
/// # Errors
/// A key that is none, no point, several.
pub fn find(all: &Points, wanted: &[String]) -> Result<Vec<usize>, Failure> {
    let usage = |text: String| Failure::new(Exit::Usage, text);
    let mut left: Vec<usize> = (0..all.points.len()).collect();
    for pair in wanted {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| usage(format!("--point {pair}: write it as KEY=VALUE")))?;
        match key {
            "scenario" => {
                left.retain(|&p| all.points[p].scenario.as_deref() == Some(value));
            }
            "repetition" => {
                left.retain(|&p| all.points[p].repetition.to_string() == value);
            }
            _ => {
                let place = all.axes.iter().position(|axis| axis.name == key);
                let place = place.ok_or_else(|| {
                    let names: Vec<&str> = all.axes.iter().map(|a| a.name.as_str()).collect();
                    usage(format!(
                        "the points have no column {key:?}: scenario, repetition, {}",
                        names.join(", ")
                    ))
                })?;
                let base = in_base(value, &all.units[place]);
                left.retain(|&p| {
                    let cell = &all.points[p].values[place];
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
        let (a, b) = (&all.points[p], &all.points[first]);
        a.scenario == b.scenario && a.values == b.values
    };
    if !left.iter().all(|&p| alike(p)) {
        let names: Vec<String> = left.iter().take(NAMED).map(|&p| all.name(p)).collect();
        return Err(usage(format!(
            "{} have {wanted}: give another --point; the first are\n  {}",
            count(left.len(), "point"),
            names.join("\n  ")
        )));
    }
    Ok(left)
}

/// The first of some repetitions that lost packets, else the first that ran.
///
/// # Errors
/// None of them ran.
pub fn worth_telling(told: &Whole, repetitions: &[usize], data: &Path) -> Result<JobId, Failure> {
    let jobs: Vec<&JobFacts> = repetitions
        .iter()
        .filter_map(|&point| told.points.points[point].job.map(|job| &told.jobs[job]))
        .collect();
    let lossy = jobs.iter().find(|job| job.drops.is_some_and(|n| n > 0));
    lossy.or(jobs.first()).map(|job| job.id).ok_or_else(|| {
        Failure::new(
            Exit::Usage,
            format!(
                "{} has no job of this point: it is excluded, or did not run yet (poolsweep \
                 status says so)",
                data.display()
            ),
        )
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::text::quantity;
    use crate::sizing::explain::{Axis, AxisValue, PointFacts};

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
            excluded: vec![None; 3],
        }
    }

    #[test]
    fn a_point_is_found_in_any_spelling() {
        let points = points();
        let found = |pairs: &[&str]| {
            find(&points, &pairs.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(found(&["HeadRoomPerPortLimit=16KB"]).unwrap(), [0, 1]);
        assert_eq!(found(&["HeadRoomPerPortLimit=16000B"]).unwrap(), [0, 1]);
        assert_eq!(found(&["HeadRoomPerPortLimit=16000"]).unwrap(), [0, 1]);
        assert_eq!(found(&["HeadRoomPerPortLimit=16KB", "repetition=1"]).unwrap(), [1]);
        assert_eq!(points.name(1), "HeadRoomPerPortLimit=16KB, repetition 1");
        let refused = |pairs: &[&str]| found(pairs).unwrap_err().text;
        assert!(refused(&["repetition=0"]).starts_with("2 points have repetition=0"));
        assert!(refused(&["HeadRoom=1"]).contains("no column \"HeadRoom\""));
        assert!(refused(&["HeadRoomPerPortLimit=1KB"]).starts_with("no point has"));
        assert!(refused(&["x"]).contains("KEY=VALUE"));
    }
}
