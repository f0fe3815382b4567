//! Collectives as a scenario names them, and what they come to.
//!
//! Owns the settings of a `collective`, which algorithms an operation has, the rules its settings
//! keep, and how many transfers of which sizes one run of it makes. Refuses to know the order of
//! transfers: who waits for whom is the simulator's.
//!
//! N is the number of ranks, S is `bytes`, C = ⌈S ÷ N⌉. One run makes:
//!
//! | operation | algorithms, the default first | transfers |
//! |---|---|---|
//! | all-reduce | ring | 2 (N − 1) steps of N × C |
//! | | tree | 2 (N − 1) × S |
//! | | double-tree | 4 (N − 1) × ⌈S ÷ 2⌉ |
//! | | halving-doubling | N × C·N ÷ 2, N × C·N ÷ 4, …, N × C, and the same upwards |
//! | reduce-scatter | ring | N − 1 steps of N × C |
//! | | halving-doubling | N × C·N ÷ 2, N × C·N ÷ 4, …, N × C |
//! | all-gather | ring | N − 1 steps of N × S |
//! | reduce | ring, tree | (N − 1) × S |
//! | broadcast | interleaved, sequential | (N − 1) × S |
//! | gather | direct | (N − 1) × S |
//! | scatter | direct | (N − 1) × C |
//! | all-to-all | interleaved, sequential | N (N − 1) × C |
//! | barrier | ring, tree, double-tree, halving-doubling | as the all-reduce, 0 B each |
//!
//! With `synchronize` a tree barrier of 2 (N − 1) × 0 B comes before each run.

use super::traffic::Common;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Most transfers an entry may make: as many as the default budget has events.
const MAX_TRANSFERS: u64 = 10_000_000_000;
/// Largest S: tables keep signed integers.
const MAX_BYTES: u64 = i64::MAX as u64;

/// What the ranks of a collective do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Everybody gets the sum.
    AllReduce,
    /// Everybody gets their part of the sum.
    ReduceScatter,
    /// Everybody gets what everybody has.
    AllGather,
    /// The root gets the sum.
    Reduce,
    /// Everybody gets what the root has.
    Broadcast,
    /// The root gets what everybody has.
    Gather,
    /// Everybody gets a part of what the root has.
    Scatter,
    /// Everybody has a part for everybody.
    AllToAll,
    /// Nobody goes on before everybody has come.
    Barrier,
}

/// How they do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// From each rank to the next, step by step.
    Ring,
    /// Up a binary tree, down again if everybody gets the result.
    Tree,
    /// Two trees at once, each with half the bytes; no rank is an inner one in both.
    DoubleTree,
    /// Exchanges with one partner a step: half the vector, a quarter, … and back up.
    HalvingDoubling,
    /// Everything at once.
    Interleaved,
    /// One after the other.
    Sequential,
    /// Straight to the root or from it, at once.
    Direct,
}

impl Operation {
    /// Its name in a file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Operation::AllReduce => "all-reduce",
            Operation::ReduceScatter => "reduce-scatter",
            Operation::AllGather => "all-gather",
            Operation::Reduce => "reduce",
            Operation::Broadcast => "broadcast",
            Operation::Gather => "gather",
            Operation::Scatter => "scatter",
            Operation::AllToAll => "all-to-all",
            Operation::Barrier => "barrier",
        }
    }

    /// The algorithms it has, the default first.
    #[must_use]
    pub const fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::{DoubleTree, HalvingDoubling, Interleaved, Ring, Sequential, Tree};
        match self {
            Operation::AllReduce | Operation::Barrier => &[Ring, Tree, DoubleTree, HalvingDoubling],
            Operation::ReduceScatter => &[Ring, HalvingDoubling],
            Operation::AllGather => &[Ring],
            Operation::Reduce => &[Ring, Tree],
            Operation::Broadcast | Operation::AllToAll => &[Interleaved, Sequential],
            Operation::Gather | Operation::Scatter => &[Algorithm::Direct],
        }
    }

    /// Whether one rank is the root.
    #[must_use]
    pub const fn has_root(self) -> bool {
        matches!(
            self,
            Operation::Reduce | Operation::Broadcast | Operation::Gather | Operation::Scatter
        )
    }
}

impl Algorithm {
    /// Its name in a file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Ring => "ring",
            Algorithm::Tree => "tree",
            Algorithm::DoubleTree => "double-tree",
            Algorithm::HalvingDoubling => "halving-doubling",
            Algorithm::Interleaved => "interleaved",
            Algorithm::Sequential => "sequential",
            Algorithm::Direct => "direct",
        }
    }
}

