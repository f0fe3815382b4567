//! The keys of a scenario that belong to no device: time, records, budget.

use super::{Attribute, Kind, attribute};

/// Keys that come before the devices, in file order.
pub(super) static BEFORE: &[Attribute] = &[
    attribute(
        "duration",
        Kind::Time,
        None,
        "above 0s, at most 1,000,000s",
        "End of the simulated time; what would happen at or after it does not. With `until: drained` it is only the bound. Required.",
        "end of a job",
    ),
    attribute(
        "until",
        Kind::Enum(&["duration", "drained"]),
        Some("duration"),
        "",
        "`duration`: the job ends at `duration`. `drained`: it ends 1 ps after the first event that leaves no data anywhere and no flow to come.",
        "end of a job",
    ),
    attribute(
        "stop_on_deadlock",
        Kind::Bool,
        Some("false"),
        "",
        "End the job, 1 ps after, where pauses are found to wait for one another in a circle: nothing of them would move again. `jobs` names the time and the ports either way.",
        "end of a job",
    ),
    attribute(
        "warm_up",
        Kind::Time,
        Some("0s"),
        "below duration",
        "Simulated time left out of the statistics of the `jobs` table; the other tables keep it.",
        "table jobs",
    ),
    attribute(
        "seed_streams",
        Kind::Enum(&["shared", "per-point"]),
        Some("shared"),
        "",
        "`shared`: all points of a repetition draw the same random numbers, so that two settings are compared on the same traffic. `per-point`: each point draws its own.",
        "seeds of a job",
    ),
    attribute(
        "timing",
        Kind::Enum(&["picoseconds", "whole-ns"]),
        Some("picoseconds"),
        "",
        "Resolution of serialization times: rounded up to a picosecond, or down to whole nanoseconds, as recorded traces of other simulators have them.",
        "every link",
    ),
];

/// Keys that come after the devices, in file order.
pub(super) static AFTER: &[Attribute] = &[
    attribute(
        "record.interval",
        Kind::Time,
        None,
        "above 0s",
        "Length of an interval of the recorded tables. Absent: `BufferStatsReportInterval`.",
        "every recorded table",
    ),
    attribute(
        "record.tables",
        Kind::List(&Kind::Enum(&[
            "jobs",
            "port_buffers",
            "switch_buffers",
            "drops",
            "pfc",
            "port_counters",
            "flows",
            "transport",
            "load_balancing",
            "pfc_events",
        ])),
        Some("[jobs, port_buffers, drops, pfc]"),
        "",
        "Tables a job leaves rows in; a table that is not listed costs nothing.",
        "the dataset",
    ),
    attribute(
        "record.zeros",
        Kind::Bool,
        Some("false"),
        "",
        "Also write rows in which nothing was held and nothing changed.",
        "every recorded table",
    ),
    attribute(
        "budget.events",
        Kind::Count,
        Some("10000000000"),
        "1 or more",
        "Most events a job may handle; one that needs more ends there, with status `budget`.",
        "end of a job",
    ),
    attribute(
        "budget.simulated_time",
        Kind::Time,
        None,
        "above 0s, above warm_up",
        "Simulated time after which a job that would go on ends, with status `budget`; unlike \
         `duration`, whose end is a result.",
        "end of a job",
    ),
];
