//! What lies beside the tables of jobs, when datasets are merged: plan, points and sources, and
//! what runs left of themselves.

use crate::record::checksum;
use crate::record::dataset::Dataset;
use crate::record::fs::write_whole;
use crate::record::part::{self, Draft, damaged};
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result};
use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::row::{RowConverter, SortField};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const PLAN: &str = "plan.json";

/// The hash in a dataset's `plan.json`; `None` without that file.
///
/// # Errors
///
/// A file that is no plan.
pub(super) fn plan_hash(root: &Path) -> Result<Option<String>> {
    let path = root.join(PLAN);
    let Some(text) = read(&path)? else { return Ok(None) };
    let plan: serde_json::Value = serde_json::from_slice(&text).map_err(|e| damaged(&path, e))?;
    let hash = plan.get("plan_hash").and_then(serde_json::Value::as_str);
    let hash = hash.ok_or_else(|| damaged(&path, "it has no `plan_hash`"))?;
    Ok(Some(hash.to_owned()))
}

/// Refuses sources of different plans for a target that has none.
pub(super) fn check_plans(out: &Path, sources: &[Dataset]) -> Result<()> {
    if out.join(PLAN).exists() {
        return Ok(());
    }
    let mut first = None;
    for source in sources {
        let path = source.path().to_path_buf();
        let hash = plan_hash(&path)?;
        let hash = hash.ok_or_else(|| RecordError::NoPlan { path: path.clone() })?;
        match &first {
            None => first = Some((hash, path)),
            Some((planned, _)) if *planned == hash => {}
            Some((_, first)) => return Err(RecordError::OtherPlan { path, first: first.clone() }),
        }
    }
    Ok(())
}

/// Takes over points, sweep file, sources and plan of the first source, the plan last: a target
/// without it is not planned yet.
pub(super) fn take_over(target: &Dataset, sources: &[Dataset]) -> Result<()> {
    let Some(first) = sources.first() else { return Ok(()) };
    if target.path().join(PLAN).exists() {
        return Ok(());
    }
    let mut names = vec![PathBuf::from("points.parquet"), PathBuf::from("sweep.yaml")];
    let listed = plain_files(&first.path().join("sources"))?;
    names.extend(listed.into_iter().map(|name| Path::new("sources").join(name)));
    names.push(PathBuf::from(PLAN));
    if first.points_file().exists() {
        checksum::check(&first.points_file())?;
    }
    for name in names {
        if let Some(bytes) = read(&first.path().join(&name))? {
            write_whole(target.fs(), &target.path().join(&name), &bytes)?;
        }
    }
    Ok(())
}

/// Takes the timings, what simulations compared, the provenance and the journals of a source's runs.
pub(super) fn take_runs(target: &Dataset, source: &Dataset) -> Result<()> {
    for table in StoredTable::OF_RUNS {
        let mut known = None;
        for path in source.volatile_files(table)? {
            let name = path.file_name().unwrap_or_default();
            let own = target.folder(table).join(name);
            let bytes = read(&path)?.unwrap_or_default();
            if let Some(old) = read(&own)? {
                // A run writes its provenance at its start and again at its end.
                if table == StoredTable::Provenance
                    && old != bytes
                    && open_ended(&own)?
                    && !open_ended(&path)?
                {
                    checksum::check(&path)?;
                    write_whole(target.fs(), &own, &bytes)?;
                }
                continue;
            }
            checksum::check(&path)?;
            let known = match &mut known {
                Some(known) => known,
                None => known.insert(keys_of(target, table)?),
            };
            take_new(target, table, &path, &own, known)?;
        }
    }
    for name in plain_files(&source.path().join("journal"))? {
        let below = Path::new("journal").join(name);
        let Some(bytes) = read(&source.path().join(&below))? else { continue };
        let own = target.path().join(&below);
        // They only grow.
        if fs::metadata(&own).map_or(true, |found| found.len() < bytes.len() as u64) {
            write_whole(target.fs(), &own, &bytes)?;
        }
    }
    Ok(())
}

/// Takes the rows of a file that the target does not have under another name, as after compacting.
fn take_new(
    target: &Dataset,
    table: StoredTable,
    path: &Path,
    own: &Path,
    known: &mut BTreeSet<Vec<u8>>,
) -> Result<()> {
    let refused = |source| RecordError::Rows { table: table.name(), source };
    let mut rows: Vec<RecordBatch> = Vec::new();
    for batch in part::open(path, table, None)? {
        let batch = batch.map_err(|e| damaged(path, e))?;
        let new: BooleanArray =
            keys(table, &batch)?.into_iter().map(|key| Some(known.insert(key))).collect();
        if new.true_count() > 0 {
            rows.push(filter_record_batch(&batch, &new).map_err(refused)?);
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let notes = checksum::notes(path)?;
    let plan_hash = notes.get(checksum::PLAN_HASH).map_or("", String::as_str);
    let draft = Draft { table, schema: table.schema(), plan_hash, siblings: None };
    part::write(target.fs(), own, &draft, &rows)?.file.publish()
}

/// What tells rows apart, of every row the target has.
fn keys_of(target: &Dataset, table: StoredTable) -> Result<BTreeSet<Vec<u8>>> {
    let mut known = BTreeSet::new();
    for batch in target.read_table(table)? {
        known.extend(keys(table, &batch?)?);
    }
    Ok(known)
}

/// What tells rows apart: the run, the job where there is one, and in `timings` when it began.
fn keys(table: StoredTable, batch: &RecordBatch) -> Result<Vec<Vec<u8>>> {
    let refused = |source| RecordError::Rows { table: table.name(), source };
    let names: &[&str] = match table {
        StoredTable::Timings => &["run_id", "job_id", "start_us"],
        StoredTable::Reuse => &["run_id", "job_id"],
        _ => &["run_id"],
    };
    let columns: Vec<_> =
        names.iter().filter_map(|name| batch.column_by_name(name).cloned()).collect();
    let fields = columns.iter().map(|c| SortField::new(c.data_type().clone())).collect();
    let rows = RowConverter::new(fields).and_then(|rows| rows.convert_columns(&columns));
    Ok(rows.map_err(refused)?.iter().map(|row| row.as_ref().to_vec()).collect())
}

/// Whether a run of a provenance file has not ended.
pub(super) fn open_ended(path: &Path) -> Result<bool> {
    for batch in part::open(path, StoredTable::Provenance, Some(&["end_us"]))? {
        let batch = batch.map_err(|e| damaged(path, e))?;
        if batch.column_by_name("end_us").is_none_or(|end| end.null_count() > 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(RecordError::io("read", path)(source)),
    }
}

/// Names of the files in a folder, in order; none without the folder.
fn plain_files(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(source) => return Err(RecordError::io("list", folder)(source)),
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let entry = entry.map_err(RecordError::io("list", folder))?;
        if entry.path().is_file() && !entry.file_name().to_string_lossy().starts_with('.') {
            names.insert(PathBuf::from(entry.file_name()));
        }
    }
    Ok(names)
}
