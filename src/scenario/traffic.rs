//! Traffic patterns as a scenario names them.

use super::collective::Collective;
use crate::units::{BitRate, Bytes, Ps};
use serde::{Deserialize, Serialize};

/// Codepoint role under the UET policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Data that may not be trimmed.
    #[default]
    NoTrim,
    /// Data that may be trimmed.
    Trimmable,
    /// A retransmission that may be trimmed.
    TrimmableRetransmit,
    /// Control.
    Control,
    /// A trimmed packet.
    Trimmed,
}

impl Role {
    /// Traffic class of the role under the UET policy: control 2, trimmed 1, the others 0.
    #[inline]
    #[must_use]
    pub const fn class(self) -> u8 {
        match self {
            Role::NoTrim | Role::Trimmable | Role::TrimmableRetransmit => 0,
            Role::Trimmed => 1,
            Role::Control => 2,
        }
    }

    /// The role's name in a file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Role::NoTrim => "no-trim",
            Role::Trimmable => "trimmable",
            Role::TrimmableRetransmit => "trimmable-retransmit",
            Role::Control => "control",
            Role::Trimmed => "trimmed",
        }
    }
}

/// What every pattern may say of its flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Common {
    /// IP bytes of a packet; the last packet of a flow carries the rest.
    pub packet: Bytes,
    /// Differentiated services code point, 0 to 63; class = dscp ÷ 8.
    pub dscp: u64,
    /// ECN-capable transport.
    pub ect: bool,
    /// Codepoint role; none: no-trim data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// When the pattern starts.
    pub start: Ps,
    /// Each flow starts up to this much later, drawn uniformly (0 ≤ draw < jitter, whole ps).
    pub jitter: Ps,
    /// Rate cap of each flow, wire bytes; none: line rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}

impl Default for Common {
    fn default() -> Self {
        Common {
            packet: Bytes(4_000),
            dscp: 0,
            ect: false,
            role: None,
            start: Ps(0),
            jitter: Ps(0),
            rate: None,
        }
    }
}

/// One entry of `traffic`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "pattern", rename_all = "kebab-case")]
pub enum Traffic {
    /// n senders to one receiver.
    Incast(Incast),
    /// A seeded derangement: every host sends to one other, every host receives from one.
    Permutation(Permutation),
    /// Every host to every other.
    AllToAll(AllToAll),
    /// Host i to i + 1.
    Ring(Ring),
    /// Poisson arrivals at a load.
    Uniform(Uniform),
    /// Bursts with silences between them.
    OnOff(OnOff),
    /// Flows listed in the file.
    Flows(Flows),
    /// Flows read from a CSV or Parquet file.
    Trace(Trace),
    /// Messages in dependent steps.
    Collective(Collective),
}

/// `incast`: sender k is host (receiver + 1 + k) mod hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Incast {
    /// The receiving host.
    #[serde(default)]
    pub receiver: u32,
    /// Number of senders, 1 to hosts − 1.
    pub senders: u32,
    /// IP bytes each sender sends.
    pub bytes: Bytes,
    /// Shared settings.
    #[serde(flatten)]
    pub common: Common,
}

/// `permutation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Permutation {
    /// IP bytes of each flow.
    pub bytes: Bytes,
    /// Shared settings.
    #[serde(flatten)]
    pub common: Common,
}

/// `all-to-all`: by source, then to (source + k) mod hosts for k = 1, 2, ….
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AllToAll {
    /// IP bytes of each flow.
    pub bytes: Bytes,
    /// Shared settings.
    #[serde(flatten)]
    pub common: Common,
}

/// What a ring sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RingSteps {
    /// One flow of `bytes` from each host to the next.
    #[default]
    One,
    /// The 2 (n − 1) steps of a ring all-reduce of `bytes`, each ⌈bytes ÷ n⌉.
    AllReduce,
}

/// `ring`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ring {
    /// IP bytes of each flow, or of the whole vector that is reduced.
    pub bytes: Bytes,
    /// One round, or an all-reduce.
    #[serde(default)]
    pub steps: RingSteps,
    /// Time from the start of one step to the next; none: the step's wire time at line rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_time: Option<Ps>,
    /// Shared settings.
    #[serde(flatten)]
    pub common: Common,
}

/// Named flow-size distributions (piecewise linear cumulative curves).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// Web search.
    WebSearch,
    /// Hadoop.
    Hadoop,
    /// Distributed storage.
    Storage,
    /// Remote procedure calls.
    GoogleRpc,
}

/// `uniform`: one Poisson process over all hosts, sources and destinations uniform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Uniform {
    /// Wire bytes offered per host over link rate.
    pub load: f64,
    /// IP bytes of each flow; exactly one of `bytes` and `sizes` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Distribution of flow sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// Flows start before this time (from `start`); none: the job's duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Ps>,
    /// Shared settings.
    #[serde(flatten)]
    pub common: Common,
}

/// How long bursts and silences are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Burst {
    /// Always `on` and `off`.
    #[default]
    Fixed,
    /// Exponential with means `on` and `off`.
    Exponential,
}

/// `on-off`: each burst is one flow of ⌊burst rate × burst length ÷ 8⌋ wire bytes' worth of IP bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnOff {
    /// The receiving host.
    #[serde(default)]
    pub receiver: u32,
    /// Number of senders, numbered as in `incast`.
    pub senders: u32,
    /// (Mean) length of a burst at `rate`, or at line rate without one.
    pub on: Ps,
    /// (Mean) silence between the end of one burst and the next.
    pub off: Ps,
    /// Fixed or exponential.
    #[serde(default)]
    pub burst: Burst,
    /// Bursts start before this time (from `start`); none: the job's duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Ps>,
    /// Shared settings.
    #[serde(flatten)]
    pub common: Common,
}

/// One listed flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowEntry {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// IP bytes.
    pub bytes: Bytes,
    /// IP bytes of a packet; none: the pattern's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<Bytes>,
    /// Code point; none: the pattern's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u64>,
    /// ECN-capable; none: the pattern's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ect: Option<bool>,
    /// Role; none: the pattern's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Start, added to the pattern's.
    #[serde(default)]
    pub start: Ps,
    /// Rate cap; none: the pattern's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}

/// `flows`: an explicit list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flows {
    /// The flows, in order.
    pub flows: Vec<FlowEntry>,
    /// Settings of flows that do not say otherwise.
    #[serde(flatten)]
    pub common: Common,
}

/// `trace`: flows of a file with columns `src,dst,bytes,start_ns,dscp` and optionally
/// `packet,ect,role,rate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Path of the file, relative to the sweep file. Not part of a job's identity.
    pub file: String,
    /// BLAKE3 of the file's bytes, 64 hex digits; filled in by the planner.
    #[serde(default)]
    pub blake3: String,
    /// Settings of flows that do not say otherwise.
    #[serde(flatten)]
    pub common: Common,
}
