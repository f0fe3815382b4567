//! What ran the jobs: build, command line, machine and batch system.
//!
//! Owns reading the environment for `provenance`. Nothing read here may reach any other table.

use crate::record::Provenance;
use crate::sweep::plan::SourceFile;
use std::time::{SystemTime, UNIX_EPOCH};

/// The lock file of the build: it names every dependency's version and hash.
const LOCK_FILE: &[u8] = include_bytes!("../../Cargo.lock");

/// The provenance of a run that begins now in this process.
pub fn provenance(plan_hash: &str, sources: &[SourceFile], threads: usize) -> Provenance {
    let start = SystemTime::now();
    let host = host();
    let since = start.duration_since(UNIX_EPOCH).unwrap_or_default();
    Provenance {
        run_id: format!("{}-{host}-{}", since.as_millis(), std::process::id()),
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
