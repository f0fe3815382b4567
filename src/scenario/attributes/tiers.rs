//! The keys that may differ from tier to tier: those of every switch, but for a few.

use super::switch::SWITCH;
use super::{Attribute, Kind};
use std::sync::LazyLock;

/// Keys of every switch that cannot differ: what a whole job has once.
const ONCE: [&str; 5] = [
    "switch.model",
    "switch.NumUpLinks",
    "switch.NumDownLinks",
    "switch.SharedBufferManager.UETPolicyEnabled",
    "switch.SharedBufferManager.BufferStatsReportInterval",
];

/// Keys under `switch.tiers`.
pub(super) fn tiers() -> &'static [Attribute] {
    static KEYS: LazyLock<Vec<Attribute>> = LazyLock::new(|| {
        let can_differ = SWITCH.iter().filter(|a| !ONCE.contains(&a.path));
        can_differ.map(of_tier).collect()
    });
    &KEYS
}

/// The key of a tier. Its texts live as long as the table: it is made once.
fn of_tier(every: &Attribute) -> Attribute {
    let name = every.path.trim_start_matches("switch.");
    let kind: Kind = every.kind;
    Attribute {
        path: String::leak(format!("switch.tiers.*.{name}")),
        kind,
        default: None,
        range: every.range,
        meaning: String::leak(format!(
            "`{}` of the switches of one tier. Absent: as every switch.",
            every.path
        )),
        read_at: every.read_at,
    }
}
