//! The process that watches the one that works.
//!
//! Owns the worker's life: starting it, passing on requests to stop, and telling a death of its own
//! making (a crash, the out-of-memory killer) from one that came from outside. Jobs run in the
//! worker, so that a job that takes its process down leaves somebody to say which it was, and to go
//! on with the others. Refuses to know what a job is.
//!
//! The two talk over the worker's stdin: a line `drain` asks it to finish what is in flight, `now`
//! to end at once; its end means that the watcher is gone, and the worker goes too. Signals that
//! reach both (Ctrl-C on a terminal, a batch system's) therefore count once.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

/// Name of the environment variable that makes a process a worker; its value names the run.
pub const WORKER: &str = "POOLSWEEP_WORKER";

/// Name of the environment variable that tells a worker the folder its watcher took for it, if
/// its dataset is not a folder itself.
pub const COPY: &str = "POOLSWEEP_COPY";

/// How a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this exit code.
    Exit(i32),
    /// By a signal.
    Died {
        /// `SIGABRT`, `SIGKILL by the out-of-memory killer`, `SIGKILL from outside`, …
        cause: String,
        /// Whether the signal was of its own making.
        own: bool,
    },
}

/// Requests to stop, and whom to pass them on to.
#[derive(Debug, Default)]
pub struct Control {
    stopping: AtomicBool,
    to: Mutex<Option<ChildStdin>>,
}

impl Control {
    /// Passes on the signals of this process from now on.
    ///
    /// # Errors
    /// What the system says when it refuses a handler.
    pub fn install() -> io::Result<Arc<Control>> {
        let control = Arc::new(Control::default());
        #[cfg(unix)]
        {
            let mut signals = signal_hook::iterator::Signals::new(super::interrupt::SIGNALS)?;
            let ours = Arc::clone(&control);
            std::thread::spawn(move || signals.forever().for_each(|_| ours.signal()));
        }
        Ok(control)
    }

    /// Whether somebody asked to stop.
    pub fn stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn signal(&self) {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        let word = if self.stopping.swap(true, Ordering::SeqCst) { "now\n" } else { "drain\n" };
        if let Some(pipe) = to.as_mut() {
            // A worker that is gone needs no word.
            let _ = pipe.write_all(word.as_bytes()).and_then(|()| pipe.flush());
        }
    }

    fn attach(&self, pipe: Option<ChildStdin>) {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        *to = pipe;
        // A signal that came before there was anybody to tell.
        if let Some(pipe) = to.as_mut().filter(|_| self.stopping()) {
            let _ = pipe.write_all(b"drain\n").and_then(|()| pipe.flush());
        }
    }
}

/// Runs this command line again as a worker, in the `copy` of its dataset if it needs one, and waits
/// for its end.
///
/// # Errors
/// A process that cannot be started or waited for.
pub fn work(run: &str, copy: Option<&Path>, control: &Control) -> io::Result<Ended> {
    let before = Kills::now();
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).env(WORKER, run).stdin(Stdio::piped());
    if let Some(copy) = copy {
        command.env(COPY, copy);
    }
    let mut child = command.spawn()?;
    control.attach(child.stdin.take());
    // The pipe stays open meanwhile: its end would end the worker.
    let status = child.wait()?;
    control.attach(None);
    Ok(ended(status, || Kills::now().more_than(&before)))
}

#[cfg(unix)]
fn ended(status: ExitStatus, out_of_memory: impl Fn() -> bool) -> Ended {
    use signal_hook::consts::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGKILL, SIGSEGV, SIGSYS, SIGTRAP};
    use std::os::unix::process::ExitStatusExt;
    let Some(signal) = status.signal() else {
        return Ended::Exit(status.code().unwrap_or(1));
    };
    let name = signal_hook::low_level::signal_name(signal)
        .map_or_else(|| format!("signal {signal}"), str::to_owned);
    match signal {
        SIGABRT | SIGBUS | SIGFPE | SIGILL | SIGSEGV | SIGSYS | SIGTRAP => {
            Ended::Died { cause: name, own: true }
        }
        SIGKILL if out_of_memory() => {
            Ended::Died { cause: format!("{name} by the out-of-memory killer"), own: true }
        }
        _ => Ended::Died { cause: format!("{name} from outside"), own: false },
    }
}

