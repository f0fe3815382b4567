//! The JSON Schema of a sweep file, for editors.
//!
//! Owns the shape of the file: its sections, the forms of an axis, and every key of a scenario
//! with kind, range and meaning from the table of attributes. It helps people while they type; the
//! planner, not the schema, decides what is valid, so the schema leaves open what only the planner
//! can know (what a derived value comes to, which keys a parent file gives).

use super::attributes::{self, Attribute, Kind};
use serde_json::{Map, Value, json};

/// Amounts are decimals without a sign, separators or exponents.
const AMOUNT: &str = r"[0-9]+(\.[0-9]+)?";

/// The schema (draft 2020-12).
pub fn schema() -> Value {
    let nested = nested();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "poolsweep sweep file",
        "type": "object",
        "properties": {
            "schema": {"const": 1, "description": "Version of the file's language."},
            "name": {"type": "string", "description": "Names the sweep and its output folder."},
            "extends": {
                "description": "Files this one is laid over: deep merge, lists replaced whole. \
                                Paths are relative to this file.",
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            },
            "seed": {
                "type": "integer",
                "minimum": 0,
                "description": "What all random numbers of the sweep are derived from.",
            },
            "seeds": {
                "type": "array",
                "items": {"type": "integer", "minimum": 0},
                "minItems": 1,
                "description": "One repetition a seed, instead of `seed` and `repetitions`.",
            },
            "repetitions": {
                "type": "integer",
                "minimum": 1,
                "description": "How often every point runs, each time with its own random numbers.",
            },
            "base": {
                "$ref": "#/$defs/scenario",
                "description": "The scenario every point starts from.",
            },
            "axes": {
                "type": "object",
                "description": "What is varied: the product of all entries, the first slowest.",
                "properties": axes(),
                "additionalProperties": {"$ref": "#/$defs/axis"},
            },
            "derived": {
                "type": "object",
                "description": "Values computed for each point from its other values.",
                "additionalProperties": {"$ref": "#/$defs/expression"},
            },
            "constraints": {
                "type": "array",
                "description": "A point for which one of these is false is left out and counted.",
                "items": {"$ref": "#/$defs/expression"},
            },
            "checks": {
                "type": "array",
                "description": "If one of these is false for a point, the whole plan is an error.",
                "items": {"$ref": "#/$defs/expression"},
            },
            "scenarios": {
                "type": "object",
                "description": "Named variants, the slowest axis of all.",
                "additionalProperties": {
                    "type": ["object", "null"],
                    "properties": {
                        "set": {"$ref": "#/$defs/scenario"},
                        "drop-axes": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Axes without a meaning in this variant.",
                        },
                    },
                    "patternProperties": ignored(),
                    "additionalProperties": false,
                },
            },
        },
        "patternProperties": ignored(),
        "additionalProperties": false,
        "$defs": {
            "expression": {
                "description": "An expression: names, amounts with units, + - * /, comparisons, \
                                and, or, not, if(c, a, b), min, max, floor, ceil, round.",
                "type": ["string", "number", "boolean"],
            },
            "scenario": scenario(&nested),
            "axis": axis(&json!(true)),
            "form": forms(),
        },
    })
}

/// Keys people keep anchors under.
fn ignored() -> Value {
    json!({"^x-": true})
}

/// Whole paths that go through a list, a host's number or a tier.
const PLACES: &str = r"^(traffic\[[0-9]*\]|topology\.(nodes|links)\[[0-9]+\]|nic\.hosts\.[0-9]+|switch\.tiers\.[a-z]+)";

/// A scenario, or a part of one: nested keys, whole paths, and names that are unique.
fn scenario(nested: &Value) -> Value {
    let mut schema = nested.clone();
    if let Some(properties) = schema["properties"].as_object_mut() {
        for (name, attribute) in names() {
            properties.entry(name).or_insert_with(|| leaf(attribute));
        }
    }
    schema["patternProperties"][PLACES] = json!(true);
    schema
}

/// The ways to write a key outside its place: its path, and its last name if that is unique.
fn names() -> Vec<(String, &'static Attribute)> {
    let mut names = Vec::new();
    for attribute in attributes::all() {
        if !attribute.path.contains(['[', '*']) {
            names.push((attribute.path.to_owned(), attribute));
        }
        if attributes::find(attribute.name()).is_some_and(|found| found.path == attribute.path) {
            names.push((attribute.name().to_owned(), attribute));
        }
    }
    names
}

/// Axes over known keys, with values of their kind.
fn axes() -> Map<String, Value> {
    names().into_iter().map(|(name, attribute)| (name, axis(&leaf(attribute)))).collect()
}

