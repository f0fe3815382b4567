//! `explain`: what is found in a dataset, and why one job lost packets.
//!
//! Owns the reading of a dataset for findings, running a job again around its first drop, and the
//! page. The findings of a whole dataset, `report` makes; what a finding is and which setting to move, `sizing` says.

mod find;
mod job;
mod page;

use super::exit::{Exit, Failure};
use super::results::parse_id;
use crate::record::Dataset;
use crate::report::explain::{points, whole, words};
use crate::sweep::plan::JobId;
use clap::Args;
use points::Points;
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The dataset
    data: PathBuf,
    /// One job: 16 hex digits, the job_id column of every table
    #[arg(conflicts_with = "point")]
    job: Option<String>,
    /// The point with this value of an axis; several until one is left
    #[arg(long, value_name = "KEY=VALUE")]
    point: Vec<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Explains the dataset, or one of its jobs.
///
/// # Errors
/// No such job or point; a damaged file; a job that cannot be run again.
pub fn run(args: &ExplainArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let dataset = Dataset::open(&args.data)?;
    let points = Points::read(&dataset)?;
    let (text, json) = match (&args.job, args.point.is_empty()) {
        (Some(job), _) => {
            let told = job::explain(&dataset, &points, wanted(args, job)?)?;
            (page::job(&told), page::job_json(&told))
        }
        (None, true) => {
            let told = whole::explain(&dataset, points)?;
            (page::dataset(&told, &args.data), page::dataset_json(&told))
        }
        (None, false) => {
            let repetitions = find::find(&points, &args.point)?;
            let told = whole::explain(&dataset, points)?;
            let loss = told.loss_of(&repetitions);
            let id = find::worth_telling(&told, &repetitions, &args.data)?;
            let job = job::explain(&dataset, &told.points, id)?;
            let text = loss.as_ref().map(|loss| page::loss(loss) + "\n").unwrap_or_default();
            let mut json = page::job_json(&job);
            json["repetitions"] = loss.map_or(Value::Null, |loss| page::loss_json(&loss));
            (text + &page::job(&job), json)
        }
    };
    if args.json {
        let json = serde_json::to_string_pretty(&json);
        writeln!(out, "{}", json.map_err(|e| Failure::new(Exit::Internal, e))?)?;
    } else {
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn wanted(args: &ExplainArgs, job: &str) -> Result<JobId, Failure> {
    parse_id(job).ok_or_else(|| {
        Failure::new(
            Exit::Usage,
            format!(
                "{job:?} is no job id: it has 16 digits of 0-9 and a-f, as the job_id column of {} \
                 has them; --point KEY=VALUE finds a job by its point",
                args.data.join("jobs").display()
            ),
        )
    })
}
