//! What a run ends with: the answer in the terms of the sweep's axes.
//!
//! Owns the text; a pure function of the plan's points and the rows of `jobs`. Refuses to read
//! files.

use super::text::{self, Align, TextTable};
use crate::sweep::plan::{Column, ColumnValues, Job, JobId, Plan, Point};
use crate::units::thousands;
use std::collections::BTreeMap;
use std::path::Path;

/// With at most this many rows the answer is a table of every point; else the extremes.
const FULL_TABLE_ROWS: usize = 40;

/// Failures told at the end.
const FAILURES_TOLD: usize = 5;

/// What the summary needs of a row of `jobs`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobRow {
    /// `ok`, `infeasible`, `failed`, `budget`, `quarantined`.
    pub status: String,
    /// Why it is not `ok`.
    pub reason: Option<String>,
    /// Packets dropped.
    pub drops: Option<i64>,
    /// Largest share of time a port and class were held.
    pub pause: Option<f64>,
    /// Largest headroom of a port, bytes.
    pub peak_headroom: Option<i64>,
    /// Largest egress queue of a port, bytes.
    pub peak_egress: Option<i64>,
    /// Payload bits a second handed to applications; none: NICs without acknowledgements.
    pub goodput: Option<f64>,
    /// Longest completion time, ps; none: not every flow completed.
    pub slowest: Option<i64>,
    /// When everything had arrived, ps; none: the duration was too short.
    pub drained: Option<i64>,
    /// What is told only where it happened: the columns of [`OCCASIONAL`], in their order.
    pub occasional: [Option<i64>; OCCASIONAL.len()],
}

/// Columns of `jobs` that the table shows only if something of them happened, with their heads.
pub const OCCASIONAL: [(&str, &str); 12] = [
    ("drops_ingress_headroom", "ingress_headroom"),
    ("drops_ingress_pool", "ingress_pool"),
    ("drops_egress_queue_limit", "egress_queue_limit"),
    ("drops_egress_pool", "egress_pool"),
    ("drops_trim_failed", "trim_failed"),
    ("drops_nic_receive_pool", "nic_receive_pool"),
    ("drops_ingress_admission", "ingress_admission"),
    ("stuck_pauses", "stuck pauses"),
    ("ecn_marks", "marks"),
    ("trims", "trims"),
    ("retransmitted_packets", "sent again"),
    ("timeouts", "timeouts"),
];

/// How many of them are reasons of drops.
const REASONS: usize = 7;

/// The parts of a plan a summary is about.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Name of the sweep.
    pub name: &'a str,
    /// Points in order.
    pub points: &'a [Point],
    /// Jobs in order.
    pub jobs: &'a [Job],
    /// Axes and derived values.
    pub columns: &'a [Column],
}

impl<'a> View<'a> {
    /// Of a plan.
    pub fn of(plan: &'a Plan) -> Self {
        View { name: &plan.name, points: &plan.points, jobs: &plan.jobs, columns: &plan.columns }
    }
}

/// The whole text.
pub fn summary(view: View<'_>, rows: &BTreeMap<JobId, JobRow>, data: &Path) -> String {
    let mut out = heading(view, rows);
    let shown = varying(view);
    let finished = view.points.iter().filter(|point| point.job.is_some()).count();
    let answered: Vec<(usize, &JobRow)> = (0..view.points.len())
        .filter_map(|index| Some((index, row_of(view, rows, index)?)))
        .filter(|(_, row)| row.drops.is_some())
        .collect();
    if finished <= FULL_TABLE_ROWS && !answered.is_empty() {
        out.push('\n');
        out.push_str(&full_table(view, &shown, rows));
    }
    if answered.len() > 1 {
        out.push('\n');
        out.push_str(&extremes(view, &shown, &answered));
    }
    out.push_str(&failures(view, &shown, rows));
    out.push('\n');
    out.push_str(&where_it_is(data));
    out
}

