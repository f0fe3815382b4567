//! CSV.

use super::*;
use crate::record::StoredTable;
use crate::sweep::plan::{Column, ColumnValues, Point};

#[test]
fn every_table_there_is_becomes_a_csv_file() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path().join("out")).unwrap();
    publish(&dataset, &[1], "jobs,drops", 5).unwrap();
    publish(&dataset, &[2], "jobs,drops", 5).unwrap();
    let mut chunk = ChunkWriter::new(&dataset, PLAN);
    chunk.push(meta(3, "jobs,flows", 5), Outcome::Infeasible("a, \"b\"")).unwrap();
    chunk.finish().unwrap();
    let point = Point { scenario: None, repetition: 0, job: None, excluded_by: None };
    let lists = ColumnValues::IntList(vec![Some(vec![1, 2])]);
    let column = Column { name: "sizes".to_owned(), unit: "B".to_owned(), values: lists };
    dataset.write_points(PLAN, &[point], &[], &[column]).unwrap();

    let csv = dir.path().join("csv");
    let exported = dataset.export_csv(&csv).unwrap();
    let rows: Vec<_> = exported.iter().map(|e| (e.table, e.rows)).collect();
    let (points, jobs) = (StoredTable::Points, StoredTable::Jobs);
    assert_eq!(rows, [(points, 1), (jobs, 3), (StoredTable::Drops, 6), (StoredTable::Flows, 0)]);
    let read = |name: &str| fs::read_to_string(csv.join(name)).unwrap();
    assert_eq!(
        read("points.csv"),
        "job_id,scenario,repetition,excluded_by,sizes\n,,0,,\"[1, 2]\"\n"
    );
    let drops = read("drops.csv");
    let mut lines = drops.lines();
    assert_eq!(
        lines.next(),
        Some("job_id,sim_time_ps,node_id,ifid,tc,pool_num,reason,ivl_packets,ivl_bytes")
    );
    assert_eq!(lines.next(), Some("0000000000000001,5,9,2,3,1,nic_receive_pool,6,600"));
    assert_eq!(lines.count(), 5, "one header for all parts");
    assert!(read("jobs.csv").contains(r#"infeasible,"a, ""b""","#));
    assert_eq!(read("flows.csv").lines().count(), 1, "a header only");
    assert!(leftovers(&csv).is_empty());
}
