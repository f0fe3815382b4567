//! What ran the jobs: build, command line, machine and batch system.
//!
//! Owns reading the environment for `provenance`. Nothing read here may reach any other table.

use crate::record::Provenance;
use crate::sweep::plan::SourceFile;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{SystemTime, UNIX_EPOCH};

/// The lock file of the build: it names every dependency's version and hash.
const LOCK_FILE: &[u8] = include_bytes!("../../Cargo.lock");

/// A name for a run: when, where, and something random, as clocks jump and process numbers come
/// round. Fit for a file name.
pub fn run_id() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let host: String = host().chars().map(|c| if keep(c) { c } else { '_' }).collect();
    // The standard library seeds its hashers from the system's random numbers.
    let random = RandomState::new().build_hasher().finish() as u32;
    format!("{}-{host}-{}-{random:08x}", since.as_millis(), std::process::id())
}

/// The provenance of a run that begins now in this process.
pub fn provenance(
    run_id: String,
    plan_hash: &str,
    sources: &[SourceFile],
    threads: usize,
) -> Provenance {
    let start = SystemTime::now();
    let host = host();
    Provenance {
        run_id,
        plan_hash: plan_hash.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("POOLSWEEP_COMMIT").map(str::to_owned),
        lock_hash: Some(blake3::hash(LOCK_FILE).to_hex().to_string()),
        target: env!("POOLSWEEP_TARGET").to_owned(),
        cpu_features: env!("POOLSWEEP_CPU_FEATURES").to_owned(),
        command_line: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        sources: sources.to_vec(),
        host,
        slurm_job_id: std::env::var("SLURM_JOB_ID").ok(),
        slurm_array_job_id: std::env::var("SLURM_ARRAY_JOB_ID").ok(),
        slurm_array_task_id: std::env::var("SLURM_ARRAY_TASK_ID").ok(),
        threads: u32::try_from(threads).unwrap_or(u32::MAX),
        start,
        end: None,
    }
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok())
        .or_else(|| std::env::var("COMPUTERNAME").ok())
        .map_or_else(|| "unknown".into(), |name| name.trim().to_owned())
}
