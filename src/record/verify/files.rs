//! One part: its jobs part, and what lies beside it in the other tables.

use super::Finding;
use crate::record::checksum::{self, Checked, PLAN_HASH, Siblings, Sum};
use crate::record::dataset::{Dataset, Done};
use crate::record::part::{self, PartName, damaged};
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result, TableSet};
use crate::scenario::Table;
use crate::sweep::identify;
use crate::sweep::plan::JobId;
use arrow::array::{Array, Int64Array, StringArray};
use std::collections::BTreeMap;
use std::path::Path;

/// How often a part is read anew that changes while it is read.
const TRIES: usize = 5;

/// What is said of jobs of one part at most.
const MOST_JOBS_NAMED: usize = 5;

/// What was found in a part.
#[derive(Debug, Default)]
pub(super) struct PartReport {
    /// Its jobs and what is claimed for them.
    pub jobs: Vec<(JobId, Done)>,
    pub rows: BTreeMap<StoredTable, u64>,
    pub files: usize,
    pub bytes: u64,
    /// The plans it was recorded for, with commas.
    pub plan: String,
    pub findings: Vec<Finding>,
}

impl PartReport {
    fn count(&mut self, table: StoredTable, sum: &Sum) {
        self.files += 1;
        self.bytes += sum.bytes;
        *self.rows.entry(table).or_default() += sum.rows;
    }
}

impl Dataset {
    /// Reads a part to its end, again if it changed meanwhile.
    pub(super) fn verify_part(&self, part: &PartName) -> PartReport {
        let path = self.file(StoredTable::Jobs, part);
        for _ in 1..TRIES {
            let before = checksum::check(&path).map(|checked| checked.sum).ok();
            let report = self.look_at_part(part);
            let after = || checksum::check(&path).map(|checked| checked.sum).ok();
            if report.findings.is_empty() || before == after() {
                return report;
            }
        }
        self.look_at_part(part)
    }

    fn look_at_part(&self, part: &PartName) -> PartReport {
        let mut report = PartReport::default();
        let path = self.file(StoredTable::Jobs, part);
        let listed = match self.look_at_jobs(part, &path, &mut report) {
            Ok(listed) => listed,
            Err(error) => {
                report.findings.push(Finding::of(&error, &path));
                // Nothing is known of the others but what they say of themselves.
                report.jobs.clear();
                return report;
            }
        };
        let claims: BTreeMap<JobId, Done> = report.jobs.iter().copied().collect();
        for table in TableSet::all().iter().filter(|&table| table != Table::Jobs) {
            let (stored, path) = (table.into(), self.file(table.into(), part));
            let claimed = claims.values().filter(|claim| claim.tables.contains(table)).count();
            if !path.exists() {
                if claimed > 0 {
                    report.findings.push(Finding::new(
                        &path,
                        format!("missing: {claimed} of the part's jobs claim it"),
                        "run again: these jobs are simulated anew",
                    ));
                }
                continue;
            }
            match look_at_table(&path, table, &listed, &claims) {
                Ok(sum) => report.count(stored, &sum),
                Err(error) => report.findings.push(Finding::of(&error, &path)),
            }
        }
        report
    }

