//! Files, `extends` and the command line, laid over each other.
//!
//! Owns reading the sweep file with all it extends, the deep merge (child wins, lists replaced
//! whole), `--set`, and the record of which layer said what. Refuses unknown sections; what the
//! sections hold is read by others.

use super::fault::{Fault, Pos, Sources, SweepError, Text, Unread, suggest};
use super::keys::{self, Path, Step};
use super::yaml::{self, Entry, Map, Node, Tree};
use std::path::{Path as FilePath, PathBuf};

/// Longest chain of `extends`.
const MAX_CHAIN: usize = 16;

/// The sections of a sweep file.
pub(crate) const SECTIONS: &[&str] = &[
    "schema",
    "name",
    "extends",
    "seed",
    "seeds",
    "repetitions",
    "base",
    "axes",
    "derived",
    "constraints",
    "checks",
    "scenarios",
];

/// What one file, or one `--set`, adds to `base`.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    /// Its nested part.
    pub tree: Map,
    /// Its keys that name places in lists, in order.
    pub patches: Vec<(Path, Node)>,
    /// The entry of `scenarios` it belongs to.
    pub scenario: Option<String>,
}

impl Layer {
    /// What this layer says of a path; the last word of it.
    pub fn find(&self, path: &Path) -> Option<&Node> {
        let patch = self.patches.iter().rev().find(|(p, _)| p == path).map(|(_, node)| node);
        patch.or_else(|| keys::node_at(&self.tree, path))
    }

    /// Lays this layer over a tree.
    pub fn apply(&self, base: &mut Map) -> Result<(), Fault> {
        merge(base, self.tree.clone());
        for (path, node) in &self.patches {
            set(base, path, node.clone())?;
        }
        Ok(())
    }
}

/// All files of a plan, merged.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// Every section but `base` and `extends`; entries of `axes`, `derived` and `scenarios` are
    /// replaced one by one.
    pub sections: Map,
    /// The scenario, all layers applied.
    pub base: Map,
    /// What each layer added to `base`, lowest first.
    pub layers: Vec<Layer>,
    /// The `--set` layers alone, which also go over what `scenarios` set.
    pub overrides: Vec<Layer>,
    /// More points than usual are meant.
    pub yes: bool,
    /// The paths `--set` gives, with how they were written.
    pub set_paths: Vec<(String, Vec<Path>)>,
}

/// Reads a file and all it extends.
pub(crate) fn read(path: &FilePath, sources: &mut Sources) -> Result<Merged, SweepError> {
    let mut merged = Merged::default();
    let mut reader = Reader { sources, merged: &mut merged, chain: Vec::new() };
    reader.file(path, None)?;
    Ok(merged)
}

struct Reader<'a> {
    sources: &'a mut Sources,
    merged: &'a mut Merged,
    /// The files being read, outermost first: as written and as the system knows them.
    chain: Vec<(PathBuf, PathBuf)>,
}

