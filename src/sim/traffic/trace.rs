//! Flows of trace files, as the simulator takes them.
//!
//! Owns the plain form and the look-up by a file's hash. Refuses to read files: whoever parses
//! them fills [`Traces`].

use crate::scenario::{FlowEntry, Role};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One flow of a list; `None` means as the pattern says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceFlow {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// IP bytes, at least 1.
    pub bytes: u64,
    /// Start in ps, added to the pattern's.
    pub start: u64,
    /// IP bytes of a packet, 1 to 65,535.
    pub packet: Option<u32>,
    /// Code point, 0 to 63.
    pub dscp: Option<u8>,
    /// ECN-capable transport.
    pub ect: Option<bool>,
    /// Codepoint role.
    pub role: Option<Role>,
    /// Rate cap in bit/s of wire bytes, at least 1.
    pub rate: Option<u64>,
}

impl TraceFlow {
    /// The same of a flow listed in a scenario. Numbers too large for their field become its
    /// largest value, which the checks of a pattern refuse.
    pub(super) fn of_entry(entry: &FlowEntry) -> TraceFlow {
        TraceFlow {
            src: entry.src,
            dst: entry.dst,
            bytes: entry.bytes.0,
            start: entry.start.0,
            packet: entry.packet.map(|p| u32::try_from(p.0).unwrap_or(u32::MAX)),
            dscp: entry.dscp.map(|d| u8::try_from(d).unwrap_or(u8::MAX)),
            ect: entry.ect,
            role: entry.role,
            rate: entry.rate.map(|r| r.0),
        }
    }
}

/// Parsed trace files by the BLAKE3 of their bytes. Cloning shares the flows.
#[derive(Debug, Clone, Default)]
pub struct Traces {
    by_hash: BTreeMap<String, Arc<[TraceFlow]>>,
}

impl Traces {
    /// No files.
    pub fn new() -> Traces {
        Traces::default()
    }

    /// Adds the flows of a file, in the file's order, under the hash of its bytes (64 lower-case
    /// hex digits, as `blake3` of the pattern gives it).
    pub fn insert(&mut self, blake3: impl Into<String>, flows: impl Into<Arc<[TraceFlow]>>) {
        self.by_hash.insert(blake3.into(), flows.into());
    }

    /// The flows of a file.
    pub fn get(&self, blake3: &str) -> Option<&Arc<[TraceFlow]>> {
        self.by_hash.get(blake3)
    }
}
