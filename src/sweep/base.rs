//! The scenario of a file: from the merged tree to JSON to a [`Scenario`].
//!
//! Owns unknown keys, wrong types and missing keys, each reported at its place, and the hash of
//! trace files. Refuses to judge values: `scenario::check` does.

use super::fault::{Fault, Pos, Sources};
use super::keys::{self, Branch, Path};
use super::trace::{Outlook, parse_trace};
use super::value;
use super::yaml::{Map, Node, Tree};
use crate::scenario::{Scenario, Topology, Traffic};
use serde_json::{Map as JsonMap, Value as Json};
use std::sync::PoisonError;

/// Reads a merged `base` as JSON in base units; keys that are not given stay absent.
pub(crate) fn read(base: &Map, sources: &Sources) -> Result<Json, Fault> {
    let mut json = mapping(base, keys::root(), &Path::default(), &mut |_, _| {})?;
    traces(&mut json, base, sources)?;
    Ok(json)
}

/// Reads a subtree (the value of an axis over `topology` or `traffic`).
pub(crate) fn read_part(
    node: &Node,
    branch: &Branch,
    path: &Path,
    sources: &Sources,
) -> Result<Json, Fault> {
    let mut json = inner(node, branch, path, &mut |_, _| {})?;
    let items = match (&mut json, &node.value) {
        (Json::Array(items), Tree::List(nodes)) => items.iter_mut().zip(nodes).collect::<Vec<_>>(),
        (json, _) => vec![(json, node)],
    };
    for (entry, node) in items {
        trace(entry, node, path, sources)?;
    }
    Ok(json)
}

/// Calls `see` with every single value of a tree and its path, for lints.
pub(crate) fn visit(base: &Map, see: &mut dyn FnMut(&Path, &Node)) {
    // Faults were reported when the tree was read.
    let _ = mapping(base, keys::root(), &Path::default(), see);
}

type See<'a> = &'a mut dyn FnMut(&Path, &Node);

fn mapping(map: &Map, branch: &Branch, path: &Path, see: See) -> Result<Json, Fault> {
    let mut out = JsonMap::new();
    for (key, entry) in map {
        if key.starts_with("x-") {
            continue;
        }
        let here = path.key(key);
        let Some(child) = branch.child(key) else {
            let message = if branch.numbered() {
                format!("`{key}` is not a host number")
            } else if path.0.is_empty() {
                "is not a key of a scenario".to_owned()
            } else {
                format!("is not a key of `{path}`")
            };
            let help = if branch.numbered() { None } else { keys::near_in(branch, key) };
            return Err(Fault::new(entry.key_at, here.to_string(), message).maybe_help(help));
        };
        // Null takes a key back to its default, so that a child file can undo its parent.
        if entry.node.value != Tree::Null {
            out.insert(key.clone(), inner(&entry.node, child, &here, see)?);
        }
    }
    Ok(Json::Object(out))
}

fn inner(node: &Node, branch: &Branch, path: &Path, see: See) -> Result<Json, Fault> {
    if let Some(kind) = branch.kind() {
        see(path, node);
        let read = value::read(kind, node, &path.to_string())?;
        return Ok(value::json(kind, &read));
    }
    match (&node.value, branch.each()) {
        (Tree::List(items), Some(each)) => {
            let read = |(i, item): (usize, &Node)| inner(item, each, &path.at(i), see);
            items.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>().map(Json::Array)
        }
        (Tree::Map(map), None) => mapping(map, branch, path, see),
        (_, Some(_)) => {
            Err(Fault::new(node.at, path.to_string(), format!("is {}, not a list", node.kind()))
                .help("write one `- …` line for each entry"))
        }
        (_, None) => {
            let names = branch.names();
            let known: Vec<String> = names.iter().take(8).map(|n| format!("`{n}`")).collect();
            Err(Fault::new(
                node.at,
                path.to_string(),
                format!("`{}` is {}, not a mapping", node.show(), node.kind()),
            )
            .help(format!("write keys such as {}", known.join(", "))))
        }
    }
}

/// Fills in path and hash of every `trace` entry.
fn traces(json: &mut Json, base: &Map, sources: &Sources) -> Result<(), Fault> {
    let Some(Json::Array(entries)) = json.get_mut("traffic") else { return Ok(()) };
    let path = Path::default().key("traffic");
    for (i, entry) in entries.iter_mut().enumerate() {
        let here = path.at(i);
        if let Some(node) = keys::node_at(base, &here) {
            trace(entry, node, &here, sources)?;
        }
    }
    Ok(())
}

fn trace(entry: &mut Json, node: &Node, path: &Path, sources: &Sources) -> Result<(), Fault> {
    if entry.get("pattern").and_then(Json::as_str) != Some("trace") {
        return Ok(());
    }
    let Some(Json::String(file)) = entry.get("file") else { return Ok(()) };
    let at = match &node.value {
        Tree::Map(map) => map.get("file").map_or(node.at, |e| e.node.at),
        _ => node.at,
    };
    let (file, hash) = trace_file(file, at, &path.key("file").to_string(), sources)?;
    entry["file"] = Json::from(file);
    entry["blake3"] = Json::from(hash);
    Ok(())
}

