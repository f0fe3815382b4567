//! The manifest for Kubernetes: an Indexed Job whose indices are the shards of a plan.
//!
//! Owns its text and the names and quantities in it. Refuses to talk to a cluster. Needs Kubernetes
//! 1.29 or later (`backoffLimitPerIndex`, `podReplacementPolicy`).
//!
//! The shell in the container ends in `exec`, so that poolsweep is its first process and gets the
//! SIGTERM with which Kubernetes ends a pod; it has `terminationGracePeriodSeconds` to drain.

use super::quote::{bash, plain};
use super::{BatchError, Work};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// Name of the container and of the volume in the pod.
const NAME: &str = "poolsweep";
/// Longest host name of a pod: the job's name, a dash and the index.
const HOST_NAME: usize = 63;
/// Most indices of a Job.
const MOST_SHARDS: u32 = 100_000;
/// Tries of an index that ended by no fault of the cluster, after the first.
const RETRIES: u32 = 3;

/// What is asked of Kubernetes.
#[derive(Debug, Clone)]
pub struct Request {
    /// The image; it has a shell, and `poolsweep` in its PATH.
    pub image: String,
    /// The persistent volume claim that holds the dataset.
    pub claim: String,
    /// Where the claim is mounted, absolute.
    pub mount: String,
    /// The dataset inside the claim; its own name if not given.
    pub path: Option<String>,
    /// Indices of the Job.
    pub shards: u32,
    /// Pods at once; as many as there are shards if not given.
    pub parallelism: Option<NonZeroU32>,
    /// CPUs of a pod, asked for and not exceeded: `4`, `500m`.
    pub cpu: String,
    /// Memory of a pod, asked for and not exceeded: `8Gi`.
    pub memory: String,
    /// Seconds a pod has to drain.
    pub drain: u16,
    /// Namespace; that of the caller if not given.
    pub namespace: Option<String>,
    /// Name of the Job; made of the sweep's name if not given.
    pub name: Option<String>,
}

/// The manifest as YAML.
///
/// # Errors
/// A name or quantity that Kubernetes would refuse.
pub fn manifest(work: &Work, request: &Request) -> Result<String, BatchError> {
    let name = job_name(work, request)?;
    if let Some(namespace) = &request.namespace {
        label("--namespace", namespace, HOST_NAME)?;
    }
    subdomain("--claim", &request.claim)?;
    quantity("--cpu", &request.cpu, &["", "m"])?;
    quantity("--memory", &request.memory, &["", "Ki", "Mi", "Gi", "Ti", "k", "M", "G", "T"])?;
    plain("--image", &request.image)?;
    if request.image.is_empty() || request.image.contains(char::is_whitespace) {
        let why = "give the name of an image: REGISTRY/poolsweep:TAG";
        return Err(BatchError::option("--image", &request.image, why));
    }
    if request.shards > MOST_SHARDS {
        let why = format!("a Job has {MOST_SHARDS} indices at most");
        return Err(BatchError::option("--shards", request.shards, why));
    }
    let job = job(&name, &dataset(work, request)?, request);
    // Only an io error of a writer, or a map with keys that are no words, could fail.
    // No folding: a command stays on one line, for whoever reads it or looks for it.
    let options = serde_yaml::ser_options! { prefer_block_scalars: false };
    let yaml = serde_yaml::to_string_with_options(&job, options).map_err(|error| {
        BatchError::Command { command: "writing the manifest".into(), why: error.to_string() }
    })?;
    Ok(format!("{}{yaml}", header(&name, request)))
}

fn header(name: &str, request: &Request) -> String {
    let space = request.namespace.as_ref().map(|n| format!(" -n {n}")).unwrap_or_default();
    let last = request.shards - 1;
    format!(
        "\
# Index N of the Job, 0 to {last}, runs shard N + 1 of {shards} into one dataset on the claim {claim}.
# start   kubectl{space} apply -f FILE
# watch   kubectl{space} get pods -l job-name={name}
# A pod that is evicted or drained (exit code 5) is replaced and skips what is finished. After a
# failure: kubectl{space} delete job {name}, then start again.
",
        shards = request.shards,
        claim = request.claim,
    )
}