fn heading(view: View<'_>, rows: &BTreeMap<JobId, JobRow>) -> String {
    let mut by_status: BTreeMap<&str, usize> = BTreeMap::new();
    let mut missing = 0;
    for job in view.jobs {
        match rows.get(&job.id) {
            Some(row) => *by_status.entry(&row.status).or_default() += 1,
            None => missing += 1,
        }
    }
    let excluded = view.points.iter().filter(|point| point.job.is_none()).count();
    // `ok` first, then by how much they call for action.
    let mut parts: Vec<String> = ["ok", "infeasible", "budget", "failed", "quarantined"]
        .iter()
        .filter_map(|&status| {
            Some(format!("{} {status}", thousands(*by_status.get(status)? as i128)))
        })
        .collect();
    if missing > 0 {
        parts.push(format!("{} outstanding", thousands(missing as i128)));
    }
    let mut head = format!(
        "{}: {}, {}: {}\n",
        view.name,
        text::count(view.points.len(), "point"),
        text::count(view.jobs.len(), "job"),
        if parts.is_empty() { "nothing to run".into() } else { parts.join(", ") },
    );
    if excluded > 0 {
        head.push_str(&format!(
            "{} excluded by the sweep's constraints\n",
            text::count(excluded, "point")
        ));
    }
    head
}

fn row_of<'r>(
    view: View<'_>,
    rows: &'r BTreeMap<JobId, JobRow>,
    point: usize,
) -> Option<&'r JobRow> {
    rows.get(&view.jobs[view.points[point].job?].id)
}

/// Places of the columns whose value is not the same at every point.
pub fn varying(view: View<'_>) -> Vec<usize> {
    fn differ<T: PartialEq>(values: &[T]) -> bool {
        values.windows(2).any(|pair| pair[0] != pair[1])
    }
    (0..view.columns.len())
        .filter(|&column| match &view.columns[column].values {
            ColumnValues::Int(values) => differ(values),
            ColumnValues::Float(values) => differ(values),
            ColumnValues::Bool(values) => differ(values),
            ColumnValues::Text(values) => differ(values),
            ColumnValues::IntList(values) => differ(values),
            ColumnValues::FloatList(values) => differ(values),
        })
        .collect()
}

fn has_scenarios(view: View<'_>) -> bool {
    view.points.iter().any(|point| point.scenario.is_some())
}

fn has_repetitions(view: View<'_>) -> bool {
    view.points.iter().any(|point| point.repetition > 0)
}

/// One line naming a point: `HeadRoomPerPortLimit=16KB, topology.delay=500ns`.
pub fn point_name(view: View<'_>, shown: &[usize], point: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(view.points[point].scenario.clone());
    for &column in shown {
        let column = &view.columns[column];
        parts.push(format!("{}={}", column.name, text::cell(column, point)));
    }
    if has_repetitions(view) {
        parts.push(format!("repetition {}", view.points[point].repetition));
    }
    if parts.is_empty() { "the only point".into() } else { parts.join(", ") }
}