/// The path of a trace as the simulator opens it, and the hash of what is in it. Its flows are
/// looked through, once a file, for what points have to be checked against.
///
/// # Errors
/// A file that cannot be read, or is no trace.
pub(crate) fn trace_file(
    written: &str,
    at: Pos,
    key: &str,
    sources: &Sources,
) -> Result<(String, String), Fault> {
    let path = sources.folder(at.file).join(written);
    let fault = |m: String| {
        Fault::new(at, key, m).help("the path starts from the folder of the file it stands in")
    };
    let unreadable = |e: std::io::Error| fault(format!("cannot read `{}`: {e}", path.display()));
    if !std::fs::metadata(&path).map_err(unreadable)?.is_file() {
        return Err(fault(format!("`{}` is not a file", path.display())));
    }
    let Some(text) = path.to_str() else {
        return Err(fault(format!("`{}` is not UTF-8", path.display())));
    };
    let mut known = sources.traces.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((hash, _)) = known.get(&path) {
        return Ok((text.to_owned(), hash.clone()));
    }
    let bytes = std::fs::read(&path).map_err(unreadable)?;
    let flows = parse_trace(&path, &bytes).map_err(|e| Fault::new(at, key, e.to_string()))?;
    let hash = blake3::hash(&bytes).to_hex().to_string();
    known.insert(path.clone(), (hash.clone(), Outlook::of(&flows)));
    Ok((text.to_owned(), hash))
}

/// The scenario a JSON stands for.
///
/// # Errors
/// What is missing or unknown, at the place in `base` that lacks it.
pub(crate) fn scenario(json: &Json, base: &Map) -> Result<Scenario, Fault> {
    let scenario: Scenario =
        serde_json::from_value(json.clone()).map_err(|e| explain(json, base, &e.to_string()))?;
    let back = serde_json::to_value(&scenario.traffic)
        .map_err(|e| Fault::nowhere(format!("the scenario has no JSON form: {e}")))?;
    if let Some(given) = json.get("traffic")
        && let Some(path) = unread(given, &back, &Path::default().key("traffic"))
    {
        let at = place(base, &path);
        let entry = Path(path.0[..2.min(path.0.len())].to_vec());
        let pattern = json.pointer(&pointer(&entry)).and_then(|entry| entry.get("pattern"));
        let pattern = pattern.and_then(Json::as_str).unwrap_or_default();
        let message = format!("is not a key of the pattern `{pattern}`");
        return Err(Fault { at, ..Fault::nowhere(message) }.for_key(&path));
    }
    Ok(scenario)
}

impl Fault {
    fn for_key(mut self, path: &Path) -> Self {
        self.key = path.to_string();
        self
    }
}

/// RFC 6901 pointer of a path.
pub(crate) fn pointer(path: &Path) -> String {
    let mut out = String::new();
    for step in &path.0 {
        out.push('/');
        match step {
            keys::Step::Key(key) => out.push_str(&key.replace('~', "~0").replace('/', "~1")),
            keys::Step::At(i) => out.push_str(&i.to_string()),
            keys::Step::Each => out.push('-'),
        }
    }
    out
}

/// Where the nearest part of a path stands in the files.
pub(crate) fn place(base: &Map, path: &Path) -> Option<Pos> {
    (1..=path.0.len())
        .rev()
        .find_map(|n| keys::node_at(base, &Path(path.0[..n].to_vec())).map(|node| node.at))
        .or_else(|| base.values().next().map(|e| e.key_at))
}

/// A key of `traffic` that was given and that nothing read.
///
/// Elsewhere nothing can be: every other reader refuses what it does not know, and its text may
/// leave out what it does (a block that holds only defaults).
fn unread(given: &Json, back: &Json, path: &Path) -> Option<Path> {
    match (given, back) {
        (Json::Object(given), Json::Object(back)) => given.iter().find_map(|(key, value)| {
            let here = path.key(key);
            match back.get(key) {
                Some(back) => unread(value, back, &here),
                None => Some(here),
            }
        }),
        (Json::Array(given), Json::Array(back)) => given
            .iter()
            .zip(back)
            .enumerate()
            .find_map(|(i, (given, back))| unread(given, back, &path.at(i))),
        _ => None,
    }
}

/// Finds the part that serde's message is about: its own messages have no path.
fn explain(json: &Json, base: &Map, whole: &str) -> Fault {
    let at_path = |path: &Path, message: String| {
        // Without any `base` the file itself is to blame.
        let at = place(base, path).or(Some(Pos { file: 0, line: 1, col: 1 }));
        let key = path.to_string();
        Fault { at, key, message: tidy(&message), help: missing_help(&message) }
    };
    if let Some(Err(e)) =
        json.get("topology").map(|t| serde_json::from_value::<Topology>(t.clone()))
    {
        return at_path(&Path::default().key("topology"), e.to_string());
    }
    if let Some(Json::Array(entries)) = json.get("traffic") {
        for (i, entry) in entries.iter().enumerate() {
            if let Err(e) = serde_json::from_value::<Traffic>(entry.clone()) {
                return at_path(&Path::default().key("traffic").at(i), e.to_string());
            }
        }
    }
    at_path(&Path::default(), whole.to_owned())
}

fn tidy(message: &str) -> String {
    message.replace("missing field", "lacks").replace("unknown field", "does not read")
}

fn missing_help(message: &str) -> Option<String> {
    let field = message.strip_prefix("missing field `")?.split('`').next()?;
    let example = match field {
        "duration" => "`duration: 2ms` under `base:`",
        "topology" => "`topology: {kind: single-switch, hosts: 33}` under `base:`",
        "traffic" => "`traffic:` with one or more patterns under `base:`",
        _ => return Some(format!("add `{field}:`")),
    };
    Some(format!("add {example}"))
}

/// Sorted keys, no spaces: the one text of a scenario that hashes are computed over.
pub(crate) fn canonical(json: &Json, out: &mut String) {
    match json {
        Json::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Json::from(key.as_str()).to_string());
                out.push(':');
                canonical(&map[key], out);
            }
            out.push('}');
        }
        Json::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        single => out.push_str(&single.to_string()),
    }
}