#[cfg(not(unix))]
fn ended(status: ExitStatus, _: impl Fn() -> bool) -> Ended {
    Ended::Exit(status.code().unwrap_or(1))
}

/// How often the kernel's out-of-memory killer struck where this process lives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Kills {
    /// In its control group; `None` where that does not say.
    group: Option<u64>,
    /// On the machine.
    machine: Option<u64>,
}

impl Kills {
    fn now() -> Self {
        let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let read = |path: PathBuf| counter(&fs::read_to_string(path).ok()?);
        Kills {
            group: counter_files(&group).into_iter().find_map(read),
            machine: read(PathBuf::from("/proc/vmstat")),
        }
    }

    /// The group's count decides if there is one: the machine's may be somebody else's.
    fn more_than(&self, before: &Kills) -> bool {
        match (self.group, before.group) {
            (Some(now), Some(then)) => now > then,
            _ => self.machine.zip(before.machine).is_some_and(|(now, then)| now > then),
        }
    }
}

/// Where the kills of a control group are counted, by what `/proc/self/cgroup` says: version 2
/// first, then the memory controller of version 1.
fn counter_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let path = path.trim_start_matches('/');
        if controllers.is_empty() {
            files.insert(0, PathBuf::from("/sys/fs/cgroup").join(path).join("memory.events"));
        } else if controllers.split(',').any(|c| c == "memory") {
            let root = PathBuf::from("/sys/fs/cgroup/memory");
            files.push(root.join(path).join("memory.oom_control"));
        }
    }
    files
}

/// The number after `oom_kill`.
fn counter(text: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
    value.trim().parse().ok()
}

/// In a worker: does what its watcher says, from now on.
///
/// `drain` sets the flag; `now`, and the end of the pipe, end the process with the exit code given.
pub fn obey(stop: Arc<AtomicBool>, exit_code: i32) {
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            match line.as_deref() {
                Ok("drain") => stop.store(true, Ordering::SeqCst),
                Ok("now") => break,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        std::process::exit(exit_code);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_killer_s_counters_are_found() {
        let v2 = counter_files("0::/system.slice/slurmstepd.scope/job_7\n");
        let path = "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/memory.events";
        assert_eq!(v2, [PathBuf::from(path)]);
        let v1 = counter_files("9:cpu,cpuacct:/a\n4:memory:/slurm/uid_0/job_7\n0::/b\n");
        let paths = [
            "/sys/fs/cgroup/b/memory.events",
            "/sys/fs/cgroup/memory/slurm/uid_0/job_7/memory.oom_control",
        ];
        assert_eq!(v1, paths.map(PathBuf::from));
        assert_eq!(counter("low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n"), Some(2));
        assert_eq!(counter("oom_kill_disable 0\nunder_oom 0\n"), None);
    }

    #[test]
    fn the_group_s_count_decides_if_there_is_one() {
        let kills = |group, machine| Kills { group, machine: Some(machine) };
        assert!(kills(Some(3), 9).more_than(&kills(Some(2), 9)));
        assert!(!kills(Some(2), 10).more_than(&kills(Some(2), 9)), "somebody else was killed");
        assert!(kills(None, 10).more_than(&kills(None, 9)));
        assert!(!Kills::default().more_than(&Kills::default()));
    }

    #[cfg(unix)]
    #[test]
    fn deaths_of_its_own_making_are_told_from_others() {
        use std::os::unix::process::ExitStatusExt;
        let died = |cause: &str, own| Ended::Died { cause: cause.to_owned(), own };
        let of = |raw, memory| ended(ExitStatus::from_raw(raw), || memory);
        assert_eq!(of(0, false), Ended::Exit(0));
        assert_eq!(of(5 << 8, true), Ended::Exit(5));
        assert_eq!(of(6, false), died("SIGABRT", true));
        assert_eq!(of(11, false), died("SIGSEGV", true));
        assert_eq!(of(9, false), died("SIGKILL from outside", false));
        assert_eq!(of(9, true), died("SIGKILL by the out-of-memory killer", true));
        assert_eq!(of(15, true), died("SIGTERM from outside", false));
        // A CPU time limit.
        assert_eq!(of(24, false), died("SIGXCPU from outside", false));
    }
}
