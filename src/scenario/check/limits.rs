//! Rules about the run itself: times, records and budget.

use super::Report;
use crate::scenario::Scenario;
use crate::units::{Bytes, Ps};

/// Latest time a scenario may name: 1,000,000 s. Sums of a few such times still fit 63 bits.
pub const MAX_TIME: u64 = 1_000_000_000_000_000_000;

/// Largest byte count the switch's registers take.
pub(super) const MAX_REGISTER: u64 = u32::MAX as u64;

/// More intervals than this are probably a slip of units.
const MANY_INTERVALS: u64 = 1_000_000;

pub(super) fn check(scenario: &Scenario, report: &mut Report) {
    let duration = scenario.duration;
    if duration.0 == 0 || duration.0 > MAX_TIME {
        report.refuse("duration", duration, "must be above 0s and at most 1000000s");
    }
    if scenario.warm_up >= duration {
        report.refuse(
            "warm_up",
            scenario.warm_up,
            format!("must be shorter than duration = {duration}"),
        );
    }
    if scenario.budget.events == 0 {
        report.refuse("budget.events", 0, "must be 1 or more");
    }
    if let Some(time) = scenario.budget.simulated_time {
        if time.0 == 0 {
            report.refuse("budget.simulated_time", time, "must be above 0s");
        } else if scenario.warm_up >= time {
            let rule = format!("must be longer than warm_up = {}", scenario.warm_up);
            report.refuse("budget.simulated_time", time, rule);
        }
    }
    let buffer_interval = scenario.switch.shared_buffer_manager.buffer_stats_report_interval;
    const REPORTS: &str = "switch.SharedBufferManager.BufferStatsReportInterval";
    for (attribute, interval) in
        [("record.interval", scenario.record.interval), (REPORTS, Some(buffer_interval))]
    {
        if let Some(interval) = interval {
            time(attribute, interval, report);
            if interval.0 == 0 {
                report.refuse(attribute, interval, "must be above 0s");
            }
        }
    }
    let interval = scenario.record.interval.unwrap_or(buffer_interval);
    if interval.0 > 0 && duration.0 / interval.0 > MANY_INTERVALS {
        let attribute =
            if scenario.record.interval.is_some() { "record.interval" } else { REPORTS };
        report.warn(
            attribute,
            interval,
            format!("a duration of {duration} makes over a million intervals a counter"),
        );
    }
}

/// A time within [`MAX_TIME`].
pub(super) fn time(attribute: &str, value: Ps, report: &mut Report) {
    if value.0 > MAX_TIME {
        report.refuse(attribute, value, "must be at most 1000000s");
    }
}

/// A byte count that fits a register of the switch.
pub(super) fn register(attribute: &str, value: Bytes, report: &mut Report) {
    if value.0 > MAX_REGISTER {
        report.refuse(attribute, value, "must be at most 4294967295B");
    }
}

/// A number in 0 to 1; false (and refused) otherwise.
pub(super) fn unit_interval(attribute: &str, value: f64, report: &mut Report) -> bool {
    let inside = (0.0..=1.0).contains(&value);
    if !inside {
        report.refuse(attribute, value, "must be 0 to 1");
    }
    inside
}
