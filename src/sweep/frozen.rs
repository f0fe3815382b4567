//! A plan as it is kept on disk, and the plan made of it again.
//!
//! Owns the part of `plan.json` a run needs: the texts the plan was made of, what the command line
//! added, and the hash of what came out. Whoever runs it makes the plan again from these texts,
//! never from the files, and refuses it unless the hash is the same: so editing, moving or deleting
//! the sweep file changes nothing, and another version that would plan other jobs says so. A text is
//! a thousandth of the jobs it stands for, and there is one place where jobs are made.
//!
//! Traces are not taken in: they stay where they are and have to have the hash they were planned
//! with.

use super::fault::{Sources, SweepError};
use super::grid::SEMANTICS_VERSION;
use super::load;
use super::plan::{Overrides, Plan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Version of poolsweep.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Everything a plan follows from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    /// The version that made it.
    version: String,
    /// Its simulator's semantics; part of every job's identity.
    semantics_version: u32,
    /// `--set`, in order.
    set: Vec<String>,
    /// `--axis`, in order.
    axis: Vec<String>,
    /// Every text, in the order read; the first is the sweep file.
    files: Vec<FrozenText>,
    /// The traces the scenarios name.
    traces: Vec<FrozenTrace>,
}

/// A text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FrozenText {
    path: String,
    blake3: String,
    text: String,
}

/// A trace, by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FrozenTrace {
    path: String,
    blake3: String,
}

/// What is read of `plan.json`.
#[derive(Debug, Deserialize)]
struct PlanFile {
    plan_hash: String,
    frozen: Option<Frozen>,
}

impl Frozen {
    /// What this plan follows from.
    pub fn of(plan: &Plan) -> Self {
        let text = |file: &super::plan::SourceFile| FrozenText {
            path: file.path.to_string_lossy().into_owned(),
            blake3: hash(&file.bytes),
            // Sources are texts: what is not UTF-8 was refused.
            text: String::from_utf8_lossy(&file.bytes).into_owned(),
        };
        let trace = |(path, blake3): (PathBuf, String)| FrozenTrace {
            path: path.to_string_lossy().into_owned(),
            blake3,
        };
        Frozen {
            version: VERSION.to_owned(),
            semantics_version: SEMANTICS_VERSION,
            set: plan.overrides.set.clone(),
            axis: plan.overrides.axis.clone(),
            files: plan.files.iter().map(text).collect(),
            traces: plan.sources.trace_hashes().into_iter().map(trace).collect(),
        }
    }

    /// The plan, made again.
    fn thaw(self, path: &Path, plan_hash: &str) -> Result<Plan, SweepError> {
        let refuse = |message: String| SweepError::Frozen { path: path.to_owned(), message };
        if self.semantics_version != SEMANTICS_VERSION {
            return Err(refuse(format!(
                "made by poolsweep {} (semantics {}), whose simulations are not those of this \
                 version {VERSION} (semantics {SEMANTICS_VERSION}): plan into a new folder, or use \
                 that version",
                self.version, self.semantics_version
            )));
        }
        for file in &self.files {
            if hash(file.text.as_bytes()) != file.blake3 {
                let shown = &file.path;
                return Err(refuse(format!(
                    "the text of {shown} in it was changed: plan again into this folder"
                )));
            }
        }
        self.check_traces(path)?;
        let Some(first) = self.files.first().map(|file| PathBuf::from(&file.path)) else {
            return Err(refuse("it holds no sweep file: plan again into this folder".to_owned()));
        };
        // Whoever froze it has confirmed its size.
        let overrides = Overrides { set: self.set, axis: self.axis, yes: true };
        let texts: BTreeMap<PathBuf, String> =
            self.files.into_iter().map(|file| (file.path.into(), file.text)).collect();
        let plan = load::plan_from(Sources::frozen(texts), &first, &overrides)?;
        let found = plan.hash();
        if found != plan_hash {
            return Err(refuse(format!(
                "version {VERSION} makes other jobs of it than version {}, which froze it (plan \
                 hash {found}, frozen {plan_hash}): plan again into this folder, jobs that are the \
                 same stay done",
                self.version
            )));
        }
        Ok(plan)
    }

    fn check_traces(&self, path: &Path) -> Result<(), SweepError> {
        for trace in &self.traces {
            let refuse = |message: String| SweepError::Frozen { path: path.to_owned(), message };
            let shown = &trace.path;
            let bytes = std::fs::read(shown).map_err(|error| {
                refuse(format!(
                    "cannot read the trace {shown} it was planned with: {error}; relative paths \
                     start from the folder the command runs in"
                ))
            })?;
            if hash(&bytes) != trace.blake3 {
                return Err(refuse(format!(
                    "the trace {shown} is not the file that was planned with: put that file back, \
                     or plan again"
                )));
            }
        }
        Ok(())
    }
}

