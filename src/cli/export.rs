//! `export`: a dataset's tables in another format.

use super::exit::Failure;
use super::text::{Align, TextTable};
use crate::record::Dataset;
use crate::units::thousands;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Write this dataset's tables as CSV, one file a table
    #[arg(long, value_name = "DATASET")]
    csv: PathBuf,
    /// The folder for the files
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes the files and lists them.
///
/// # Errors
/// No dataset, a damaged one, or a folder that cannot be written.
pub fn run(args: &ExportArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let exported = Dataset::open(&args.csv)?.export_csv(&args.out)?;
    let mut table = TextTable::new([("file".into(), Align::Left), ("rows".into(), Align::Right)]);
    for file in exported {
        table.row([file.path.display().to_string(), thousands(file.rows as i128)]);
    }
    out.write_all(table.render().as_bytes())?;
    Ok(())
}
