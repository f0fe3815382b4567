//! One Parquet file: how it is named, encoded, written, opened and checked.
//!
//! Settings: zstd level 3; Arrow dictionaries for ids and words; delta encoding without a
//! dictionary for integers that climb or wander (a quarter smaller than dictionaries on time and
//! occupancy); row groups of 128 Ki rows; statistics by page, so that readers can skip. The writer
//! named in the file is a constant, so that the same rows give the same bytes with any version of
//! the Parquet library that encodes alike.

use crate::record::checksum::{Hashing, PLAN_HASH, Siblings, Sum};
use crate::record::fs::{Fs, TempFile};
use crate::record::schema::{Kind, SCHEMA_VERSION, StoredTable};
use crate::record::{RecordError, Result};
use crate::sweep::plan::JobId;
use arrow::array::{Array, DictionaryArray, RecordBatch, StringArray};
use arrow::datatypes::{Int32Type, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most rows of a row group.
pub(super) const ROW_GROUP_ROWS: usize = 128 * 1024;

/// The writer that files name.
const CREATED_BY: &str = "poolsweep version 1.0.0";

/// What every Parquet file starts and ends with.
const MAGIC: &[u8; 4] = b"PAR1";

/// Name of a part. It follows from the ids of the jobs in it and from nothing else, and those
/// never change while it exists: what is learnt from one part stays true.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartName(String);

impl PartName {
    /// The part of these jobs, given in order.
    pub fn of(jobs: impl IntoIterator<Item = JobId>) -> Self {
        let mut jobs = jobs.into_iter().peekable();
        let first = jobs.peek().copied().unwrap_or(JobId(0));
        let mut hasher = blake3::Hasher::new();
        for job in jobs {
            hasher.update(&job.0.to_le_bytes());
        }
        let hash = hasher.finalize().to_hex();
        PartName(format!("part-{first}-{}.parquet", &hash[..16]))
    }

    /// A file name, if it is a part's.
    pub fn parse(name: &str) -> Option<Self> {
        let middle = name.strip_prefix("part-")?.strip_suffix(".parquet")?;
        let (first, hash) = middle.split_once('-')?;
        let hex = |s: &str| s.len() == 16 && s.bytes().all(|b| b.is_ascii_hexdigit());
        (hex(first) && hex(hash)).then(|| PartName(name.to_owned()))
    }

    /// The file name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A file of a table, to be.
pub(super) struct Draft<'a> {
    pub table: StoredTable,
    pub schema: SchemaRef,
    pub plan_hash: &'a str,
    /// The files beside it, if it is a jobs part.
    pub siblings: Option<&'a Siblings>,
}

/// A file under a temporary name, sealed, and what it is.
pub(super) struct Written {
    pub file: TempFile,
    pub sum: Sum,
}

/// Writes batches to a temporary file beside `target`, sealed but not published.
pub(super) fn write<'a>(
    fs: &Arc<dyn Fs>,
    target: &Path,
    draft: &Draft<'_>,
    batches: impl IntoIterator<Item = &'a RecordBatch>,
) -> Result<Written> {
    let mut writer = Writer::new(fs, target, draft)?;
    batches.into_iter().try_for_each(|batch| writer.push(batch))?;
    writer.finish()
}

/// Writes a file batch by batch.
pub(super) struct Writer {
    target: PathBuf,
    writer: ArrowWriter<Hashing>,
    rows: u64,
}

impl Writer {
    /// A temporary file beside `target`.
    pub fn new(fs: &Arc<dyn Fs>, target: &Path, draft: &Draft<'_>) -> Result<Self> {
        let file = Hashing::new(TempFile::create(fs, target)?);
        let settings = properties(draft);
        let writer = ArrowWriter::try_new(file, Arc::clone(&draft.schema), Some(settings));
        let target = target.to_path_buf();
        match writer {
            Ok(writer) => Ok(Writer { target, writer, rows: 0 }),
            Err(source) => Err(RecordError::Write { path: target, source }),
        }
    }

    /// Adds rows.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        let failed = |source| RecordError::Write { path: self.target.clone(), source };
        self.writer.write(batch).map_err(failed)
    }

    /// Ends the file: its bytes are on the disk, its name is not there yet.
    pub fn finish(mut self) -> Result<Written> {
        let failed = |source| RecordError::Write { path: self.target.clone(), source };
        // The data has to be out before its hash is told.
        self.writer.flush().map_err(failed)?;
        self.writer.sync().map_err(RecordError::io("write", &self.target))?;
        for note in self.writer.inner_mut().end_of_data() {
            self.writer.append_key_value_metadata(note);
        }
        let hashed = self.writer.into_inner().map_err(failed)?;
        let (mut file, sum) =
            hashed.finish(self.rows).map_err(RecordError::io("write", &self.target))?;
        file.seal()?;
        Ok(Written { file, sum })
    }
}

fn properties(draft: &Draft<'_>) -> WriterProperties {
    let Draft { table, schema, plan_hash, siblings } = draft;
    let level = ZstdLevel::try_new(3).unwrap_or_default();
    let note = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let sorted = table.sorted_by().iter().filter_map(|name| {
        let column_idx = schema.index_of(name).ok()? as i32;
        Some(SortingColumn { column_idx, descending: false, nulls_first: false })
    });
    let sorted: Vec<_> = sorted.collect();
    let mut notes = vec![
        note("poolsweep_schema_version", SCHEMA_VERSION.to_string()),
        note("poolsweep_version", env!("CARGO_PKG_VERSION").to_owned()),
        note(PLAN_HASH, (*plan_hash).to_owned()),
    ];
    notes.extend(siblings.map(Siblings::note));
    let mut settings = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_created_by(CREATED_BY.to_owned())
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_sorting_columns((!sorted.is_empty()).then_some(sorted))
        .set_key_value_metadata(Some(notes));
    for column in table.columns() {
        // A path of one: names with dots are not nested.
        let path = ColumnPath::new(vec![column.name.to_owned()]);
        settings = match column.kind {
            Kind::Walk64 => settings
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            // Long and never twice the same: neither a dictionary nor bounds are of use.
            Kind::Text => settings
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_statistics_enabled(path, EnabledStatistics::None),
            _ => settings,
        };
    }
    settings.build()
}

