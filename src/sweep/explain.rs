//! Where the value of a key comes from.
//!
//! Owns the answer of `plan --explain KEY`. Refuses to resolve points: it tells of the file.

use super::fault::Fault;
use super::keys::{self, Path, Step};
use super::plan::Plan;
use super::yaml::Map;
use crate::scenario::attributes::{self, Attribute};
use std::fmt;

/// The origin of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Full path; several for `traffic[].…`.
    pub paths: Vec<String>,
    /// What it means, if it is a single attribute.
    pub meaning: Option<String>,
    /// What a file that is silent gets.
    pub default: Option<String>,
    /// Who says what, the last one wins.
    pub layers: Vec<Origin>,
}

/// One layer that gives a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// `file:line`, with the section if it is not `base`; or the command-line setting.
    pub place: String,
    /// The value or expression as written.
    pub value: String,
    /// The entry of `scenarios` it holds in; `None`: in all of them.
    pub scenario: Option<String>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.paths.join(", "))?;
        if let Some(meaning) = &self.meaning {
            writeln!(f, "  {meaning}")?;
        }
        if let Some(default) = &self.default {
            writeln!(f, "  default: {default}")?;
        }
        let last = self.layers.iter().rposition(|o| o.scenario.is_none());
        for (i, origin) in self.layers.iter().enumerate() {
            write!(f, "  {}: {}", origin.place, origin.value)?;
            match &origin.scenario {
                Some(scenario) => writeln!(f, "  <- in force in scenario {scenario}")?,
                None if Some(i) == last => writeln!(f, "  <- in force")?,
                None => writeln!(f)?,
            }
        }
        if self.layers.is_empty() {
            writeln!(f, "  no file gives it: the default is in force")?;
        }
        Ok(())
    }
}

pub(super) fn explain(plan: &Plan, key: &str) -> Result<Explanation, Fault> {
    let empty = Map::new();
    let base = plan.grid.blocks.first().map_or(&empty, |b| &b.base);
    let free = key.starts_with(super::axis::FREE);
    let paths = if free {
        Vec::new()
    } else {
        let traffic = super::layers::list_of(base, "traffic").unwrap_or_default();
        keys::resolve(key, traffic).map_err(|(m, help)| Fault::nowhere(m).maybe_help(help))?
    };
    let mut layers = Vec::new();
    for layer in &plan.layers {
        for path in &paths {
            let Some(node) = layer.find(path) else { continue };
            let place = plan.sources.show(node.at);
            layers.push(Origin { place, value: node.show(), scenario: layer.scenario.clone() });
        }
    }
    let touches = |own: &[Path], written: &str| {
        (free && written == key)
            || own.iter().any(|p| paths.iter().any(|k| p.covers(k) || k.covers(p)))
    };
    for axis in &plan.grid.axes {
        for m in axis.members.iter().filter(|m| !m.hidden && touches(&m.paths, &m.written)) {
            let shown: Vec<String> = m.values.iter().take(12).map(ToString::to_string).collect();
            let more = if m.values.len() > 12 { ", ..." } else { "" };
            let place = format!("axis {} ({} values)", axis.name, axis.len);
            layers.push(Origin {
                place,
                value: format!("{}{more}", shown.join(", ")),
                scenario: None,
            });
        }
    }
    for d in plan.grid.derived.iter().filter(|d| touches(&d.paths, &d.rule.key)) {
        let place = format!("{} (derived)", plan.sources.show(d.rule.at));
        layers.push(Origin { place, value: d.rule.expr.source().to_owned(), scenario: None });
    }
    if free && layers.is_empty() {
        return Err(Fault::nowhere(format!("`{key}` is neither an axis nor a derived value")));
    }
    let attribute = paths.first().and_then(attribute);
    Ok(Explanation {
        paths: if free {
            vec![key.to_owned()]
        } else {
            paths.iter().map(Path::to_string).collect()
        },
        meaning: attribute.map(|a| a.meaning.to_owned()),
        default: attribute.and_then(|a| a.default).map(str::to_owned),
        layers,
    })
}

/// The attribute at a resolved path.
fn attribute(path: &Path) -> Option<&'static Attribute> {
    attributes::all().iter().find(|a| matches_path(a.path, path))
}

/// Whether a path of the table (`traffic[].bytes`, `nic.hosts.*.x`) is that of a place; a place
/// in a list of values belongs to the list's attribute.
pub(super) fn matches_path(table: &str, path: &Path) -> bool {
    let mut steps = path.0.as_slice();
    for part in table.split('.') {
        let name = part.trim_end_matches("[]");
        match steps.split_first() {
            Some((Step::Key(key), rest)) if key == name || name == "*" => steps = rest,
            _ => return false,
        }
        for _ in 0..(part.len() - name.len()) / 2 {
            match steps.split_first() {
                Some((Step::At(_) | Step::Each, rest)) => steps = rest,
                _ => return false,
            }
        }
    }
    steps.iter().all(|s| matches!(s, Step::At(_)))
}
