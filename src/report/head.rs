//! What was asked, of which version, when.

use crate::record::{Dataset, StoredTable};
use crate::report::ReportError;
use crate::report::cells::{integer, texts};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// The head of the page.
#[derive(Debug, Serialize)]
pub struct Head {
    /// Name of the sweep; of the folder where there is no plan.
    name: String,
    /// The dataset, as the command line named it.
    dataset: String,
    /// The first comment of the sweep file: by custom its question, then how to read the answer.
    question: Vec<String>,
    /// Hash of the plan.
    plan_hash: Option<String>,
    /// Of the plan.
    seed: Option<u64>,
    /// Of the plan.
    repetitions: Option<u64>,
    /// Each constraint and the points it removed.
    exclusions: Vec<Exclusion>,
    /// What the plan warns of.
    warnings: Vec<String>,
    /// Versions of poolsweep that ran jobs.
    versions: BTreeSet<String>,
    /// Start of the first run, us since 1970-01-01 UTC.
    first_start: Option<i64>,
    /// End of the last run.
    last_end: Option<i64>,
    /// Number of runs.
    runs: u64,
}

/// A constraint.
#[derive(Debug, Serialize)]
struct Exclusion {
    constraint: String,
    points: u64,
}

impl Head {
    /// Name of the sweep.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the plan in short, the sweep file and the runs; whatever of it is there.
    pub fn read(dataset: &Dataset) -> Result<Head, ReportError> {
        let file = |name: &str| std::fs::read(dataset.path().join(name)).ok();
        let plan: Value = file("plan.json")
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or(Value::Null);
        let folder = dataset.path().file_name().unwrap_or_default().to_string_lossy();
        let exclusion = |entry: &Value| {
            let constraint = entry["constraint"].as_str()?.to_owned();
            Some(Exclusion { constraint, points: entry["points"].as_u64()? })
        };
        let list = |key: &str| plan[key].as_array().into_iter().flatten();
        let sweep = file("sweep.yaml").unwrap_or_default();
        let mut head = Head {
            name: plan["name"].as_str().map_or_else(|| folder.into(), str::to_owned),
            dataset: dataset.shown(),
            question: first_comment(&String::from_utf8_lossy(&sweep)),
            plan_hash: plan["plan_hash"].as_str().map(str::to_owned),
            seed: plan["seed"].as_u64(),
            repetitions: plan["repetitions"].as_u64(),
            exclusions: list("exclusions").filter_map(exclusion).collect(),
            warnings: list("warnings").filter_map(|w| w.as_str().map(str::to_owned)).collect(),
            versions: BTreeSet::new(),
            first_start: None,
            last_end: None,
            runs: 0,
        };
        for batch in dataset.read_table(StoredTable::Provenance)? {
            let batch = batch?;
            let (versions, commits) = (texts(&batch, "poolsweep_version"), texts(&batch, "commit"));
            for row in 0..batch.num_rows() {
                head.runs += 1;
                let version = versions(row).unwrap_or_default();
                let commit = commits(row).map(|c| format!(" ({})", c.get(..12).unwrap_or(&c)));
                head.versions.insert(version + &commit.unwrap_or_default());
                let start = integer(&batch, "start_us", row);
                head.first_start = start.into_iter().chain(head.first_start).min();
                head.last_end = head.last_end.max(integer(&batch, "end_us", row));
            }
        }
        Ok(head)
    }
}

/// The lines of the comment a file starts with, without their `#`.
fn first_comment(text: &str) -> Vec<String> {
    let lines = text.lines().take_while(|line| line.starts_with('#'));
    let bare = |line: &str| {
        let line = line.trim_start_matches('#');
        line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
    };
    lines.map(bare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_the_comment_on_top() {
        let text = "# Which one?\n#\n#   held  it holds\nschema: 1\n# not this\n";
        assert_eq!(first_comment(text), ["Which one?", "", "  held  it holds"]);
        assert!(first_comment("schema: 1\n# later\n").is_empty());
    }
}
