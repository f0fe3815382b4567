//! `compact`: few large parts instead of many small ones.

use super::exit::Failure;
use super::text::count;
use crate::record::{Dataset, Limits};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `compact`.
#[derive(Debug, Args)]
pub struct CompactArgs {
    /// The dataset; others may read and write it meanwhile
    #[arg(value_name = "DIR")]
    data: PathBuf,
    /// Bytes a part may have, all tables together: 64MiB, 1GiB
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size)]
    max_part: u64,
}

/// Compacts and says what changed.
///
/// # Errors
/// A damaged file; what the disk refuses.
pub fn run(args: &CompactArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let dataset = Dataset::open_existing(&args.data)?;
    let told = dataset.compact(Limits { bytes: args.max_part, ..Limits::default() })?;
    writeln!(
        out,
        "{}: {} -> {}, {} -> {}, {} -> {} bytes",
        args.data.display(),
        count(told.parts_before, "part"),
        told.parts,
        count(told.files_before, "file"),
        told.files,
        told.bytes_before,
        told.bytes
    )?;
    if told.skipped > 0 {
        let skipped = count(told.skipped, "part");
        writeln!(
            out,
            "{skipped} left as they are: a file is missing that they claim; verify names it"
        )?;
    }
    Ok(())
}

fn size(text: &str) -> Result<u64, String> {
    let bytes = text.parse::<crate::units::Bytes>().map_err(|error| error.to_string())?;
    if bytes.0 == 0 {
        return Err("a part cannot be empty".to_owned());
    }
    Ok(bytes.0)
}