/// `collective`: messages in dependent steps. A rank's step starts when what the step before it
/// receives has arrived and what it sends has been sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Collective {
    /// What is done.
    pub operation: Operation,
    /// How; none: the operation's first ([`Operation::algorithms`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// S: payload bytes of each rank's vector. Given for everything but a barrier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// The host of each rank; none: host r is rank r.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Vec<u32>>,
    /// Number of ranks, hosts 0, 1, …; none: every host. Not with `ranks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Rank of the root, where the operation has one.
    #[serde(default)]
    pub root: u32,
    /// How many times it is run. A rank starts a run when it is done with the one before.
    #[serde(default = "once")]
    pub repeat: u32,
    /// Whether a tree barrier of empty messages comes before each run; not before a barrier.
    #[serde(default = "yes")]
    pub synchronize: bool,
    /// Shared settings. `jitter` delays each rank's entry, not each flow.
    #[serde(flatten)]
    pub common: Common,
}

fn once() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// Transfers of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfers {
    /// How many.
    pub count: u64,
    /// Payload bytes of each; 0 is one packet without payload.
    pub bytes: u64,
}

/// A setting a collective cannot have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its key.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// What it has to be, and what to do.
    pub rule: Cow<'static, str>,
}

impl Collective {
    /// The algorithm, given or the operation's default.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm.unwrap_or(self.operation.algorithms()[0])
    }

    /// Number of ranks in a topology of `hosts` hosts.
    #[must_use]
    pub fn size(&self, hosts: u64) -> u64 {
        match (&self.ranks, self.group) {
            (Some(ranks), _) => ranks.len() as u64,
            (None, Some(group)) => group.into(),
            (None, None) => hosts,
        }
    }

    /// The host of each rank in a topology of `hosts` hosts.
    #[must_use]
    pub fn hosts(&self, hosts: u32) -> Vec<u32> {
        match (&self.ranks, self.group) {
            (Some(ranks), _) => ranks.clone(),
            (None, group) => (0..group.unwrap_or(hosts)).collect(),
        }
    }

    /// Whether a tree barrier comes before each run.
    #[must_use]
    pub fn has_barrier(&self) -> bool {
        self.synchronize && self.operation != Operation::Barrier
    }

    /// Payload bytes of a whole vector, of a rank's part of it, and of half of it: S, C, ⌈S ÷ 2⌉.
    #[must_use]
    pub fn portions(&self, hosts: u64) -> (u64, u64, u64) {
        let whole = self.bytes.filter(|_| self.operation != Operation::Barrier).map_or(0, |b| b.0);
        (whole, whole.div_ceil(self.size(hosts).max(1)), whole.div_ceil(2))
    }

    /// Transfers of one run, its barrier first. Counts that do not fit are the largest number.
    #[must_use]
    pub fn transfers(&self, hosts: u64) -> Vec<Transfers> {
        let ranks = self.size(hosts);
        let others = ranks.saturating_sub(1);
        let (whole, part, half) = self.portions(hosts);
        let times = |n: u64, bytes| Transfers { count: others.saturating_mul(n), bytes };
        let mut list = Vec::new();
        if self.has_barrier() {
            list.push(times(2, 0));
        }
        match (self.operation, self.algorithm()) {
            (Operation::AllReduce | Operation::Barrier, Algorithm::Tree) => {
                list.push(times(2, whole));
            }
            (Operation::AllReduce | Operation::Barrier, Algorithm::DoubleTree) => {
                list.push(times(4, half));
            }
            (operation, Algorithm::HalvingDoubling) => {
                let down = (0..ranks.max(1).ilog2()).rev();
                let exchange =
                    |k| Transfers { count: ranks, bytes: part.saturating_mul(1u64 << k) };
                list.extend(down.clone().map(exchange));
                if operation != Operation::ReduceScatter {
                    list.extend(down.rev().map(exchange));
                }
            }
            (Operation::AllReduce | Operation::Barrier, _) => {
                list.push(times(ranks.saturating_mul(2), part));
            }
            (Operation::ReduceScatter | Operation::AllToAll, _) => list.push(times(ranks, part)),
            (Operation::AllGather, _) => list.push(times(ranks, whole)),
            (Operation::Reduce | Operation::Broadcast | Operation::Gather, _) => {
                list.push(times(1, whole));
            }
            (Operation::Scatter, _) => list.push(times(1, part)),
        }
        list
    }

    /// Transfers of all runs together: flows of the entry.
    #[must_use]
    pub fn flows(&self, hosts: u64) -> u64 {
        let of_one: u64 =
            self.transfers(hosts).iter().fold(0, |sum, t| sum.saturating_add(t.count));
        of_one.saturating_mul(self.repeat.into())
    }

    /// Payload bytes of all runs together.
    #[must_use]
    pub fn total_bytes(&self, hosts: u64) -> u128 {
        self.sum(hosts, |transfer| transfer.bytes)
    }

    /// Data packets of all runs together if nothing is sent twice, with at most `payload` bytes
    /// in each; an empty transfer is one.
    #[must_use]
    pub fn packets(&self, hosts: u64, payload: u64) -> u128 {
        self.sum(hosts, |transfer| transfer.bytes.div_ceil(payload.max(1)).max(1))
    }

    /// Something of each transfer, summed over all runs.
    fn sum(&self, hosts: u64, of: impl Fn(&Transfers) -> u64) -> u128 {
        let of_all = |t: &Transfers| u128::from(t.count) * u128::from(of(t));
        let of_one =
            self.transfers(hosts).iter().fold(0u128, |sum, t| sum.saturating_add(of_all(t)));
        of_one.saturating_mul(self.repeat.into())
    }

    /// Payload bytes of the largest transfer.
    #[must_use]
    pub fn largest_transfer(&self, hosts: u64) -> u64 {
        self.transfers(hosts).iter().map(|t| t.bytes).max().unwrap_or(0)
    }

    /// What is wrong with it in a topology of `hosts` hosts; nothing, if it can be run.
    #[must_use]
    pub fn faults(&self, hosts: u64) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |key, value: String, rule: Cow<'static, str>| {
            faults.push(Fault { key, value, rule });
        };
        let operation = self.operation;
        match self.bytes {
            Some(bytes) if operation == Operation::Barrier => {
                let rule = "a barrier's messages are empty; leave it out";
                fault("bytes", bytes.to_string(), rule.into());
            }
            None if operation != Operation::Barrier => {
                let rule = format!("a collective {} needs the bytes of a rank", operation.name());
                fault("bytes", "nothing".into(), rule.into());
            }
            Some(bytes) if !(1..=MAX_BYTES).contains(&bytes.0) => {
                let rule = "must be 1B to 9223372036854775807B";
                fault("bytes", bytes.to_string(), rule.into());
            }
            _ => {}
        }
        let ranks = self.size(hosts);
        let key = if self.ranks.is_some() { "ranks" } else { "group" };
        if let (Some(_), Some(group)) = (&self.ranks, self.group) {
            let rule = "give either `ranks` or `group`, not both";
            fault("group", group.to_string(), rule.into());
        }
        if let Some(list) = &self.ranks {
            if let Some(host) = list.iter().find(|&&host| u64::from(host) >= hosts) {
                let rule = format!("there are only hosts 0 to {}", hosts.saturating_sub(1));
                fault("ranks", host.to_string(), rule.into());
            }
            let mut sorted = list.clone();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                let rule = "is listed twice; a host has one rank";
                fault("ranks", pair[0].to_string(), rule.into());
            }
        } else if ranks > hosts {
            let rule = format!("there are only {hosts} hosts");
            fault("group", ranks.to_string(), rule.into());
        }
        if ranks < 2 {
            let rule = "a collective has at least 2 ranks";
            fault(key, format!("{ranks} of them"), rule.into());
        }
        let algorithm = self.algorithm();
        if !operation.algorithms().contains(&algorithm) {
            let names: Vec<&str> = operation.algorithms().iter().map(|a| a.name()).collect();
            let rule = format!("a collective {} has {}", operation.name(), names.join(", "));
            fault("algorithm", algorithm.name().into(), rule.into());
        } else if algorithm == Algorithm::HalvingDoubling && !ranks.is_power_of_two() {
            let rule = format!("needs a power of two of ranks, not {ranks}; use ring or fewer");
            fault("algorithm", algorithm.name().into(), rule.into());
        }
        if operation.has_root() && u64::from(self.root) >= ranks {
            let rule = format!("ranks are numbered 0 to {}", ranks.saturating_sub(1));
            fault("root", self.root.to_string(), rule.into());
        }
        if self.repeat == 0 {
            fault("repeat", "0".into(), "must be 1 or more".into());
        }
        let flows = self.flows(hosts);
        if flows > MAX_TRANSFERS {
            let rule = format!("makes {flows} transfers; at most {MAX_TRANSFERS}");
            fault("repeat", self.repeat.to_string(), rule.into());
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const EVERY: [Operation; 9] = [
        Operation::AllReduce,
        Operation::ReduceScatter,
        Operation::AllGather,
        Operation::Reduce,
        Operation::Broadcast,
        Operation::Gather,
        Operation::Scatter,
        Operation::AllToAll,
        Operation::Barrier,
    ];

    fn collective(settings: serde_json::Value) -> Collective {
        let mut entry = json!({"bytes": 1_000, "synchronize": false});
        entry.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        serde_json::from_value(entry).unwrap()
    }

    /// Transfers and bytes of one run over eight ranks.
    fn of_eight(operation: &str, algorithm: &str) -> (u64, u128) {
        let c = collective(json!({"operation": operation, "algorithm": algorithm}));
        assert_eq!(c.faults(8), []);
        (c.flows(8), c.total_bytes(8))
    }

    #[test]
    fn counts_are_those_of_the_table() {
        assert_eq!(of_eight("all-reduce", "ring"), (112, 14_000));
        assert_eq!(of_eight("all-reduce", "tree"), (14, 14_000));
        assert_eq!(of_eight("all-reduce", "double-tree"), (28, 14_000));
        assert_eq!(of_eight("all-reduce", "halving-doubling"), (48, 14_000));
        assert_eq!(of_eight("reduce-scatter", "ring"), (56, 7_000));
        assert_eq!(of_eight("reduce-scatter", "halving-doubling"), (24, 7_000));
        assert_eq!(of_eight("all-gather", "ring"), (56, 56_000));
        assert_eq!(of_eight("reduce", "ring"), (7, 7_000));
        assert_eq!(of_eight("reduce", "tree"), (7, 7_000));
        assert_eq!(of_eight("broadcast", "sequential"), (7, 7_000));
        assert_eq!(of_eight("gather", "direct"), (7, 7_000));
        assert_eq!(of_eight("scatter", "direct"), (7, 875));
        assert_eq!(of_eight("all-to-all", "interleaved"), (56, 7_000));
    }

    #[test]
    fn the_first_algorithm_is_the_default() {
        let of = |operation| {
            let c = collective(json!({"operation": operation}));
            c.algorithm()
        };
        assert_eq!(of("all-reduce"), Algorithm::Ring);
        assert_eq!(of("reduce-scatter"), Algorithm::Ring);
        assert_eq!(of("all-gather"), Algorithm::Ring);
        assert_eq!(of("reduce"), Algorithm::Ring);
        assert_eq!(of("broadcast"), Algorithm::Interleaved);
        assert_eq!(of("gather"), Algorithm::Direct);
        assert_eq!(of("scatter"), Algorithm::Direct);
        assert_eq!(of("all-to-all"), Algorithm::Interleaved);
        assert_eq!(of("barrier"), Algorithm::Ring);
    }

    #[test]
    fn portions_are_rounded_up() {
        let c = collective(json!({"operation": "all-reduce", "group": 7, "bytes": 1_001}));
        assert_eq!(c.portions(8), (1_001, 143, 501));
        let c = collective(json!({"operation": "all-reduce", "group": 3, "bytes": 10}));
        assert_eq!(c.transfers(8), [Transfers { count: 12, bytes: 4 }]);
        let c = collective(json!({"operation": "all-reduce", "algorithm": "halving-doubling",
            "group": 4, "bytes": 10}));
        let sizes: Vec<(u64, u64)> = c.transfers(8).iter().map(|t| (t.count, t.bytes)).collect();
        assert_eq!(sizes, [(4, 6), (4, 3), (4, 3), (4, 6)]);
    }

    #[test]
    fn barriers_and_repetitions_count_and_empty_transfers_are_packets() {
        let c = collective(json!({"operation": "all-to-all", "synchronize": true, "repeat": 3,
            "ranks": [5, 1, 2], "bytes": 30_000}));
        assert_eq!(c.flows(8), 3 * (4 + 6));
        assert_eq!(c.total_bytes(8), 3 * 60_000);
        assert_eq!(c.packets(8, 4_096), 3 * (4 + 6 * 3));
        assert_eq!(c.largest_transfer(8), 10_000);
        assert_eq!(c.hosts(8), [5, 1, 2]);
        let mut barrier = collective(json!({"operation": "barrier", "synchronize": true}));
        barrier.bytes = None;
        assert_eq!((barrier.flows(8), barrier.total_bytes(8)), (112, 0));
        assert_eq!(barrier.packets(8, 4_096), 112);
    }

    #[test]
    fn every_operation_runs_with_two_ranks_and_each_of_its_algorithms() {
        for operation in EVERY {
            for algorithm in operation.algorithms() {
                let mut c = collective(json!({"operation": operation, "algorithm": algorithm}));
                if operation == Operation::Barrier {
                    c.bytes = None;
                }
                assert_eq!(c.faults(2), [], "{operation:?} {algorithm:?}");
                assert!(c.flows(2) > 0);
            }
        }
    }

    #[test]
    fn names_are_those_of_the_file() {
        for operation in EVERY {
            assert_eq!(json!(operation), operation.name());
            for algorithm in operation.algorithms() {
                assert_eq!(json!(algorithm), algorithm.name());
            }
        }
    }

    #[test]
    fn huge_settings_do_not_overflow() {
        let c = collective(json!({"operation": "all-reduce", "algorithm": "halving-doubling",
            "bytes": u64::MAX, "repeat": u32::MAX}));
        let _ = (c.total_bytes(u64::MAX), c.packets(u64::MAX, 0), c.largest_transfer(u64::MAX));
        assert_eq!(c.flows(1 << 63), u64::MAX);
    }
}
