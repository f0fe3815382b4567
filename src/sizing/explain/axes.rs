//! Where along the axes of a sweep something holds, and where a verdict flips.
//!
//! Owns the comparison of neighbouring points. Refuses to know what the axes mean.

use super::FLIP_SHARE;
use super::facts::JobFacts;
use std::collections::{BTreeMap, BTreeSet};

/// Value of a column at a point.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AxisValue {
    /// The number in base units; `None` for words, lists and where the axis was dropped.
    pub number: Option<f64>,
    /// As people write it; tells values apart.
    pub text: String,
}

/// A column of the points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Whether it is an axis of the sweep, not computed from others.
    pub varied: bool,
}

/// A point, as much of it as findings need.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PointFacts {
    /// The entry of `scenarios`.
    pub scenario: Option<String>,
    /// Repetition, from 0.
    pub repetition: u64,
    /// Place of its job; `None`: excluded, or not in the dataset.
    pub job: Option<usize>,
    /// One value a column.
    pub values: Vec<AxisValue>,
}

/// A stretch of an axis over which a finding holds alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// First value.
    pub from: String,
    /// Last value.
    pub to: String,
    /// Points that have it.
    pub holds: u64,
    /// Points there.
    pub of: u64,
}

/// Where along one axis a finding holds: its values in order, cut where all, some and none of the
/// points have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisRuns {
    /// Place of the column.
    pub axis: usize,
    /// At least one; several mean it starts or stops between them.
    pub runs: Vec<Run>,
}

/// Two neighbouring points of which one loses packets and the other does not, though their
/// settings are nearly the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Flip {
    /// The column that differs (the first of them).
    pub axis: usize,
    /// Point of the lower value.
    pub low: usize,
    /// Point of the higher.
    pub high: usize,
    /// `(high − low) ÷ high` of the settings, the largest of them: at most [`FLIP_SHARE`].
    pub relative: f64,
}

/// Where along each varying column `holds` is so; columns with one value are left out.
pub fn axis_runs(
    axes: &[Axis],
    points: &[PointFacts],
    holds: impl Fn(usize) -> bool,
) -> Vec<AxisRuns> {
    let mut found = Vec::new();
    for axis in (0..axes.len()).filter(|&axis| axes[axis].varied) {
        let mut values: BTreeMap<&str, (Option<f64>, u64, u64)> = BTreeMap::new();
        for (index, point) in points.iter().enumerate().filter(|(_, p)| p.job.is_some()) {
            let value = &point.values[axis];
            let entry = values.entry(&value.text).or_insert((value.number, 0, 0));
            entry.1 += u64::from(holds(index));
            entry.2 += 1;
        }
        if values.len() < 2 {
            continue;
        }
        let mut ordered: Vec<_> = values.into_iter().collect();
        ordered.sort_by(|(_, a), (_, b)| {
            let number = |n: Option<f64>| n.unwrap_or(f64::INFINITY);
            number(a.0).total_cmp(&number(b.0))
        });
        let mut runs: Vec<Run> = Vec::new();
        // 0: none, 1: some, 2: all.
        let kind = |holds: u64, of: u64| u8::from(holds > 0) + u8::from(holds == of);
        for (text, (_, count, of)) in ordered {
            match runs.last_mut() {
                Some(run) if kind(run.holds, run.of) == kind(count, of) => {
                    run.to = text.to_owned();
                    run.holds += count;
                    run.of += of;
                }
                _ => runs.push(Run { from: text.into(), to: text.into(), holds: count, of }),
            }
        }
        found.push(AxisRuns { axis, runs });
    }
    found
}

/// Verdicts (`drops == 0`) that flip between neighbours along one axis whose settings differ by at
/// most [`FLIP_SHARE`].
///
/// Values computed from the axis may differ along; what counts is the largest step among the
/// numbers that are settings (names starting with `let.` are not, if there are others).
pub fn flips(axes: &[Axis], points: &[PointFacts], jobs: &[JobFacts]) -> Vec<Flip> {
    let mut found = BTreeMap::new();
    for axis in (0..axes.len()).filter(|&axis| axes[axis].varied) {
        let mut lines: BTreeMap<_, Vec<(f64, usize)>> = BTreeMap::new();
        for (index, point) in points.iter().enumerate() {
            let Some(number) = point.values[axis].number else { continue };
            if point.job.is_none_or(|job| jobs[job].drops.is_none()) {
                continue;
            }
            let others: Vec<&str> = (0..axes.len())
                .filter(|&other| other != axis && axes[other].varied)
                .map(|other| point.values[other].text.as_str())
                .collect();
            let key = (point.scenario.as_deref(), point.repetition, others);
            lines.entry(key).or_default().push((number, index));
        }
        for line in lines.values_mut() {
            line.sort_by(|a, b| a.0.total_cmp(&b.0));
            for pair in line.windows(2) {
                let (low, high) = (pair[0].1, pair[1].1);
                let lossy = |point: usize| {
                    points[point].job.and_then(|job| jobs[job].drops).is_some_and(|n| n > 0)
                };
                if lossy(low) == lossy(high) {
                    continue;
                }
                if let Some((axis, relative)) = step(axes, &points[low], &points[high])
                    && relative <= FLIP_SHARE
                {
                    found.insert((low, high), Flip { axis, low, high, relative });
                }
            }
        }
    }
    found.into_values().collect()
}

