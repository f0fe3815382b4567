//! `merge`: datasets of machines that share nothing into one.

use super::exit::Failure;
use super::text::count;
use crate::record::{Taken, merge};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// Jobs named that were not taken.
const NAMED: usize = 5;

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The dataset to take jobs into; made if it is not there
    out: PathBuf,
    /// Datasets to take jobs of; they are only read
    #[arg(required = true)]
    from: Vec<PathBuf>,
    /// Take jobs too that the points of OUT do not name
    #[arg(long)]
    all: bool,
}

/// Merges and says what was taken.
///
/// # Errors
/// Different plans, different results of one job, a damaged part.
pub fn run(args: &MergeArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let merged = merge(&args.out, &args.from, args.all)?;
    for source in &merged.sources {
        writeln!(out, "{}", line(source))?;
    }
    let left = match merged.outstanding {
        0 => "no job of its plan is outstanding".to_owned(),
        left => format!("{} of its plan outstanding", count(left, "job")),
    };
    writeln!(out, "{}: {left}", args.out.display())?;
    Ok(())
}

fn line(taken: &Taken) -> String {
    let mut line = format!(
        "{}: {} taken ({} in {} whole), {} held already",
        taken.path.display(),
        count(taken.in_parts + taken.single, "job"),
        taken.in_parts,
        count(taken.parts, "part"),
        taken.held
    );
    if taken.unfinished > 0 {
        line += &format!(", {} to be run again there", taken.unfinished);
    }
    if !taken.others.is_empty() {
        let named: Vec<_> = taken.others.iter().take(NAMED).map(ToString::to_string).collect();
        let more = if taken.others.len() > NAMED { ", …" } else { "" };
        let (number, named) = (count(taken.others.len(), "job"), named.join(", "));
        line += &format!(", {number} not in points left (--all takes them): {named}{more}");
    }
    line
}
