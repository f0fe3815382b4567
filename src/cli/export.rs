//! `export`: a dataset's tables in another format.

use super::exit::{Exit, Failure};
use super::location::{Location, location};
use super::text::{Align, TextTable};
use crate::interop::traces::{self, Trace, TraceError};
use crate::record::remote::Extent;
use crate::units::thousands;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `export`.
#[derive(Debug, Args)]
#[group(id = "what", required = true, multiple = true, args = ["csv", "pfc_txt", "fct_txt"])]
pub struct ExportArgs {
    /// Write this dataset's tables as CSV, one file a table
    #[arg(long, value_name = "DATASET", value_parser = location())]
    csv: Option<Location>,
    /// Write its table pfc_events as pfc.txt, a folder a job: time_ns node node_type port type
    #[arg(long, value_name = "DATASET", value_parser = location())]
    pfc_txt: Option<Location>,
    /// Write its table flows as fct.txt, a folder a job: sip dip sport dport bytes start_ns fct_ns
    /// standalone_ns
    #[arg(long, value_name = "DATASET", value_parser = location())]
    fct_txt: Option<Location>,
    /// The folder for the files
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes the files and lists them.
///
/// # Errors
/// No dataset, a damaged one or one without the table, or a folder that cannot be written.
pub fn run(args: &ExportArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = TextTable::new([("file".into(), Align::Left), ("rows".into(), Align::Right)]);
    if let Some(dataset) = &args.csv {
        for file in dataset.read(Extent::Everything)?.export_csv(&args.out)? {
            table.row([file.path.display().to_string(), thousands(file.rows as i128)]);
        }
    }
    for (dataset, trace) in [(&args.pfc_txt, Trace::Pfc), (&args.fct_txt, Trace::Fct)] {
        let Some(dataset) = dataset else { continue };
        let dataset = dataset.read(Extent::Everything)?;
        for (path, lines) in traces::export(&dataset, trace, &args.out)? {
            table.row([path.display().to_string(), thousands(lines as i128)]);
        }
    }
    out.write_all(table.render().as_bytes())?;
    Ok(())
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Record(error) => error.into(),
            other => Failure::new(Exit::Output, other),
        }
    }
}
