//! The command line as people and scripts meet it: messages, exit codes, signals.

mod cluster;
mod errors;
mod explain;
mod faults;
mod frontier;
mod import;
mod report;
mod results;
mod reuse;
mod search;
mod signals;
mod size;
mod slurm;
mod trust;

use assert_cmd::Command;
use poolsweep::record::{ChunkWriter, Dataset, JobMeta, Outcome, TableSet};
use poolsweep::sweep::plan::Plan;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder with one sweep file in it, where commands run.
struct Place {
    folder: TempDir,
}

/// Eight small points, one of which the switch would refuse.
const SWEEP: &str = "\
schema: 1
name: small
seed: 7
base:
  duration: 50us
  topology: {kind: single-switch, hosts: 5, rate: 400Gbps, delay: 500ns}
  traffic:
    - {pattern: incast, receiver: 0, senders: 4, bytes: 200KB, packet: 4000B, dscp: 8, jitter: 1us}
  record: {interval: 10us}
axes:
  HeadRoomPerPortLimit: [16KB, 256KB, 100MB]
  topology.delay: [500ns, 5us]
";

impl Place {
    fn new(sweep: &str) -> Self {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        place.write("sweep.yaml", sweep);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// The command, in the folder.
    fn poolsweep(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("poolsweep").unwrap();
        command.current_dir(self.folder.path()).args(arguments);
        command
    }

    /// Runs the command: exit code, stdout, stderr.
    fn ends(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.poolsweep(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    /// Runs the command, which must succeed; its stdout.
    fn succeeds(&self, arguments: &[&str]) -> String {
        let (code, stdout, stderr) = self.ends(arguments);
        assert_eq!(code, 0, "{arguments:?}: {stderr}");
        stdout
    }

    /// Rows for the first jobs of a dataset's plan that say what nothing came to.
    fn make_up_rows<const N: usize>(&self, dataset: &str, outcomes: [Outcome<'_>; N]) {
        let plan = Plan::load_frozen(&self.path(dataset).join("plan.json")).unwrap();
        let dataset = Dataset::open_or_create(self.path(dataset)).unwrap();
        let mut chunk = ChunkWriter::new(&dataset, &plan.hash());
        for (index, (job, outcome)) in plan.jobs.iter().zip(outcomes).enumerate() {
            let scenario = plan.scenario(index).unwrap();
            let meta = JobMeta {
                id: job.id,
                repetition: job.repetition,
                seed: job.seeds.sweep,
                scenario: plan.scenario_json(index).unwrap(),
                tables: scenario.record.tables.iter().copied().collect::<TableSet>(),
                interval: scenario.record.interval.unwrap(),
                zeros: false,
            };
            chunk.push(meta, outcome).unwrap();
        }
        chunk.finish().unwrap();
    }

    /// Every row of a dataset's tables as CSV, in an order that no part boundary can change.
    fn rows(&self, dataset: &str) -> Vec<(String, Vec<String>)> {
        let csv = format!("{dataset}-csv");
        self.succeeds(&["export", "--csv", dataset, "--out", &csv]);
        let tables = ["points", "jobs", "port_buffers", "drops", "pfc"];
        tables
            .iter()
            .map(|&table| (table.to_owned(), sorted_lines(&self.path(&csv), table)))
            .collect()
    }
}

fn sorted_lines(folder: &Path, table: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_path(folder.join(format!("{table}.csv"))).unwrap();
    // Whose simulation a result is depends on which job was started first.
    let kept: Vec<bool> =
        reader.headers().unwrap().iter().map(|column| column != "reused_from").collect();
    let line = |row: csv::StringRecord| {
        let cells = row.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(cell, _)| cell);
        cells.collect::<Vec<_>>().join(",")
    };
    let mut lines: Vec<String> = reader.records().map(|row| line(row.unwrap())).collect();
    lines.sort_unstable();
    lines
}
