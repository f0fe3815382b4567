//! YAML text to our own tree, with a position for every node.
//!
//! Owns the only use of the YAML crate. It works on the crate's parser events and not on its
//! serde layer, because numbers must keep their source text: `010`, `1_000` and `.inf` are to be
//! judged by the key they stand for. Refuses to give scalars a meaning beyond null, `true` and
//! `false`, and refuses tags, second documents, duplicate keys and unbounded input.

use super::fault::{Fault, Pos};
use indexmap::IndexMap;
use serde_yaml::granit_parser::{self, Event, Parser, ScalarStyle};

/// Most bytes of one text.
pub(crate) const MAX_BYTES: usize = 16 << 20;
/// Most nodes of one tree, aliases expanded.
pub(crate) const MAX_NODES: usize = 1_000_000;
/// Most nodes that aliases and merge keys may add to one tree.
pub(crate) const MAX_ALIASED: usize = 100_000;
/// Deepest nesting.
pub(crate) const MAX_DEPTH: usize = 48;

/// A node of the tree and where it starts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub value: Tree,
    pub at: Pos,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    /// Source text after unescaping; `quoted` if it stood in quotes or in a block.
    Scalar {
        text: String,
        quoted: bool,
    },
    List(Vec<Node>),
    Map(Map),
}

/// A mapping in file order.
pub(crate) type Map = IndexMap<String, Entry>;

/// A value of a mapping and where its key stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub key_at: Pos,
    pub node: Node,
}

impl Node {
    /// What a person calls this kind of node.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Tree::Null => "nothing",
            Tree::Bool(_) => "a boolean",
            Tree::Scalar { quoted: true, .. } => "a quoted text",
            Tree::Scalar { .. } => "a single value",
            Tree::List(_) => "a list",
            Tree::Map(_) => "a mapping",
        }
    }

    /// A short rendering for messages, on one line.
    pub fn show(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        if out.chars().count() > 80 {
            out = out.chars().take(77).collect::<String>() + "...";
        }
        out
    }

    fn write(&self, out: &mut String) {
        // Only the beginning is shown: do not build megabytes.
        if out.len() > 400 {
            return;
        }
        match &self.value {
            Tree::Null => out.push_str("null"),
            Tree::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Tree::Scalar { text, .. } => out.push_str(text),
            Tree::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Tree::Map(map) => {
                out.push('{');
                for (i, (key, entry)) in map.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    out.push_str(key);
                    out.push_str(": ");
                    entry.node.write(out);
                }
                out.push('}');
            }
        }
    }

    fn size(&self) -> usize {
        1 + match &self.value {
            Tree::List(items) => items.iter().map(Node::size).sum(),
            Tree::Map(map) => map.values().map(|e| e.node.size()).sum(),
            _ => 0,
        }
    }
}

/// A collection under construction.
enum Open {
    List { items: Vec<Node>, at: Pos, anchor: usize },
    Map { map: Map, key: Option<(String, Pos)>, merges: Vec<Node>, at: Pos, anchor: usize },
}

struct Builder {
    file: u16,
    stack: Vec<Open>,
    /// Anchored nodes by anchor id, with their size.
    anchors: IndexMap<usize, (Node, usize)>,
    root: Option<Node>,
    nodes: usize,
    aliased: usize,
}

/// Parses one document. An empty text is [`Tree::Null`].
pub(crate) fn parse(file: u16, text: &str) -> Result<Node, Fault> {
    let start = Pos { file, line: 1, col: 1 };
    if text.len() > MAX_BYTES {
        return Err(Fault::new(
            start,
            "",
            format!("the file has {} bytes, more than {MAX_BYTES}", text.len()),
        ));
    }
    let mut options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
        disallow_directives: true,
    };
    options.set_emit_comments(false);
    let mut builder = Builder {
        file,
        stack: Vec::new(),
        anchors: IndexMap::new(),
        root: None,
        nodes: 0,
        aliased: 0,
    };
    let mut documents = 0;
    for item in Parser::new_from_str_with_options(text, options) {
        let (event, span) = item.map_err(|e| {
            let m = e.marker();
            let at = Pos { file, line: m.line().max(1) as u32, col: m.col() as u32 + 1 };
            Fault::new(at, "", format!("not valid YAML: {}", e.info()))
        })?;
        let at =
            Pos { file, line: span.start.line().max(1) as u32, col: span.start.col() as u32 + 1 };
        if let Event::DocumentStart(..) = event {
            documents += 1;
            if documents > 1 {
                return Err(Fault::new(at, "", "a second YAML document begins here")
                    .help("a sweep file is one document: remove the `---` between them"));
            }
        }
        builder.event(event, at)?;
    }
    Ok(builder.root.unwrap_or(Node { value: Tree::Null, at: start }))
}

