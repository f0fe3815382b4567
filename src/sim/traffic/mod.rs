//! Offered load: the patterns of a scenario, expanded into flows.
//!
//! Owns the list of flows a scenario means, their ids, and every random draw behind them. Hands
//! flows out host by host in order of start, generating them as late as it can: memory follows the
//! number of hosts, not of flows, for every pattern that does not list its flows one by one (the
//! two exceptions are with `jitter`: an all-to-all and a ring all-reduce then hold 16 B a flow,
//! because a host's flows have to be sorted; `uniform` and `on-off` then hold the flows of one
//! jitter span). Refuses to know how flows are sent: packets, classes at work, rate caps and
//! transports are the host's.
//!
//! A flow's id is its place in the expanded list of the whole scenario, pattern by pattern. Inside
//! a pattern the list is in this order:
//!
//! | pattern | order | draws, one stream a purpose |
//! |---|---|---|
//! | `incast` | sender k = 0, 1, … | |
//! | `permutation` | source | `permutation`: uniform over derangements, by rejection |
//! | `all-to-all` | source, then distance to the destination | |
//! | `ring` | step, then source | |
//! | `uniform` | arrival | `arrivals`, `sources`, `destinations`, `sizes`: see [`FlowSource`] |
//! | `on-off` | sender k, then burst | `bursts`: length, then silence, of each burst |
//! | `flows`, `trace` | as listed | |
//! | `collective` | run, barrier before operation, then as `steps` says | |
//!
//! Of a `collective` the source hands out what waits for nothing; [`Steps`] hands out the rest as
//! what they wait for completes.
//!
//! With `jitter` each flow (of a collective: each rank) takes one draw of the stream `jitter` in the order of that list, added
//! to its start. Streams are named `traffic/<place of the pattern>/<purpose>`.
//!
//! Arrivals of `uniform` keep the fraction of a picosecond between them: a flow starts at the
//! whole picosecond at or before its exact instant, and no load is lost to rounding. Lengths of
//! exponential bursts and silences are rounded down to a whole picosecond each.

mod curves;
mod draw;
mod error;
mod grid;
mod listed;
mod on_off;
mod opening;
mod pattern;
mod single;
mod sizes;
mod source;
mod steps;
mod trace;
mod uniform;
mod wire;

#[cfg(test)]
mod tests;

pub use error::{ListedProblem, Problem, TrafficError};
pub use source::FlowSource;
pub use steps::{RunTimes, Steps};
pub use trace::{TraceFlow, Traces};

use crate::scenario::Role;

/// One flow, ready to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowStart {
    /// Place in the expanded list of the whole scenario.
    pub id: u64,
    /// Place of its pattern in `traffic`.
    pub pattern: u32,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// IP bytes, at least 1; payload bytes of a message, and 0 in a collective where it is empty.
    pub bytes: u64,
    /// IP bytes of a packet, 1 to 65,535; the last packet of the flow carries the rest.
    pub packet: u32,
    /// Traffic class, 0 to 7: by the role under the UET policy, by the code point without.
    pub tc: u8,
    /// ECN-capable transport.
    pub ect: bool,
    /// Codepoint role; no-trim data without the UET policy.
    pub role: Role,
    /// Start in ps.
    pub start: u64,
    /// Rate cap in bit/s of wire bytes; 0: none.
    pub rate: u64,
    /// What the sender varies to be spread over paths (its source port): 49,152 + id mod 16,384.
    pub entropy: u16,
}
