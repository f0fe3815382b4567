//! The table of grid points, written whole.
//!
//! Its axis columns differ from sweep to sweep, so they live here and nowhere else; every other
//! table has one layout for all sweeps.

use crate::record::dataset::Dataset;
use crate::record::part::{self, Draft};
use crate::record::schema::{StoredTable, field_metadata};
use crate::record::{RecordError, Result};
use crate::sweep::plan::{Column, ColumnValues, Job, JobId, Point};
use arrow::array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Float64Builder, Int32Array, Int64Array,
    Int64Builder, ListBuilder, RecordBatch, StringArray,
};
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

impl Dataset {
    /// Writes `points.parquet`, in place of the one that is there.
    ///
    /// The columns follow the fixed ones in the order given; their unit goes into the field's
    /// metadata, `1` for a number without one.
    ///
    /// # Errors
    ///
    /// Two columns of one name, a column of another length than `points`, or what the disk
    /// refuses.
    pub fn write_points(
        &self,
        plan_hash: &str,
        points: &[Point],
        jobs: &[Job],
        columns: &[Column],
    ) -> Result<()> {
        let batch = batch(points, jobs, columns)?;
        let table = StoredTable::Points;
        let draft = Draft { table, schema: batch.schema(), plan_hash, siblings: None };
        part::write(self.fs(), &self.points_file(), &draft, [&batch])?.file.publish()
    }

    /// Whether there are points.
    pub fn has_points(&self) -> bool {
        self.points_file().exists()
    }

    /// Where the points are.
    pub(super) fn points_file(&self) -> PathBuf {
        self.path().join("points.parquet")
    }
}

fn batch(points: &[Point], jobs: &[Job], columns: &[Column]) -> Result<RecordBatch> {
    let fixed = StoredTable::Points.schema();
    let mut fields: Vec<_> = fixed.fields().iter().cloned().collect();
    let mut names: BTreeSet<_> = fields.iter().map(|f| f.name().clone()).collect();
    let mut arrays = fixed_columns(points, jobs)?;
    for column in columns {
        if !names.insert(column.name.clone()) {
            return Err(RecordError::SameColumn { name: column.name.clone() });
        }
        let (array, number) = values(&column.values);
        if array.len() != points.len() {
            return Err(RecordError::ColumnLength {
                name: column.name.clone(),
                found: array.len(),
                expected: points.len(),
            });
        }
        let unit = if column.unit.is_empty() && number { "1" } else { &column.unit };
        let field = Field::new(&column.name, array.data_type().clone(), true);
        fields.push(Arc::new(field.with_metadata(field_metadata(unit, ""))));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|source| RecordError::Rows { table: StoredTable::Points.name(), source })
}

/// The columns every sweep has.
fn fixed_columns(points: &[Point], jobs: &[Job]) -> Result<Vec<ArrayRef>> {
    let refused = |source| RecordError::Rows { table: StoredTable::Points.name(), source };
    let ids = StringArray::from_iter_values(jobs.iter().map(|job| job.id.to_string()));
    let keys: Int32Array = points.iter().map(|p| p.job.map(|job| job as i32)).collect();
    let ids = DictionaryArray::try_new(keys, Arc::new(ids)).map_err(refused)?;
    let scenarios: DictionaryArray<Int32Type> =
        points.iter().map(|p| p.scenario.as_deref()).collect();
    let excluded: DictionaryArray<Int32Type> =
        points.iter().map(|p| p.excluded_by.as_deref()).collect();
    let fit = |p: &Point| {
        i64::try_from(p.repetition).map_err(|_| RecordError::OutOfRange {
            job: p.job.and_then(|job| jobs.get(job)).map_or(JobId(0), |job| job.id),
            table: StoredTable::Points.name(),
            column: "repetition",
            value: p.repetition,
            bits: 64,
        })
    };
    let repetitions = points.iter().map(fit).collect::<Result<Vec<i64>>>()?;
    Ok(vec![
        Arc::new(ids),
        Arc::new(scenarios),
        Arc::new(Int64Array::from(repetitions)),
        Arc::new(excluded),
    ])
}

/// A column as an array, and whether it holds numbers.
fn values(values: &ColumnValues) -> (ArrayRef, bool) {
    match values {
        ColumnValues::Int(v) => (Arc::new(v.iter().copied().collect::<Int64Array>()), true),
        ColumnValues::Float(v) => (Arc::new(v.iter().copied().collect::<Float64Array>()), true),
        ColumnValues::Bool(v) => (Arc::new(v.iter().copied().collect::<BooleanArray>()), false),
        ColumnValues::Text(v) => {
            let words: DictionaryArray<Int32Type> = v.iter().map(Option::as_deref).collect();
            (Arc::new(words), false)
        }
        ColumnValues::IntList(v) => {
            let mut lists = ListBuilder::new(Int64Builder::new())
                .with_field(Field::new_list_field(DataType::Int64, true));
            for list in v {
                lists.append_option(list.as_ref().map(|l| l.iter().copied().map(Some)));
            }
            (Arc::new(lists.finish()), true)
        }
        ColumnValues::FloatList(v) => {
            let mut lists = ListBuilder::new(Float64Builder::new())
                .with_field(Field::new_list_field(DataType::Float64, true));
            for list in v {
                lists.append_option(list.as_ref().map(|l| l.iter().copied().map(Some)));
            }
            (Arc::new(lists.finish()), true)
        }
    }
}