/// An axis whose values have this schema.
fn axis(value: &Value) -> Value {
    let values = json!({
        "anyOf": [
            {"type": "array", "items": value},
            {"type": "object", "additionalProperties": value},
        ],
    });
    json!({
        "anyOf": [
            {"type": "array", "items": value, "minItems": 1},
            form("values", values),
            {"$ref": "#/$defs/form"},
        ],
    })
}

/// The forms of an axis that say nothing of the kind of its values.
fn forms() -> Value {
    let end = json!({"type": ["string", "number"]});
    let spaced = json!({
        "type": "object",
        "properties": {
            "from": end,
            "to": end,
            "count": {"type": "integer", "minimum": 1},
            "round": end,
            "integer": {"type": "boolean"},
        },
        "required": ["from", "to", "count"],
        "additionalProperties": false,
    });
    let range = json!({
        "type": "object",
        "properties": {"from": end, "to": end, "step": end, "open": {"type": "boolean"}},
        "required": ["from", "to", "step"],
        "additionalProperties": false,
    });
    json!({
        "anyOf": [
            form("range", range),
            form("linspace", spaced.clone()),
            form("logspace", spaced),
            form("zip", json!({"type": "object"})),
            form("table", json!({"type": "string"})),
        ],
    })
}

/// An object with one key.
fn form(name: &str, body: Value) -> Value {
    json!({
        "type": "object",
        "properties": {name: body},
        "required": [name],
        "additionalProperties": false,
    })
}

/// The scenario's nested form.
fn nested() -> Value {
    let mut root = branch();
    for attribute in attributes::all() {
        let parts: Vec<&str> = attribute.path.split('.').collect();
        put(&mut root, &parts, attribute);
    }
    by_word(&mut root["properties"]["topology"], "kind", |a, kind| {
        a.path.starts_with("topology.") && (a.path == "topology.kind" || a.read_at.contains(kind))
    });
    by_word(&mut root["properties"]["traffic"]["items"], "pattern", |a, pattern| {
        let read = |word: &str| word == pattern || word == "every pattern";
        a.path.starts_with("traffic[].")
            && (a.read_at.split(", ").any(read) || a.path.contains("flows[]") && pattern == "flows")
    });
    root
}

/// An object that has no keys yet.
fn branch() -> Value {
    json!({
        "type": "object",
        "properties": {},
        "patternProperties": ignored(),
        "additionalProperties": false,
    })
}

/// Keys that are numbers.
const NUMBER: &str = "^[0-9]+$";
/// Keys that are tiers.
const TIER: &str = "^(leaf|aggregation|spine)$";

/// Puts an attribute at the end of its path, making the objects and lists on the way.
fn put(parent: &mut Value, parts: &[&str], attribute: &Attribute) {
    let Some((first, rest)) = parts.split_first() else { return };
    if rest.is_empty() {
        parent["properties"][first] = leaf(attribute);
        return;
    }
    let child = if *first == "*" {
        let keys = if attribute.path.starts_with("switch.tiers.") { TIER } else { NUMBER };
        &mut parent["patternProperties"][keys]
    } else if let Some(list) = first.strip_suffix("[]") {
        let list = &mut parent["properties"][list];
        if list.is_null() {
            *list = json!({"type": "array", "items": null});
        }
        &mut list["items"]
    } else {
        &mut parent["properties"][first]
    };
    if child.is_null() {
        *child = branch();
    }
    put(child, rest, attribute);
}

/// Where the value of `key` says which other keys an object has, allows only those.
fn by_word(object: &mut Value, key: &str, reads: impl Fn(&Attribute, &str) -> bool) {
    let words: Vec<String> = object["properties"][key]["enum"]
        .as_array()
        .map(|words| words.iter().filter_map(|w| w.as_str().map(str::to_owned)).collect())
        .unwrap_or_default();
    let rules: Vec<Value> = words
        .iter()
        .map(|word| {
            let allowed: Vec<&str> = attributes::all()
                .iter()
                .filter(|a| reads(a, word))
                .map(|a| {
                    let list = ["flows", "nodes", "links"]
                        .into_iter()
                        .find(|list| a.path.contains(&format!(".{list}[].")));
                    list.unwrap_or_else(|| a.name())
                })
                .collect();
            json!({
                "if": {"properties": {key: {"const": word}}, "required": [key]},
                "then": {"propertyNames": {"anyOf": [{"enum": distinct(&allowed)}, {"pattern": "^x-"}]}},
            })
        })
        .collect();
    object["allOf"] = json!(rules);
}

/// Each name once, in order.
fn distinct<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut once: Vec<&str> = Vec::new();
    for name in names {
        if !once.contains(name) {
            once.push(name);
        }
    }
    once
}

/// The schema of an attribute's value, with what the table says of it.
fn leaf(attribute: &Attribute) -> Value {
    let mut schema = value(&attribute.kind);
    let mut text = attribute.meaning.to_owned();
    if !attribute.range.is_empty() {
        text.push_str(&format!(" Range: {}.", attribute.range));
    }
    if let Some(default) = attribute.default.filter(|d| !d.is_empty()) {
        text.push_str(&format!(" Default: {default}."));
    }
    schema["description"] = json!(text);
    schema
}

