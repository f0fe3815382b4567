//! Tables as CSV files, for those who want that.
//!
//! One file a table, a header line, nulls empty, lists as `[1, 2]`, bytes as hexadecimal digits.
//! Streams: one batch of rows is in memory at a time. What CSV cannot hold is lost: types, units.

use crate::record::dataset::Dataset;
use crate::record::fs::TempFile;
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result};
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::csv::WriterBuilder;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A table written as CSV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Which.
    pub table: StoredTable,
    /// Its file.
    pub path: PathBuf,
    /// Its rows.
    pub rows: usize,
}

impl Dataset {
    /// Writes every table that has files as `<folder>/<table>.csv`, in place of older ones.
    ///
    /// # Errors
    ///
    /// A damaged part, or what the disk refuses; the table at hand is then not there, or is the
    /// older one.
    pub fn export_csv(&self, folder: &Path) -> Result<Vec<Exported>> {
        let mut exported = Vec::new();
        for table in StoredTable::ALL {
            let mut batches = self.read_table(table)?.peekable();
            if batches.peek().is_none() && !self.folder(table).exists() {
                continue;
            }
            let path = folder.join(format!("{}.csv", table.name()));
            let failed = |source: ArrowError| RecordError::Csv { path: path.clone(), source };
            let mut file = TempFile::create(self.fs(), &path)?;
            let mut rows = 0;
            let mut writer = WriterBuilder::new().with_header(true).build(&mut file);
            if batches.peek().is_none() {
                let empty = RecordBatch::new_empty(table.schema());
                writer.write(&flat(&empty).map_err(failed)?).map_err(failed)?;
            }
            for batch in batches {
                let batch = batch?;
                rows += batch.num_rows();
                writer.write(&flat(&batch).map_err(failed)?).map_err(failed)?;
            }
            drop(writer);
            file.publish()?;
            exported.push(Exported { table, path, rows });
        }
        Ok(exported)
    }
}

/// The batch with its lists as text.
fn flat(batch: &RecordBatch) -> std::result::Result<RecordBatch, ArrowError> {
    let options = FormatOptions::new();
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if matches!(field.data_type(), DataType::List(_)) {
            let format = ArrayFormatter::try_new(column.as_ref(), &options)?;
            let text = |row| column.is_valid(row).then(|| format.value(row).try_to_string());
            let texts = (0..column.len()).map(|row| text(row).transpose());
            let texts = texts.collect::<std::result::Result<StringArray, ArrowError>>()?;
            fields.push(Arc::new(Field::new(field.name(), DataType::Utf8, true)));
            columns.push(Arc::new(texts));
        } else {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(column));
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}
