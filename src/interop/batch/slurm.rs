//! The scripts for Slurm: an array whose tasks are the shards of a plan, and a job after it.
//!
//! Owns their text and which options can be said in them. A task is a shard, not a job: arrays end
//! at `MaxArraySize`, plans do not. Refuses to talk to Slurm (see [`super::sbatch`]).
//!
//! The script ends in `exec`, so that poolsweep *is* the process that Slurm calls the batch shell.
//! `--signal=B:…` reaches that process and no other, its exit code is the task's, and the SIGTERM
//! that Slurm sends to every process of a task at `scancel` or the time limit arrives once: a shell
//! that passed signals on would make it two, and the second one means "stop at once".

use super::quote::{bash, directive, log_folder, plain};
use super::{BatchError, Work};
use std::fmt::Write;
use std::num::NonZeroU32;

/// Options whose directives the script itself depends on, with what to use instead.
const OWN: [(&str, &str); 13] = [
    ("array", "use --shards and --throttle"),
    ("signal", "use --drain"),
    ("time", "use --time"),
    ("mem", "use --mem"),
    ("partition", "use --partition"),
    ("cpus-per-task", "use --cpus-per-task"),
    ("account", "use --account"),
    ("qos", "use --qos"),
    ("job-name", "use --job-name"),
    ("output", "logs go to the dataset's folder slurm"),
    ("ntasks", "a task of the array is one process"),
    ("nodes", "a task of the array is one process"),
    ("dependency", "give it to sbatch when you submit the script yourself"),
];

/// What is asked of Slurm.
#[derive(Debug, Clone)]
pub struct Request {
    /// The command, absolute.
    pub binary: String,
    /// Tasks of the array, from 1.
    pub shards: u32,
    /// Tasks that may run at once.
    pub throttle: Option<NonZeroU32>,
    /// Seconds before the time limit at which a task is asked to drain, 1 to 65535.
    pub drain: u16,
    /// Time limit of a task, as Slurm writes it.
    pub time: Option<String>,
    /// Memory of a task, as Slurm writes it.
    pub memory: Option<String>,
    /// Partition.
    pub partition: Option<String>,
    /// CPUs, and so threads, of a task.
    pub cpus: Option<NonZeroU32>,
    /// Account.
    pub account: Option<String>,
    /// Quality of service.
    pub qos: Option<String>,
    /// Name of the job.
    pub job_name: Option<String>,
    /// Further options of sbatch, `KEY=VALUE` or `KEY`.
    pub options: Vec<String>,
}

/// Refuses more tasks than an array can have: its indices, here from 1, end below `MaxArraySize`.
///
/// # Errors
/// Too many shards, with the number that would do.
pub fn refuse_too_many(shards: u32, max_array_size: u32) -> Result<(), BatchError> {
    let most = max_array_size.saturating_sub(1);
    match shards > most {
        true => Err(BatchError::option(
            "--shards",
            shards,
            format!(
                "array indices end below MaxArraySize = {max_array_size}, so {most} at most; a \
                 shard runs as many jobs as it has to"
            ),
        )),
        false => Ok(()),
    }
}

/// The script of the array.
///
/// # Errors
/// An option that cannot be said in a script.
pub fn sweep_script(work: &Work, request: &Request) -> Result<String, BatchError> {
    let mut lines = head(work, request, "")?;
    let throttle = request.throttle.map(|most| format!("%{most}")).unwrap_or_default();
    lines.add("array", &format!("1-{}{throttle}", request.shards));
    lines.log(work, "%A_%a.log")?;
    // A task that Slurm starts again after its node died goes on in the same file.
    lines.add("open-mode", "append");
    lines.add("ntasks", "1");
    lines.resources(request)?;
    if let Some(time) = &request.time {
        refuse_late_drain(time, request.drain)?;
    }
    lines.add("signal", &format!("B:USR1@{}", request.drain));
    lines.options(request)?;

    let (binary, folder) = (bash(&request.binary), bash(&work.folder));
    let shards = request.shards;
    Ok(format!(
        "\
#!/bin/bash
# The sweep {name}: task N of the array runs shard N of {shards} into one dataset.
#
# A task's exit code is that of poolsweep run:
#   0  all jobs of the shard are in the dataset
#   5  asked to stop, by the signal {drain} s before the time limit or by scancel: what was in
#      flight is finished and published, work is outstanding
#   6  some jobs failed; their rows in the table jobs say why
# After 5, a kill, a crash or a dead node, submit this script again as it is: finished jobs are
# skipped, so it goes on where it ended. Do not `scontrol requeue $SLURM_JOB_ID` from a task: the
# last task's id is that of the whole array, and its running siblings would be killed.
{directives}
set -euo pipefail

# As many threads as CPUs were given. The affinity mask alone would not do: not every cluster
# binds tasks.
threads=${{SLURM_CPUS_PER_TASK:-${{SLURM_CPUS_ON_NODE:-}}}}

# exec: poolsweep takes the place of this shell, to which Slurm sends the signal.
exec {binary} run {folder} --quiet \\
    --shard \"$SLURM_ARRAY_TASK_ID/{shards}\" ${{threads:+--threads \"$threads\"}}
",
        name = comment(&work.name),
        drain = request.drain,
        directives = lines.0,
    ))
}

