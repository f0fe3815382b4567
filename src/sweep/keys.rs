//! Names of keys: full paths, unique trailing names, places in lists.
//!
//! Owns the tree form of the attribute table and the step from what a person writes
//! (`PlaneBDP`, `topology.hosts`, `traffic[0].bytes`, `PoolAllocationMap[1]`) to the places it
//! stands for. Refuses a name that could mean two places, and says which.

use super::fault::{nearest, suggest};
use super::yaml::{Map, Node, Tree};
use crate::scenario::attributes::{self, Attribute, Kind};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Step {
    /// A key of a mapping.
    Key(String),
    /// A place in a list.
    At(usize),
    /// Every place of a list; only in what a person writes, never in a resolved path.
    Each,
}

/// A path in the scenario.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Path(pub Vec<Step>);

impl Path {
    /// This path and a key below it.
    pub fn key(&self, key: &str) -> Path {
        let mut steps = self.0.clone();
        steps.push(Step::Key(key.to_owned()));
        Path(steps)
    }

    /// This path and a place in the list it names.
    pub fn at(&self, index: usize) -> Path {
        let mut steps = self.0.clone();
        steps.push(Step::At(index));
        Path(steps)
    }

    /// Parses `a.b[0].c[]`.
    pub fn parse(text: &str) -> Result<Path, String> {
        let bad = || format!("`{text}` is not a key: write names joined by `.`, places as `[0]`");
        let mut steps = Vec::new();
        for part in text.split('.') {
            let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
            if name.is_empty() || name.contains([']', ' ']) {
                return Err(bad());
            }
            steps.push(Step::Key(name.to_owned()));
            while !rest.is_empty() {
                let inner = rest.strip_prefix('[').and_then(|r| r.split_once(']'));
                let (index, after) = inner.ok_or_else(bad)?;
                steps.push(match index {
                    "" => Step::Each,
                    _ => Step::At(index.parse().map_err(|_| bad())?),
                });
                rest = after;
            }
        }
        Ok(Path(steps))
    }

    /// Whether a path is this one or lies below it.
    pub fn covers(&self, other: &Path) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if i == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::At(index) => write!(f, "[{index}]")?,
                Step::Each => write!(f, "[]")?,
            }
        }
        Ok(())
    }
}

/// A place in the tree of attributes.
#[derive(Debug, Default)]
pub(crate) struct Branch {
    children: BTreeMap<&'static str, Branch>,
    /// What stands at each place of a list here.
    each: Option<Box<Branch>>,
    /// What stands under each number, or each tier, here.
    any: Option<Box<Branch>>,
    /// The keys under which it stands are tiers, not numbers.
    tiers: bool,
    attribute: Option<&'static Attribute>,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found {
    /// A value of this kind.
    Leaf(Kind),
    /// A mapping or a list of mappings.
    Inner(&'static Branch),
}

impl Branch {
    /// The branch under a key.
    pub fn child(&self, key: &str) -> Option<&Branch> {
        self.children.get(key).or_else(|| {
            let number = !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit());
            let fits = if self.tiers { attributes::TIERS.contains(&key) } else { number };
            self.any.as_deref().filter(|_| fits)
        })
    }

    /// The branch of a list's places.
    pub fn each(&self) -> Option<&Branch> {
        self.each.as_deref()
    }

    /// The kind of value here, if a value and not a mapping stands here.
    pub fn kind(&self) -> Option<Kind> {
        let inner = !self.children.is_empty() || self.each.is_some() || self.any.is_some();
        self.attribute.filter(|_| !inner).map(|a| a.kind)
    }

    /// Keys here are numbers.
    pub fn numbered(&self) -> bool {
        self.any.is_some() && !self.tiers
    }

    /// The keys a mapping may have here.
    pub fn names(&self) -> Vec<&'static str> {
        let tiers = attributes::TIERS.iter().filter(|_| self.tiers);
        self.children.keys().chain(tiers).copied().collect()
    }
}

/// The tree of all attributes.
pub(crate) fn root() -> &'static Branch {
    static ROOT: OnceLock<Branch> = OnceLock::new();
    ROOT.get_or_init(|| {
        let mut root = Branch::default();
        for attribute in attributes::all() {
            let mut branch = &mut root;
            for part in attribute.path.split('.') {
                let name = part.trim_end_matches("[]");
                branch = match name {
                    "*" => {
                        branch.tiers = attribute.path.starts_with("switch.tiers.");
                        branch.any.get_or_insert_default()
                    }
                    _ => branch.children.entry(name).or_default(),
                };
                for _ in 0..(part.len() - name.len()) / 2 {
                    branch = branch.each.get_or_insert_default();
                }
            }
            branch.attribute = Some(attribute);
        }
        root
    })
}

