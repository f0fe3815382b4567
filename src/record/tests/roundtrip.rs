//! What a job left comes back, column by column.

use super::*;
use crate::record::{JobRows, RecordError, Status, StoredTable};
use crate::sim::random::Seeds;
use crate::sweep::plan::{Column, ColumnValues, Job, Point};
use arrow::array::{Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// The values of a column over all parts, as text.
fn column(dataset: &Dataset, table: StoredTable, name: &str) -> Vec<String> {
    let batches = dataset.read_table(table).unwrap();
    batches.flat_map(|batch| texts(&batch.unwrap(), name)).collect()
}

fn texts(batch: &RecordBatch, name: &str) -> Vec<String> {
    let array = batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name}"));
    let options = FormatOptions::new().with_null("null");
    let format = ArrayFormatter::try_new(array, &options).unwrap();
    (0..array.len()).map(|row| format.value(row).to_string()).collect()
}

fn full() -> (tempfile::TempDir, Dataset) {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path().join("out")).unwrap();
    let all = TableSet::all().to_list();
    publish(&dataset, &[2, 1], &all, 1_000_000).unwrap();
    (dir, dataset)
}

#[test]
fn every_table_holds_what_was_observed() {
    let (_dir, dataset) = full();
    let mut shown = String::new();
    for table in TableSet::all().iter().map(StoredTable::from) {
        let batch = dataset.read_table(table).unwrap().next().unwrap().unwrap();
        shown += &format!("{} ({} rows)\n", table.name(), batch.num_rows());
        for column in table.columns() {
            let first: Vec<_> = texts(&batch, column.name).into_iter().take(2).collect();
            shown += &format!("  {}: {}\n", column.name, first.join(", "));
        }
    }
    insta::assert_snapshot!("rows", shown);
}

#[test]
fn rows_are_in_order_of_job_and_time() {
    let (_dir, dataset) = full();
    let (one, two) = ("0000000000000001", "0000000000000002");
    let ids = column(&dataset, StoredTable::Drops, "job_id");
    assert_eq!(ids, [one, one, one, two, two, two]);
    let times = column(&dataset, StoredTable::Drops, "sim_time_ps");
    let (a, b, c) = ("1000000", "2000000", "3000000");
    assert_eq!(times, [a, b, c, a, b, c]);
    assert_eq!(column(&dataset, StoredTable::Jobs, "job_id"), [one, two]);
}

#[test]
fn what_does_not_run_has_a_row_without_results() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    let mut chunk = ChunkWriter::new(&dataset, PLAN);
    let budget = Observations {
        totals: Totals { end: End::EventBudget, events: 7, ..Totals::default() },
        ..Observations::default()
    };
    chunk.push(meta(1, "jobs,drops", 5), Outcome::Infeasible("Xoff above the pool")).unwrap();
    chunk.push(meta(2, "jobs,drops", 5), Outcome::Failed("panicked: odd")).unwrap();
    chunk.push(meta(3, "jobs,drops", 5), Outcome::Quarantined("killed thrice")).unwrap();
    chunk.push(meta(4, "jobs,drops", 5), Outcome::Ran(&budget)).unwrap();
    let published = chunk.finish().unwrap();
    assert_eq!(published.rows[&StoredTable::Drops], 0);

    let jobs = |name| column(&dataset, StoredTable::Jobs, name);
    assert_eq!(jobs("status"), ["infeasible", "failed", "quarantined", "budget"]);
    assert_eq!(jobs("reason")[..2], ["Xoff above the pool", "panicked: odd"]);
    assert_eq!(jobs("drops"), ["null", "null", "null", "0"]);
    assert_eq!(jobs("events"), ["null", "null", "null", "7"]);
    assert_eq!(jobs("end"), ["null", "null", "null", "budget"]);
    // Nothing was measured: a share of no time is not zero.
    assert_eq!(jobs("pause_time_fraction")[3], "null");
    let done = dataset.done().unwrap();
    assert_eq!(done[&JobId(3)].status, Status::Quarantined);
    let drops = TableSet::from_list("drops");
    assert!(done[&JobId(2)].holds(drops, Ps(5), false));
    assert!(!done[&JobId(2)].holds(drops, Ps(6), false));
    assert!(done[&JobId(1)].holds(TableSet::all(), Ps(6), true), "infeasible at any interval");
}

#[test]
fn done_compares_tables_interval_and_zeros() {
    let (_dir, dataset) = full();
    let done = dataset.done().unwrap()[&JobId(1)];
    assert_eq!(done.tables, TableSet::all());
    let set = TableSet::from_list;
    assert!(done.holds(TableSet::all(), Ps(1_000_000), false));
    assert!(done.holds(set("jobs,pfc"), Ps(1_000_000), false));
    assert!(!done.holds(set("jobs,pfc"), Ps(999), false));
    assert!(!done.holds(set("jobs,pfc"), Ps(1_000_000), true));
    assert!(done.holds(set("jobs,flows"), Ps(999), true), "they have no intervals");
}

