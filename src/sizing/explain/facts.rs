//! What findings know of a job: its row in `jobs` and what its scenario sets.

use crate::scenario::links::{Outline, pause_time};
use crate::scenario::offered::Offered;
use crate::scenario::sizing::Sizing;
use crate::scenario::startup::Startup;
use crate::scenario::{Scenario, SwitchModel};
use crate::sim::observe::{DropReason, Totals};
use crate::sweep::plan::JobId;

/// A job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobFacts {
    /// Identity.
    pub id: JobId,
    /// The switch refused the scenario.
    pub infeasible: bool,
    /// Packets dropped; `None`: the job did not run to an end.
    pub drops: Option<u64>,
    /// Those by reason, in the order of [`DropReason::ALL`].
    pub by_reason: [u64; DropReason::COUNT],
    /// Lossless packets dropped where their port had not paused.
    pub without_pause: u64,
    /// Pauses left at the end with nothing to end them.
    pub stuck: u64,
    /// Pauses were found to wait for one another.
    pub deadlock: bool,
    /// Pause frames sent.
    pub pause_frames: u64,
    /// Largest share of time a port and class was held.
    pub held_share: f64,
    /// Held time summed over ports and classes, ps.
    pub held: f64,
    /// Largest headroom of a port, bytes.
    pub peak_headroom: u64,
    /// What its scenario sets.
    pub settings: Settings,
}

/// What findings need of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// The switch model is `scala`, to which rules of pools and headroom apply.
    pub scala: bool,
    /// It is `hpcc`, which loses lossless packets over their threshold with no headroom left.
    pub hpcc: bool,
    /// `HeadRoomPerPortLimit` of the least tier, bytes.
    pub headroom: u64,
    /// Lossy classes with traffic whose pool has lossless classes, bit n is class n.
    pub lossy_beside_lossless: u8,
    /// Lossy classes with traffic.
    pub lossy: u8,
    /// Sizing conditions some lossless class with traffic misses: bit n is condition n + 1.
    pub missed: u8,
    /// Port and class pairs `pause_time_fraction_mean` runs over.
    pub pairs: u64,
    /// How long a pause frame holds the fastest link, ps.
    pub pause_time: u64,
}

impl Default for JobFacts {
    fn default() -> Self {
        JobFacts {
            id: JobId(0),
            infeasible: false,
            drops: None,
            by_reason: [0; DropReason::COUNT],
            without_pause: 0,
            stuck: 0,
            deadlock: false,
            pause_frames: 0,
            held_share: 0.0,
            held: 0.0,
            peak_headroom: 0,
            settings: Settings::default(),
        }
    }
}

impl JobFacts {
    /// Of a job just simulated.
    pub fn of(id: JobId, scenario: &Scenario, totals: &Totals) -> JobFacts {
        JobFacts {
            id,
            infeasible: false,
            drops: Some(totals.drops.iter().sum()),
            by_reason: totals.drops,
            without_pause: totals.drops_without_pause,
            stuck: totals.stuck_pauses,
            deadlock: totals.deadlock.is_some(),
            pause_frames: totals.pause_frames,
            held_share: totals.paused_max as f64 / totals.measured.max(1) as f64,
            held: totals.paused_sum as f64,
            peak_headroom: totals.peak_headroom,
            settings: Settings::of(scenario),
        }
    }

    /// Packets dropped for a reason.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        let place = DropReason::ALL.iter().position(|r| *r == reason);
        place.map_or(0, |place| self.by_reason[place])
    }
}

impl Settings {
    /// Of a scenario; one that cannot be built has none.
    pub fn of(scenario: &Scenario) -> Settings {
        let mut settings = Settings {
            scala: scenario.switch.model == SwitchModel::Scala,
            hpcc: scenario.switch.model == SwitchModel::Hpcc,
            ..Settings::default()
        };
        let Ok(outline) = Outline::new(scenario) else { return settings };
        let fastest = outline.layers.iter().map(|layer| layer.links);
        let fastest = fastest.map(|link| pause_time(link.rate, link.delay)).min();
        settings.pause_time = fastest.unwrap_or(0);
        let offered = Offered::new(scenario);
        let mut headroom = None;
        for kind in outline.switch_kinds() {
            let switch = scenario.switch.of_tier(kind.tier.settings());
            let Ok(startup) = Startup::new(&switch, kind.ports()) else { continue };
            let lossless = u64::from(startup.lossless.count_ones());
            settings.pairs =
                settings.pairs.max((u64::from(outline.hosts) + outline.port_count()) * lossless);
            let limit = switch.shared_buffer_manager.head_room_per_port_limit.0;
            headroom = Some(headroom.map_or(limit, |least: u64| least.min(limit)));
            for class in (0..8u8).filter(|class| offered.classes & 1 << class != 0) {
                let Some(pool) = startup.pool_of(class) else { continue };
                if !startup.is_lossless(class) {
                    settings.lossy |= 1 << class;
                    if pool.priority_group != 0 {
                        settings.lossy_beside_lossless |= 1 << class;
                    }
                }
                if let Some(sizing) = Sizing::new(&startup, class, &kind.links, &offered) {
                    settings.missed |= missed(&sizing);
                }
            }
        }
        settings.headroom = headroom.unwrap_or(0);
        settings
    }
}

/// Conditions a class misses: bit n is condition n + 1.
pub(super) fn missed(sizing: &Sizing) -> u8 {
    u8::from(!sizing.headroom.met())
        | u8::from(!sizing.pool_size.met()) << 1
        | u8::from(sizing.sharing != 0) << 2
}
