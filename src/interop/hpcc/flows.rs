//! The flow file: their number, then `src dst priority port bytes start` each.

use super::Source;
use super::topology::Topology;
use super::words::{ImportError, Word, Words};

/// Destination port that `fct.txt` is exported with.
const PORT: u32 = 100;
/// Most flows a sweep file takes: it has at most a million nodes.
const MAX_FLOWS: usize = 80_000;

/// Flows of a flow file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flows {
    pub list: Vec<Flow>,
    /// Where the first stands whose destination port is not the usual one.
    other_port: Option<String>,
    /// Where the first stands that starts before the one above it.
    unsorted: Option<String>,
    /// A word that nothing reads.
    rest: Option<String>,
}

/// A flow; nodes by their numbers in a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flow {
    pub src: u32,
    pub dst: u32,
    /// Queue, 0 to 7.
    pub priority: u8,
    /// Payload.
    pub bytes: u64,
    /// ns.
    pub start: u64,
}

impl Flows {
    /// Reads the file.
    pub fn read(source: Source<'_>, topology: &Topology) -> Result<Flows, ImportError> {
        let mut words = Words::new(source);
        let word = words.take("the number of flows")?;
        let count: usize = word.number("the number of flows")?;
        if count > MAX_FLOWS {
            return Err(word.error(format!(
                "{count} flows are too many for a sweep file, at most {MAX_FLOWS}; write them to a \
                 CSV file for `pattern: trace` instead"
            )));
        }
        let mut flows =
            Flows { list: Vec::with_capacity(count), other_port: None, unsorted: None, rest: None };
        for _ in 0..count {
            flows.take(&mut words, topology)?;
        }
        flows.rest = words.rest().map(|word| format!("{}:{}", word.file, word.line));
        Ok(flows)
    }

    fn take(&mut self, words: &mut Words<'_>, topology: &Topology) -> Result<(), ImportError> {
        let first = words.take("a flow's source")?;
        let src = host(first, topology)?;
        let second = words.take("a flow's destination")?;
        let dst = host(second, topology)?;
        if src == dst {
            return Err(second.error("a flow to its own source; give another destination"));
        }
        let word = words.take("a flow's priority")?;
        let priority: u8 = word.number("a priority, 0 to 7")?;
        if priority > 7 {
            return Err(word.error(format!("priority {priority} must be 0 to 7")));
        }
        let place = || format!("{}:{}", first.file, first.line);
        if words.number::<u32>("a flow's destination port")? != PORT {
            self.other_port.get_or_insert_with(place);
        }
        let word = words.take("a flow's bytes")?;
        let bytes: u64 = word.number("a number of bytes")?;
        if bytes == 0 {
            return Err(word.error("a flow of 0 bytes; remove it"));
        }
        let word = words.take("a flow's start")?;
        let start = nanoseconds(word)?;
        if self.list.last().is_some_and(|before| start < before.start) {
            self.unsorted.get_or_insert_with(place);
        }
        self.list.push(Flow { src, dst, priority, bytes, start });
        Ok(())
    }

    /// Start of the first flow, ns.
    pub fn first_start(&self) -> u64 {
        self.list.iter().map(|flow| flow.start).min().unwrap_or(0)
    }

    /// What is simulated otherwise than there.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(place) = &self.other_port {
            notes.push(format!(
                "{place}: destination ports have no effect, and an exported fct.txt has {PORT}"
            ));
        }
        if let Some(place) = &self.unsorted {
            notes.push(format!(
                "{place}: starts before the flow above it, which that code cannot; it starts here"
            ));
        }
        if let Some(place) = &self.rest {
            notes.push(format!("{place}: what stands after the last flow is not read"));
        }
        notes
    }
}

fn host(word: Word<'_>, topology: &Topology) -> Result<u32, ImportError> {
    let node: u32 = word.number("the number of a host")?;
    topology.host(node).ok_or_else(|| match topology.switches.contains(&node) {
        true => word.error(format!("node {node} is a switch; flows go from host to host")),
        false => word.error(format!("the topology has no node {node}")),
    })
}

/// Seconds to ns as that code does it: the nearest double, its fraction in 64 bits, cut down.
pub(super) fn nanoseconds(word: Word<'_>) -> Result<u64, ImportError> {
    let seconds = word.real("a time in seconds")?;
    if seconds > 1e6 {
        return Err(word.error(format!("{seconds} s is too late; at most 1000000 s")));
    }
    let whole = seconds.floor();
    // Exact: a double's fraction times a power of two, below 2^64.
    let fraction = ((seconds - whole) * 2f64.powi(64)) as u128;
    Ok(whole as u64 * 1_000_000_000 + ((fraction * 1_000_000_000) >> 64) as u64)
}
