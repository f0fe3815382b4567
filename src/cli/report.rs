//! `report`: a dataset as one HTML page.

use super::exit::{Exit, Failure};
use super::location::{Location, location};
use super::results::parse_id;
use crate::record::remote::Extent;
use crate::record::write_file;
use crate::report::{self, ReportError, Wanted};
use crate::sweep::plan::JobId;
use crate::units::thousands;
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The dataset
    #[arg(value_name = "DIR", value_parser = location())]
    dataset: Location,
    /// The page [default: report.html in the dataset's folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw what this job's ports held over time; may be repeated
    #[arg(long, value_name = "JOB_ID", value_parser = job_id)]
    job: Vec<JobId>,
    /// Draw so many more jobs, the worst first: by drops, then by time held
    #[arg(long, value_name = "N", default_value_t = 4)]
    worst: usize,
}

fn job_id(text: &str) -> Result<JobId, String> {
    parse_id(text).ok_or_else(|| {
        "no job id: it has 16 digits of 0-9 and a-f, as the job_id column of the tables has them"
            .to_owned()
    })
}

/// Writes the page and says where it is.
///
/// # Errors
/// No dataset, no such job, a damaged file, a page that cannot be written.
pub fn run(args: &ReportArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let file = match (&args.out, &args.dataset) {
        (Some(file), _) => file.clone(),
        (None, Location::Folder(folder)) => folder.join("report.html"),
        (None, Location::Remote(url)) => {
            return Err(Failure::new(
                Exit::Usage,
                format!("{url} is no folder the page could be put in: --out FILE says where"),
            ));
        }
    };
    let dataset = args.dataset.read(Extent::Jobs)?;
    if report::among_parts(&dataset, &file) {
        let folder = file.parent().unwrap_or(Path::new(".")).to_path_buf();
        return Err(ReportError::AmongParts(folder).into());
    }
    let page = report::page(&dataset, &Wanted { jobs: args.job.clone(), worst: args.worst })?;
    write_file(&file, page.as_bytes())?;
    writeln!(out, "{}  {} bytes", file.display(), thousands(page.len() as i128))?;
    Ok(())
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        let exit = match error {
            ReportError::Record(error) => return error.into(),
            ReportError::Json(_) => Exit::Internal,
            _ => Exit::Usage,
        };
        Failure::new(exit, error)
    }
}
