//! The small sections of a sweep file: name, seeds, repetitions, scenarios, lists of rules.
//!
//! Owns their reading. Refuses to combine them with axes: `load` does.

use super::bind::Rule;
use super::expr::Value;
use super::fault::{Fault, Pos, suggest};
use super::grid::Repeat;
use super::layers::{self, Layer, Merged};
use super::value;
use super::yaml::{Map, Node, Tree};
use crate::scenario::attributes::Kind;

/// Most repetitions or seeds.
pub(crate) const MAX_REPEATS: u64 = 10_000_000;

/// One entry of `scenarios`.
pub(crate) struct Variant {
    pub label: String,
    pub set: Layer,
    /// Axes that do not vary here, as written.
    pub drop: Vec<(String, Pos)>,
}

/// The version of the language, the name, and what each repetition draws from.
pub(crate) fn head(merged: &Merged, stem: &str) -> Result<(String, Vec<Repeat>), Fault> {
    let sections = &merged.sections;
    if let Some(entry) = sections.get("schema")
        && count(&entry.node, "schema")? != 1
    {
        return Err(Fault::new(entry.node.at, "schema", "this poolsweep reads schema 1"));
    }
    let name = match sections.get("name").map(|e| &e.node) {
        None => stem.to_owned(),
        Some(node @ Node { value: Tree::Scalar { text, .. }, .. }) if !text.trim().is_empty() => {
            if text.starts_with('.') || text.contains(|c: char| "/\\".contains(c) || c.is_control())
            {
                return Err(Fault::new(node.at, "name", format!("`{text}` cannot name a folder"))
                    .help(
                        "results go to out/NAME: write a name without `/`; `--out` takes a path",
                    ));
            }
            text.clone()
        }
        Some(node) => {
            return Err(Fault::new(node.at, "name", format!("`{}` is not a name", node.show())));
        }
    };
    Ok((name, repeats(sections)?))
}

fn repeats(sections: &Map) -> Result<Vec<Repeat>, Fault> {
    let too_many =
        |at: Pos, key: &str| Fault::new(at, key, format!("at most {MAX_REPEATS} repetitions"));
    if let Some(entry) = sections.get("seeds") {
        if let Some(other) = sections.get("seed").or(sections.get("repetitions")) {
            return Err(Fault::new(other.key_at, "seeds", "names the seed of every repetition: `seed` and `repetitions` say nothing beside it")
                .help("remove one of them"));
        }
        let Tree::List(items) = &entry.node.value else {
            return Err(Fault::new(entry.node.at, "seeds", "is not a list")
                .help("write `seeds: [5, 6, 8]`"));
        };
        if items.is_empty() {
            return Err(Fault::new(entry.node.at, "seeds", "lists no seed"));
        }
        if items.len() as u64 > MAX_REPEATS {
            return Err(too_many(entry.node.at, "seeds"));
        }
        let mut seeds = Vec::with_capacity(items.len());
        for item in items {
            let seed = count(item, "seeds")?;
            if seeds.contains(&seed) {
                return Err(Fault::new(item.at, "seeds", format!("lists {seed} twice")));
            }
            seeds.push(seed);
        }
        // The place in the list is not part of an identity: reordering seeds reruns nothing.
        return Ok(seeds.into_iter().map(|seed| Repeat { seed, repetition: 0 }).collect());
    }
    let seed = sections.get("seed").map_or(Ok(0), |e| count(&e.node, "seed"))?;
    let Some(entry) = sections.get("repetitions") else {
        return Ok(vec![Repeat { seed, repetition: 0 }]);
    };
    match count(&entry.node, "repetitions")? {
        0 => Err(Fault::new(entry.node.at, "repetitions", "0 repetitions run nothing")),
        n if n > MAX_REPEATS => Err(too_many(entry.node.at, "repetitions")),
        n => Ok((0..n).map(|repetition| Repeat { seed, repetition }).collect()),
    }
}

fn count(node: &Node, key: &str) -> Result<u64, Fault> {
    match value::read(Kind::Count, node, key)? {
        // A count conforms only from 0 to 2^63 − 1.
        Value::Number(r) => Ok(r.to_integer() as u64),
        _ => Err(Fault::new(node.at, key, "is not a whole number")),
    }
}

/// `constraints` or `checks`.
pub(crate) fn rules(merged: &Merged, section: &str) -> Result<Vec<Rule>, Fault> {
    let Some(entry) = merged.sections.get(section) else { return Ok(Vec::new()) };
    match &entry.node.value {
        Tree::Null => Ok(Vec::new()),
        Tree::List(items) => items.iter().map(|node| Rule::parse(node, section)).collect(),
        _ => {
            Err(Fault::new(entry.node.at, section, format!("is {}, not a list", entry.node.kind()))
                .help("write one `- expression` line for each"))
        }
    }
}

/// `scenarios`, in order.
pub(crate) fn variants(merged: &Merged) -> Result<Vec<Variant>, Fault> {
    let Some(entry) = merged.sections.get("scenarios") else { return Ok(Vec::new()) };
    let map = layers::mapping(entry.node.clone(), "scenarios")?;
    let mut variants = Vec::with_capacity(map.len());
    for (label, entry) in map {
        let key = format!("scenarios.{label}");
        let body = layers::mapping(entry.node, &key)?;
        let (mut set, mut drop) = (Map::new(), Vec::new());
        for (name, entry) in body {
            match name.as_str() {
                "set" => set = layers::mapping(entry.node, &format!("{key}.set"))?,
                "drop-axes" => drop = layers::texts(&entry.node, &format!("{key}.drop-axes"))?,
                _ if name.starts_with("x-") => {}
                _ => {
                    return Err(Fault::new(
                        entry.key_at,
                        key,
                        format!("`{name}` is not a key of a scenario"),
                    )
                    .maybe_help(suggest(&name, &["set", "drop-axes"])));
                }
            }
        }
        let mut set = layers::layer(set, &merged.base)?;
        set.scenario = Some(label.clone());
        variants.push(Variant { label, set, drop });
    }
    Ok(variants)
}
