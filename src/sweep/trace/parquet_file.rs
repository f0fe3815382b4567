//! Traces as Parquet.

use super::cell::Cell;
use super::{Layout, Place, TraceError};
use crate::sim::traffic::TraceFlow;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::error::Error;
use std::path::Path;

pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<TraceFlow>, TraceError> {
    fn fail(path: &Path, source: impl Error + Send + Sync + 'static) -> TraceError {
        TraceError::Parquet { path: path.into(), source: Box::new(source) }
    }
    let file = Bytes::copy_from_slice(bytes);
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| fail(path, e))?;
    let schema = builder.schema().clone();
    let layout = Layout::new(path, schema.fields().iter().map(|field| field.name().as_str()))?;
    let reader = builder.build().map_err(|e| fail(path, e))?;
    let mut flows = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|e| fail(path, e))?;
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            let Some(wide) = widest(column.data_type()) else {
                return Err(TraceError::ColumnType {
                    path: path.into(),
                    column: field.name().clone(),
                    found: column.data_type().to_string(),
                });
            };
            columns.push(cast(column, &wide).map_err(|e| fail(path, e))?);
        }
        for row in 0..batch.num_rows() {
            let place = Place::Row(flows.len() as u64);
            flows.push(layout.flow(path, place, |at| cell(&columns[at], row))?);
        }
    }
    Ok(flows)
}

/// The type in which a column's values are read without loss.
fn widest(found: &DataType) -> Option<DataType> {
    match found {
        DataType::UInt64 => Some(DataType::UInt64),
        found if found.is_integer() => Some(DataType::Int64),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Some(DataType::Float64),
        DataType::Boolean => Some(DataType::Boolean),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(DataType::Utf8),
        // An all-empty column, and repeated words.
        DataType::Null => Some(DataType::Utf8),
        DataType::Dictionary(_, values) => widest(values),
        _ => None,
    }
}

fn cell(column: &ArrayRef, row: usize) -> Cell<'_> {
    if column.is_null(row) {
        return Cell::Empty;
    }
    match column.data_type() {
        DataType::Int64 => Cell::Int(column.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => Cell::Large(column.as_primitive::<UInt64Type>().value(row)),
        DataType::Float64 => Cell::Float(column.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => Cell::Bool(column.as_boolean().value(row)),
        _ => match column.as_string::<i32>().value(row) {
            "" => Cell::Empty,
            text => Cell::Text(text),
        },
    }
}
