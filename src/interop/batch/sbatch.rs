//! Slurm's own commands.
//!
//! Owns calling `scontrol` and `sbatch` and reading what they print. Refuses to know what a script
//! says.

use super::BatchError;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// `MaxArraySize` where Slurm's configuration does not say otherwise.
pub const DEFAULT_MAX_ARRAY_SIZE: u32 = 1001;

/// Asks Slurm for `MaxArraySize`. `Ok(None)`: there is no `scontrol` here, so the scripts are for
/// another machine.
///
/// # Errors
/// `scontrol` is there and gives no number.
pub fn max_array_size() -> Result<Option<u32>, BatchError> {
    let mut command = Command::new("scontrol");
    let output = match command.args(["show", "config"]).stdin(Stdio::null()).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        output => said("scontrol show config", output)?,
    };
    let found = output.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "MaxArraySize").then(|| value.trim().parse().ok())?
    });
    match found {
        Some(size) => Ok(Some(size)),
        None => Err(BatchError::Command {
            command: "scontrol show config".into(),
            why: "printed no MaxArraySize".into(),
        }),
    }
}

/// Submits a script, after another job if there is one; the id of the new job.
///
/// # Errors
/// No `sbatch`, or what it said.
pub fn submit(script: &Path, after: Option<&str>) -> Result<String, BatchError> {
    let mut command = Command::new("sbatch");
    command.arg("--parsable");
    if let Some(id) = after {
        command.arg(format!("--dependency=afterany:{id}"));
    }
    // Submitted from within another job, that job's number would pass for the new one's.
    command.arg(script).env_remove("SLURM_CPUS_PER_TASK").stdin(Stdio::null());
    let shown = format!("sbatch {}", script.display());
    let output = match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(BatchError::Command {
                command: shown,
                why: "there is no sbatch in PATH; go on where Slurm's commands are".into(),
            });
        }
        output => said(&shown, output)?,
    };
    // `id` or `id;cluster`.
    let id = output.trim().split(';').next().unwrap_or_default();
    match !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) {
        true => Ok(id.to_owned()),
        false => Err(BatchError::Command {
            command: shown,
            why: format!("printed no job id but {:?}", output.trim()),
        }),
    }
}

/// What a command printed, or why it failed.
fn said(command: &str, output: io::Result<Output>) -> Result<String, BatchError> {
    let refuse = |why: String| BatchError::Command { command: command.to_owned(), why };
    let output = output.map_err(|error| refuse(error.to_string()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(refuse(match text(&output.stderr) {
            nothing if nothing.is_empty() => output.status.to_string(),
            said => said,
        })),
    }
}