fn full_table(view: View<'_>, shown: &[usize], rows: &BTreeMap<JobId, JobRow>) -> String {
    let mut head: Vec<(String, Align)> = Vec::new();
    if has_scenarios(view) {
        head.push(("scenario".into(), Align::Left));
    }
    head.extend(
        shown.iter().map(|&c| (view.columns[c].name.clone(), text::align(&view.columns[c]))),
    );
    if has_repetitions(view) {
        head.push(("repetition".into(), Align::Right));
    }
    let occasional = happened(view, rows);
    let headroom_used = rows.values().any(|row| row.peak_headroom.is_some_and(|bytes| bytes > 0));
    head.push(("drops".into(), Align::Right));
    head.extend(occasional.iter().map(|&n| (OCCASIONAL[n].1.into(), Align::Right)));
    head.push(("paused".into(), Align::Right));
    // Senders that react: what their applications get of it.
    let reactive = rows.values().any(|row| row.goodput.is_some());
    // Where no headroom is used, how long the queues got is what there is to know.
    let queues = reactive || !headroom_used;
    let peaks = [(headroom_used, "peak headroom"), (queues, "peak egress")];
    head.extend(peaks.iter().filter(|(shown, _)| *shown).map(|p| (p.1.into(), Align::Right)));
    let drained = reactive && rows.values().any(|row| row.drained.is_some());
    // Where everything starts at once, the slowest flow ends when the job does.
    let time = |ps: Option<i64>| ps.map_or_else(|| "-".into(), |ps| text::about_time(ps as f64));
    let timed = reactive && rows.values().any(|row| time(row.slowest) != time(row.drained));
    let answers = [(reactive, "goodput"), (timed, "slowest flow"), (drained, "drained")];
    head.extend(answers.iter().filter(|(shown, _)| *shown).map(|a| (a.1.into(), Align::Right)));
    head.push((String::new(), Align::Left));
    let mut table = TextTable::new(head);
    for (index, point) in view.points.iter().enumerate() {
        if point.job.is_none() {
            continue;
        }
        let mut cells: Vec<String> = Vec::new();
        if has_scenarios(view) {
            cells.push(point.scenario.clone().unwrap_or_default());
        }
        cells.extend(shown.iter().map(|&column| text::cell(&view.columns[column], index)));
        if has_repetitions(view) {
            cells.push(point.repetition.to_string());
        }
        let none = JobRow { status: "outstanding".into(), ..JobRow::default() };
        let row = row_of(view, rows, index).unwrap_or(&none);
        cells.push(row.drops.map_or_else(|| "-".into(), thousands));
        let occasion = |&n: &usize| row.occasional[n].map_or_else(|| "-".into(), thousands);
        cells.extend(occasional.iter().map(occasion));
        cells.push(row.pause.map_or_else(|| "-".into(), percent));
        let peaks = [(headroom_used, row.peak_headroom), (queues, row.peak_egress)];
        cells.extend(
            peaks.iter().filter(|(shown, _)| *shown).map(|(_, peak)| {
                peak.map_or_else(|| "-".into(), |bytes| text::quantity(bytes, "B"))
            }),
        );
        if reactive {
            cells.push(row.goodput.map_or_else(|| "-".into(), text::about_rate));
        }
        if timed {
            cells.push(time(row.slowest));
        }
        if drained {
            cells.push(time(row.drained));
        }
        cells.push(if row.status == "ok" { String::new() } else { row.status.clone() });
        table.row(cells);
    }
    table.render()
}

/// Places in [`OCCASIONAL`] of what happened at some point. A single reason of drops is left out:
/// `drops` says as much.
fn happened(view: View<'_>, rows: &BTreeMap<JobId, JobRow>) -> Vec<usize> {
    let some = |n: usize| {
        let of_job = |job: &Job| rows.get(&job.id)?.occasional[n];
        view.jobs.iter().filter_map(of_job).any(|count| count > 0)
    };
    let mut found: Vec<usize> = (0..OCCASIONAL.len()).filter(|&n| some(n)).collect();
    if found.iter().filter(|&&n| n < REASONS).count() == 1 {
        found.retain(|&n| n >= REASONS);
    }
    found
}

/// A share of time. Anything above nothing is never shown as nothing.
fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".into(),
        percent if percent < 0.01 => "<0.01 %".into(),
        percent if percent < 10.0 => format!("{percent:.2} %"),
        percent => format!("{percent:.1} %"),
    }
}

/// What the lines about extremes are sorted by: names of both ends, the value, how to say it.
type Measure = (&'static str, &'static str, fn(&JobRow) -> Option<f64>, fn(f64) -> String);

