//! The table of attributes: every key a scenario may have.
//!
//! Owns names, kinds, units, ranges, defaults and meanings, in one place: the planner reads
//! values by it, `attributes` and `schema` print it. Refuses to read values itself.

/// What a key's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bytes: `256KB`, `4MiB`, `0B`.
    Bytes,
    /// Bit rate: `400Gbps`.
    Rate,
    /// Time: `500ns`.
    Time,
    /// A whole number without a unit, 0 or more.
    Count,
    /// A whole number of either sign (entries of documented integer lists).
    Int,
    /// A number: `0.5`, `1/8`.
    Number,
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Enum(&'static [&'static str]),
    /// Free text (a file name).
    Text,
    /// Exactly eight values of a kind.
    Eight(&'static Kind),
    /// A list of any length.
    List(&'static Kind),
}

/// One attribute.
#[derive(Debug, Clone, Copy)]
pub struct Attribute {
    /// Path in the scenario: `switch.SharedBufferManager.HeadRoomPerPortLimit`; `[]` stands for a
    /// place in a list and `*` for a host number: `traffic[].bytes`, `nic.hosts.*.receive_rate`.
    pub path: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// Its default as a person would write it; `None`: required, or absent unless given.
    pub default: Option<&'static str>,
    /// Allowed range in words, empty where the kind says it all.
    pub range: &'static str,
    /// What it means, one or two sentences.
    pub meaning: &'static str,
    /// Where it is read: which stage, pattern, topology or rule.
    pub read_at: &'static str,
}
