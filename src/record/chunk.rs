//! What one job leaves, as columns, until its chunk is written.
//!
//! Owns the step from a job's outcome to batches of rows. Making them is pure and belongs on the
//! thread that ran the job; the observations can be dropped afterwards.

use crate::record::dataset::{Dataset, Done};
use crate::record::publish::Published;
use crate::record::reuse::RunRecord;
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result, TableSet, balance, rows, transport};
use crate::scenario::Table;
use crate::sim::observe::{End, Observations, Totals};
use crate::sweep::plan::JobId;
use crate::units::Ps;
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows turned into one batch at a time: bounds what the encoder holds besides its output.
const BATCH_ROWS: usize = 1 << 16;

/// What is known of a job before it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct JobMeta {
    /// Identity.
    pub id: JobId,
    /// Repetition, from 0.
    pub repetition: u64,
    /// Seed of the sweep; below 2^63.
    pub seed: u64,
    /// The resolved scenario as JSON.
    pub scenario: String,
    /// Tables asked for; `jobs` is always written.
    pub tables: TableSet,
    /// Length of the intervals, ps.
    pub interval: Ps,
    /// Whether rows of nothing are asked for too.
    pub zeros: bool,
}

/// How a job went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome<'a> {
    /// It ran; one that ended by its budget gets the status `budget`.
    Ran(&'a Observations),
    /// The switch would refuse it: the rules it breaks.
    Infeasible(&'a str),
    /// It could not finish: a panic's message or the simulator's error.
    Failed(&'a str),
    /// It is not tried again, and why.
    Quarantined(&'a str),
}

/// The `status` of a job's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It ran to its end.
    Ok,
    /// The switch would refuse the scenario.
    Infeasible,
    /// It did not finish.
    Failed,
    /// It ended by its budget of events or simulated time; what it measured until then is recorded.
    Budget,
    /// It is not tried again.
    Quarantined,
}

impl Status {
    const ALL: [Status; 5] =
        [Status::Ok, Status::Infeasible, Status::Failed, Status::Budget, Status::Quarantined];

    /// The value of the column.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Infeasible => "infeasible",
            Status::Failed => "failed",
            Status::Budget => "budget",
            Status::Quarantined => "quarantined",
        }
    }

    /// The status of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Status::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// A row of `jobs` before it is a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JobRecord {
    pub id: JobId,
    pub repetition: u64,
    pub seed: u64,
    pub status: Status,
    pub reason: Option<String>,
    pub totals: Option<Totals>,
    pub tables: TableSet,
    pub interval: Ps,
    pub zeros: bool,
    pub scenario: String,
    /// Job whose simulation it was, if not its own.
    pub reused_from: Option<JobId>,
    /// The row, if another dataset had it.
    pub row: Option<RecordBatch>,
}

/// Rows of `jobs`; the records are in order of their ids.
pub(super) fn job_rows(records: &[&JobRecord]) -> Result<RecordBatch> {
    if records.iter().all(|record| record.row.is_none()) {
        return rows::jobs(records);
    }
    let refused = |source| RecordError::Rows { table: StoredTable::Jobs.name(), source };
    let schema = StoredTable::Jobs.schema();
    let row = |record: &&JobRecord| match &record.row {
        // What was read from a file has its notes in the schema.
        Some(row) => {
            RecordBatch::try_new(Arc::clone(&schema), row.columns().to_vec()).map_err(refused)
        }
        None => rows::jobs(&[record]),
    };
    let each = records.iter().map(row).collect::<Result<Vec<_>>>()?;
    concat_batches(&schema, &each).map_err(refused)
}

/// Everything one job leaves, as columns.
#[derive(Debug, Clone)]
pub struct JobRows {
    pub(super) record: JobRecord,
    /// For every table asked for but `jobs`; no batches where there are no rows.
    pub(super) batches: BTreeMap<Table, Vec<RecordBatch>>,
    /// What its simulation compared, to be published beside it.
    pub(super) compared: Option<RunRecord>,
}

impl JobRows {
    /// Turns a job's outcome into columns.
    ///
    /// Tables not asked for are left out, whatever the observations hold.
    ///
    /// # Errors
    ///
    /// [`RecordError::OutOfRange`] for a value that a signed column cannot hold.
    pub fn new(meta: JobMeta, outcome: Outcome<'_>) -> Result<Self> {
        let JobMeta { id, repetition, seed, scenario, mut tables, interval, zeros } = meta;
        tables.insert(Table::Jobs);
        let nothing = Observations::default();
        let (status, reason, observed) = match outcome {
            Outcome::Ran(o) if o.totals.end == End::EventBudget => {
                (Status::Budget, Some("the budget of events ran out"), Some(o))
            }
            Outcome::Ran(o) if o.totals.end == End::TimeBudget => {
                (Status::Budget, Some("the budget of simulated time ran out"), Some(o))
            }
            Outcome::Ran(o) => (Status::Ok, None, Some(o)),
            Outcome::Infeasible(reason) => (Status::Infeasible, Some(reason), None),
            Outcome::Failed(reason) => (Status::Failed, Some(reason), None),
            Outcome::Quarantined(reason) => (Status::Quarantined, Some(reason), None),
        };
        let record = JobRecord {
            id,
            repetition,
            seed,
            status,
            reason: reason.map(str::to_owned),
            totals: observed.map(|o| o.totals.clone()),
            tables,
            interval,
            zeros,
            scenario,
            reused_from: None,
            row: None,
        };
        // The row is formed with the chunk's others; formed alone here, an error names its job.
        rows::jobs(&[&record])?;

        let observed = observed.unwrap_or(&nothing);
        let mut batches = BTreeMap::new();
        for table in tables.iter() {
            let parts = match table {
                Table::Jobs => continue,
                Table::PortBuffers => split(id, &observed.port_buffers, rows::port_buffers)?,
                Table::SwitchBuffers => split(id, &observed.switch_buffers, rows::switch_buffers)?,
                Table::Drops => split(id, &observed.drops, rows::drops)?,
                Table::Pfc => split(id, &observed.pfc, rows::pfc)?,
                Table::PfcEvents => split(id, &observed.pfc_events, rows::pfc_events)?,
                Table::PortCounters => split(id, &observed.port_counters, rows::port_counters)?,
                Table::Flows => split(id, &observed.flows, rows::flows)?,
                Table::Transport => split(id, &observed.transport, transport::transport)?,
                Table::LoadBalancing => {
                    split(id, &observed.load_balancing, balance::load_balancing)?
                }
            };
            batches.insert(table, parts);
        }
        Ok(JobRows { record, batches, compared: None })
    }