/// What a path leads to, `None` if nowhere.
pub(crate) fn find(path: &Path) -> Option<Found> {
    let mut branch = root();
    let mut steps = path.0.iter();
    while let Some(step) = steps.next() {
        if let Some(mut kind) = branch.kind() {
            // A place in a list of values.
            let mut step = Some(step);
            while let Some(s) = step {
                kind = match (s, kind) {
                    (Step::At(i), Kind::Eight(inner)) if *i < 8 => *inner,
                    (Step::At(_), Kind::List(inner)) => *inner,
                    _ => return None,
                };
                step = steps.next();
            }
            return Some(Found::Leaf(kind));
        }
        branch = match step {
            Step::Key(key) => branch.child(key)?,
            Step::At(_) | Step::Each => branch.each()?,
        };
    }
    Some(branch.kind().map_or(Found::Inner(branch), Found::Leaf))
}

/// Whether a path lies under a list of the scenario (`traffic[0].…`).
pub(crate) fn has_places(path: &Path) -> bool {
    path.0.iter().any(|s| !matches!(s, Step::Key(_)))
}

/// All places a written name stands for (several only for `traffic[].…`), given the traffic list
/// that indices and bare names refer to.
///
/// # Errors
/// A message and a help text if the name is unknown or could mean several places.
pub(crate) fn resolve(text: &str, traffic: &[Node]) -> Result<Vec<Path>, (String, Option<String>)> {
    let written = Path::parse(text).map_err(|m| (m, None))?;
    if let Some(Step::Key(first)) = written.0.first()
        && root().child(first).is_some()
    {
        if find(&written).is_some() {
            return expand(&written, traffic).map_err(|m| (m, None));
        }
        return Err((format!("no attribute is called `{text}`"), near(text)));
    }
    let mut leaves = Vec::new();
    let mut inner = Vec::new();
    collect(root(), &mut Path::default(), &written.0, &mut leaves, &mut inner);
    let mut candidates = if leaves.is_empty() { inner } else { leaves };
    match candidates.len() {
        0 => Err((format!("no attribute is called `{text}`"), near(text))),
        1 => {
            let path = candidates.remove(0);
            if path.0.contains(&Step::Each) { narrow(&path, traffic) } else { Ok(vec![path]) }
        }
        n => {
            let listed: Vec<String> = candidates.iter().map(|c| format!("`{c}`")).collect();
            Err((
                format!("`{text}` could mean {n} attributes: {}", listed.join(", ")),
                Some("write one of these paths".to_owned()),
            ))
        }
    }
}

/// Paths of the tree that end in the given steps. Entries of flow lists and of single hosts are
/// only meant when the full path says so.
fn collect(
    branch: &'static Branch,
    path: &mut Path,
    wanted: &[Step],
    leaves: &mut Vec<Path>,
    inner: &mut Vec<Path>,
) {
    for (name, child) in &branch.children {
        path.0.push(Step::Key((*name).to_owned()));
        // A trailing place belongs to the value, not to the table: try with and without it.
        let plain = wanted.iter().rposition(|s| matches!(s, Step::Key(_))).map_or(0, |i| i + 1);
        let (names, places) = wanted.split_at(plain);
        if path.0.ends_with(names) {
            let mut full = path.clone();
            full.0.extend_from_slice(places);
            match find(&full) {
                Some(Found::Leaf(_)) => leaves.push(full),
                Some(Found::Inner(_)) => inner.push(full),
                None => {}
            }
        }
        collect(child, path, wanted, leaves, inner);
        if let Some(each) = &child.each
            && path.0.len() == 1
        {
            path.0.push(Step::Each);
            collect(each, path, wanted, leaves, inner);
            path.0.pop();
        }
        path.0.pop();
    }
}

/// `traffic[].x` written out for every entry.
fn expand(path: &Path, traffic: &[Node]) -> Result<Vec<Path>, String> {
    let Some(place) = path.0.iter().position(|s| *s == Step::Each) else {
        if let [Step::Key(first), Step::At(index), ..] = path.0.as_slice()
            && first == "traffic"
            && *index >= traffic.len()
        {
            let n = traffic.len();
            return Err(format!("`{path}`: `traffic` has {n} entries, counted from 0"));
        }
        return Ok(vec![path.clone()]);
    };
    if place != 1 || path.0[2..].contains(&Step::Each) {
        return Err(format!("`{path}`: only `traffic[]` can stand for every entry"));
    }
    if traffic.is_empty() {
        return Err(format!("`{path}`: there is no `traffic` in `base`"));
    }
    Ok((0..traffic.len()).map(|i| with_place(path, i)).collect())
}

fn with_place(path: &Path, index: usize) -> Path {
    let mut steps = path.0.clone();
    if let Some(step) = steps.iter_mut().find(|s| **s == Step::Each) {
        *step = Step::At(index);
    }
    Path(steps)
}

