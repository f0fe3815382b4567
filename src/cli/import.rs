//! `import`: a sweep file made of what another program is run with.

use super::exit::{Exit, Failure};
use crate::interop::hpcc::{self, Config, ImportError, Source};
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The configuration of HPCC's ns-3 code, with the topology and flow files it names
    Hpcc(HpccArgs),
}

#[derive(Debug, Args)]
struct HpccArgs {
    /// The configuration, a line a key
    #[arg(value_name = "CONFIG")]
    config: PathBuf,
    /// The sweep file to write; without it, it goes to stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes the sweep file, and on stderr what is not as there.
///
/// # Errors
/// A file that cannot be read or asks for what is not simulated; one that cannot be written, or is
/// there already.
pub fn run(args: &ImportArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let What::Hpcc(args) = &args.what;
    let name = args.config.display().to_string();
    let text = read(&args.config)?;
    let config = Config::read(Source { name: &name, text: &text })?;
    let topology = beside(&args.config, &config.files.topology);
    let flows = beside(&args.config, &config.files.flows);
    let names = [&topology, &flows].map(|path| path.display().to_string());
    let texts = [read(&topology)?, read(&flows)?];
    let made = hpcc::import(
        &config,
        Source { name: &names[0], text: &texts[0] },
        Source { name: &names[1], text: &texts[1] },
    )?;
    for note in &made.notes {
        // Nobody is left to tell if stderr is gone; the notes stand in the file too.
        let _ = writeln!(std::io::stderr(), "note: {note}");
    }
    match &args.out {
        None => out.write_all(made.yaml.as_bytes())?,
        Some(path) => {
            write_new(path, &made.yaml)?;
            writeln!(out, "{}: poolsweep run {}", path.display(), path.display())?;
        }
    }
    Ok(())
}

/// A file that a configuration names: from its own folder, else from the working folder, where
/// that code looks for it.
fn beside(config: &Path, named: &str) -> PathBuf {
    let own = config.parent().unwrap_or(Path::new("")).join(named);
    match own.exists() {
        true => own,
        false if Path::new(named).exists() => PathBuf::from(named),
        false => own,
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::new(Exit::Invalid, format!("read {}: {error}", path.display())))
}

/// A sweep file may have been changed by hand since: it is not written over.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let advice = match error.kind() {
            std::io::ErrorKind::AlreadyExists => "; remove it or give another --out",
            _ => "",
        };
        Failure::new(Exit::Output, format!("write {}: {error}{advice}", path.display()))
    };
    let mut file = std::fs::File::create_new(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        Failure::new(Exit::Invalid, error)
    }
}
