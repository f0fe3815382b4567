//! Tells the crate what it was built from and for; every dataset's provenance records it.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=Cargo.lock");
    let target = std::env::var("TARGET").unwrap_or_default();
    let features = std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    println!("cargo::rustc-env=POOLSWEEP_TARGET={target}");
    println!("cargo::rustc-env=POOLSWEEP_CPU_FEATURES={features}");
    // Without git, or outside a checkout, the commit is unknown: no reason not to build.
    if let Some(head) = git(&["rev-parse", "HEAD"]) {
        let dirty = git(&["status", "--porcelain", "--untracked-files=no"]);
        let mark = if dirty.is_some_and(|changes| !changes.is_empty()) { "-dirty" } else { "" };
        println!("cargo::rustc-env=POOLSWEEP_COMMIT={head}{mark}");
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