    /// The jobs part; what it lists beside it.
    fn look_at_jobs(
        &self,
        part: &PartName,
        path: &Path,
        report: &mut PartReport,
    ) -> Result<Siblings> {
        let Checked { sum, notes } = checksum::check(path)?;
        let listed = Siblings::read(path, &notes)?;
        report.jobs = self.claims(part)?;
        let ids = || report.jobs.iter().map(|&(job, _)| job);
        if report.jobs.len() as u64 != sum.rows {
            return Err(damaged(path, "it has not the rows that its footer says"));
        }
        if !ids().is_sorted_by(|a, b| a < b) {
            return Err(damaged(path, "its jobs are not in order, each once"));
        }
        if PartName::of(ids()) != *part {
            return Err(RecordError::Foreign {
                path: path.to_path_buf(),
                detail: "its name does not follow from its jobs: it was renamed or copied here"
                    .to_owned(),
            });
        }
        let mut wrong = Vec::new();
        let columns = ["job_id", "repetition", "seed", "scenario_json"];
        for batch in part::open(path, StoredTable::Jobs, Some(&columns))? {
            let batch = batch.map_err(|e| damaged(path, e))?;
            let id = part::words(path, &batch, "job_id")?;
            let column = |name: &str| {
                let column = batch.column_by_name(name);
                column.ok_or_else(|| damaged(path, format!("no column `{name}`")))
            };
            let whole = |name: &str| {
                let numbers = column(name)?.as_any().downcast_ref::<Int64Array>();
                numbers.ok_or_else(|| damaged(path, format!("no integers in `{name}`")))
            };
            let (repetition, seed) = (whole("repetition")?, whole("seed")?);
            let scenario = column("scenario_json")?.as_any().downcast_ref::<StringArray>();
            let scenario = scenario.ok_or_else(|| damaged(path, "no texts in `scenario_json`"))?;
            for row in 0..batch.num_rows() {
                let text = scenario.value(row);
                // One whose scenario could not be resolved has none.
                if text.is_empty() {
                    continue;
                }
                let numbers = (repetition.value(row) as u64, seed.value(row) as u64);
                let follows = identify(text, numbers.0, numbers.1);
                if follows.map(|(job, _, _)| job.to_string()).ok().as_deref() != Some(id(row)) {
                    wrong.push(id(row).to_owned());
                }
            }
        }
        if !wrong.is_empty() {
            let count = wrong.len();
            wrong.truncate(MOST_JOBS_NAMED);
            report.findings.push(Finding::new(
                path,
                format!(
                    "{count} job ids do not follow from scenario, repetition and seed ({})",
                    wrong.join(", ")
                ),
                "another version of poolsweep wrote it (see provenance for which) or a value was \
                 changed: verify with that version, or delete the part in every table's folder \
                 and run again",
            ));
        }
        report.plan = notes.get(PLAN_HASH).cloned().unwrap_or_default();
        report.count(StoredTable::Jobs, &sum);
        Ok(listed)
    }
}

/// A file beside the jobs part: its bytes, its order, and whether its rows are claimed.
fn look_at_table(
    path: &Path,
    table: Table,
    listed: &Siblings,
    claims: &BTreeMap<JobId, Done>,
) -> Result<Sum> {
    let stored = StoredTable::from(table);
    let sum = checksum::check(path)?.sum;
    listed.vouch(path, stored, &sum)?;
    let order = stored.sorted_by().get(1).copied().unwrap_or("job_id");
    let (mut rows, mut last) = (0, None);
    // Every column is decoded: a file may be whole and yet not be read.
    for batch in part::open(path, stored, None)? {
        let batch = batch.map_err(|e| damaged(path, e))?;
        rows += batch.num_rows() as u64;
        let keys = batch.column_by_name(order).map(AsRef::as_ref);
        let keys = keys.and_then(|k: &dyn Array| k.as_any().downcast_ref::<Int64Array>());
        let keys = keys.ok_or_else(|| damaged(path, format!("no integers in `{order}`")))?;
        for (job, rows) in part::bounds(path, &batch)? {
            let Some(claim) = claims.get(&job) else {
                return Err(damaged(path, format!("rows of job {job}, which is not in jobs")));
            };
            // A claim of nothing at all is that of a job that was being replaced.
            let idle = claim.tables == TableSet::default();
            if !idle && !claim.tables.contains(table) {
                return Err(damaged(path, format!("rows of job {job} that jobs does not claim")));
            }
            for row in rows {
                let now = (job, keys.value(row));
                if last.is_some_and(|last| last > now) {
                    return Err(damaged(path, format!("rows not in order at job {job}")));
                }
                last = Some(now);
            }
        }
    }
    if rows != sum.rows {
        return Err(damaged(path, format!("{rows} rows, its footer says {}", sum.rows)));
    }
    Ok(sum)
}