impl Builder {
    fn event(&mut self, event: Event<'_>, at: Pos) -> Result<(), Fault> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                refuse_tag(tag.is_some(), at)?;
                // Zero characters are our own marks, here and where texts get their gaps.
                if text.contains('\0') {
                    return Err(Fault::new(at, "", "the text holds a zero character"));
                }
                let value = scalar(&text, style);
                self.complete(Node { value, at }, anchor)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                refuse_tag(tag.is_some(), at)?;
                self.open(Open::List { items: Vec::new(), at, anchor })?;
            }
            Event::MappingStart(_, anchor, tag) => {
                refuse_tag(tag.is_some(), at)?;
                let (map, merges) = (Map::new(), Vec::new());
                self.open(Open::Map { map, key: None, merges, at, anchor })?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::Alias(id) => self.alias(id, at)?,
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, open: Open) -> Result<(), Fault> {
        let at = match &open {
            Open::List { at, .. } | Open::Map { at, .. } => *at,
        };
        if self.stack.len() >= MAX_DEPTH {
            return Err(Fault::new(at, "", format!("nested more than {MAX_DEPTH} deep")));
        }
        if let Some(Open::Map { key: None, .. }) = self.stack.last() {
            return Err(Fault::new(at, "", "a list or mapping cannot be a key")
                .help("text with `{` or `[` in it needs quotes"));
        }
        self.stack.push(open);
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault> {
        match self.stack.pop() {
            Some(Open::List { items, at, anchor }) => {
                self.complete(Node { value: Tree::List(items), at }, anchor)
            }
            Some(Open::Map { mut map, merges, at, anchor, .. }) => {
                for node in merges {
                    self.merge(&mut map, node)?;
                }
                self.complete(Node { value: Tree::Map(map), at }, anchor)
            }
            None => Ok(()),
        }
    }

    /// Adds what `<<` names and the mapping does not say itself; of several, the first wins.
    fn merge(&mut self, map: &mut Map, node: Node) -> Result<(), Fault> {
        let at = node.at;
        match node.value {
            Tree::Map(from) => {
                for (key, entry) in from {
                    map.entry(key).or_insert(entry);
                }
                Ok(())
            }
            Tree::List(items) if items.iter().all(|i| matches!(i.value, Tree::Map(_))) => {
                items.into_iter().try_for_each(|item| self.merge(map, item))
            }
            _ => Err(Fault::new(at, "<<", "a merge key takes a mapping or a list of mappings")
                .help("write `<<: *name`, where `&name` marks a mapping")),
        }
    }

    fn alias(&mut self, id: usize, at: Pos) -> Result<(), Fault> {
        let Some((node, size)) = self.anchors.get(&id) else {
            return Err(Fault::new(at, "", "this alias refers to something that contains it"));
        };
        self.aliased += size;
        if self.aliased > MAX_ALIASED {
            return Err(Fault::new(
                at,
                "",
                format!("aliases expand to more than {MAX_ALIASED} values"),
            )
            .help("write a large list once, in a file named by `extends`"));
        }
        let node = node.clone();
        // Sizes of anchored trees are bounded, but nesting them is a way around the depth limit.
        if self.stack.len() + depth(&node) > MAX_DEPTH {
            return Err(Fault::new(at, "", format!("nested more than {MAX_DEPTH} deep")));
        }
        self.nodes += node.size() - 1;
        self.complete(node, 0)
    }

    fn complete(&mut self, node: Node, anchor: usize) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(Fault::new(node.at, "", format!("more than {MAX_NODES} values")));
        }
        if anchor != 0 {
            let size = node.size();
            self.aliased += size;
            if self.aliased > MAX_ALIASED {
                return Err(Fault::new(
                    node.at,
                    "",
                    format!("anchors and aliases hold more than {MAX_ALIASED} values"),
                ));
            }
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { map, key, merges, .. }) => match key.take() {
                None => *key = Some(key_text(&node, self.file)?),
                Some((text, _)) if text == MERGE => merges.push(node),
                Some((text, key_at)) => {
                    if let Some(first) = map.get(&text) {
                        let line = first.key_at.line;
                        return Err(Fault::new(
                            key_at,
                            text,
                            format!("is given twice (first on line {line})"),
                        )
                        .help("remove one of the two"));
                    }
                    map.insert(text, Entry { key_at, node });
                }
            },
        }
        Ok(())
    }
}

/// What a plain `<<` key is held as; a quoted one stays `<<`.
const MERGE: &str = "\0<<";