impl Reader<'_> {
    fn file(&mut self, path: &FilePath, from: Option<Pos>) -> Result<(), SweepError> {
        // Before it is read: a chain that goes round never ends.
        if self.chain.len() >= MAX_CHAIN {
            return Err(self.fail(from, format!("more than {MAX_CHAIN} files extend each other")));
        }
        let shown = path.display();
        let Text { text, known } = match self.sources.read(path, yaml::MAX_BYTES as u64) {
            Ok(text) => text,
            Err(Unread::Io(error)) => return Err(self.unreadable(path, from, error)),
            Err(Unread::NotAFile) => {
                return Err(self.fail(from, format!("`{shown}` is not a file")));
            }
            Err(Unread::TooLong(bytes)) => {
                let message = format!("`{shown}` has {bytes} bytes, more than a sweep file may");
                return Err(self.fail(from, message));
            }
            Err(Unread::NotText(line)) => {
                return Err(self.fail(from, format!("`{shown}` is not UTF-8 text (line {line})")));
            }
        };
        if let Some(first) = self.chain.iter().position(|(_, k)| *k == known) {
            let mut names: Vec<String> =
                self.chain[first..].iter().map(|(p, _)| p.display().to_string()).collect();
            names.push(shown.to_string());
            let message = format!("files extend each other in a cycle: {}", names.join(" -> "));
            return Err(self.fail(from, message));
        }
        let file = self
            .sources
            .add(path.to_owned(), text.clone(), true)
            .map_err(|f| self.sources.error(f))?;
        self.chain.push((path.to_owned(), known));
        let node = yaml::parse(file, &text).map_err(|f| self.sources.error(f))?;
        let result = self.document(node, file);
        self.chain.pop();
        result
    }

    fn fail(&self, at: Option<Pos>, message: String) -> SweepError {
        self.sources.error(Fault { at, ..Fault::nowhere(message) })
    }

    fn unreadable(&self, path: &FilePath, from: Option<Pos>, source: std::io::Error) -> SweepError {
        match from {
            None => SweepError::Read { path: path.to_owned(), source },
            Some(_) => self.fail(from, format!("cannot read `{}`: {source}", path.display())),
        }
    }

    fn document(&mut self, node: Node, file: u16) -> Result<(), SweepError> {
        let fault = |s: &Self, f: Fault| s.sources.error(f);
        let top = match node.value {
            Tree::Map(map) => map,
            Tree::Null => {
                let f = Fault::new(node.at, "", "the file is empty").help(
                    "a sweep file has at least `base:` with `duration`, `topology` and `traffic`",
                );
                return Err(fault(self, f));
            }
            _ => {
                let f = Fault::new(
                    node.at,
                    "",
                    format!("the file holds {}, not a mapping", node.kind()),
                )
                .help("a sweep file has sections such as `base:` and `axes:`");
                return Err(fault(self, f));
            }
        };
        for (key, entry) in &top {
            if !key.starts_with("x-") && !SECTIONS.contains(&key.as_str()) {
                let mut help = suggest(key, SECTIONS);
                if keys::root().child(key).is_some() {
                    help = Some(format!("`{key}` belongs under `base:`"));
                }
                let f = Fault::new(entry.key_at, key, "is not a section of a sweep file");
                return Err(fault(self, f.maybe_help(help)));
            }
        }
        if let Some(entry) = top.get("extends") {
            for (parent, at) in texts(&entry.node, "extends").map_err(|f| fault(self, f))? {
                let path = self.sources.folder(file).join(&parent);
                self.file(&path, Some(at))?;
            }
        }
        self.sections(top).map_err(|f| self.sources.error(f))
    }

    /// Lays the sections of one file over those of the files it extends.
    fn sections(&mut self, top: Map) -> Result<(), Fault> {
        for (key, entry) in top {
            match key.as_str() {
                "extends" => {}
                _ if key.starts_with("x-") => {}
                "base" => {
                    let map = mapping(entry.node, "base")?;
                    let layer = layer(map, &self.merged.base)?;
                    layer.apply(&mut self.merged.base)?;
                    self.merged.layers.push(layer);
                }
                "axes" | "derived" | "scenarios" => {
                    let at = entry.node.at;
                    let mut map = mapping(entry.node, &key)?;
                    map.retain(|name, _| !name.starts_with("x-"));
                    let key_at = entry.key_at;
                    let kept = self.merged.sections.entry(key).or_insert_with(|| Entry {
                        key_at,
                        node: Node { value: Tree::Map(Map::new()), at },
                    });
                    if let Tree::Map(old) = &mut kept.node.value {
                        old.extend(map);
                    }
                }
                _ => {
                    // An explicit list of seeds and a count of repetitions replace each other.
                    if key == "seeds" {
                        self.merged.sections.shift_remove("seed");
                        self.merged.sections.shift_remove("repetitions");
                    }
                    self.merged.sections.insert(key, entry);
                }
            }
        }
        Ok(())
    }
}

/// A mapping, or nothing.
pub(crate) fn mapping(node: Node, key: &str) -> Result<Map, Fault> {
    match node.value {
        Tree::Map(map) => Ok(map),
        Tree::Null => Ok(Map::new()),
        _ => Err(Fault::new(node.at, key, format!("is {}, not a mapping", node.kind()))
            .help("write `key: value` lines below it")),
    }
}

/// One text or a list of texts.
pub(crate) fn texts(node: &Node, key: &str) -> Result<Vec<(String, Pos)>, Fault> {
    let one = |node: &Node| match &node.value {
        Tree::Scalar { text, .. } => Ok((text.clone(), node.at)),
        _ => {
            Err(Fault::new(node.at, key, format!("{} is {}, not a text", node.show(), node.kind())))
        }
    };
    match &node.value {
        Tree::Null => Ok(Vec::new()),
        Tree::List(items) => items.iter().map(one).collect(),
        _ => Ok(vec![one(node)?]),
    }
}

/// Sorts the keys of a `base` (or a `set`): nested ones, full paths and unique names.
pub(crate) fn layer(map: Map, below: &Map) -> Result<Layer, Fault> {
    let mut tree = Map::new();
    let mut named = Vec::new();
    for (key, entry) in map {
        if key.starts_with("x-") {
            continue;
        }
        if keys::root().child(&key).is_some() {
            tree.insert(key, entry);
        } else {
            named.push((key, entry));
        }
    }
    let mut patches: Vec<(Path, Node)> = Vec::new();
    for (key, entry) in named {
        let traffic = list_of(&tree, "traffic").or_else(|| list_of(below, "traffic"));
        let paths = keys::resolve(&key, traffic.unwrap_or_default())
            .map_err(|(m, help)| Fault::new(entry.key_at, &key, m).maybe_help(help))?;
        for path in paths {
            let given = keys::node_at(&tree, &path)
                .or_else(|| patches.iter().find(|(p, _)| *p == path).map(|(_, node)| node));
            if let Some(given) = given {
                let line = given.at.line;
                return Err(Fault::new(
                    entry.key_at,
                    key,
                    format!("is given twice (also on line {line})"),
                )
                .help("remove one of the two"));
            }
            if keys::has_places(&path) {
                patches.push((path, entry.node.clone()));
            } else {
                set(&mut tree, &path, entry.node.clone())?;
            }
        }
    }
    Ok(Layer { tree, patches, scenario: None })
}

