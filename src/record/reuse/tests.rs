//! Rows of one simulation as those of another job, against that job's own.

use super::*;
use crate::record::tests::{meta, observed};
use crate::record::{ChunkWriter, Outcome};
use crate::scenario::Scenario;
use crate::units::Bytes;

const TABLES: &str = "jobs,port_buffers,switch_buffers,drops,pfc,flows";

/// Groups of a switch, and two points of it with other limits.
fn points() -> (Groups, [Point; 2]) {
    let scenario: Scenario = serde_json::from_value(serde_json::json!({
        "duration": 1000, "topology": {"kind": "single-switch", "hosts": 2}, "traffic": [],
    }))
    .unwrap();
    let groups = Groups::new(&scenario).unwrap();
    let mut other = scenario.clone();
    other.switch.shared_buffer_manager.total_shared_buffer_size = Bytes(99_999_999);
    other.switch.shared_buffer_manager.static_pool_xoff_threshold = Bytes(654_321);
    let points = [&scenario, &other].map(|scenario| groups.point(scenario).unwrap());
    (groups, points)
}

/// Observations at the switch (node 2), with the limits of a point.
fn seen(groups: &Groups, point: &Point) -> Observations {
    let mut all = observed(1, 40);
    for (at, row) in all.port_buffers.iter_mut().enumerate() {
        row.node = 2;
        row.pool = (at % 2) as u8;
        row.buff = BuffId::ALL[at % 3];
        row.occupancy.integral = 3_333_333_333_333_333_333_333 + at as u128;
        row.occupancy.length = 1_000_003 + at as u64;
        row.occupancy.limit = groups.limits(point, 2).unwrap().counter(row.buff, row.pool);
    }
    for (at, row) in all.switch_buffers.iter_mut().enumerate() {
        row.node = 2;
        row.pool = at as i8 % 3 - 1;
        row.occupancy.integral = 7_777_777_777_777_777_777_777 + at as u128;
        row.occupancy.limit = groups.limits(point, 2).unwrap().sum(row.pool);
    }
    all
}

#[test]
fn rows_are_those_of_the_jobs_own_simulation_from_memory_and_from_disk() {
    let (groups, [here, there]) = points();
    assert_ne!(groups.limits(&here, 2), groups.limits(&there, 2));
    let (own, wanted) = (seen(&groups, &here), seen(&groups, &there));
    let source = JobRows::new(meta(1, TABLES, 10), Outcome::Ran(&own)).unwrap();
    let record = RunRecord::new(JobId(1), "s".into(), "{}".into(), &own);
    let simulated = JobRows::new(meta(2, TABLES, 10), Outcome::Ran(&wanted)).unwrap();

    let folder = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(folder.path()).unwrap();
    let mut chunk = ChunkWriter::new(&dataset, "plan");
    chunk.push_rows(source.clone());
    chunk.finish().unwrap();
    let stored = dataset.rows_of_job(JobId(1)).unwrap();

    for (way, rows) in [("memory", &source), ("disk", &stored)] {
        let from = Source { rows, record: &record };
        let covered = JobRows::covered(meta(2, TABLES, 10), from, &groups, &there).unwrap();
        let covered = covered.expect("it holds all that is asked for");
        assert_eq!(covered.reused_from(), Some(JobId(1)), "{way}");
        for (table, batches) in &simulated.batches {
            let whole = |rows: &[RecordBatch]| {
                let schema = StoredTable::from(*table).schema();
                arrow::compute::concat_batches(&schema, rows).unwrap()
            };
            assert_eq!(whole(batches), whole(&covered.batches[table]), "{way}: {table:?}");
            assert!(batches.iter().any(|batch| batch.num_rows() > 0), "{table:?}");
        }
        let rows = |of: &JobRows| crate::record::chunk::job_rows(&[&of.record]).unwrap();
        let (covered, simulated) = (rows(&covered), rows(&simulated));
        for (place, column) in StoredTable::Jobs.columns().iter().enumerate() {
            let (a, b) = (covered.column(place), simulated.column(place));
            match column.name {
                "reused_from" => {
                    let word = cast(a, &DataType::Utf8).unwrap();
                    assert_eq!(word.as_string::<i32>().value(0), JobId(1).to_string(), "{way}");
                    assert_eq!(b.null_count(), 1);
                }
                name => assert_eq!(a, b, "{way}: {name}"),
            }
        }
    }
}

#[test]
fn a_source_that_holds_something_else_answers_nothing() {
    let (groups, [here, _]) = points();
    let own = seen(&groups, &here);
    let source = JobRows::new(meta(1, TABLES, 10), Outcome::Ran(&own)).unwrap();
    let record = RunRecord::new(JobId(1), "s".into(), "{}".into(), &own);
    let asked = |rows: &JobRows, record: &RunRecord, tables: &str, interval: u64| {
        let source = Source { rows, record };
        JobRows::covered(meta(2, tables, interval), source, &groups, &here).unwrap().is_some()
    };
    assert!(asked(&source, &record, TABLES, 10));
    assert!(!asked(&source, &record, "jobs,port_buffers", 10), "other tables");
    assert!(!asked(&source, &record, TABLES, 20), "another interval");
    let failed = JobRows::new(meta(1, TABLES, 10), Outcome::Failed("no")).unwrap();
    assert!(!asked(&failed, &record, TABLES, 10), "it failed");
    let nothing = RunRecord::new(JobId(1), "s".into(), "{}".into(), &Observations::default());
    assert!(!asked(&source, &nothing, TABLES, 10), "moments of other rows");
}

#[test]
fn records_are_read_as_they_were_written() {
    let (groups, [here, _]) = points();
    let own = seen(&groups, &here);
    let folder = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(folder.path()).unwrap();
    assert_eq!(dataset.read_reuse().unwrap(), []);
    let records: Vec<_> = (1..4)
        .map(|job| RunRecord::new(JobId(job), format!("s{}", job % 2), format!("[{job}]"), &own))
        .collect();
    let run = crate::record::tests::compact::run("r1", true);
    dataset.write_reuse(&run, &records[..2]).unwrap();
    dataset.write_reuse(&run, &records[2..]).unwrap();
    let mut read = dataset.read_reuse().unwrap();
    read.sort_by_key(|record| record.job);
    assert_eq!(read, records);
}