/// Opens a file of a table for reading, all columns or those named.
pub(super) fn open(
    path: &Path,
    table: StoredTable,
    columns: Option<&[&str]>,
) -> Result<ParquetRecordBatchReader> {
    let file = File::open(path).map_err(RecordError::io("open", path))?;
    read(path, file, table, columns, ROW_GROUP_ROWS)
}

/// As [`open`], of an open file, in batches of at most so many rows.
pub(super) fn read(
    path: &Path,
    file: File,
    table: StoredTable,
    columns: Option<&[&str]>,
    rows: usize,
) -> Result<ParquetRecordBatchReader> {
    let damaged = |source: ParquetError| damaged(path, source);
    let mut builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged)?;
    check_layout(path, table, builder.schema())?;
    if let Some(columns) = columns {
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        builder = builder.with_projection(mask);
    }
    builder.with_batch_size(rows).build().map_err(damaged)
}

/// Refuses a file with other columns than its table's; `points` may have more.
fn check_layout(path: &Path, table: StoredTable, found: &SchemaRef) -> Result<()> {
    let expected = table.schema();
    let free = table == StoredTable::Points;
    let wrong = |detail| Err(RecordError::Foreign { path: path.to_path_buf(), detail });
    for (place, field) in expected.fields().iter().enumerate() {
        match found.fields().get(place) {
            Some(f) if f.name() == field.name() && f.data_type() == field.data_type() => {}
            Some(f) => {
                return wrong(format!(
                    "column {place} is `{}` of type {}, not `{}` of type {}",
                    f.name(),
                    f.data_type(),
                    field.name(),
                    field.data_type()
                ));
            }
            None => return wrong(format!("it lacks the column `{}`", field.name())),
        }
    }
    match found.fields().get(expected.fields().len()) {
        Some(extra) if !free => wrong(format!("it has a column `{}` too many", extra.name())),
        _ => Ok(()),
    }
}

/// A cheap look at both ends of a file: catches every truncation.
pub(super) fn check_ends(path: &Path) -> Result<()> {
    let look = || -> io::Result<Option<&'static str>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        if length < 12 {
            return Ok(Some("it is shorter than any Parquet file"));
        }
        let mut head = [0; 4];
        file.read_exact(&mut head)?;
        file.seek(SeekFrom::End(-8))?;
        let mut tail = [0; 8];
        file.read_exact(&mut tail)?;
        let footer = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
        Ok(if head != *MAGIC || tail[4..] != *MAGIC {
            Some("it does not start and end as Parquet files do")
        } else if u64::from(footer) + 12 > length {
            Some("its footer is longer than the file")
        } else {
            None
        })
    };
    match look().map_err(RecordError::io("read", path))? {
        Some(detail) => {
            Err(RecordError::Damaged { path: path.to_path_buf(), detail: detail.to_owned() })
        }
        None => Ok(()),
    }
}

/// The error for a file whose reader gave up.
pub(super) fn damaged(path: &Path, source: impl fmt::Display) -> RecordError {
    RecordError::Damaged { path: path.to_path_buf(), detail: source.to_string() }
}

/// The words of a dictionary column.
pub(super) fn words<'a>(
    path: &Path,
    batch: &'a RecordBatch,
    column: &str,
) -> Result<impl Fn(usize) -> &'a str + use<'a>> {
    let array = batch.column_by_name(column).and_then(|a| {
        let words = a.as_any().downcast_ref::<DictionaryArray<Int32Type>>()?;
        Some((words.keys(), words.values().as_any().downcast_ref::<StringArray>()?))
    });
    let (keys, words) = array.ok_or_else(|| damaged(path, format!("no words in `{column}`")))?;
    Ok(move |row| if keys.is_null(row) { "" } else { words.value(keys.value(row) as usize) })
}

/// The job a row is of.
pub(super) fn parse_id(path: &Path, word: &str) -> Result<JobId> {
    let id = (word.len() == 16).then(|| u64::from_str_radix(word, 16).ok()).flatten();
    id.map(JobId).ok_or_else(|| damaged(path, format!("`{word}` is no job id")))
}

/// Cuts a batch into runs of rows of one job.
pub(super) fn runs(path: &Path, batch: &RecordBatch) -> Result<Vec<(JobId, RecordBatch)>> {
    let bounds = bounds(path, batch)?.into_iter();
    Ok(bounds.map(|(job, rows)| (job, batch.slice(rows.start, rows.len()))).collect())
}

/// The rows of each job in a batch, job after job.
pub(super) fn bounds(path: &Path, batch: &RecordBatch) -> Result<Vec<(JobId, Range<usize>)>> {
    let id = words(path, batch, "job_id")?;
    let mut runs = Vec::new();
    let mut start = 0;
    while start < batch.num_rows() {
        let job = id(start);
        let mut end = start + 1;
        while end < batch.num_rows() && id(end) == job {
            end += 1;
        }
        runs.push((parse_id(path, job)?, start..end));
        start = end;
    }
    Ok(runs)
}