/// The largest relative difference of the settings of two points, and the first column that
/// differs; `None` if one that differs is no number.
fn step(axes: &[Axis], low: &PointFacts, high: &PointFacts) -> Option<(usize, f64)> {
    let differing: Vec<usize> =
        (0..axes.len()).filter(|&a| low.values[a].text != high.values[a].text).collect();
    let free = |axis: &usize| axes[*axis].name.starts_with("let.");
    let settings: BTreeSet<usize> = match differing.iter().all(free) {
        true => differing.into_iter().collect(),
        false => differing.into_iter().filter(|axis| !free(axis)).collect(),
    };
    let mut largest = 0.0_f64;
    for &axis in &settings {
        let (a, b) = (low.values[axis].number?, high.values[axis].number?);
        largest = largest.max((b - a).abs() / a.abs().max(b.abs()));
    }
    settings.first().map(|&axis| (axis, largest))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn point(job: usize, values: &[u64]) -> PointFacts {
        let value = |v: &u64| AxisValue { number: Some(*v as f64), text: v.to_string() };
        PointFacts {
            job: Some(job),
            values: values.iter().map(value).collect(),
            ..PointFacts::default()
        }
    }

    fn axes(names: &[(&str, bool)]) -> Vec<Axis> {
        names.iter().map(|(name, varied)| Axis { name: (*name).into(), varied: *varied }).collect()
    }

    fn jobs(drops: &[u64]) -> Vec<JobFacts> {
        drops.iter().map(|&n| JobFacts { drops: Some(n), ..JobFacts::default() }).collect()
    }

    #[test]
    fn where_along_an_axis_it_starts_and_stops() {
        let axes = axes(&[("HeadRoomPerPortLimit", true), ("topology.hosts", true)]);
        // 9 sorts after 10 as text.
        let points: Vec<_> = (0..6).map(|i| point(i, &[9 + i as u64 / 2, 4])).collect();
        let found = axis_runs(&axes, &points, |index| index < 3);
        assert_eq!(found.len(), 1, "one value of hosts tells nothing");
        let runs: Vec<_> =
            found[0].runs.iter().map(|r| (&r.from[..], &r.to[..], r.holds, r.of)).collect();
        assert_eq!(runs, [("9", "9", 2, 2), ("10", "10", 1, 2), ("11", "11", 0, 2)]);
        let all = axis_runs(&axes, &points, |_| true);
        assert_eq!((all[0].runs.len(), all[0].runs[0].holds), (1, 6));
    }

    #[test]
    fn a_verdict_that_flips_within_one_percent() {
        let axes = axes(&[("HeadRoomPerPortLimit", true), ("topology.hosts", true)]);
        let points = [
            point(0, &[50_000, 4]),
            point(1, &[52_000, 4]),
            point(2, &[52_400, 4]),
            point(3, &[52_400, 8]),
        ];
        let found = flips(&axes, &points, &jobs(&[5, 2, 0, 3]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].axis, found[0].low, found[0].high), (0, 1, 2));
        assert!((found[0].relative - 400.0 / 52_400.0).abs() < 1e-12);
        assert!(flips(&axes, &points, &jobs(&[5, 0, 0, 3])).is_empty(), "4 % apart");
    }

    #[test]
    fn what_is_computed_from_an_axis_decides_how_far_apart_points_are() {
        let axes = axes(&[("let.frames", true), ("HeadRoomPerPortLimit", false)]);
        let points = [point(0, &[1, 600_000]), point(1, &[2, 604_000])];
        let found = flips(&axes, &points, &jobs(&[1, 0]));
        assert_eq!(found.iter().map(|f| f.axis).collect::<Vec<_>>(), [1]);
        let alone = super::tests::axes(&[("let.frames", true)]);
        let points = [point(0, &[1]), point(1, &[2])];
        assert!(flips(&alone, &points, &jobs(&[1, 0])).is_empty(), "twice as many");
    }
}
