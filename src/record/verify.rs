//! Reading every byte of a dataset and telling what is wrong, and what to do about it.
//!
//! Changes nothing. Works while others write: a part that changes while it is read is read again.
//! What a killed writer leaves and what is still to be run is told, and is no fault. Running jobs
//! again is not this room's: it hands out which job is in which part.

mod files;

use crate::record::beside::plan_hash;
use crate::record::checksum::{self, PLAN_HASH};
use crate::record::dataset::{Dataset, Done};
use crate::record::part::{self, PartName, damaged};
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result, Status, TableSet, fs as files_of};
use crate::scenario::Table;
use crate::sweep::plan::JobId;
use files::PartReport;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Something wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, or the dataset's folder.
    pub file: PathBuf,
    /// What is wrong with it.
    pub problem: String,
    /// What to do next.
    pub remedy: String,
}

impl Finding {
    /// A finding about a file.
    pub fn new(file: &Path, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Finding { file: file.to_path_buf(), problem: problem.into(), remedy: remedy.into() }
    }

    /// What an error is about.
    pub(super) fn of(error: &RecordError, file: &Path) -> Self {
        let (path, problem, remedy) = error.finding();
        Finding::new(path.unwrap_or(file), problem, remedy)
    }
}

/// What was read and what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Parts with a jobs part.
    pub parts: usize,
    /// Parquet files read.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Jobs held.
    pub jobs: usize,
    /// Rows of every table of jobs.
    pub rows: BTreeMap<StoredTable, u64>,
    /// Jobs of `points` that are still to be run.
    pub outstanding: usize,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// What is worth knowing, and no fault.
    pub notes: Vec<String>,
    /// Jobs that running again must reproduce, each with the part it is in.
    pub repeatable: BTreeMap<JobId, String>,
}

impl Dataset {
    /// Reads everything; with `complete`, a job still to be run is a finding.
    ///
    /// # Errors
    ///
    /// A folder that cannot be listed. What is wrong with files is a finding.
    pub fn verify(&self, complete: bool) -> Result<Verified> {
        self.steadily(|| self.verify_now(complete))
    }

    fn verify_now(&self, complete: bool) -> Result<Verified> {
        let mut told = Verified::default();
        let planned = self.verify_points(&mut told);
        let mut parts = BTreeMap::new();
        for table in TableSet::all().iter().map(StoredTable::from) {
            parts.insert(table, self.scan(table, &mut told)?);
        }
        let whole = parts.remove(&StoredTable::Jobs).unwrap_or_default();
        for (table, found) in &parts {
            let lost = found.difference(&whole).count();
            if lost > 0 {
                told.notes.push(format!(
                    "{}/ has {} without jobs part: a writer is at work or was killed; readers \
                     of this dataset skip them and the next run removes them",
                    table.name(),
                    number(lost, "part")
                ));
            }
        }
        self.verify_runs(&mut told)?;
        let order: Vec<&PartName> = whole.iter().collect();
        let reports: Vec<(&PartName, PartReport)> =
            order.into_par_iter().map(|part| (part, self.verify_part(part))).collect();
        let held = self.gather(&reports, &mut told);
        self.compare_plans(&reports, planned.as_ref(), &mut told)?;
        self.count_outstanding(&held, planned.as_ref(), complete, &mut told);
        told.findings.sort();
        Ok(told)
    }

    /// The files of a table's folder: parts, and whatever else is there.
    fn scan(&self, table: StoredTable, told: &mut Verified) -> Result<BTreeSet<PartName>> {
        let folder = self.folder(table);
        let mut parts = BTreeSet::new();
        let mut temporary = 0;
        for name in names(&folder)? {
            match PartName::parse(&name) {
                Some(part) => drop(parts.insert(part)),
                None if name.ends_with(".parquet") => told.findings.push(Finding::of(
                    &RecordError::Foreign {
                        path: folder.join(&name),
                        detail: "it is not named as parts are".to_owned(),
                    },
                    &folder,
                )),
                None if files_of::is_temporary(&name) => temporary += 1,
                None => told.notes.push(format!("{} is nobody's", folder.join(&name).display())),
            }
        }
        if temporary > 0 {
            told.notes.push(format!(
                "{}/ has {}: a writer is at work or was killed",
                table.name(),
                number(temporary, "temporary file")
            ));
        }
        Ok(parts)
    }

    /// The table of points, and whether it is the plan's.
    fn verify_points(&self, told: &mut Verified) -> Option<BTreeSet<JobId>> {
        let path = self.points_file();
        let again = "write it anew: `poolsweep plan FILE --out DIR`";
        if !path.exists() {
            told.findings.push(Finding::new(&path, "missing", again));
            return None;
        }
        let look = || {
            let checked = checksum::check(&path)?;
            Ok::<_, RecordError>((checked, self.planned()?, plan_hash(self.path())?))
        };
        match look() {
            Ok((checked, planned, plan)) => {
                told.files += 1;
                told.bytes += checked.sum.bytes;
                let own = checked.notes.get(PLAN_HASH);
                let plan_file = self.path().join("plan.json");
                match plan {
                    None => told.findings.push(Finding::new(&plan_file, "missing", again)),
                    Some(plan) if Some(&plan) != own => told.findings.push(Finding::new(
                        &path,
                        "of another plan than plan.json",
                        again,
                    )),
                    Some(_) => {}
                }
                planned
            }
            Err(error) => {
                told.findings.push(Finding::of(&error, &path));
                None
            }
        }
    }

