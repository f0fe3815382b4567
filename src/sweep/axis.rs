//! Axes: what one entry of `axes` varies, and over which values.
//!
//! Owns the forms an axis can have (list, `range`, `linspace`, `logspace`, `values`, `zip`,
//! `table`) and their exact values. Reading is apart from expanding, so that the size of a grid
//! is known, and refused, before any of its values exists. Refuses to combine axes: the grid
//! does.

use super::base;
use super::expr::Value;
use super::fault::{Fault, Pos, Sources, suggest};
use super::keys::{self, Branch, Found, Path, Step};
use super::layers::{mapping, texts};
use super::table;
use super::value;
use super::yaml::{Entry, Map, Node, Tree};
use crate::scenario::attributes::Kind;
use crate::units::Rational;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub, Signed, Zero};
use serde_json::Value as Json;

/// First part of the name of a free variable: it varies, but is no attribute.
pub(crate) const FREE: &str = "let.";

/// What a member's values are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sort {
    /// A free variable.
    Free,
    /// A single attribute.
    Leaf(Kind),
    /// A part of the scenario, such as `topology` or `traffic`.
    Inner(&'static Branch),
}

/// An axis as read, its values not yet made.
#[derive(Debug)]
pub(crate) struct Spec {
    /// Its key in `axes`.
    pub name: String,
    pub at: Pos,
    pub members: Vec<MemberSpec>,
    /// Number of values.
    pub len: u64,
}

/// One key an axis varies; a zip has several.
#[derive(Debug)]
pub(crate) struct MemberSpec {
    pub written: String,
    pub paths: Vec<Path>,
    pub sort: Sort,
    pub at: Pos,
    form: Form,
}

/// An axis with its values.
#[derive(Debug)]
pub(crate) struct Axis {
    pub name: String,
    pub members: Vec<Member>,
    pub len: usize,
}

/// One key and its values along the axis.
#[derive(Debug)]
pub(crate) struct Member {
    pub written: String,
    pub paths: Vec<Path>,
    pub sort: Sort,
    /// Made by the planner (the hash of a trace file): no column of its own.
    pub hidden: bool,
    pub values: Vec<Value>,
    /// The values as JSON of a scenario; empty for free variables.
    pub json: Vec<Json>,
    pub labels: Option<Vec<String>>,
    pub lints: Vec<String>,
}

#[derive(Debug)]
enum Form {
    Listed(Vec<(Option<String>, Node)>),
    /// `from + i · step`.
    Steps {
        from: Value,
        step: Rational,
        count: u64,
    },
    Spaced {
        from: Value,
        to: Value,
        count: u64,
        log: bool,
        snap: Snap,
    },
}

