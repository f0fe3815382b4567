//! How often a point loses packets, over its repetitions.
//!
//! Owns the share of repetitions with any loss and its confidence interval. A mean of drops would
//! hide that most runs lose nothing.

use super::axes::PointFacts;
use super::facts::JobFacts;
use std::collections::BTreeMap;

/// Losses of the repetitions of one point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointLoss {
    /// Place of the first repetition among the points.
    pub point: usize,
    /// Repetitions that ended (with status `ok` or `budget`).
    pub repetitions: u64,
    /// Those of them that lost a packet.
    pub with_loss: u64,
    /// Their share.
    pub share: f64,
    /// Wilson's 95 % interval of it.
    pub interval: (f64, f64),
}

/// Wilson's score interval at 95 % for `hits` of `trials`; 0 to 1 without trials.
pub fn wilson(hits: u64, trials: u64) -> (f64, f64) {
    /// Standard normal quantile of 97.5 %.
    const Z: f64 = 1.959_963_984_540_054;
    if trials == 0 {
        return (0.0, 1.0);
    }
    let n = trials as f64;
    let p = hits as f64 / n;
    let scale = 1.0 + Z * Z / n;
    let centre = (p + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    // At the ends rounding would leave a hair beside the exact 0 and 1.
    let low = if hits == 0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if hits == trials { 1.0 } else { (centre + half).min(1.0) };
    (low, high)
}

/// Losses of every point, repetitions together, in order of first appearance.
pub fn losses(points: &[PointFacts], jobs: &[JobFacts]) -> Vec<PointLoss> {
    let mut places: BTreeMap<(Option<&str>, Vec<&str>), usize> = BTreeMap::new();
    let mut found: Vec<PointLoss> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let Some(drops) = point.job.and_then(|job| jobs[job].drops) else { continue };
        let values = point.values.iter().map(|value| value.text.as_str()).collect();
        let place = *places.entry((point.scenario.as_deref(), values)).or_insert_with(|| {
            let interval = (0.0, 1.0);
            found.push(PointLoss {
                point: index,
                repetitions: 0,
                with_loss: 0,
                share: 0.0,
                interval,
            });
            found.len() - 1
        });
        found[place].repetitions += 1;
        found[place].with_loss += u64::from(drops > 0);
    }
    for loss in &mut found {
        loss.share = loss.with_loss as f64 / loss.repetitions as f64;
        loss.interval = wilson(loss.with_loss, loss.repetitions);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::axes::tests::point;
    use super::*;

    #[test]
    fn intervals_of_known_shares() {
        // Published examples: 0 of 10, 1 of 10, 5 of 10.
        let close = |(low, high): (f64, f64), (l, h): (f64, f64)| {
            assert!((low - l).abs() < 5e-5 && (high - h).abs() < 5e-5, "{low} {high}");
        };
        close(wilson(0, 10), (0.0, 0.2775));
        close(wilson(1, 10), (0.0179, 0.4042));
        close(wilson(5, 10), (0.2366, 0.7634));
        close(wilson(10, 10), (0.7225, 1.0));
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }

    #[test]
    fn repetitions_of_a_point_count_together() {
        let drops = [Some(0), Some(3), Some(0), Some(0), None, Some(9)];
        let jobs: Vec<JobFacts> =
            drops.map(|drops| JobFacts { drops, ..JobFacts::default() }).into();
        // Two points, three repetitions each; one job failed.
        let points: Vec<PointFacts> =
            (0..6).map(|job| point(job, &[16_000 + (job as u64 / 3) * 1_000])).collect();
        let found = losses(&points, &jobs);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].point, found[0].repetitions, found[0].with_loss), (0, 3, 1));
        assert_eq!((found[1].point, found[1].repetitions, found[1].with_loss), (3, 2, 1));
        assert_eq!((found[1].share, found[1].interval), (0.5, wilson(1, 2)));
    }
}
