//! Reading the columns of `jobs` that a summary needs.

use super::exit::Failure;
use super::summary::{JobRow, OCCASIONAL};
use crate::record::{Dataset, StoredTable};
use crate::sweep::plan::{JobId, Plan};
use std::collections::{BTreeMap, BTreeSet};

pub use crate::report::cells::{integer, number, parse_id, texts};

/// The rows of a plan's jobs that a dataset has.
///
/// # Errors
/// A damaged file.
pub fn job_rows(dataset: &Dataset, plan: &Plan) -> Result<BTreeMap<JobId, JobRow>, Failure> {
    let wanted: BTreeSet<JobId> = plan.jobs.iter().map(|job| job.id).collect();
    let mut rows = BTreeMap::new();
    for batch in dataset.read_table(StoredTable::Jobs)? {
        let batch = batch?;
        let ids = texts(&batch, "job_id");
        for index in 0..batch.num_rows() {
            let Some(id) = ids(index).and_then(|id| parse_id(&id)).filter(|id| wanted.contains(id))
            else {
                continue;
            };
            let row = JobRow {
                status: texts(&batch, "status")(index).unwrap_or_default(),
                reason: texts(&batch, "reason")(index),
                drops: integer(&batch, "drops", index),
                pause: number(&batch, "pause_time_fraction", index),
                peak_headroom: integer(&batch, "peak_headroom_bytes", index),
                peak_egress: integer(&batch, "peak_egress_bytes", index),
                goodput: number(&batch, "goodput_bps", index),
                slowest: integer(&batch, "fct_max_ps", index)
                    .filter(|_| integer(&batch, "flows_unfinished", index) == Some(0)),
                drained: integer(&batch, "end_ps", index)
                    .filter(|_| texts(&batch, "end")(index).as_deref() == Some("drained")),
                occasional: OCCASIONAL.map(|(name, _)| integer(&batch, name, index)),
            };
            rows.insert(id, row);
        }
    }
    Ok(rows)
}