impl Form {
    fn len(&self) -> u64 {
        match self {
            Form::Listed(items) => items.len() as u64,
            Form::Steps { count, .. } | Form::Spaced { count, .. } => *count,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Snap {
    round: Option<Rational>,
    integer: bool,
}

const FORMS: &[&str] = &["range", "linspace", "logspace", "values", "zip", "table"];

/// What axes are read against.
pub(crate) struct Context<'a> {
    /// The `traffic` list that names and places refer to.
    pub traffic: &'a [Node],
    pub sources: &'a mut Sources,
}

/// Reads one entry of `axes`.
pub(crate) fn read(name: &str, entry: &Entry, cx: &mut Context<'_>) -> Result<Spec, Fault> {
    let at = entry.key_at;
    let members = match one_form(name, &entry.node)? {
        Some(("zip", body)) => {
            let map = mapping(body.clone(), name)?;
            map.iter()
                .filter(|(k, _)| !k.starts_with("x-"))
                .map(|(key, e)| zipped(name, key, e, cx))
                .collect::<Result<Vec<_>, _>>()?
        }
        Some(("table", body)) => from_table(name, body, cx)?,
        _ => vec![member(name, at, &entry.node, cx)?],
    };
    let Some(first) = members.first() else {
        return Err(Fault::new(at, name, "zips nothing")
            .help("write `zip: {key: [...], other: [...]}` with lists of one length"));
    };
    let len = first.form.len();
    if let Some(other) = members.iter().find(|m| m.form.len() != len) {
        let message = format!(
            "`{}` has {len} values and `{}` has {}: a zip takes them in step",
            first.written,
            other.written,
            other.form.len()
        );
        return Err(Fault::new(other.at, name, message).help("give both the same number of values"));
    }
    if len == 0 {
        return Err(Fault::new(at, name, "has no values").help("give one or remove the axis"));
    }
    Ok(Spec { name: name.to_owned(), at, members, len })
}

/// The form a node takes: `None` for a list, else its one key and what is under it.
fn one_form<'a>(key: &str, node: &'a Node) -> Result<Option<(&'a str, &'a Node)>, Fault> {
    match &node.value {
        Tree::List(_) => Ok(None),
        Tree::Map(map) => {
            if let Some(entry) = map.get("product") {
                return Err(Fault::new(entry.key_at, key, "`product` is not a form of an axis")
                    .help("the entries of `axes` are multiplied as they are; inside a `zip` write the combinations out, or use `table:`"));
            }
            for (form, entry) in map {
                if !FORMS.contains(&form.as_str()) {
                    return Err(Fault::new(
                        entry.key_at,
                        key,
                        format!("`{form}` is not a form of an axis"),
                    )
                    .maybe_help(suggest(form, FORMS)));
                }
            }
            match map.first() {
                Some((form, entry)) if map.len() == 1 => Ok(Some((form.as_str(), &entry.node))),
                _ => Err(Fault::new(node.at, key, "an axis has exactly one form")
                    .help("write a list, or one of `range`, `linspace`, `logspace`, `values`, `zip`, `table`")),
            }
        }
        _ => Err(Fault::new(
            node.at,
            key,
            format!("`{}` is {}, not a list of values", node.show(), node.kind()),
        )
        .help(format!("write `[{}]`, or move a fixed value to `base`", node.show()))),
    }
}

fn zipped(axis: &str, key: &str, entry: &Entry, cx: &mut Context<'_>) -> Result<MemberSpec, Fault> {
    if key == "product" {
        return Err(Fault::new(entry.key_at, axis, "a `product` inside a `zip` is not supported")
            .help("write the combinations out in the zip, or use `table: file.csv`"));
    }
    if let Some((form @ ("zip" | "table"), body)) = one_form(key, &entry.node)? {
        return Err(Fault::new(
            body.at,
            key,
            format!("a `{form}` inside a `zip` is not supported"),
        )
        .help("put its keys beside the others of the zip"));
    }
    member(key, entry.key_at, &entry.node, cx)
}

/// The places a key of an axis stands for, and what its values are.
pub(crate) fn target(key: &str, at: Pos, traffic: &[Node]) -> Result<(Vec<Path>, Sort), Fault> {
    if let Some(free) = key.strip_prefix(FREE) {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if free.is_empty() || !free.chars().all(word) {
            return Err(Fault::new(at, key, "is not a name: letters, digits and `_` after `let.`"));
        }
        return Ok((Vec::new(), Sort::Free));
    }
    let paths = keys::resolve(key, traffic).map_err(|(m, help)| {
        let help = help.map(|h| format!("{h} (a variable of your own is called `let.name`)"));
        Fault::new(at, key, m).maybe_help(help)
    })?;
    for path in &paths {
        refuse_recording(path, at, key)?;
    }
    match paths.first().and_then(keys::find) {
        Some(Found::Leaf(kind)) => Ok((paths, Sort::Leaf(kind))),
        Some(Found::Inner(branch)) => Ok((paths, Sort::Inner(branch))),
        None => Err(Fault::new(at, key, "is not an attribute")),
    }
}

/// What is recorded is not part of a job's identity, so it cannot differ between points.
pub(crate) fn refuse_recording(path: &Path, at: Pos, key: &str) -> Result<(), Fault> {
    let last = path.0.last();
    let is = |name: &str| last == Some(&Step::Key(name.to_owned()));
    if is("blake3") {
        return Err(Fault::new(at, key, "is filled in by the planner").help("vary `file`"));
    }
    if path.0.first() == Some(&Step::Key("record".into())) || is("BufferStatsReportInterval") {
        return Err(Fault::new(
            at,
            key,
            "says what is recorded, not what happens: it is one for all points",
        )
        .help("set it in `base`"));
    }
    Ok(())
}

fn member(key: &str, at: Pos, node: &Node, cx: &mut Context<'_>) -> Result<MemberSpec, Fault> {
    let (paths, sort) = target(key, at, cx.traffic)?;
    let form = match one_form(key, node)? {
        None => listed(node),
        Some(("values", body)) => match &body.value {
            Tree::List(_) => listed(body),
            Tree::Map(map) => Form::Listed(
                map.iter().map(|(label, e)| (Some(label.clone()), e.node.clone())).collect(),
            ),
            _ => {
                return Err(Fault::new(
                    body.at,
                    key,
                    "`values` takes a list, or labels with a value each",
                )
                .help("write `values: {small: 64KB, large: 1MB}`"));
            }
        },
        Some((form, body)) => spaced(key, form, body, sort)?,
    };
    Ok(MemberSpec { written: key.to_owned(), paths, sort, at, form })
}

fn listed(node: &Node) -> Form {
    match &node.value {
        Tree::List(items) => Form::Listed(items.iter().map(|n| (None, n.clone())).collect()),
        _ => Form::Listed(Vec::new()),
    }
}

/// `range`, `linspace` and `logspace`.
fn spaced(key: &str, form: &str, body: &Node, sort: Sort) -> Result<Form, Fault> {
    let map = mapping(body.clone(), key)?;
    let known: &[&str] = match form {
        "range" => &["from", "to", "step", "open"],
        _ => &["from", "to", "count", "round", "integer"],
    };
    for (name, entry) in &map {
        if !known.contains(&name.as_str()) {
            return Err(Fault::new(
                entry.key_at,
                key,
                format!("`{name}` is not a key of `{form}`"),
            )
            .maybe_help(suggest(name, known)));
        }
    }
    let need = |name: &str| -> Result<&Node, Fault> {
        map.get(name)
            .map(|e| &e.node)
            .ok_or_else(|| Fault::new(body.at, key, format!("`{form}` lacks `{name}`")))
    };
    let from = bound(key, need("from")?, sort)?;
    let to = bound(key, need("to")?, sort)?;
    same_dimension(key, body.at, form, &from, &to)?;
    let (low, high) = (amount(&from), amount(&to));
    if form == "range" {
        let node = need("step")?;
        let step = bound(key, node, sort)?;
        same_dimension(key, node.at, form, &from, &step)?;
        let open = flag(&map, "open", key)?;
        let step = amount(&step);
        let span = high.checked_sub(&low).ok_or_else(|| huge(key, body.at))?;
        if step.is_zero() || (step.is_negative() != span.is_negative() && !span.is_zero()) {
            return Err(Fault::new(node.at, key, "the step does not lead from `from` to `to`"));
        }
        let steps = span.checked_div(&step).ok_or_else(|| huge(key, body.at))?;
        if !open && !steps.is_integer() {
            return Err(Fault::new(node.at, key, format!("the steps do not land on `to` ({to})"))
                .help("change `to` or `step`, or write `open: true` to end before `to`"));
        }
        let count = u64::try_from(steps.to_integer()).ok().and_then(|n| n.checked_add(1));
        let count = count.ok_or_else(|| huge(key, body.at))?;
        return Ok(Form::Steps { from, step, count });
    }
    let node = need("count")?;
    let count = match value::read(Kind::Count, node, &format!("{key}: count"))? {
        Value::Number(r) => r.to_integer() as u64,
        _ => 0,
    };
    if count < 2 && (count == 0 || low != high) {
        return Err(Fault::new(node.at, key, format!("`{form}` needs a count of 2 or more"))
            .help("both ends are among the values"));
    }
    let log = form == "logspace";
    if log && !(low.is_positive() && high.is_positive()) {
        return Err(Fault::new(body.at, key, "`logspace` needs both ends above 0"));
    }
    let mut snap = Snap { round: None, integer: flag(&map, "integer", key)? };
    if let Some(entry) = map.get("round") {
        let round = bound(key, &entry.node, sort)?;
        same_dimension(key, entry.node.at, form, &from, &round)?;
        if !amount(&round).is_positive() {
            return Err(Fault::new(entry.node.at, key, "`round` must be above 0"));
        }
        snap.round = Some(amount(&round));
    }
    Ok(Form::Spaced { from, to, count, log, snap })
}

fn huge(key: &str, at: Pos) -> Fault {
    Fault::new(at, key, "the numbers are too large to count with")
}

fn flag(map: &Map, name: &str, key: &str) -> Result<bool, Fault> {
    match map.get(name) {
        None => Ok(false),
        Some(entry) => match entry.node.value {
            Tree::Bool(b) => Ok(b),
            _ => Err(Fault::new(entry.node.at, key, format!("`{name}` is `true` or `false`"))),
        },
    }
}

/// An end or a step: of the member's dimension, but not yet whole.
fn bound(key: &str, node: &Node, sort: Sort) -> Result<Value, Fault> {
    let read = match sort {
        Sort::Leaf(Kind::Count | Kind::Int | Kind::Number) => value::read(Kind::Number, node, key)?,
        // A step may be negative and an end may be no whole number, if `round` is to mend it.
        Sort::Leaf(kind @ (Kind::Bytes | Kind::Rate | Kind::Time)) => {
            match (kind, value::read_free(node, key)) {
                (Kind::Bytes, Ok(v @ Value::Bytes(_)))
                | (Kind::Rate, Ok(v @ Value::Rate(_)))
                | (Kind::Time, Ok(v @ Value::Time(_))) => v,
                _ => value::read(kind, node, key)?,
            }
        }
        Sort::Free => value::read_free(node, key)?,
        Sort::Leaf(_) | Sort::Inner(_) => {
            return Err(Fault::new(node.at, key, "only numbers and quantities can be spaced")
                .help("list the values"));
        }
    };
    match read {
        Value::Bool(_) | Value::Text(_) | Value::List(_) => {
            Err(Fault::new(node.at, key, format!("`{}` is not a number", node.show())))
        }
        number => Ok(number),
    }
}

fn same_dimension(key: &str, at: Pos, form: &str, a: &Value, b: &Value) -> Result<(), Fault> {
    if std::mem::discriminant(a) == std::mem::discriminant(b) {
        return Ok(());
    }
    Err(Fault::new(at, key, format!("`{form}` mixes units: {a} and {b}")))
}

/// The amount of a number or quantity, in base units.
pub(crate) fn amount(value: &Value) -> Rational {
    match value {
        Value::Number(r) | Value::Bytes(r) | Value::Rate(r) | Value::Time(r) => *r,
        _ => Rational::zero(),
    }
}

fn with_amount(like: &Value, r: Rational) -> Value {
    match like {
        Value::Bytes(_) => Value::Bytes(r),
        Value::Rate(_) => Value::Rate(r),
        Value::Time(_) => Value::Time(r),
        _ => Value::Number(r),
    }
}

fn from_table(axis: &str, body: &Node, cx: &mut Context<'_>) -> Result<Vec<MemberSpec>, Fault> {
    let named = texts(body, axis)?;
    let [(file, at)] = named.as_slice() else {
        return Err(Fault::new(body.at, axis, "`table` takes one file name"));
    };
    let columns = table::read(file, *at, axis, cx.sources)?;
    let mut members = Vec::with_capacity(columns.len());
    for column in columns {
        let (paths, sort) = target(&column.key, column.at, cx.traffic)?;
        let form = Form::Listed(column.cells.into_iter().map(|c| (None, c)).collect());
        members.push(MemberSpec { written: column.key, paths, sort, at: column.at, form });
    }
    Ok(members)
}

impl Spec {
    /// Makes the values.
    pub fn expand(self, sources: &Sources) -> Result<Axis, Fault> {
        let mut members = Vec::with_capacity(self.members.len());
        for spec in self.members {
            let hash = trace_hashes(&spec, sources)?;
            members.push(spec.expand(sources)?);
            members.extend(hash);
        }
        Ok(Axis { name: self.name, members, len: self.len as usize })
    }
}

impl MemberSpec {
    fn expand(self, sources: &Sources) -> Result<Member, Fault> {
        let key = self.written.as_str();
        let mut values = Vec::with_capacity(self.form.len() as usize);
        let mut json = Vec::new();
        let mut lints = Vec::new();
        let mut labels = None;
        match &self.form {
            Form::Listed(items) => {
                labels = items.iter().map(|(label, _)| label.clone()).collect::<Option<Vec<_>>>();
                for (i, (label, node)) in items.iter().enumerate() {
                    lints.extend(value::binary_lint(node, key));
                    values.push(match self.sort {
                        Sort::Free => value::read_free(node, key)?,
                        Sort::Leaf(kind) => value::read(kind, node, key)?,
                        Sort::Inner(branch) => {
                            let path = self.paths.first().cloned().unwrap_or_default();
                            json.push(base::read_part(node, branch, &path, sources)?);
                            Value::Text(label.clone().unwrap_or_else(|| format!("{i}")))
                        }
                    });
                    if let (Sort::Leaf(Kind::Text), Some(at)) = (self.sort, trace_path(&self.paths))
                    {
                        let Some(Value::Text(file)) = values.last_mut() else { continue };
                        *file = base::trace_file(file, node.at, &at.to_string(), sources)?.0;
                    }
                }
                if matches!(self.sort, Sort::Free)
                    && let Some(odd) = values
                        .iter()
                        .find(|v| std::mem::discriminant(*v) != std::mem::discriminant(&values[0]))
                {
                    return Err(Fault::new(
                        self.at,
                        key,
                        format!("mixes kinds of values: {} and {odd}", values[0]),
                    ));
                }
            }
            Form::Steps { from, step, count } => {
                for i in 0..*count {
                    let r = Rational::from_integer(i128::from(i))
                        .checked_mul(step)
                        .and_then(|r| r.checked_add(&amount(from)))
                        .ok_or_else(|| huge(key, self.at))?;
                    values.push(self.conform(with_amount(from, r))?);
                }
            }
            Form::Spaced { from, to, count, log, snap } => {
                for i in 0..*count {
                    let (low, high) = (amount(from), amount(to));
                    let r = if i == 0 {
                        Some(low)
                    } else if i + 1 == *count {
                        Some(high)
                    } else if *log {
                        log_step(&low, &high, i, *count - 1)
                    } else {
                        lin_step(&low, &high, i, *count - 1)
                    };
                    let r = r.and_then(|r| snap.apply(r)).ok_or_else(|| huge(key, self.at))?;
                    values.push(self.conform(with_amount(from, r))?);
                }
            }
        }
        if let Sort::Leaf(kind) = self.sort {
            json = values.iter().map(|v| value::json(kind, v)).collect();
        }
        let (written, paths, sort) = (self.written, self.paths, self.sort);
        Ok(Member { written, paths, sort, hidden: false, values, json, labels, lints })
    }