/// The script of the job after the array: what is done, what is missing.
///
/// # Errors
/// An option that cannot be said in a script.
pub fn finish_script(work: &Work, request: &Request) -> Result<String, BatchError> {
    let mut lines = head(work, request, "-finish")?;
    lines.log(work, "%j-finish.log")?;
    lines.add("ntasks", "1");
    lines.resources(request)?;
    lines.options(request)?;
    let (binary, folder) = (bash(&request.binary), bash(&work.folder));
    Ok(format!(
        "\
#!/bin/bash
# After the array of the sweep {name}, however its tasks ended (--dependency=afterany:ARRAY).
#
# All shards wrote into one dataset, so there is nothing to merge; its many small parts become few.
# This simulates nothing: what is missing stays missing until the array is submitted again.
{directives}
set -euo pipefail

{binary} compact {folder} || echo 'the parts stay as they are'
{binary} summary {folder}
exec {binary} status {folder}
",
        name = comment(&work.name),
        directives = lines.0,
    ))
}

/// A name in a comment: whatever it is, it stays on its line.
fn comment(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Directives, a line each.
struct Directives(String);

fn head(work: &Work, request: &Request, suffix: &str) -> Result<Directives, BatchError> {
    plain("--binary", &request.binary)?;
    let name = match &request.job_name {
        Some(name) => name.clone(),
        None => format!("poolsweep-{}", comment(&work.name)),
    };
    plain("--job-name", &name)?;
    let mut lines = Directives(String::new());
    lines.add("job-name", &format!("{name}{suffix}"));
    Ok(lines)
}

impl Directives {
    fn add(&mut self, key: &str, value: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "#SBATCH --{key}={}", directive(value));
    }

    fn log(&mut self, work: &Work, name: &str) -> Result<(), BatchError> {
        let folder = log_folder("DIR", &work.folder)?;
        self.add("output", &format!("{folder}/slurm/{name}"));
        Ok(())
    }

    fn resources(&mut self, request: &Request) -> Result<(), BatchError> {
        if let Some(time) = &request.time {
            seconds(time)?;
            self.add("time", time);
        }
        if let Some(memory) = &request.memory {
            refuse_memory(memory)?;
            self.add("mem", memory);
        }
        if let Some(cpus) = request.cpus {
            self.add("cpus-per-task", &cpus.to_string());
        }
        for (key, option, value) in [
            ("partition", "--partition", &request.partition),
            ("account", "--account", &request.account),
            ("qos", "--qos", &request.qos),
        ] {
            let Some(value) = value else { continue };
            plain(option, value)?;
            self.add(key, value);
        }
        Ok(())
    }

    fn options(&mut self, request: &Request) -> Result<(), BatchError> {
        for option in &request.options {
            let refuse = |why: &str| BatchError::option("--sbatch-option", option, why);
            plain("--sbatch-option", option)?;
            let (key, value) = match option.split_once('=') {
                Some((key, value)) => (key, Some(value)),
                None => (option.as_str(), None),
            };
            let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if key.is_empty() || key.starts_with('-') || !key.chars().all(letters) {
                return Err(refuse("give it as KEY=VALUE, a long option of sbatch without dashes"));
            }
            if let Some((_, instead)) = OWN.iter().find(|(own, _)| *own == key) {
                return Err(refuse(instead));
            }
            match value {
                Some(value) => self.add(key, value),
                None => {
                    let _ = writeln!(self.0, "#SBATCH --{key}");
                }
            }
        }
        Ok(())
    }
}

/// Refuses a drain signal that would come at once, or never.
fn refuse_late_drain(time: &str, drain: u16) -> Result<(), BatchError> {
    match seconds(time)? {
        Some(limit) if u64::from(drain) >= limit => Err(BatchError::option(
            "--drain",
            drain,
            format!("it has to be less than the time limit, {limit} s"),
        )),
        _ => Ok(()),
    }
}

/// A time limit in seconds; `None` for no limit.
///
/// Minutes, `minutes:seconds`, `hours:minutes:seconds`, `days-hours`, `days-hours:minutes` or
/// `days-hours:minutes:seconds`.
fn seconds(time: &str) -> Result<Option<u64>, BatchError> {
    if matches!(time, "0" | "UNLIMITED" | "INFINITE") {
        return Ok(None);
    }
    let parse = || {
        let (days, rest) = match time.split_once('-') {
            Some((days, rest)) => (Some(number(days)?), rest),
            None => (None, time),
        };
        let parts = rest.split(':').map(number).collect::<Option<Vec<u64>>>()?;
        let rest = match (days.is_some(), parts.as_slice()) {
            (false, [minutes]) => minutes * 60,
            (false, [minutes, seconds]) => minutes * 60 + seconds,
            (true, [hours]) => hours * 3600,
            (true, [hours, minutes]) => hours * 3600 + minutes * 60,
            (_, [hours, minutes, seconds]) => hours * 3600 + minutes * 60 + seconds,
            _ => return None,
        };
        Some(days.unwrap_or(0) * 86_400 + rest)
    };
    match parse() {
        Some(0) => Ok(None),
        Some(seconds) => Ok(Some(seconds)),
        None => Err(BatchError::option(
            "--time",
            time,
            "give minutes, hours:minutes:seconds or days-hours:minutes:seconds",
        )),
    }
}

/// Digits only, few enough that no sum of times overflows.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

fn refuse_memory(memory: &str) -> Result<(), BatchError> {
    let digits = memory.strip_suffix(['K', 'M', 'G', 'T', 'k', 'm', 'g', 't']).unwrap_or(memory);
    match number(digits) {
        Some(_) => Ok(()),
        None => Err(BatchError::option("--mem", memory, "give a number with K, M, G or T: 4G")),
    }
}