#[test]
fn a_job_reads_back_for_running_it_again() {
    let (_dir, dataset) = full();
    let job = dataset.job(JobId(2)).unwrap();
    assert_eq!(job.scenario, r#"{"duration":2000}"#);
    assert_eq!((job.repetition, job.seed, job.interval), (0, 42, Ps(1_000_000)));
    assert_eq!((job.status, job.reason, job.row.num_rows()), (Status::Ok, None, 1));
    let drops = dataset.read_job(StoredTable::Drops, JobId(2)).unwrap();
    assert_eq!(drops.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
    let unknown = dataset.job(JobId(3)).unwrap_err();
    assert!(matches!(unknown, RecordError::UnknownJob { job: JobId(3), .. }), "{unknown}");
}

#[test]
fn more_rows_than_a_row_group_come_back_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    let many = 300_000;
    let mut observed = observed(1, 10);
    let row = observed.drops[0];
    observed.drops = (0..many).map(|sim_time| DropRow { sim_time, ..row }).collect();
    let rows = JobRows::new(meta(1, "drops", 10), Outcome::Ran(&observed)).unwrap();
    dataset.publish(PLAN, vec![rows]).unwrap();
    let times = column(&dataset, StoredTable::Drops, "sim_time_ps");
    assert_eq!(times, (0..many).map(|t| t.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_job_twice_in_a_chunk_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    let error = publish(&dataset, &[1, 2, 1], "jobs", 5).unwrap_err();
    assert!(matches!(error, RecordError::TwiceInChunk(JobId(1))), "{error}");
    assert!(dataset.done().unwrap().is_empty());
    assert_eq!(ChunkWriter::new(&dataset, PLAN).finish().unwrap(), Published::default());
}

#[test]
fn points_have_a_typed_column_an_axis() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    let job = |id, point| Job {
        id: JobId(id),
        repetition: 0,
        seeds: Seeds::default(),
        infeasible: Vec::new(),
        cost: 1.0,
        point,
    };
    let point = |job, excluded_by: Option<&str>| Point {
        scenario: Some("incast".to_owned()),
        repetition: 0,
        job,
        excluded_by: excluded_by.map(str::to_owned),
    };
    let axis = |name: &str, unit: &str, values| Column {
        name: name.to_owned(),
        unit: unit.to_owned(),
        values,
    };
    let points = [point(Some(1), None), point(None, Some("a < b")), point(Some(0), None)];
    let jobs = [job(7, 2), job(5, 0)];
    let columns = [
        axis("Scala.Xoff", "B", ColumnValues::Int(vec![Some(1), Some(2), None])),
        axis("share", "", ColumnValues::Float(vec![Some(0.5), None, Some(1.0)])),
        axis("held", "", ColumnValues::Bool(vec![Some(true), None, Some(false)])),
        axis("kind", "", ColumnValues::Text(vec![Some("x".to_owned()), None, None])),
        axis("rates", "bit/s", ColumnValues::IntList(vec![Some(vec![1, 2]), None, Some(vec![])])),
        axis("cuts", "", ColumnValues::FloatList(vec![Some(vec![0.5]), None, None])),
    ];
    dataset.write_points(PLAN, &points, &jobs, &columns).unwrap();
    let of = |name| column(&dataset, StoredTable::Points, name);
    assert_eq!(of("job_id"), ["0000000000000005", "null", "0000000000000007"]);
    assert_eq!(of("excluded_by"), ["null", "a < b", "null"]);
    assert_eq!(of("scenario"), ["incast"; 3]);
    assert_eq!(of("Scala.Xoff"), ["1", "2", "null"]);
    assert_eq!(of("share"), ["0.5", "null", "1.0"]);
    assert_eq!(of("held"), ["true", "null", "false"]);
    assert_eq!(of("kind"), ["x", "null", "null"]);
    assert_eq!(of("rates"), ["[1, 2]", "null", "[]"]);
    assert_eq!(of("cuts"), ["[0.5]", "null", "null"]);
    let batch = dataset.read_table(StoredTable::Points).unwrap().next().unwrap().unwrap();
    let unit = |name| batch.schema().field_with_name(name).unwrap().metadata().get("unit").cloned();
    assert_eq!(unit("Scala.Xoff").as_deref(), Some("B"));
    assert_eq!(unit("share").as_deref(), Some("1"));
    assert_eq!(unit("kind"), None);

    // Whole again, with other columns.
    dataset.write_points(PLAN, &points[..1], &jobs, &[]).unwrap();
    assert_eq!(of("job_id"), ["0000000000000005"]);
    let twice = axis("repetition", "", ColumnValues::Bool(vec![None]));
    let error = dataset.write_points(PLAN, &points[..1], &jobs, &[twice]).unwrap_err();
    assert!(error.to_string().contains("two columns named `repetition`"), "{error}");
    let short = axis("a", "", ColumnValues::Bool(vec![]));
    let error = dataset.write_points(PLAN, &points[..1], &jobs, &[short]).unwrap_err();
    assert_eq!(error.to_string(), "column `a` of points has 0 values for 1 points");
}