fn key_text(node: &Node, file: u16) -> Result<(String, Pos), Fault> {
    let text = match &node.value {
        Tree::Scalar { text, quoted: false } if text == "<<" => MERGE.to_owned(),
        Tree::Scalar { text, .. } => text.clone(),
        Tree::Bool(b) => b.to_string(),
        Tree::Null => return Err(Fault::new(node.at, "", "a key is missing before `:`")),
        Tree::List(_) | Tree::Map(_) => {
            return Err(Fault::new(node.at, "", "a list or mapping cannot be a key"));
        }
    };
    debug_assert_eq!(node.at.file, file);
    Ok((text, node.at))
}

fn depth(node: &Node) -> usize {
    match &node.value {
        Tree::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Tree::Map(map) => 1 + map.values().map(|e| depth(&e.node)).max().unwrap_or(0),
        _ => 0,
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Tree {
    if style != ScalarStyle::Plain {
        return Tree::Scalar { text: text.to_owned(), quoted: true };
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Tree::Null,
        "true" => Tree::Bool(true),
        "false" => Tree::Bool(false),
        _ => Tree::Scalar { text: text.to_owned(), quoted: false },
    }
}

fn refuse_tag(tagged: bool, at: Pos) -> Result<(), Fault> {
    if !tagged {
        return Ok(());
    }
    Err(Fault::new(at, "", "YAML tags (`!name`) mean nothing here")
        .help("in an expression write `not`; text that begins with `!` needs quotes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(text: &str) -> String {
        parse(0, text).unwrap_or_else(|f| panic!("{f:?}")).show()
    }

    fn fault(text: &str) -> (u32, u32, String) {
        let fault = parse(0, text).expect_err("the text is broken");
        let at = fault.at.expect("a position");
        (at.line, at.col, fault.message)
    }

    #[test]
    fn numbers_keep_their_text_and_order_is_kept() {
        assert_eq!(
            ok("{b: 010, a: 1_000, c: .inf, d: 1e3}"),
            "{b: 010, a: 1_000, c: .inf, d: 1e3}"
        );
    }

    #[test]
    fn booleans_are_strict() {
        let node = parse(0, "[true, false, yes, on, True, 'true']").unwrap();
        let Tree::List(items) = node.value else { panic!() };
        let kinds: Vec<&str> = items.iter().map(Node::kind).collect();
        assert_eq!(
            kinds,
            [
                "a boolean",
                "a boolean",
                "a single value",
                "a single value",
                "a single value",
                "a quoted text"
            ]
        );
    }

    #[test]
    fn anchors_and_merges() {
        assert_eq!(
            ok("x-a: &a {p: 1, q: 2}\nb: {<<: *a, q: 3}\nc: *a"),
            "{x-a: {p: 1, q: 2}, b: {q: 3, p: 1}, c: {p: 1, q: 2}}"
        );
        assert_eq!(ok("{b: {'<<': 1}}"), "{b: {<<: 1}}");
        assert_eq!(
            fault("a: &a 1\nb: {<<: *a}").2,
            "a merge key takes a mapping or a list of mappings"
        );
    }

    #[test]
    fn positions() {
        assert_eq!(fault("a: 1\na: 2"), (2, 1, "is given twice (first on line 1)".into()));
        assert_eq!(fault("a:\n  - !pfc and x").0, 2);
        assert_eq!(fault("a: 1\n---\nb: 2").2, "a second YAML document begins here");
        assert_eq!(fault("a: [1, 2").2.split(':').next(), Some("not valid YAML"));
        assert_eq!(fault("a: *nope").2.split(':').next(), Some("not valid YAML"));
        assert!(fault("a: &x [*x]").2.contains("contains it"));
        assert_eq!(fault("? [a]\n: 1").2, "a list or mapping cannot be a key");
        assert!(fault("%YAML 1.2\n---\na: 1").0 == 1);
    }

    #[test]
    fn bombs_are_refused_at_once() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for i in 1..12 {
            let refs = vec![format!("*a{}", i - 1); 9].join(", ");
            text += &format!("a{i}: &a{i} [{refs}]\n");
        }
        assert!(fault(&text).2.contains("more than 100000"));
        assert!(fault(&"[".repeat(100_000)).2.contains("not valid YAML"));
        assert!(fault(&"- ".repeat(100_000)).2.contains("not valid YAML"));
        let mut deep = String::from("a0: &a0 [x]\n");
        for i in 1..60 {
            deep += &format!("a{i}: &a{i} [*a{}]\n", i - 1);
        }
        assert!(fault(&deep).2.contains("deep"));
    }
}
