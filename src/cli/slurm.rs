//! `slurm`: the scripts that run a planned dataset as an array, and their submission.

use super::exit::{Exit, Failure};
use crate::interop::batch::slurm::{Request, finish_script, refuse_too_many, sweep_script};
use crate::interop::batch::{BatchError, Work, absolute, sbatch};
use clap::{Args, ValueEnum};
use std::io::Write;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// Arguments of `slurm`.
#[derive(Debug, Args)]
pub struct SlurmArgs {
    /// The dataset, planned with `poolsweep plan FILE --out DIR`, on a file system all nodes share
    dir: PathBuf,
    /// Tasks of the array, each a shard of the plan [default: 64, or the jobs if they are fewer]
    #[arg(long, value_name = "N")]
    shards: Option<u32>,
    /// Run M tasks at once, no more
    #[arg(long, value_name = "M")]
    throttle: Option<NonZeroU32>,
    /// Time limit of a task: minutes, hours:minutes:seconds, days-hours:minutes:seconds
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Seconds before the time limit at which a task finishes what is in flight and ends; Slurm may
    /// say so up to a minute earlier
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = clap::value_parser!(u16).range(1..))]
    drain: u16,
    /// Memory of a task: 4G
    #[arg(long, value_name = "SIZE")]
    mem: Option<String>,
    /// CPUs of a task, and so its threads
    #[arg(long, value_name = "N")]
    cpus_per_task: Option<NonZeroU32>,
    /// Partition
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Account
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Quality of service
    #[arg(long, value_name = "NAME")]
    qos: Option<String>,
    /// Name of the job [default: poolsweep-NAME]
    #[arg(long, value_name = "NAME")]
    job_name: Option<String>,
    /// Any other long option of sbatch, for both scripts: constraint=avx512, exclusive
    #[arg(long, value_name = "KEY=VALUE")]
    sbatch_option: Vec<String>,
    /// The poolsweep the tasks run, as the nodes see it [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Print a script instead of writing both
    #[arg(long, value_name = "SCRIPT", num_args = 0..=1, require_equals = true, default_missing_value = "sweep", conflicts_with_all = ["submit", "force"])]
    print: Option<Script>,
    /// Submit both scripts
    #[arg(long)]
    submit: bool,
    /// Replace scripts that are there and differ
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Script {
    /// The array
    Sweep,
    /// The job after it
    Finish,
}

/// Writes, prints or submits the scripts.
///
/// # Errors
/// No plan; an option that Slurm would refuse; scripts that were changed by hand; what sbatch says.
pub fn run(args: &SlurmArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let work = Work::open(&args.dir)?;
    let request = args.request(&work)?;
    refuse_too_many(request.shards, max_array_size())?;
    let (sweep, finish) = (sweep_script(&work, &request)?, finish_script(&work, &request)?);
    if let Some(which) = args.print {
        let text = match which {
            Script::Sweep => &sweep,
            Script::Finish => &finish,
        };
        out.write_all(text.as_bytes())?;
        return Ok(());
    }
    // Slurm makes no folder for its logs: without this one a task would end before it began.
    let folder = args.dir.join("slurm");
    let paths = [folder.join("sweep.sbatch"), folder.join("finish.sbatch")];
    std::fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    for (path, text) in paths.iter().zip([&sweep, &finish]) {
        refuse_changed(path, text, args.force)?;
    }
    for (path, text) in paths.iter().zip([&sweep, &finish]) {
        std::fs::write(path, text).map_err(|error| unwritable(path, &error))?;
    }
    let [sweep, finish] = paths;
    let shards = super::text::count(request.shards as usize, "shard");
    let (shown, dir) = ([sweep.display(), finish.display()], args.dir.display());
    if !args.submit {
        writeln!(out, "array   {}, {shards}", shown[0])?;
        writeln!(out, "finish  {}, after it", shown[1])?;
        writeln!(out, "submit  array=$(sbatch --parsable {})", shown[0])?;
        writeln!(out, "        sbatch --dependency=afterany:$array {}", shown[1])?;
        return Ok(());
    }
    let array = sbatch::submit(&sweep, None)?;
    let after = sbatch::submit(&finish, Some(&array)).map_err(|error| {
        let failure = Failure::from(error);
        let text = format!("the array is submitted as {array}, the job after it is not: {failure}");
        Failure::new(failure.exit, text)
    })?;
    writeln!(out, "array   {array}, {shards}: {}", shown[0])?;
    writeln!(out, "finish  {after}, after the array, however it ends: {}", shown[1])?;
    writeln!(out, "watch   squeue -j {array},{after}; poolsweep status {dir} --watch")?;
    writeln!(out, "logs    {dir}/slurm/{array}_*.log, {dir}/slurm/{after}-finish.log")?;
    writeln!(
        out,
        "go on   after a drain, a kill or a time limit: the same command again; finished jobs are \
         skipped"
    )?;
    Ok(())
}

impl SlurmArgs {
    fn request(&self, work: &Work) -> Result<Request, Failure> {
        Ok(Request {
            binary: binary(self.binary.as_deref())?,
            shards: work.shards(self.shards)?,
            throttle: self.throttle,
            drain: self.drain,
            time: self.time.clone(),
            memory: self.mem.clone(),
            partition: self.partition.clone(),
            cpus: self.cpus_per_task,
            account: self.account.clone(),
            qos: self.qos.clone(),
            job_name: self.job_name.clone(),
            options: self.sbatch_option.clone(),
        })
    }
}

/// The command the tasks run: tasks have another PATH and another working folder.
fn binary(given: Option<&Path>) -> Result<String, Failure> {
    let own;
    let path = match given {
        Some(path) => path,
        None => {
            own = std::env::current_exe().map_err(|error| {
                Failure::new(
                    Exit::Internal,
                    format!("finding poolsweep itself: {error}; give --binary"),
                )
            })?;
            &own
        }
    };
    Ok(absolute("--binary", path)?)
}

/// What Slurm says, or its default where it does not say.
fn max_array_size() -> u32 {
    let size = sbatch::max_array_size().unwrap_or_else(|error| {
        // Slurm says much when it has no configuration; the last line is the reason.
        let error = error.to_string();
        let reason = error.lines().next_back().unwrap_or_default();
        // Nobody is left to tell if stderr is gone.
        let _ = writeln!(
            std::io::stderr(),
            "warning: {reason}; taking MaxArraySize as {}",
            sbatch::DEFAULT_MAX_ARRAY_SIZE
        );
        None
    });
    size.unwrap_or(sbatch::DEFAULT_MAX_ARRAY_SIZE)
}

/// A script that is there may have been changed by hand.
fn refuse_changed(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let changed = match std::fs::read(path) {
        Ok(bytes) => bytes != text.as_bytes(),
        Err(_) => false,
    };
    match changed && !force {
        true => Err(Failure::new(
            Exit::Output,
            format!(
                "{path} is there and differs: sbatch {path} submits it as it is, --force replaces \
                 it",
                path = path.display()
            ),
        )),
        false => Ok(()),
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Output, format!("write {}: {error}", path.display()))
}

impl From<BatchError> for Failure {
    fn from(error: BatchError) -> Self {
        let exit = match &error {
            BatchError::Option { .. } => Exit::Usage,
            BatchError::NoPlan { .. } | BatchError::Plan { .. } => Exit::Invalid,
            BatchError::Command { .. } => Exit::Output,
        };
        Failure::new(exit, error)
    }
}
