//! The rows of `jobs`: status, reason and every number.

use super::grid::in_order;
use super::{ReportError, Wanted};
use crate::record::{Column, Dataset, Kind, StoredTable};
use crate::report::cells::{parse_id, texts};
use crate::sweep::plan::JobId;
use arrow::array::{Array, Float64Array, Int64Array, RecordBatch};
use indexmap::IndexSet;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Columns of `jobs` that say nothing of what a job came to.
const NO_RESULTS: [&str; 3] = ["repetition", "seed", "interval_ps"];

/// Above this not every whole number is a number of a script: those go as text.
const LARGEST_EXACT: u64 = 1 << 53;

/// The jobs, column by column.
#[derive(Debug, Serialize)]
pub struct JobColumns {
    #[serde(serialize_with = "as_hex")]
    id: Vec<JobId>,
    status: Words,
    reason: Words,
    end: Words,
    tables: Words,
    columns: Vec<NumberColumn>,
    #[serde(skip)]
    places: BTreeMap<JobId, usize>,
}

/// Words, each once, and a place in them a job.
#[derive(Debug, Serialize, Default)]
struct Words {
    #[serde(serialize_with = "in_order")]
    words: IndexSet<String>,
    codes: Vec<Option<usize>>,
}

/// A column of numbers.
#[derive(Debug, Serialize)]
struct NumberColumn {
    name: &'static str,
    unit: &'static str,
    description: &'static str,
    values: Vec<Number>,
}

/// A cell.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    None,
    Whole(i64),
    Float(f64),
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Number::None => serializer.serialize_none(),
            Number::Whole(n) if n.unsigned_abs() > LARGEST_EXACT => {
                serializer.serialize_str(&n.to_string())
            }
            Number::Whole(n) => serializer.serialize_i64(n),
            Number::Float(x) => serializer.serialize_f64(x),
        }
    }
}

fn as_hex<S: Serializer>(ids: &[JobId], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ids.iter().map(JobId::to_string))
}

impl Words {
    fn push(&mut self, word: Option<String>) {
        self.codes.push(word.map(|word| self.words.insert_full(word).0));
    }

    fn get(&self, job: usize) -> Option<&str> {
        self.words.get_index((*self.codes.get(job)?)?).map(String::as_str)
    }
}

impl JobColumns {
    /// Reads them, without columns that have no value at all.
    pub fn read(dataset: &Dataset) -> Result<JobColumns, ReportError> {
        let result = |column: &&Column| {
            matches!(column.kind, Kind::Int64 | Kind::Walk64 | Kind::Float64)
                && !NO_RESULTS.contains(&column.name)
        };
        let column = |c: &Column| NumberColumn {
            name: c.name,
            unit: c.unit,
            description: c.description,
            values: Vec::new(),
        };
        let mut all = JobColumns {
            id: Vec::new(),
            status: Words::default(),
            reason: Words::default(),
            end: Words::default(),
            tables: Words::default(),
            columns: StoredTable::Jobs.columns().iter().filter(result).map(column).collect(),
            places: BTreeMap::new(),
        };
        for batch in dataset.read_table(StoredTable::Jobs)? {
            all.take(&batch?);
        }
        all.columns.retain(|c| c.values.iter().any(|value| *value != Number::None));
        Ok(all)
    }

    fn take(&mut self, batch: &RecordBatch) {
        let ids = texts(batch, "job_id");
        let ids: Vec<Option<JobId>> =
            (0..batch.num_rows()).map(|row| parse_id(&ids(row)?)).collect();
        for &id in ids.iter().flatten() {
            self.places.insert(id, self.id.len());
            self.id.push(id);
        }
        let words = [
            ("status", &mut self.status),
            ("reason", &mut self.reason),
            ("end", &mut self.end),
            ("tables", &mut self.tables),
        ];
        for (name, column) in words {
            let text = texts(batch, name);
            (0..batch.num_rows()).filter(|&r| ids[r].is_some()).for_each(|r| column.push(text(r)));
        }
        for column in &mut self.columns {
            let array = batch.column_by_name(column.name).map(|array| array.as_any());
            let whole = array.and_then(|any| any.downcast_ref::<Int64Array>());
            let float = array.and_then(|any| any.downcast_ref::<Float64Array>());
            let cell = |row: usize| match (whole, float) {
                (Some(array), _) if array.is_valid(row) => Number::Whole(array.value(row)),
                (_, Some(array)) if array.is_valid(row) => Number::Float(array.value(row)),
                _ => Number::None,
            };
            let rows = (0..batch.num_rows()).filter(|&row| ids[row].is_some());
            column.values.extend(rows.map(cell));
        }
    }

    /// The place of a job.
    pub fn place(&self, id: JobId) -> Option<usize> {
        self.places.get(&id).copied()
    }

    /// The job at a place.
    pub fn id(&self, place: usize) -> JobId {
        self.id[place]
    }

    /// Whether a job recorded a table.
    pub fn has_table(&self, place: usize, table: StoredTable) -> bool {
        self.tables.get(place).is_some_and(|list| list.split(',').any(|t| t == table.name()))
    }

    /// A number of a job.
    pub fn number(&self, place: usize, column: &str) -> Option<f64> {
        let column = self.columns.iter().find(|c| c.name == column)?;
        match column.values[place] {
            Number::None => None,
            Number::Whole(n) => Some(n as f64),
            Number::Float(x) => Some(x),
        }
    }

    /// The jobs to draw: those named, then the worst of the others that have something to draw, by
    /// drops, then by the share of time held, then by the longest queue.
    pub fn chosen(&self, wanted: &Wanted, dataset: &Dataset) -> Result<Vec<usize>, ReportError> {
        let mut chosen: IndexSet<usize> = IndexSet::new();
        for &job in &wanted.jobs {
            let place = self
                .place(job)
                .ok_or_else(|| ReportError::NoSuchJob { job, dataset: dataset.shown() })?;
            let status = self.status.get(place).unwrap_or_default();
            if !self.ran(place) {
                return Err(ReportError::DidNotRun { job, status: status.to_owned() });
            }
            chosen.insert(place);
        }
        let mut others: Vec<usize> = (0..self.id.len())
            .filter(|p| !chosen.contains(p) && self.ran(*p))
            .filter(|&place| self.has_table(place, StoredTable::PortBuffers))
            .collect();
        let badness = |&place: &usize| {
            let of = |name: &str| self.number(place, name).unwrap_or(0.0);
            // As whole numbers they can be compared; all are far below the limits.
            let share = (of("pause_time_fraction") * 1e9) as u64;
            (of("drops") as u64, share, of("peak_egress_bytes") as u64)
        };
        others.sort_by_key(|place| (Reverse(badness(place)), self.id[*place]));
        chosen.extend(others.into_iter().take(wanted.worst));
        Ok(chosen.into_iter().collect())
    }

    fn ran(&self, place: usize) -> bool {
        matches!(self.status.get(place), Some("ok" | "budget"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_a_script_would_round_go_as_text() {
        let json = |number: Number| serde_json::to_string(&number).unwrap();
        assert_eq!(json(Number::Whole(1 << 53)), "9007199254740992");
        assert_eq!(json(Number::Whole((1 << 53) + 1)), "\"9007199254740993\"");
        assert_eq!([json(Number::Float(0.1)), json(Number::None)], ["0.1", "null"]);
    }
}
