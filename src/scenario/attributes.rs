//! The table of attributes: every key a scenario may have.
//!
//! Owns names, kinds, units, ranges, defaults and meanings, in one place: the planner reads
//! values by it, `attributes` and `schema` print it. Refuses to read values itself.

mod buffers;
mod nic;
mod run;
mod switch;
mod tiers;
mod topology;
mod traffic;

use std::sync::LazyLock;

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
    /// place in a list and `*` for a host number or a tier: `traffic[].bytes`,
    /// `nic.hosts.*.receive_rate`, `switch.tiers.*.EcnHandler.EnableEcn`.
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

/// The tiers of switches, which stand for `*` under `switch.tiers`.
pub const TIERS: &[&str] = &["leaf", "aggregation", "spine"];

/// A row of the table; a function so that the rows read as a table.
const fn attribute(
    path: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    range: &'static str,
    meaning: &'static str,
    read_at: &'static str,
) -> Attribute {
    Attribute { path, kind, default, range, meaning, read_at }
}

impl Kind {
    /// What a value of this kind is, for people: `bytes`, `time`, `list of 8 numbers`.
    pub fn describe(&self) -> String {
        match self {
            Kind::Bytes => "bytes".into(),
            Kind::Rate => "bit rate".into(),
            Kind::Time => "time".into(),
            Kind::Count => "whole number".into(),
            Kind::Int => "integer".into(),
            Kind::Number => "number".into(),
            Kind::Bool => "true or false".into(),
            Kind::Enum(words) => words.join(" | "),
            Kind::Text => "text".into(),
            Kind::Eight(kind) => format!("list of 8: {}", kind.describe()),
            Kind::List(kind) => format!("list: {}", kind.describe()),
        }
    }

    /// Base unit values are counted in: `B`, `bit/s`, `ps`, or empty.
    pub fn unit(&self) -> &'static str {
        match self {
            Kind::Bytes => "B",
            Kind::Rate => "bit/s",
            Kind::Time => "ps",
            Kind::Eight(kind) | Kind::List(kind) => kind.unit(),
            _ => "",
        }
    }
}

impl Attribute {
    /// The last part of the path: `HeadRoomPerPortLimit`.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// Whether the key overrides a more general one at a single host, tier, link or flow; such a
    /// key never makes the general one's trailing name ambiguous.
    fn overrides(&self) -> bool {
        const OVERRIDES: [&str; 5] = [
            "nic.hosts.",
            "switch.tiers.",
            "topology.nodes[]",
            "topology.links[]",
            "traffic[].flows[]",
        ];
        OVERRIDES.iter().any(|start| self.path.starts_with(start))
    }
}

/// Every attribute, in the order of the file.
pub fn all() -> &'static [Attribute] {
    static ALL: LazyLock<Vec<Attribute>> = LazyLock::new(|| {
        [
            run::BEFORE,
            topology::TOPOLOGY,
            switch::SWITCH,
            buffers::BUFFERS,
            tiers::tiers(),
            nic::NIC,
            nic::port::PORT,
            nic::pds::PDS,
            nic::nscc::NSCC,
            nic::roce::ROCE,
            nic::window::WINDOW,
            nic::hpcc::HPCC,
            traffic::TRAFFIC,
            run::AFTER,
        ]
        .concat()
    });
    &ALL
}

/// The attributes a name can stand for: the one with this path, or all whose path ends in it.
///
/// Numbers and tiers in a path match their place holder: `traffic[0].bytes` is `traffic[].bytes`
/// and `nic.hosts.3.receive_rate` is `nic.hosts.*.receive_rate`.
pub fn candidates(name: &str) -> Vec<&'static Attribute> {
    let wanted = place_holders(name);
    if wanted.is_empty() {
        return Vec::new();
    }
    if let Some(exact) = all().iter().find(|a| a.path == wanted) {
        return vec![exact];
    }
    let matching: Vec<_> = all()
        .iter()
        .filter(|a| {
            a.path.strip_suffix(wanted.as_str()).is_some_and(|before| before.ends_with('.'))
        })
        .collect();
    if matching.iter().any(|a| !a.overrides()) {
        return matching.into_iter().filter(|a| !a.overrides()).collect();
    }
    matching
}

/// The attribute with this path, or the only one whose path ends in this name.
///
/// `None` for an unknown name ([`nearest`] helps) and for one that several attributes share
/// ([`candidates`] lists them).
pub fn find(name: &str) -> Option<&'static Attribute> {
    match candidates(name).as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// Up to three known names like an unknown one, the nearest first: trailing names where those are
/// unique, else paths. Empty if nothing is like it.
pub fn nearest(name: &str) -> Vec<&'static str> {
    let wanted = name.to_lowercase();
    let by_path = wanted.contains('.');
    let mut scored: Vec<(f64, &'static str)> = all()
        .iter()
        .filter(|a| {
            let own = ["nic.hosts", "switch.tiers", "topology."].iter();
            !a.overrides()
                || own.into_iter().any(|start| wanted.starts_with(start))
                || wanted.contains("flows[")
        })
        .map(|a| {
            let short = a.name();
            let shown = if by_path || find(short).is_none() { a.path } else { short };
            let compared = if by_path { a.path } else { short };
            (strsim::jaro_winkler(&wanted, &compared.to_lowercase()), shown)
        })
        .filter(|(score, _)| *score > 0.8)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by_key(|(_, shown)| *shown);
    scored.into_iter().take(3).map(|(_, shown)| shown).collect()
}

/// A path with its numbers replaced by the table's place holders.
fn place_holders(name: &str) -> String {
    let parts: Vec<String> = name
        .split('.')
        .enumerate()
        .map(|(at, part)| {
            let number = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            let tier = at == 2 && name.starts_with("switch.tiers.") && TIERS.contains(&part);
            if number && at > 0 || tier {
                return "*".to_owned();
            }
            match part.split_once('[') {
                Some((list, rest)) if rest.ends_with(']') => {
                    let index = &rest[..rest.len() - 1];
                    if index.bytes().all(|b| b.is_ascii_digit()) {
                        format!("{list}[]")
                    } else {
                        part.to_owned()
                    }
                }
                _ => part.to_owned(),
            }
        })
        .collect();
    parts.join(".")
}

#[cfg(test)]
mod tests;
