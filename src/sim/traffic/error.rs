//! What can be wrong with a pattern.

use crate::scenario::Fault;
use thiserror::Error;

/// A pattern that cannot be expanded.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("traffic[{place}] ({pattern}): {problem}")]
pub struct TrafficError {
    /// Place of the pattern in `traffic`, from 0.
    pub place: u32,
    /// Its name.
    pub pattern: &'static str,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

/// What is wrong with it, and what to change.
#[derive(Debug, Clone, PartialEq, Error)]
#[expect(missing_docs, reason = "the messages say what each is")]
pub enum Problem {
    #[error("a topology of {hosts} hosts has nobody to send to; give it at least 2")]
    Hosts { hosts: u32 },
    #[error("host {host} has no link rate; give its link one above 0")]
    LinkRate { host: u32 },
    #[error("`receiver` is {receiver}, but hosts are numbered 0 to {last}")]
    Receiver { receiver: u32, last: u32 },
    #[error("`senders` is {senders}, but {hosts} hosts allow 1 to {most}")]
    Senders { senders: u32, hosts: u32, most: u32 },
    #[error("`bytes` is 0; a flow has at least 1 byte")]
    Bytes,
    #[error("`packet` is {packet}; an IP packet has 1 to 65535 bytes")]
    Packet { packet: u64 },
    #[error("`dscp` is {dscp}; code points are 0 to 63")]
    Dscp { dscp: u64 },
    #[error("`rate` is 0; leave it out for line rate")]
    Rate,
    #[error("`load` is {load}; give a number above 0, such as 0.8")]
    Load { load: f64 },
    #[error("give exactly one of `bytes` and `sizes`")]
    OneSize,
    #[error("`on` is 0; a burst takes time")]
    On,
    #[error(
        "it stands for about {flows:.1e} flows, more than {most} that have to be counted to number \
         what follows; give it a shorter `length`, or make it the last pattern"
    )]
    TooManyToCount { flows: f64, most: u64 },
    #[error("it lists {flows} flows, more than {}", u32::MAX)]
    TooManyListed { flows: usize },
    #[error("flow {flow} (from 0): {problem}")]
    Listed { flow: usize, problem: ListedProblem },
    #[error("`{}` is {}: {}", .0.key, .0.value, .0.rule)]
    Collective(Fault),
    #[error("the flows of `{file}` (BLAKE3 {blake3:?}) were not loaded")]
    NoTrace { file: String, blake3: String },
}

/// What is wrong with one listed flow.
#[derive(Debug, Clone, PartialEq, Error)]
#[expect(missing_docs, reason = "the messages say what each is")]
pub enum ListedProblem {
    #[error("`{field}` is {host}, but hosts are numbered 0 to {last}")]
    Host { field: &'static str, host: u32, last: u32 },
    #[error("`src` and `dst` are both {host}; a host does not send to itself")]
    Itself { host: u32 },
    #[error(transparent)]
    Value(Box<Problem>),
}