    /// The tables of runs.
    fn verify_runs(&self, told: &mut Verified) -> Result<()> {
        for table in StoredTable::OF_RUNS {
            for path in self.volatile_files(table)? {
                let look = || {
                    let sum = checksum::check(&path)?.sum;
                    part::open(&path, table, None)?
                        .try_for_each(|batch| batch.map(drop).map_err(|e| damaged(&path, e)))?;
                    Ok::<_, RecordError>(sum)
                };
                match look() {
                    Ok(sum) => {
                        told.files += 1;
                        told.bytes += sum.bytes;
                    }
                    Err(error) => told.findings.push(Finding::of(&error, &path)),
                }
            }
        }
        Ok(())
    }

    /// Puts the reports of all parts together; what is held of each job.
    fn gather(
        &self,
        reports: &[(&PartName, PartReport)],
        told: &mut Verified,
    ) -> BTreeMap<JobId, Done> {
        let mut held: BTreeMap<JobId, Done> = BTreeMap::new();
        let mut place: BTreeMap<JobId, &PartName> = BTreeMap::new();
        let mut unclaimed = 0;
        for (part, report) in reports {
            told.parts += 1;
            told.files += report.files;
            told.bytes += report.bytes;
            told.findings.extend(report.findings.iter().cloned());
            for (&table, rows) in &report.rows {
                *told.rows.entry(table).or_default() += rows;
            }
            for &(job, claim) in &report.jobs {
                if let Some(other) = place.insert(job, part) {
                    told.findings.push(Finding::new(
                        &self.file(StoredTable::Jobs, part),
                        format!("job {job} is in {other} too: every reader sees it twice"),
                        "delete one of the two in every table's folder, then run again",
                    ));
                    continue;
                }
                if !claim.tables.contains(Table::Jobs) {
                    unclaimed += 1;
                    continue;
                }
                held.insert(job, claim);
                let runs = !matches!(claim.status, Status::Infeasible | Status::Quarantined);
                if runs && report.findings.is_empty() {
                    told.repeatable.insert(job, part.to_string());
                }
            }
        }
        told.jobs = held.len();
        if unclaimed > 0 {
            told.notes.push(format!(
                "{} were being recorded again when the writer was killed (or are just now): the \
                 next run does so",
                number(unclaimed, "job")
            ));
        }
        held
    }

    /// Says which parts are of other plans.
    fn compare_plans(
        &self,
        reports: &[(&PartName, PartReport)],
        planned: Option<&BTreeSet<JobId>>,
        told: &mut Verified,
    ) -> Result<()> {
        let Some(plan) = plan_hash(self.path()).ok().flatten() else { return Ok(()) };
        let foreign = reports.iter().filter(|(_, r)| r.plan.split(',').any(|hash| hash != plan));
        let (mut parts, mut jobs, mut of_points) = (0, 0, 0);
        for (_, report) in foreign.filter(|(_, report)| !report.jobs.is_empty()) {
            parts += 1;
            jobs += report.jobs.len();
            let is_planned = |job: &JobId| planned.is_some_and(|planned| planned.contains(job));
            of_points += report.jobs.iter().filter(|(job, _)| is_planned(job)).count();
        }
        if parts > 0 {
            told.notes.push(format!(
                "{} recorded for other plans than plan.json: {of_points} of their {} are in \
                 points",
                number(parts, "part"),
                number(jobs, "job")
            ));
        }
        Ok(())
    }

    fn count_outstanding(
        &self,
        held: &BTreeMap<JobId, Done>,
        planned: Option<&BTreeSet<JobId>>,
        complete: bool,
        told: &mut Verified,
    ) {
        let Some(planned) = planned else { return };
        let left: Vec<&JobId> = planned.iter().filter(|job| !held.contains_key(job)).collect();
        told.outstanding = left.len();
        if let (true, Some(first)) = (complete, left.first()) {
            told.findings.push(Finding::new(
                self.path(),
                format!("{} of points outstanding, the first {first}", number(left.len(), "job")),
                "run again: only these are run",
            ));
        }
        let more = held.keys().filter(|job| !planned.contains(job)).count();
        if more > 0 {
            told.notes.push(format!(
                "{} not in points: of an earlier plan; readers who join points do not see them",
                number(more, "job")
            ));
        }
    }
}

/// Names in a folder, in order; none if the folder is not there.
fn names(folder: &Path) -> Result<BTreeSet<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(source) => return Err(RecordError::io("list", folder)(source)),
    };
    let name = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.map_err(RecordError::io("list", folder))?;
        Ok(entry.file_name().to_string_lossy().into_owned())
    };
    entries.map(name).collect()
}

fn number(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