    /// What another dataset has of a job: its row, which says what `claim` says, and its rows in
    /// the other tables that it claims.
    pub(super) fn recorded(
        id: JobId,
        claim: Done,
        row: RecordBatch,
        batches: BTreeMap<Table, Vec<RecordBatch>>,
    ) -> Self {
        let Done { status, tables, interval, zeros } = claim;
        let record = JobRecord {
            id,
            repetition: 0,
            seed: 0,
            status,
            reason: None,
            totals: None,
            tables,
            interval,
            zeros,
            scenario: String::new(),
            reused_from: None,
            row: Some(row),
        };
        JobRows { record, batches, compared: None }
    }

    /// The job.
    pub fn id(&self) -> JobId {
        self.record.id
    }

    /// Its status.
    pub fn status(&self) -> Status {
        self.record.status
    }

    /// The job whose simulation it was, if not its own.
    pub fn reused_from(&self) -> Option<JobId> {
        self.record.reused_from
    }

    /// With what its simulation compared.
    pub fn with_record(mut self, record: RunRecord) -> Self {
        self.compared = Some(record);
        self
    }

    /// What its simulation compared, taken out.
    pub fn take_record(&mut self) -> Option<RunRecord> {
        self.compared.take()
    }

    /// Bytes held, roughly, but the same however the rows were made: without what is kept beside
    /// them.
    pub fn size(&self) -> usize {
        let rows = |batch: &RecordBatch| batch.num_rows() * batch.num_columns() * size_of::<u64>();
        let rows: usize = self.batches.values().flatten().map(rows).sum();
        size_of::<JobRecord>() + self.record.scenario.len() + rows
    }

    /// Bytes held, roughly.
    pub fn memory(&self) -> usize {
        let batches = self.batches.values().flatten();
        let columns: usize = batches.map(RecordBatch::get_array_memory_size).sum();
        let record = self.compared.as_ref().map_or(0, RunRecord::memory);
        size_of::<Self>() + self.record.scenario.len() + columns + record
    }
}

fn split<T>(
    job: JobId,
    rows: &[T],
    form: impl Fn(JobId, &[T]) -> Result<RecordBatch>,
) -> Result<Vec<RecordBatch>> {
    rows.chunks(BATCH_ROWS).map(|some| form(job, some)).collect()
}

/// Collects the jobs of a chunk, in any order, and publishes them as one unit.
///
/// Dropped without [`ChunkWriter::finish`] it leaves nothing.
#[derive(Debug)]
pub struct ChunkWriter<'a> {
    dataset: &'a Dataset,
    plan_hash: String,
    jobs: Vec<JobRows>,
}

impl<'a> ChunkWriter<'a> {
    /// An empty chunk. The hash of the plan goes into the metadata of its files.
    pub fn new(dataset: &'a Dataset, plan_hash: &str) -> Self {
        ChunkWriter { dataset, plan_hash: plan_hash.to_owned(), jobs: Vec::new() }
    }

    /// Adds a job.
    ///
    /// # Errors
    ///
    /// Those of [`JobRows::new`]; the chunk is as it was.
    pub fn push(&mut self, meta: JobMeta, outcome: Outcome<'_>) -> Result<()> {
        self.jobs.push(JobRows::new(meta, outcome)?);
        Ok(())
    }

    /// Adds a job whose rows are formed already.
    pub fn push_rows(&mut self, rows: JobRows) {
        self.jobs.push(rows);
    }

    /// Bytes held, roughly.
    pub fn memory(&self) -> usize {
        self.jobs.iter().map(JobRows::memory).sum()
    }

    /// Writes the files and gives them their names: [`Dataset::publish`].
    ///
    /// # Errors
    ///
    /// Those of [`Dataset::publish`].
    pub fn finish(self) -> Result<Published> {
        self.dataset.publish(&self.plan_hash, self.jobs)
    }
}

/// The jobs by id.
pub(super) fn by_id(jobs: Vec<JobRows>) -> Result<BTreeMap<JobId, JobRows>> {
    let mut sorted = BTreeMap::new();
    for job in jobs {
        let id = job.id();
        if sorted.insert(id, job).is_some() {
            return Err(RecordError::TwiceInChunk(id));
        }
    }
    Ok(sorted)
}