impl Plan {
    /// The plan with other additions of the command line, made of the same texts: the files are not
    /// read again.
    ///
    /// # Errors
    /// As [`Plan::load`].
    pub fn replan(&self, overrides: &Overrides) -> Result<Plan, SweepError> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let texts = self.files.iter().map(|file| (file.path.clone(), text(&file.bytes))).collect();
        let first = self.files.first().map(|file| file.path.clone()).unwrap_or_default();
        load::plan_from(Sources::frozen(texts), &first, overrides)
    }

    /// The plan that a `plan.json` froze.
    ///
    /// # Errors
    /// A file that cannot be read or holds no plan; a trace that is gone or changed; a version that
    /// makes other jobs of it.
    pub fn load_frozen(path: &Path) -> Result<Plan, SweepError> {
        let read = |source| SweepError::Read { path: path.to_owned(), source };
        let bytes = std::fs::read(path).map_err(read)?;
        let refuse = |message: String| SweepError::Frozen { path: path.to_owned(), message };
        let file: PlanFile = serde_json::from_slice(&bytes)
            .map_err(|e| refuse(format!("it is no plan: {e}; plan again into this folder")))?;
        let frozen = file.frozen.ok_or_else(|| {
            refuse(
                "made by a version that did not freeze plans: plan again into this folder".into(),
            )
        })?;
        frozen.thaw(path, &file.plan_hash)
    }
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "
schema: 1
base:
  duration: 100us
  topology: {kind: single-switch, hosts: 5}
  traffic:
    - {pattern: incast, senders: 3, bytes: 1MB, dscp: 8}
    - {pattern: trace, file: flows.csv}
";
    const CHILD: &str = "
extends: parent.yaml
schema: 1
repetitions: 2
axes:
  pool: {table: pools.csv}
  topology.delay: [500ns, 1us]
";

    fn written(folder: &Path) -> PathBuf {
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("parent.yaml", PARENT);
        write("child.yaml", CHILD);
        write("pools.csv", "LossyAlpha,PlaneBDP\n1,2KB\n0.5,4KB\n");
        write("flows.csv", "src,dst,bytes,start_ns,dscp\n0,1,1000,0,8\n");
        folder.join("child.yaml")
    }

    fn frozen(folder: &Path) -> (Plan, PathBuf) {
        let set = vec!["duration=200us".to_owned()];
        let axis = vec!["HeadRoomPerPortLimit=64KB,128KB".to_owned()];
        let overrides = Overrides { set, axis, yes: false };
        let plan = Plan::load(&written(folder), &overrides).unwrap();
        let path = folder.join("plan.json");
        std::fs::write(&path, plan.to_json().to_string()).unwrap();
        (plan, path)
    }

    #[test]
    fn a_plan_is_made_again_without_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let (plan, path) = frozen(folder.path());
        for name in ["parent.yaml", "pools.csv"] {
            std::fs::remove_file(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("child.yaml"), "schema: 1\n").unwrap();
        let again = Plan::load_frozen(&path).unwrap();
        assert_eq!(again.jobs, plan.jobs);
        assert_eq!(again.points, plan.points);
        assert_eq!(again.columns, plan.columns);
        assert_eq!(again.files, plan.files);
        assert_eq!(again.to_json(), plan.to_json());
        for job in 0..plan.jobs.len() {
            assert_eq!(again.scenario(job).unwrap(), plan.scenario(job).unwrap());
        }
    }

    #[test]
    fn other_values_are_planned_from_the_same_texts() {
        let folder = tempfile::tempdir().unwrap();
        let (plan, _) = frozen(folder.path());
        std::fs::remove_file(folder.path().join("child.yaml")).unwrap();
        let mut overrides = plan.overrides.clone();
        assert_eq!(plan.replan(&overrides).unwrap().jobs, plan.jobs);
        overrides.axis = vec!["HeadRoomPerPortLimit=64KB,128KB,256KB".to_owned()];
        let more = plan.replan(&overrides).unwrap();
        assert_eq!(more.jobs.len() * 2, plan.jobs.len() * 3);
        assert!(plan.jobs.iter().all(|job| more.jobs.iter().any(|other| other.id == job.id)));
    }

    #[test]
    fn what_would_run_other_jobs_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (_, path) = frozen(folder.path());
        let good = std::fs::read_to_string(&path).unwrap();
        let refused = |from: &str, to: &str| {
            assert!(good.contains(from), "{from}");
            std::fs::write(&path, good.replace(from, to)).unwrap();
            let said = Plan::load_frozen(&path).unwrap_err().to_string();
            std::fs::write(&path, &good).unwrap();
            said
        };
        let said = refused("500ns, 1us", "500ns, 2us");
        assert!(said.contains("child.yaml in it was changed"), "{said}");
        let said = refused("duration=200us", "duration=300us");
        assert!(said.contains("makes other jobs of it"), "{said}");
        let semantics = format!("\"semantics_version\":{SEMANTICS_VERSION}");
        let said = refused(&semantics, "\"semantics_version\":99999");
        assert!(said.contains("whose simulations are not those of this version"), "{said}");
        let said = refused("\"frozen\":", "\"melted\":");
        assert!(said.contains("did not freeze plans"), "{said}");
        std::fs::write(folder.path().join("flows.csv"), "src,dst,bytes,start_ns,dscp\n").unwrap();
        let said = Plan::load_frozen(&path).unwrap_err().to_string();
        assert!(said.contains("is not the file that was planned with"), "{said}");
    }
}
