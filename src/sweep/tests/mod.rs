//! The planner as a whole, from files to points.

mod defaults;
mod errors;
mod identity;
mod language;
mod nics;
mod properties;

use super::SweepError;
use super::plan::{ColumnValues, Overrides, Plan};
use std::path::PathBuf;
use tempfile::TempDir;

/// A scenario that any switch takes.
const BASE: &str = "
base:
  duration: 2ms
  topology: {kind: single-switch, hosts: 5, rate: 400Gbps, delay: 500ns}
  traffic:
    - {pattern: incast, receiver: 0, senders: 4, bytes: 4MB, packet: 4000B, dscp: 8}
";

/// Files of one test; the first is the sweep file.
struct Files {
    folder: TempDir,
    first: PathBuf,
}

impl Files {
    fn new(files: &[(&str, &str)]) -> Files {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let first = folder.path().join(files[0].0);
        Files { folder, first }
    }

    fn plan(&self, overrides: &Overrides) -> Result<Plan, SweepError> {
        Plan::load(&self.first, overrides)
    }
}

/// Plans one text.
fn load(text: &str) -> Result<Plan, SweepError> {
    Files::new(&[("s.yaml", text)]).plan(&Overrides::default())
}

/// Plans `BASE` and more sections.
fn plan(more: &str) -> Plan {
    load(&format!("{BASE}{more}")).unwrap_or_else(|e| panic!("{e}"))
}

/// The error of `BASE` and more sections, without the folder's name.
fn error(more: &str) -> String {
    error_of(&format!("{BASE}{more}"))
}

fn error_of(text: &str) -> String {
    let files = Files::new(&[("s.yaml", text)]);
    let error = files.plan(&Overrides::default()).expect_err("the file is refused").to_string();
    error.replace(&format!("{}/", files.folder.path().display()), "")
}

fn ints(plan: &Plan, name: &str) -> Vec<Option<i64>> {
    match &column(plan, name).values {
        ColumnValues::Int(v) => v.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn whole(plan: &Plan, name: &str) -> Vec<i64> {
    ints(plan, name).into_iter().map(|v| v.expect("a value")).collect()
}

fn floats(plan: &Plan, name: &str) -> Vec<f64> {
    match &column(plan, name).values {
        ColumnValues::Float(v) => v.iter().map(|v| v.expect("a value")).collect(),
        other => panic!("{name}: {other:?}"),
    }
}

fn column<'a>(plan: &'a Plan, name: &str) -> &'a super::plan::Column {
    plan.columns.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("no column {name}"))
}