/// Where the dataset is in the pod.
fn dataset(work: &Work, request: &Request) -> Result<String, BatchError> {
    plain("--mount", &request.mount)?;
    if !request.mount.starts_with('/') || request.mount.contains(':') {
        let why = "give an absolute path without a colon";
        return Err(BatchError::option("--mount", &request.mount, why));
    }
    let inside = match &request.path {
        Some(path) => path.as_str(),
        None => work.folder.rsplit('/').next().unwrap_or_default(),
    };
    plain("--path", inside)?;
    if inside.starts_with('/') || inside.split('/').any(|part| part == "..") {
        let why = "give the dataset's folder as seen from the root of the claim";
        return Err(BatchError::option("--path", inside, why));
    }
    Ok(format!("{}/{inside}", request.mount.trim_end_matches('/')))
}

fn job(name: &str, dataset: &str, request: &Request) -> Job {
    let labels = BTreeMap::from([
        ("app.kubernetes.io/name", NAME.to_owned()),
        ("app.kubernetes.io/instance", name.to_owned()),
    ]);
    let resources =
        BTreeMap::from([("cpu", request.cpu.clone()), ("memory", request.memory.clone())]);
    let parallelism = request.parallelism.map_or(request.shards, |most| most.get());
    Job {
        api_version: "batch/v1",
        kind: "Job",
        metadata: Metadata {
            name: Some(name.to_owned()),
            namespace: request.namespace.clone(),
            labels: labels.clone(),
        },
        spec: JobSpec {
            completion_mode: "Indexed",
            completions: request.shards,
            parallelism: parallelism.min(request.shards),
            backoff_limit_per_index: RETRIES,
            pod_replacement_policy: "Failed",
            pod_failure_policy: PodFailurePolicy { rules: failure_rules() },
            template: PodTemplate {
                metadata: Metadata { name: None, namespace: None, labels },
                spec: PodSpec {
                    restart_policy: "Never",
                    termination_grace_period_seconds: request.drain,
                    automount_service_account_token: false,
                    containers: [Container {
                        name: NAME,
                        image: request.image.clone(),
                        command: ["/bin/sh", "-c"],
                        args: [format!(
                            "exec poolsweep run {} --quiet --shard \"$((JOB_COMPLETION_INDEX + 1))/{}\"",
                            bash(dataset),
                            request.shards
                        )],
                        resources: Resources { requests: resources.clone(), limits: resources },
                        volume_mounts: [VolumeMount {
                            name: NAME,
                            mount_path: request.mount.clone(),
                        }],
                    }],
                    volumes: [Volume {
                        name: NAME,
                        persistent_volume_claim: Claim { claim_name: request.claim.clone() },
                    }],
                },
            },
        },
    }
}

/// What to do about a pod that failed, first match first; what matches nothing counts as a try.
fn failure_rules() -> Vec<FailureRule> {
    let exit = |action, values: &'static [u8]| FailureRule {
        action,
        on_pod_conditions: None,
        on_exit_codes: Some(ExitCodes { container_name: NAME, operator: "In", values }),
    };
    let disrupted = [PodCondition { kind: "DisruptionTarget", status: "True" }];
    vec![
        // Evicted, preempted, its node drained or gone.
        FailureRule { action: "Ignore", on_pod_conditions: Some(disrupted), on_exit_codes: None },
        // Drained: work is outstanding.
        exit("Ignore", &[5]),
        // The command line or the plan is wrong: it is for every index.
        exit("FailJob", &[2, 3]),
        // Jobs failed; they would fail again.
        exit("FailIndex", &[6]),
    ]
}