/// The schema of a value of a kind.
fn value(kind: &Kind) -> Value {
    let amount = |units: &str| json!({"type": "string", "pattern": format!("^{AMOUNT}({units})$")});
    match kind {
        Kind::Bytes => amount("B|KB|MB|GB|KiB|MiB|GiB"),
        Kind::Rate => amount("bps|Kbps|Mbps|Gbps|Tbps|[KMGT]?b/s"),
        Kind::Time => amount("ps|ns|us|ms|s"),
        Kind::Count => json!({"type": "integer", "minimum": 0}),
        Kind::Int => json!({"type": "integer"}),
        Kind::Number => json!({
            "anyOf": [
                {"type": "number"},
                {"type": "string", "pattern": format!("^-?{AMOUNT}/{AMOUNT}$")},
            ],
        }),
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Enum(words) => json!({"enum": words}),
        Kind::Text => json!({"type": "string"}),
        Kind::Eight(kind) => {
            json!({"type": "array", "items": value(kind), "minItems": 8, "maxItems": 8})
        }
        Kind::List(kind) => json!({"type": "array", "items": value(kind)}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schema at a path of keys below `base`.
    fn at<'a>(schema: &'a Value, path: &str) -> &'a Value {
        let mut here = &schema["$defs"]["scenario"];
        for part in path.split('.') {
            here = match part.strip_suffix("[]") {
                _ if part == "*" && path.contains(".tiers.") => &here["patternProperties"][TIER],
                _ if part == "*" => &here["patternProperties"][NUMBER],
                Some(list) => &here["properties"][list]["items"],
                None => &here["properties"][part],
            };
        }
        here
    }

    #[test]
    fn every_attribute_has_its_place_and_its_words() {
        let schema = schema();
        for attribute in attributes::all() {
            let found = at(&schema, attribute.path);
            let text = found["description"].as_str().unwrap_or_default();
            assert!(text.starts_with(attribute.meaning), "{}: {found}", attribute.path);
        }
    }

    #[test]
    fn short_names_are_offered_where_they_are_unique() {
        let schema = schema();
        let base = &schema["$defs"]["scenario"]["properties"];
        let axes = &schema["properties"]["axes"]["properties"];
        for properties in [base, axes] {
            assert!(properties["PlaneBDP"].is_object());
            assert!(properties["switch.SharedBufferManager.PlaneBDP"].is_object());
            assert!(properties["PfcResponseTime"].is_null());
        }
    }

    #[test]
    fn a_pattern_allows_its_own_keys_only() {
        let schema = schema();
        let rules = at(&schema, "traffic[]")["allOf"].as_array().unwrap();
        let keys = |pattern: &str| -> Vec<&str> {
            let rule = rules
                .iter()
                .find(|r| r["if"]["properties"]["pattern"]["const"] == pattern)
                .unwrap();
            let names = rule["then"]["propertyNames"]["anyOf"][0]["enum"].as_array().unwrap();
            names.iter().filter_map(Value::as_str).collect()
        };
        let common = ["packet", "dscp", "ect", "role", "start", "jitter", "rate"];
        let with = |own: &[&'static str]| [own, &common].concat();
        assert_eq!(keys("incast"), with(&["pattern", "receiver", "senders", "bytes"]));
        assert_eq!(keys("permutation"), with(&["pattern", "bytes"]));
        assert_eq!(keys("flows"), with(&["pattern", "flows"]));
        assert_eq!(keys("trace"), with(&["pattern", "file", "blake3"]));
        let own = ["operation", "algorithm", "ranks", "group", "root", "repeat", "synchronize"];
        let own = [&["pattern", "bytes"], &own[..]].concat();
        assert_eq!(keys("collective"), with(&own));
        let topology = &at(&schema, "topology")["allOf"];
        let single = &topology[0]["then"]["propertyNames"]["anyOf"][0]["enum"];
        assert_eq!(*single, json!(["kind", "hosts", "rate", "delay"]));
    }

    #[test]
    fn kinds_become_types() {
        let schema = schema();
        let map = at(&schema, "switch.SharedBufferManager.PoolAllocationMap");
        assert_eq!((&map["minItems"], &map["maxItems"]), (&json!(8), &json!(8)));
        let size = at(&schema, "switch.SharedBufferManager.TotalSharedBufferSize");
        assert_eq!(size["pattern"], r"^[0-9]+(\.[0-9]+)?(B|KB|MB|GB|KiB|MiB|GiB)$");
        let tables = at(&schema, "record.tables");
        assert!(tables["items"]["enum"].as_array().unwrap().contains(&json!("pfc")));
    }
}
