//! Jobs that may have taken the process down.
//!
//! Owns what is remembered of them between processes, one small file a suspect in `suspects/` of
//! the dataset; there are none unless something crashed. A job in flight when the process died by
//! a signal of its own making (a crash, the out-of-memory killer) is a suspect: it is tried again,
//! alone. Twice dead alone, it is set aside. A death from outside (a time limit, somebody's kill)
//! makes nobody a suspect: whoever records deaths here has to know that.

use crate::sweep::plan::JobId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Name of the folder.
const FOLDER: &str = "suspects";

/// Deaths of a job alone in flight after which it is set aside.
pub const DEATHS_ALONE: u32 = 2;

/// What is known of a suspect.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Suspect {
    /// Deaths with other jobs in flight.
    pub deaths_in_company: u32,
    /// Deaths with nothing else in flight.
    pub deaths_alone: u32,
    /// How the process died, in order: `SIGABRT`, `SIGKILL by the out-of-memory killer`.
    pub causes: Vec<String>,
    /// The runs that died, in order.
    pub runs: Vec<String>,
}

impl Suspect {
    /// Whether it is not tried again.
    pub fn is_set_aside(&self) -> bool {
        self.deaths_alone >= DEATHS_ALONE
    }

    /// The reason its row gives.
    pub fn reason(&self) -> String {
        format!(
            "took the process down {} times while alone in flight ({}); poolsweep retry \
             --quarantined tries it again",
            self.deaths_alone,
            self.causes.join(", then ")
        )
    }
}

/// The suspects of a dataset.
#[derive(Debug)]
pub struct Suspects {
    folder: PathBuf,
}

impl Suspects {
    /// Of the dataset in this folder.
    pub fn of(dataset: &Path) -> Self {
        Suspects { folder: dataset.join(FOLDER) }
    }

    /// All of them.
    ///
    /// # Errors
    /// A file that cannot be read or says nothing sensible, by name.
    pub fn all(&self) -> io::Result<BTreeMap<JobId, Suspect>> {
        let mut all = BTreeMap::new();
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(all),
            Err(error) => return Err(named(&self.folder, error)),
        };
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let id = name.strip_suffix(".json").filter(|stem| stem.len() == 16);
            let Some(id) = id.and_then(|stem| u64::from_str_radix(stem, 16).ok()) else { continue };
            if let Some(suspect) = read(&path)? {
                all.insert(JobId(id), suspect);
            }
        }
        Ok(all)
    }

    /// Remembers that the process of `run` died of `cause` with these jobs in flight.
    ///
    /// # Errors
    /// What the disk refuses.
    pub fn died(&self, in_flight: &[JobId], run: &str, cause: &str) -> io::Result<()> {
        if in_flight.is_empty() {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder).map_err(|e| named(&self.folder, e))?;
        for job in in_flight {
            let path = self.file(*job);
            let mut suspect = read(&path)?.unwrap_or_default();
            match in_flight.len() {
                1 => suspect.deaths_alone += 1,
                _ => suspect.deaths_in_company += 1,
            }
            suspect.causes.push(cause.to_owned());
            suspect.runs.push(run.to_owned());
            self.write(&path, &suspect).map_err(|e| named(&path, e))?;
        }
        Ok(())
    }

    /// Forgets what is known of a job.
    ///
    /// # Errors
    /// What the disk refuses.
    pub fn forgive(&self, job: JobId) -> io::Result<()> {
        let path = self.file(job);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(named(&path, error)),
            _ => Ok(()),
        }
    }

    fn file(&self, job: JobId) -> PathBuf {
        self.folder.join(file_name(job))
    }

    fn write(&self, path: &Path, suspect: &Suspect) -> io::Result<()> {
        let mut file =
            tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(&self.folder)?;
        serde_json::to_writer_pretty(&mut file, suspect)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    }
}

/// Where a suspect is remembered, from the dataset's folder on.
pub fn relative(job: JobId) -> PathBuf {
    Path::new(FOLDER).join(file_name(job))
}

fn file_name(job: JobId) -> String {
    format!("{job}.json")
}

fn read(path: &Path) -> io::Result<Option<Suspect>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(named(path, error)),
    };
    let suspect = serde_json::from_slice(&bytes).map_err(|e| named(path, e.into()))?;
    Ok(Some(suspect))
}

/// The error with the file it is about.
fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_deaths_alone_set_a_job_aside_and_those_in_company_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let suspects = Suspects::of(folder.path());
        assert_eq!(suspects.all().unwrap(), BTreeMap::new());
        let (a, b) = (JobId(0xa), JobId(0xb));
        for run in ["r1", "r2", "r3"] {
            suspects.died(&[a, b], run, "SIGABRT").unwrap();
        }
        assert!(suspects.all().unwrap().values().all(|s| !s.is_set_aside()));
        suspects.died(&[b], "r4", "SIGSEGV").unwrap();
        assert!(!suspects.all().unwrap()[&b].is_set_aside());
        suspects.died(&[b], "r5", "SIGSEGV").unwrap();
        let all = suspects.all().unwrap();
        assert!(all[&b].is_set_aside() && !all[&a].is_set_aside());
        assert_eq!((all[&b].deaths_in_company, all[&b].deaths_alone), (3, 2));
        suspects.forgive(b).unwrap();
        suspects.forgive(b).unwrap();
        assert_eq!(suspects.all().unwrap().keys().collect::<Vec<_>>(), [&a]);
    }

    #[test]
    fn a_file_that_says_nothing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(FOLDER)).unwrap();
        std::fs::write(folder.path().join("suspects/000000000000000a.json"), "{").unwrap();
        let error = Suspects::of(folder.path()).all().unwrap_err().to_string();
        assert!(error.contains("000000000000000a.json"), "{error}");
    }
}
