//! `k8s`: the manifest that runs a planned dataset as an Indexed Job.

use super::exit::Failure;
use crate::interop::batch::Work;
use crate::interop::batch::k8s::{Request, manifest};
use clap::Args;
use std::io::Write;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Arguments of `k8s`.
#[derive(Debug, Args)]
pub struct K8sArgs {
    /// The dataset, planned with `poolsweep plan FILE --out DIR`, on a volume all nodes share
    dir: PathBuf,
    /// The image; it has a shell, and poolsweep in its PATH
    #[arg(long)]
    image: String,
    /// The persistent volume claim that holds the dataset
    #[arg(long, value_name = "NAME")]
    claim: String,
    /// Where the claim is mounted in the pods
    #[arg(long, value_name = "PATH", default_value = "/data")]
    mount: String,
    /// The dataset inside the claim [default: the last part of DIR]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Indices of the Job, each a shard of the plan [default: 64, or the jobs if they are fewer]
    #[arg(long, value_name = "N")]
    shards: Option<u32>,
    /// Run M pods at once, no more [default: all]
    #[arg(long, value_name = "M")]
    parallelism: Option<NonZeroU32>,
    /// CPUs of a pod, and so its threads: 4, 500m
    #[arg(long, value_name = "CPUS", default_value = "1")]
    cpu: String,
    /// Memory of a pod
    #[arg(long, value_name = "SIZE", default_value = "2Gi")]
    memory: String,
    /// Seconds a pod that has to go may take to finish what is in flight
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = clap::value_parser!(u16).range(1..))]
    drain: u16,
    /// Namespace [default: the one kubectl uses]
    #[arg(long)]
    namespace: Option<String>,
    /// Name of the Job [default: poolsweep-NAME]
    #[arg(long)]
    name: Option<String>,
}

/// Prints the manifest.
///
/// # Errors
/// No plan; a name or quantity that Kubernetes would refuse.
pub fn run(args: &K8sArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let work = Work::open(&args.dir)?;
    let request = Request {
        image: args.image.clone(),
        claim: args.claim.clone(),
        mount: args.mount.clone(),
        path: args.path.clone(),
        shards: work.shards(args.shards)?,
        parallelism: args.parallelism,
        cpu: args.cpu.clone(),
        memory: args.memory.clone(),
        drain: args.drain,
        namespace: args.namespace.clone(),
        name: args.name.clone(),
    };
    out.write_all(manifest(&work, &request)?.as_bytes())?;
    Ok(())
}