    fn conform(&self, value: Value) -> Result<Value, Fault> {
        let Sort::Leaf(kind) = self.sort else { return Ok(value) };
        value::conform(kind, value).map_err(|(message, _)| {
            Fault::new(self.at, &self.written, message)
                .help("choose other ends, or add `integer: true` or `round: …` to take the nearest")
        })
    }
}

impl Snap {
    /// The nearest allowed value, halves up.
    fn apply(&self, r: Rational) -> Option<Rational> {
        let unit = match (self.round, self.integer) {
            (Some(unit), _) => unit,
            (None, true) => Rational::from_integer(1),
            (None, false) => return Some(r),
        };
        let half = Rational::new(1, 2);
        let steps = r.checked_div(&unit)?.checked_add(&half)?.floor();
        let snapped = steps.checked_mul(&unit)?;
        let whole = Rational::from_integer(1);
        Some(if self.integer { snapped.checked_add(&half)?.floor() * whole } else { snapped })
    }
}

fn lin_step(low: &Rational, high: &Rational, i: u64, last: u64) -> Option<Rational> {
    let share = Rational::new(i128::from(i), i128::from(last));
    high.checked_sub(low)?.checked_mul(&share)?.checked_add(low)
}

/// Rounded to 12 significant digits, so that the last bits of a logarithm cannot change an
/// identity.
fn log_step(low: &Rational, high: &Rational, i: u64, last: u64) -> Option<Rational> {
    let (a, b) = (value::float(low), value::float(high));
    let r = libm::exp(libm::log(a) + (libm::log(b) - libm::log(a)) * (i as f64 / last as f64));
    value::decimal(&format!("{r:.11e}"))
}

/// The first path if the member names the file of a trace.
fn trace_path(paths: &[Path]) -> Option<&Path> {
    let path = paths.first()?;
    match path.0.as_slice() {
        [Step::Key(traffic), Step::At(_), Step::Key(file)]
            if traffic == "traffic" && file == "file" =>
        {
            Some(path)
        }
        _ => None,
    }
}

/// The hashes that go with the files of traces.
fn trace_hashes(spec: &MemberSpec, sources: &Sources) -> Result<Option<Member>, Fault> {
    let Form::Listed(items) = &spec.form else { return Ok(None) };
    if trace_path(&spec.paths).is_none() {
        return Ok(None);
    }
    let mut values = Vec::new();
    for (_, node) in items {
        let Value::Text(file) = value::read(Kind::Text, node, &spec.written)? else { continue };
        values.push(Value::Text(base::trace_file(&file, node.at, &spec.written, sources)?.1));
    }
    let paths: Vec<Path> =
        spec.paths.iter().map(|p| Path(p.0[..p.0.len() - 1].to_vec()).key("blake3")).collect();
    Ok(Some(Member {
        written: format!("{}: hash", spec.written),
        paths,
        sort: Sort::Leaf(Kind::Text),
        hidden: true,
        json: values.iter().map(|v| value::json(Kind::Text, v)).collect(),
        values,
        labels: None,
        lints: Vec::new(),
    }))
}