/// The entries of a list of a tree.
pub(crate) fn list_of<'a>(tree: &'a Map, key: &str) -> Option<&'a [Node]> {
    match &tree.get(key)?.node.value {
        Tree::List(items) => Some(items),
        _ => None,
    }
}

/// Deep merge: the upper one wins, lists are replaced whole, and so is a mapping whose `kind`
/// changes (a leaf-spine has other keys than a single switch).
pub(crate) fn merge(below: &mut Map, above: Map) {
    for (key, entry) in above {
        match below.get_mut(&key) {
            Some(old) => match (&mut old.node.value, entry.node.value) {
                (Tree::Map(old_map), Tree::Map(new_map)) if same_kind(old_map, &new_map) => {
                    merge(old_map, new_map);
                }
                (_, value) => {
                    *old = Entry { key_at: entry.key_at, node: Node { value, at: entry.node.at } };
                }
            },
            None => {
                below.insert(key, entry);
            }
        }
    }
}

fn same_kind(old: &Map, new: &Map) -> bool {
    match (old.get("kind"), new.get("kind")) {
        (Some(a), Some(b)) => a.node.value == b.node.value,
        _ => true,
    }
}

/// Puts a node at a path; mappings on the way are made, places in lists must exist.
pub(crate) fn set(tree: &mut Map, path: &Path, node: Node) -> Result<(), Fault> {
    let at = node.at;
    let empty = || Node { value: Tree::Map(Map::new()), at };
    let mut steps = path.0.iter();
    let Some(Step::Key(first)) = steps.next() else { return Ok(()) };
    let entry = tree.entry(first.clone());
    let mut place = &mut entry.or_insert_with(|| Entry { key_at: at, node: empty() }).node;
    for step in steps {
        if place.value == Tree::Null {
            *place = empty();
        }
        place = match (step, &mut place.value) {
            (Step::Key(key), Tree::Map(map)) => {
                let entry = map.entry(key.clone());
                &mut entry.or_insert_with(|| Entry { key_at: at, node: empty() }).node
            }
            (Step::At(index), Tree::List(items)) if *index < items.len() => &mut items[*index],
            (Step::At(_), _) => {
                return Err(Fault::new(at, path.to_string(), "there is no such place to set")
                    .help("give the whole list in `base` first"));
            }
            _ => return Err(Fault::new(at, path.to_string(), "lies below a single value")),
        };
    }
    *place = node;
    Ok(())
}

/// Lays one `--set key=value` over everything.
pub(crate) fn set_override(
    merged: &mut Merged,
    sources: &mut Sources,
    setting: &str,
) -> Result<(), Fault> {
    let (key, node) = parse_setting(sources, "--set", setting)?;
    if matches!(key.as_str(), "name" | "seed" | "seeds" | "repetitions") {
        if key == "seeds" {
            merged.sections.shift_remove("seed");
            merged.sections.shift_remove("repetitions");
        } else if key != "name" {
            merged.sections.shift_remove("seeds");
        }
        merged.sections.insert(key, Entry { key_at: node.at, node });
        return Ok(());
    }
    let at = node.at;
    let paths = keys::resolve(&key, list_of(&merged.base, "traffic").unwrap_or_default())
        .map_err(|(m, help)| Fault::new(at, &key, m).maybe_help(help))?;
    let patches = paths.iter().map(|p| (p.clone(), node.clone())).collect();
    let layer = Layer { tree: Map::new(), patches, scenario: None };
    layer.apply(&mut merged.base)?;
    merged.layers.push(layer.clone());
    merged.overrides.push(layer);
    merged.set_paths.push((key, paths));
    Ok(())
}

/// Splits `key=value` of the command line and reads the value as YAML.
pub(crate) fn parse_setting(
    sources: &mut Sources,
    option: &str,
    setting: &str,
) -> Result<(String, Node), Fault> {
    let Some((key, value)) = setting.split_once('=') else {
        return Err(Fault::nowhere(format!("{option} {setting}: has no `=`"))
            .help(format!("write `{option} key=value`")));
    };
    let file = sources.add(format!("{option} {key}").into(), value.to_owned(), false)?;
    Ok((key.trim().to_owned(), yaml::parse(file, value)?))
}