fn extremes(view: View<'_>, shown: &[usize], answered: &[(usize, &JobRow)]) -> String {
    let measures: [Measure; 4] = [
        (
            "most drops",
            "fewest drops",
            |row| row.drops.map(|n| n as f64),
            |n| text::count(n as usize, "drop"),
        ),
        ("most paused", "least paused", |row| row.pause, percent),
        ("most goodput", "least goodput", |row| row.goodput, text::about_rate),
        (
            "slowest flow",
            "fastest",
            |row| row.goodput.and(row.slowest).map(|ps| ps as f64),
            text::about_time,
        ),
    ];
    let mut lines = TextTable::new([
        (String::new(), Align::Left),
        (String::new(), Align::Right),
        (String::new(), Align::Left),
    ]);
    for (most, fewest, key, show) in measures {
        let values: Vec<(f64, usize)> =
            answered.iter().filter_map(|(point, row)| Some((key(row)?, *point))).collect();
        let pick = |wanted: fn(f64, f64) -> f64| {
            let value = values.iter().map(|(value, _)| *value).reduce(wanted)?;
            let same: Vec<usize> =
                values.iter().filter(|(v, _)| *v == value).map(|(_, point)| *point).collect();
            Some((value, same))
        };
        let (Some((high, at_high)), Some((low, at_low))) = (pick(f64::max), pick(f64::min)) else {
            continue;
        };
        if high == low && values.len() == answered.len() {
            lines.row([most.into(), show(high), "at every point".into()]);
            continue;
        }
        for (label, value, points) in [(most, high, at_high), (fewest, low, at_low)] {
            let mut name = point_name(view, shown, points[0]);
            if points.len() > 1 {
                name.push_str(&format!(" (first of {})", thousands(points.len() as i128)));
            }
            lines.row([label.into(), show(value), name]);
        }
    }
    // The heads are empty: their line is not wanted.
    lines.render().split_once('\n').map_or_else(String::new, |(_, body)| body.into())
}

fn failures(view: View<'_>, shown: &[usize], rows: &BTreeMap<JobId, JobRow>) -> String {
    let mut out = String::new();
    for (status, title) in [
        ("infeasible", "not runnable on this switch"),
        ("budget", "ended by their budget of events"),
        ("quarantined", "quarantined"),
        ("failed", "failed"),
    ] {
        let bad: Vec<(&Job, &JobRow)> = view
            .jobs
            .iter()
            .filter_map(|job| Some((job, rows.get(&job.id)?)))
            .filter(|(_, row)| row.status == status)
            .collect();
        if bad.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{} {title}:\n", text::count(bad.len(), "job")));
        for (job, row) in bad.iter().take(FAILURES_TOLD) {
            let name = point_name(view, shown, job.point);
            let reason = row.reason.as_deref().unwrap_or("no reason recorded");
            out.push_str(&format!("  {}  {name}: {reason}\n", job.id));
        }
        if bad.len() > FAILURES_TOLD {
            out.push_str(&format!(
                "  and {} more\n",
                thousands((bad.len() - FAILURES_TOLD) as i128)
            ));
        }
    }
    out
}

