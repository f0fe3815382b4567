//! The findings: each a named property of a job.
//!
//! Owns their definitions and thresholds.

use super::facts::JobFacts;
use crate::sim::observe::DropReason;

/// A port and class held for more than this share of the measured time hogs its link.
pub const HOG_SHARE: f64 = 0.10;

/// More pause frames than this, per port and class, in the held time of one pause frame (84.4 us
/// at 400 Gbps) is flapping. A pause that is simply kept takes two.
pub const FLAP_FRAMES: f64 = 8.0;

/// Fewer pause frames than this are no flapping, however short the pauses.
pub const FLAP_LEAST: u64 = 16;

/// A finding over jobs. `verdict_flips` is over points: [`super::flips`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// The switch refuses the settings.
    Infeasible,
    /// Lossless packets dropped while nobody had told their sender to stop.
    DropsWithoutPause,
    /// Pauses and `ingress_headroom` drops together, with a headroom of 0.
    ZeroHeadroom,
    /// Lossless headroom drops in spite of pauses, with a headroom above 0.
    HeadroomTooSmall,
    /// The same in models whose headroom is a multiple of rate × delay.
    FactorTooSmall,
    /// Packets dropped where a sizing condition is missed.
    SizingMissed,
    /// Lossy packets dropped: their class never pauses anybody.
    LossyDrops,
    /// Pauses of a pool in which a lossy class has bytes: it counts against Xoff.
    LossyPauses,
    /// Pauses left at the end with nothing to end them.
    StuckPauses,
    /// Pauses that wait for one another.
    Deadlock,
    /// A port and class held for a large share of the time.
    PauseHog,
    /// Pauses and resumes in quick succession.
    Flapping,
}

impl Finding {
    /// Every finding, what calls for action first.
    pub const ALL: [Finding; 12] = [
        Finding::Infeasible,
        Finding::DropsWithoutPause,
        Finding::ZeroHeadroom,
        Finding::HeadroomTooSmall,
        Finding::FactorTooSmall,
        Finding::SizingMissed,
        Finding::LossyDrops,
        Finding::LossyPauses,
        Finding::StuckPauses,
        Finding::Deadlock,
        Finding::PauseHog,
        Finding::Flapping,
    ];

    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Finding::Infeasible => "infeasible",
            Finding::DropsWithoutPause => "drops_without_pause",
            Finding::ZeroHeadroom => "drops_with_zero_headroom",
            Finding::HeadroomTooSmall => "headroom_too_small",
            Finding::FactorTooSmall => "headroom_factor_too_small",
            Finding::SizingMissed => "sizing_condition_missed",
            Finding::LossyDrops => "lossy_drops_never_pause",
            Finding::LossyPauses => "lossy_class_pauses",
            Finding::StuckPauses => "stuck_pauses",
            Finding::Deadlock => "pause_deadlock",
            Finding::PauseHog => "pause_hog",
            Finding::Flapping => "pause_flapping",
        }
    }

    /// The stated threshold, for those that have one.
    pub fn threshold(self) -> Option<f64> {
        match self {
            Finding::PauseHog => Some(HOG_SHARE),
            Finding::Flapping => Some(FLAP_FRAMES),
            _ => None,
        }
    }

    /// Whether a job has it.
    pub fn holds(self, job: &JobFacts) -> bool {
        let Some(drops) = job.drops else {
            return self == Finding::Infeasible && job.infeasible;
        };
        let headroom = job.dropped(DropReason::IngressHeadroom);
        let lossy = job.dropped(DropReason::EgressQueueLimit) + job.dropped(DropReason::EgressPool);
        let settings = &job.settings;
        match self {
            Finding::Infeasible => false,
            Finding::DropsWithoutPause => job.without_pause > 0,
            Finding::ZeroHeadroom => {
                settings.scala && headroom > 0 && job.pause_frames > 0 && job.peak_headroom == 0
            }
            Finding::HeadroomTooSmall => {
                settings.scala && headroom > 0 && job.pause_frames > 0 && job.peak_headroom > 0
            }
            Finding::FactorTooSmall => {
                let full = match settings.hpcc {
                    true => job.dropped(DropReason::IngressAdmission),
                    false => headroom,
                };
                !settings.scala && full > 0 && job.pause_frames > 0
            }
            Finding::SizingMissed => {
                settings.scala
                    && settings.missed != 0
                    && drops > lossy + job.dropped(DropReason::NicReceivePool)
            }
            Finding::LossyDrops => settings.scala && lossy > 0,
            Finding::LossyPauses => {
                settings.scala && settings.lossy_beside_lossless != 0 && job.pause_frames > 0
            }
            Finding::StuckPauses => job.stuck > 0,
            Finding::Deadlock => job.deadlock,
            Finding::PauseHog => job.held_share > HOG_SHARE,
            Finding::Flapping => job.flaps().is_some_and(|flaps| flaps > FLAP_FRAMES),
        }
    }
}

impl JobFacts {
    /// Pause frames in the held time of one pause frame, per port and class; `None` with fewer
    /// than [`FLAP_LEAST`] frames.
    pub fn flaps(&self) -> Option<f64> {
        (self.pause_frames >= FLAP_LEAST && self.held > 0.0)
            .then(|| self.pause_frames as f64 * self.settings.pause_time as f64 / self.held)
    }
}
