//! The command line.
//!
//! Owns arguments, exit codes and what a person reads; one file a subcommand, each thin. stdout is
//! for results, stderr for everything else. Refuses to simulate and to know file formats.

pub mod exit;

mod attributes;
mod compact;
mod compare;
mod completions;
mod execute;
mod explain;
mod export;
mod figures;
mod frontier;
mod import;
mod inspect;
mod k8s;
mod location;
mod merge;
mod plan;
mod report;
mod repro;
mod results;
mod retry;
mod run;
mod schema;
mod search;
mod show;
mod size;
mod slurm;
mod status;
mod summary;
mod sweep_file;
mod verify;
mod watch;

pub use exit::{Exit, Failure};

use crate::report::text;
use clap::{Parser, Subcommand};
use std::io::{self, Write};

/// A parallel parameter-sweep engine for switch buffers: one YAML grid in, a Parquet dataset out.
#[derive(Debug, Parser)]
#[command(name = "poolsweep", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done (infeasible points included); 1 internal error; 2 usage; 3 invalid file or \
refused by --strict; 5 interrupted, work outstanding; 6 some jobs failed; 7 output error; \
8 verification failed; 9 results differ.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what a sweep file would run: points, exclusions, cost
    Plan(plan::PlanArgs),
    /// Run what the dataset does not hold yet
    Run(run::RunArgs),
    /// Run jobs of a dataset again that failed or were set aside
    Retry(retry::RetryArgs),
    /// Show what a dataset's jobs came to
    Summary(show::SummaryArgs),
    /// Show how far a dataset is: done, running, failed, time left
    Status(status::StatusArgs),
    /// Show one scenario in plain figures: start-up stages, sizing conditions, warnings
    Inspect(inspect::InspectArgs),
    /// Size headroom, Xoff, Xon and pools: by formula, by worst case, by simulation
    Size(size::SizeArgs),
    /// Run one job of a dataset again and compare its rows
    Repro(repro::ReproArgs),
    /// Check every byte of a dataset and run a sample of its jobs again
    Verify(verify::VerifyArgs),
    /// Take the jobs of other datasets into one
    Merge(merge::MergeArgs),
    /// Put many small parts of a dataset into few large ones
    Compact(compact::CompactArgs),
    /// Explain what a dataset found, or why one of its jobs lost packets
    Explain(explain::ExplainArgs),
    /// Write a dataset as one HTML page that needs no network
    Report(report::ReportArgs),
    /// Compare two datasets: which jobs differ in which columns
    Compare(compare::CompareArgs),
    /// Find the smallest or largest value of a setting that keeps a condition
    Search(search::SearchArgs),
    /// Show the points of a sweep that no other beats in two or more figures
    Frontier(frontier::FrontierArgs),
    /// Write a dataset's tables in another format
    Export(export::ExportArgs),
    /// Make a sweep file of what another program is run with
    Import(import::ImportArgs),
    /// Write and submit the scripts that run a planned dataset as a Slurm array
    Slurm(slurm::SlurmArgs),
    /// Print the manifest that runs a planned dataset as a Kubernetes Job
    K8s(k8s::K8sArgs),
    /// List every key of a scenario, or explain one
    Attributes(attributes::AttributesArgs),
    /// Print the JSON Schema of the sweep file, for editors
    Schema,
    /// Print the completion script of a shell
    Completions(completions::CompletionsArgs),
}

/// Parses the arguments, runs the command, tells what went wrong; the exit code.
pub fn main() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come here too, and are no errors. Nobody is left to tell if the
            // message itself cannot be printed.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Done };
        }
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let result = dispatch(&cli.command, &mut out).and_then(|()| Ok(out.flush()?));
    match result {
        Ok(()) => Exit::Done,
        Err(failure) => {
            if !failure.text.is_empty() {
                let _ = writeln!(io::stderr(), "error: {}", failure.text);
            }
            failure.exit
        }
    }
}

fn dispatch(command: &Command, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        Command::Plan(args) => plan::run(args, out),
        Command::Run(args) => run::run(args, out),
        Command::Retry(args) => retry::run(args, out),
        Command::Summary(args) => show::run(args, out),
        Command::Status(args) => status::run(args, out),
        Command::Inspect(args) => inspect::run(args, out),
        Command::Size(args) => size::run(args, out),
        Command::Repro(args) => repro::run(args, out),
        Command::Verify(args) => verify::run(args, out),
        Command::Merge(args) => merge::run(args, out),
        Command::Compact(args) => compact::run(args, out),
        Command::Explain(args) => explain::run(args, out),
        Command::Report(args) => report::run(args, out),
        Command::Compare(args) => compare::run(args, out),
        Command::Search(args) => search::run(args, out),
        Command::Frontier(args) => frontier::run(args, out),
        Command::Export(args) => export::run(args, out),
        Command::Import(args) => import::run(args, out),
        Command::Slurm(args) => slurm::run(args, out),
        Command::K8s(args) => k8s::run(args, out),
        Command::Schema => schema::run(out),
        Command::Attributes(args) => attributes::run(args, out),
        Command::Completions(args) => completions::run(args, out),
    }
}