fn where_it_is(data: &Path) -> String {
    let data = data.display();
    format!(
        "data    {data}\n\
         polars  pl.scan_parquet(\"{data}/points.parquet\")\
         .join(pl.scan_parquet(\"{data}/jobs/*.parquet\"), on=\"job_id\").collect()\n\
         duckdb  SELECT * FROM '{data}/points.parquet' JOIN '{data}/jobs/*.parquet' USING (job_id)\n\
         more    poolsweep export --csv {data} --out CSV_DIR; \
         poolsweep repro JOB_ID --data {data}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::random::Seeds;

    struct Fixture {
        points: Vec<Point>,
        jobs: Vec<Job>,
        columns: Vec<Column>,
        rows: BTreeMap<JobId, JobRow>,
    }

    /// `count` values of headroom; drops fall to none at the third.
    fn fixture(count: usize) -> Fixture {
        let job = |index: usize| Job {
            id: JobId(0x1000 + index as u64),
            repetition: 0,
            seeds: Seeds::default(),
            infeasible: Vec::new(),
            cost: 1.0,
            point: index,
        };
        let row = |index: usize| JobRow {
            status: "ok".into(),
            reason: None,
            drops: Some(2_i64.saturating_sub(index as i64).max(0) * 1_500),
            pause: Some(0.25 + index as f64 / 1e3),
            peak_headroom: Some(16_000),
            ..JobRow::default()
        };
        let point =
            |index| Point { scenario: None, repetition: 0, job: Some(index), excluded_by: None };
        let column = |name: &str, unit: &str, values| Column {
            name: name.into(),
            unit: unit.into(),
            values,
        };
        Fixture {
            points: (0..count).map(point).collect(),
            jobs: (0..count).map(job).collect(),
            columns: vec![
                column(
                    "HeadRoomPerPortLimit",
                    "B",
                    ColumnValues::Int((0..count).map(|i| Some(16_000 * (i as i64 + 1))).collect()),
                ),
                column("delay", "ps", ColumnValues::Int(vec![Some(500_000); count])),
            ],
            rows: (0..count).map(|i| (JobId(0x1000 + i as u64), row(i))).collect(),
        }
    }

    fn text_of(f: &Fixture) -> String {
        let view = View { name: "headroom", points: &f.points, jobs: &f.jobs, columns: &f.columns };
        summary(view, &f.rows, Path::new("out/headroom"))
    }

    #[test]
    fn a_small_sweep_is_answered_by_a_table() {
        let mut f = fixture(4);
        let last = f.rows.get_mut(&JobId(0x1003)).unwrap();
        *last = JobRow {
            status: "infeasible".into(),
            reason: Some("HeadRoomPerPortLimit: too much".into()),
            ..JobRow::default()
        };
        insta::assert_snapshot!(text_of(&f), @r##"
        headroom: 4 points, 4 jobs: 3 ok, 1 infeasible

          HeadRoomPerPortLimit  drops  paused  peak headroom
                          16KB  3,000  25.0 %           16KB
                          32KB  1,500  25.1 %           16KB
                          48KB      0  25.2 %           16KB
                          64KB      -       -              -  infeasible

          most drops    3,000 drops  HeadRoomPerPortLimit=16KB
          fewest drops      0 drops  HeadRoomPerPortLimit=48KB
          most paused        25.2 %  HeadRoomPerPortLimit=48KB
          least paused       25.0 %  HeadRoomPerPortLimit=16KB

        1 job not runnable on this switch:
          0000000000001003  HeadRoomPerPortLimit=64KB: HeadRoomPerPortLimit: too much

        data    out/headroom
        polars  pl.scan_parquet("out/headroom/points.parquet").join(pl.scan_parquet("out/headroom/jobs/*.parquet"), on="job_id").collect()
        duckdb  SELECT * FROM 'out/headroom/points.parquet' JOIN 'out/headroom/jobs/*.parquet' USING (job_id)
        more    poolsweep export --csv out/headroom --out CSV_DIR; poolsweep repro JOB_ID --data out/headroom
        "##);
    }

    #[test]
    fn what_happened_somewhere_gets_a_column() {
        let mut f = fixture(2);
        for (index, row) in f.rows.values_mut().enumerate() {
            row.peak_headroom = Some(0);
            row.peak_egress = Some(1_408_000);
            row.occasional = [Some(0); OCCASIONAL.len()];
            row.occasional[1] = Some(3_000 * index as i64);
            row.occasional[8] = Some(1_200);
        }
        let table = |f: &Fixture| {
            let text = text_of(f);
            text.lines().skip(2).take(3).map(|line| format!("{line}\n")).collect::<String>()
        };
        insta::assert_snapshot!(table(&f), @r"
        HeadRoomPerPortLimit  drops  marks  paused  peak egress
                        16KB  3,000  1,200  25.0 %       1408KB
                        32KB  1,500  1,200  25.1 %       1408KB
        ");
        for row in f.rows.values_mut() {
            row.occasional[2] = Some(7);
        }
        insta::assert_snapshot!(table(&f), @r"
        HeadRoomPerPortLimit  drops  ingress_pool  egress_queue_limit  marks  paused  peak egress
                        16KB  3,000             0                   7  1,200  25.0 %       1408KB
                        32KB  1,500         3,000                   7  1,200  25.1 %       1408KB
        ");
    }

    #[test]
    fn senders_that_react_are_answered_by_goodput_and_completion() {
        let mut f = fixture(2);
        for (index, row) in f.rows.values_mut().enumerate() {
            row.peak_egress = Some(90_000);
            row.goodput = Some(3.4e11 + 2.5e10 * index as f64);
            row.slowest = (index == 1).then_some(1_234_567_890);
            row.drained = row.slowest.map(|ps| ps + 5_000_000);
            row.occasional[9] = Some(4_321);
        }
        let text = text_of(&f);
        let answer: Vec<&str> = text.split("\n\n").skip(1).take(2).collect();
        insta::assert_snapshot!(answer.join("\n\n"), @r"
          HeadRoomPerPortLimit  drops  trims  paused  peak headroom  peak egress     goodput  slowest flow   drained
                          16KB  3,000  4,321  25.0 %           16KB         90KB  340.0 Gbps             -         -
                          32KB  1,500  4,321  25.1 %           16KB         90KB  365.0 Gbps      1.235 ms  1.240 ms

          most drops     3,000 drops  HeadRoomPerPortLimit=16KB
          fewest drops   1,500 drops  HeadRoomPerPortLimit=32KB
          most paused         25.1 %  HeadRoomPerPortLimit=32KB
          least paused        25.0 %  HeadRoomPerPortLimit=16KB
          most goodput    365.0 Gbps  HeadRoomPerPortLimit=32KB
          least goodput   340.0 Gbps  HeadRoomPerPortLimit=16KB
          slowest flow      1.235 ms  HeadRoomPerPortLimit=32KB
          fastest           1.235 ms  HeadRoomPerPortLimit=32KB
        ");
    }

    #[test]
    fn a_big_sweep_is_answered_by_its_extremes() {
        let mut f = fixture(50);
        f.points[49].job = None;
        f.points[49].excluded_by = Some("a < b".into());
        f.jobs.pop();
        f.rows.remove(&JobId(0x1000 + 48));
        insta::assert_snapshot!(text_of(&f), @r##"
        headroom: 50 points, 49 jobs: 48 ok, 1 outstanding
        1 point excluded by the sweep's constraints

          most drops    3,000 drops  HeadRoomPerPortLimit=16KB
          fewest drops      0 drops  HeadRoomPerPortLimit=48KB (first of 46)
          most paused        29.7 %  HeadRoomPerPortLimit=768KB
          least paused       25.0 %  HeadRoomPerPortLimit=16KB

        data    out/headroom
        polars  pl.scan_parquet("out/headroom/points.parquet").join(pl.scan_parquet("out/headroom/jobs/*.parquet"), on="job_id").collect()
        duckdb  SELECT * FROM 'out/headroom/points.parquet' JOIN 'out/headroom/jobs/*.parquet' USING (job_id)
        more    poolsweep export --csv out/headroom --out CSV_DIR; poolsweep repro JOB_ID --data out/headroom
        "##);
    }

    #[test]
    fn failures_come_with_point_and_reason() {
        let mut f = fixture(50);
        for index in 10..17 {
            let row = f.rows.get_mut(&JobId(0x1000 + index)).unwrap();
            *row = JobRow {
                status: "failed".into(),
                reason: Some("panic at src/sim/x.rs:1: oh".into()),
                ..JobRow::default()
            };
        }
        let text = text_of(&f);
        assert!(
            text.contains("7 jobs failed:\n  000000000000100a  HeadRoomPerPortLimit=176KB: panic")
        );
        assert!(text.contains("  and 2 more\n"), "{text}");
    }

    #[test]
    fn shares_above_nothing_are_never_nothing() {
        assert_eq!(
            [percent(0.0), percent(1e-7), percent(0.0123), percent(0.987)],
            ["0 %", "<0.01 %", "1.23 %", "98.7 %"]
        );
    }
}
