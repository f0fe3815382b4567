//! How the files are laid out, read back from their own metadata.

use super::*;
use crate::record::StoredTable;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

fn metadata(dataset: &Dataset, table: StoredTable) -> ParquetMetaData {
    let folder = dataset.path().join(table.name());
    let entry = fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    let file = fs::File::open(entry.path()).unwrap();
    SerializedFileReader::new(file).unwrap().metadata().clone()
}

#[test]
fn encodings_statistics_and_notes_are_as_set() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    let mut observed = observed(1, 10);
    let row = observed.port_buffers[0];
    observed.port_buffers = (0..200_000)
        .map(|sim_time| {
            let max = sim_time * sim_time % 5_000;
            PortBufferRow { occupancy: Occupancy { sim_time, max, ..row.occupancy }, ..row }
        })
        .collect();
    let mut chunk = ChunkWriter::new(&dataset, PLAN);
    chunk.push(meta(1, "port_buffers", 10), Outcome::Ran(&observed)).unwrap();
    assert!(chunk.memory() > 200_000 * 80);
    chunk.finish().unwrap();

    let metadata = metadata(&dataset, StoredTable::PortBuffers);
    let groups: Vec<_> = metadata.row_groups().iter().map(|g| g.num_rows()).collect();
    assert_eq!(groups, [131_072, 68_928]);
    let group = metadata.row_group(0);
    let sorted: Vec<_> = group.sorting_columns().unwrap().iter().map(|c| c.column_idx).collect();
    assert_eq!(sorted, [0, 1]);
    for column in group.columns() {
        assert!(matches!(column.compression(), Compression::ZSTD(_)), "{column:?}");
        assert!(column.statistics().is_some(), "{column:?}");
        assert!(column.column_index_offset().is_some(), "{column:?}");
    }
    for name in ["sim_time_ps", "ivl_max_bytes", "ivl_count"] {
        let column = group.columns().iter().find(|c| c.column_path().string() == name).unwrap();
        assert!(column.encodings().any(|e| e == Encoding::DELTA_BINARY_PACKED), "{column:?}");
        assert_eq!(column.dictionary_page_offset(), None);
    }
    for name in ["job_id", "buff_id", "node_id", "buff_limit"] {
        let column = group.columns().iter().find(|c| c.column_path().string() == name).unwrap();
        assert!(column.dictionary_page_offset().is_some(), "{column:?}");
    }

    let file = metadata.file_metadata();
    assert_eq!(file.created_by(), Some("poolsweep version 1.0.0"));
    let notes: BTreeMap<_, _> = file
        .key_value_metadata()
        .unwrap()
        .iter()
        .map(|note| (note.key.as_str(), note.value.as_deref().unwrap_or("")))
        .collect();
    assert_eq!(notes["poolsweep_schema_version"], "4");
    assert_eq!(notes["poolsweep_version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(notes["plan_hash"], PLAN);
}

#[test]
fn a_table_without_rows_is_a_file_with_its_columns() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    let mut chunk = ChunkWriter::new(&dataset, PLAN);
    chunk.push(meta(1, "jobs,pfc", 10), Outcome::Infeasible("no")).unwrap();
    chunk.finish().unwrap();
    let metadata = metadata(&dataset, StoredTable::Pfc);
    assert_eq!(metadata.file_metadata().num_rows(), 0);
    let columns = metadata.file_metadata().schema_descr().num_columns();
    assert_eq!(columns, StoredTable::Pfc.columns().len());
}

#[test]
fn the_same_chunk_gives_the_same_bytes_in_any_order_of_jobs() {
    let all = TableSet::all().to_list();
    let write = |jobs: &[u64]| {
        let dir = tempfile::tempdir().unwrap();
        let dataset = Dataset::open_or_create(dir.path()).unwrap();
        publish(&dataset, jobs, &all, 1_000_000).unwrap();
        files(dir.path())
    };
    let once = write(&[1, 2, 3]);
    assert_eq!(once.len(), 11, "ten tables and the marker");
    assert_eq!(once, write(&[3, 1, 2]));
}