/// The Job's name: with the last index behind it, it still has to be a host name.
fn job_name(work: &Work, request: &Request) -> Result<String, BatchError> {
    let room = HOST_NAME - 1 - request.shards.saturating_sub(1).to_string().len();
    if let Some(name) = &request.name {
        label("--name", name, room)?;
        return Ok(name.clone());
    }
    let words = work.name.to_lowercase();
    let words: Vec<&str> = words
        .split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit())
        .filter(|word| !word.is_empty())
        .collect();
    let mut name = [&[NAME], words.as_slice()].concat().join("-");
    name.truncate(room);
    Ok(name.trim_end_matches('-').to_owned())
}

/// A label of RFC 1123: lower-case letters, digits and dashes, no dash at either end.
fn label(option: &'static str, text: &str, most: usize) -> Result<(), BatchError> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good = !text.is_empty()
        && text.len() <= most
        && text.chars().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-');
    match good {
        true => Ok(()),
        false => Err(BatchError::option(
            option,
            text,
            format!(
                "give at most {most} lower-case letters, digits and dashes, with no dash first or \
                 last"
            ),
        )),
    }
}

/// Labels with dots between them, 253 characters at most.
fn subdomain(option: &'static str, text: &str) -> Result<(), BatchError> {
    let good = text.len() <= 253 && text.split('.').all(|part| label(option, part, 253).is_ok());
    match good {
        true => Ok(()),
        false => Err(BatchError::option(
            option,
            text,
            "give lower-case letters, digits, dashes and dots, with a letter or digit at either end",
        )),
    }
}

/// A number greater than 0 and one of the units.
fn quantity(option: &'static str, text: &str, units: &[&str]) -> Result<(), BatchError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let sized = number.starts_with(|c: char| c.is_ascii_digit())
        && number.ends_with(|c: char| c.is_ascii_digit())
        && number.parse::<f64>().is_ok_and(|number| number > 0.0);
    match sized && units.contains(&unit) {
        true => Ok(()),
        false => {
            let units: Vec<&str> = units.iter().copied().filter(|unit| !unit.is_empty()).collect();
            let why = format!("give a number above 0, with {} or nothing", units.join(", "));
            Err(BatchError::option(option, text, why))
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Job {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    spec: JobSpec,
}

#[derive(Debug, Serialize)]
struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    labels: BTreeMap<&'static str, String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JobSpec {
    completion_mode: &'static str,
    completions: u32,
    parallelism: u32,
    /// Tries of each index by itself: a bad one does not end the others.
    backoff_limit_per_index: u32,
    /// A pod is replaced when it has ended, not while it drains.
    pod_replacement_policy: &'static str,
    pod_failure_policy: PodFailurePolicy,
    template: PodTemplate,
}

#[derive(Debug, Serialize)]
struct PodFailurePolicy {
    rules: Vec<FailureRule>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FailureRule {
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_pod_conditions: Option<[PodCondition; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_exit_codes: Option<ExitCodes>,
}

#[derive(Debug, Serialize)]
struct PodCondition {
    #[serde(rename = "type")]
    kind: &'static str,
    /// A word, not a boolean.
    status: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExitCodes {
    container_name: &'static str,
    operator: &'static str,
    values: &'static [u8],
}

#[derive(Debug, Serialize)]
struct PodTemplate {
    metadata: Metadata,
    spec: PodSpec,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    restart_policy: &'static str,
    termination_grace_period_seconds: u16,
    /// Nothing in the pod talks to Kubernetes.
    automount_service_account_token: bool,
    containers: [Container; 1],
    volumes: [Volume; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    name: &'static str,
    image: String,
    command: [&'static str; 2],
    args: [String; 1],
    resources: Resources,
    volume_mounts: [VolumeMount; 1],
}

#[derive(Debug, Serialize)]
struct Resources {
    requests: BTreeMap<&'static str, String>,
    limits: BTreeMap<&'static str, String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct VolumeMount {
    name: &'static str,
    mount_path: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Volume {
    name: &'static str,
    persistent_volume_claim: Claim,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Claim {
    claim_name: String,
}