/// The one entry of `traffic` that a bare name means: the only one that gives it, or the only one.
fn narrow(path: &Path, traffic: &[Node]) -> Result<Vec<Path>, (String, Option<String>)> {
    let Some(Step::Key(name)) = path.0.get(2) else {
        return Err((format!("`{path}` is not a value"), None));
    };
    let gives = |node: &Node| matches!(&node.value, Tree::Map(m) if m.contains_key(name));
    let mut giving: Vec<usize> = (0..traffic.len()).filter(|&i| gives(&traffic[i])).collect();
    if giving.is_empty() {
        giving = (0..traffic.len()).collect();
    }
    match giving.as_slice() {
        [] => Err((format!("`{path}`: there is no `traffic` in `base`"), None)),
        [one] => Ok(vec![with_place(path, *one)]),
        many => {
            let listed: Vec<String> =
                many.iter().map(|&i| format!("`{}`", with_place(path, i))).collect();
            Err((
                format!("`{name}` could mean several patterns: {}", listed.join(", ")),
                Some(format!("write one of them, or `{path}` for all")),
            ))
        }
    }
}

/// Help for an unknown name: the nearest attribute by full path or last name.
fn near(text: &str) -> Option<String> {
    let last = text.rsplit('.').next().unwrap_or(text);
    let last = last.split('[').next().unwrap_or(last);
    let by_name = attributes::all().iter().map(|a| a.path.rsplit('.').next().unwrap_or(a.path));
    if let Some(name) = nearest(last, by_name) {
        let path = attributes::all().iter().find(|a| a.path.rsplit('.').next() == Some(name));
        return path.map(|a| format!("did you mean `{name}` (`{}`)?", a.path));
    }
    let near = nearest(text, attributes::all().iter().map(|a| a.path));
    near.map(|n| format!("did you mean `{n}`?"))
        .or_else(|| Some("`poolsweep attributes` lists every name".to_owned()))
}

/// Help for an unknown key of a mapping.
pub(crate) fn near_in(branch: &Branch, key: &str) -> Option<String> {
    let names = branch.names();
    if nearest(key, names.iter().copied()).is_some() {
        return suggest(key, &names);
    }
    if let Some(a) = attributes::all().iter().find(|a| a.path.rsplit('.').next() == Some(key)) {
        return Some(format!("the attribute of that name is `{}`", a.path));
    }
    suggest(key, &names)
}

/// The node at a path of a tree.
pub(crate) fn node_at<'a>(tree: &'a Map, path: &Path) -> Option<&'a Node> {
    let (first, rest) = path.0.split_first()?;
    let Step::Key(key) = first else { return None };
    let mut node = &tree.get(key)?.node;
    for step in rest {
        node = match (step, &node.value) {
            (Step::Key(key), Tree::Map(map)) => &map.get(key)?.node,
            (Step::At(i), Tree::List(items)) => items.get(*i)?,
            _ => return None,
        };
    }
    Some(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::yaml;

    fn traffic(text: &str) -> Vec<Node> {
        match yaml::parse(0, text).unwrap().value {
            Tree::List(items) => items,
            _ => panic!("a list"),
        }
    }

    fn names(text: &str, traffic_text: &str) -> Vec<String> {
        let paths = resolve(text, &traffic(traffic_text)).unwrap_or_else(|e| panic!("{e:?}"));
        paths.iter().map(Path::to_string).collect()
    }

    fn message(text: &str, traffic_text: &str) -> String {
        let (message, help) = resolve(text, &traffic(traffic_text)).expect_err("refused");
        format!("{message}; {}", help.unwrap_or_default())
    }

    #[test]
    fn names_find_their_places() {
        let one = "[{pattern: incast, senders: 3}]";
        assert_eq!(names("PlaneBDP", one), ["switch.SharedBufferManager.PlaneBDP"]);
        assert_eq!(
            names("SharedBufferManager.PlaneBDP", one),
            ["switch.SharedBufferManager.PlaneBDP"]
        );
        assert_eq!(names("hosts", one), ["topology.hosts"]);
        assert_eq!(names("senders", one), ["traffic[0].senders"]);
        assert_eq!(names("packet", one), ["traffic[0].packet"]);
        assert_eq!(
            names("PoolAllocationMap[1]", one),
            ["switch.SharedBufferManager.PoolAllocationMap[1]"]
        );
        assert_eq!(names("nic.hosts.3.receive_rate", one), ["nic.hosts.3.receive_rate"]);
        let two = "[{pattern: incast, senders: 3}, {pattern: uniform, load: 1}]";
        assert_eq!(names("load", two), ["traffic[1].load"]);
        assert_eq!(names("traffic[].packet", two), ["traffic[0].packet", "traffic[1].packet"]);
    }

    #[test]
    fn doubtful_names_are_refused_with_the_candidates() {
        let two = "[{pattern: incast}, {pattern: incast}]";
        assert!(message("packet", two).contains("`traffic[0].packet`, `traffic[1].packet`"));
        assert!(message("model", two).contains("`nic.model`, `switch.model`"));
        assert!(message("PlaneBpd", two).contains("did you mean `PlaneBDP`"));
        assert!(message("switch.PlaneBDP", two).contains("did you mean `PlaneBDP`"));
        assert!(message("traffic[2].bytes", two).contains("has 2 entries"));
        assert!(message("PoolAllocationMap[8]", two).contains("no attribute"));
        assert!(message("a..b", two).contains("is not a key"));
    }
}
