//! What a name in an expression stands for.
//!
//! Owns the link from a name to the axis, derived value or fixed setting behind it, made once per
//! block and not per point. Refuses names that stand for several places.

use super::axis::{Axis, FREE, Sort};
use super::base;
use super::explain;
use super::expr::{self, Expr, Value};
use super::fault::{Fault, Pos};
use super::keys::{self, Found, Path, Step};
use super::template;
use super::value;
use super::yaml::Node;
use crate::scenario::attributes::{self, Kind};
use serde_json::Value as Json;

/// Where a name's value comes from.
#[derive(Debug, Clone)]
pub(crate) enum Binding {
    /// The same at every point of the block.
    Fixed(Value),
    /// A member of an axis.
    Axis { axis: usize, member: usize },
    /// A derived value.
    Derived(usize),
    /// Below an axis over a part of the scenario: one value for each of the axis.
    Inside { axis: usize, values: Vec<Option<Value>> },
    /// A fixed list of which places vary.
    Patched { list: Vec<Value>, places: Vec<(usize, Binding)> },
}

/// An expression of the file.
#[derive(Debug)]
pub(crate) struct Rule {
    pub expr: Expr,
    pub at: Pos,
    /// The key it gives a value to, or its section.
    pub key: String,
}

impl Rule {
    /// Parses a scalar as an expression.
    pub fn parse(node: &Node, key: &str) -> Result<Rule, Fault> {
        let text = match &node.value {
            super::yaml::Tree::Scalar { text, .. } => text.clone(),
            super::yaml::Tree::Bool(b) => b.to_string(),
            _ => {
                return Err(Fault::new(
                    node.at,
                    key,
                    format!("`{}` is {}, not an expression", node.show(), node.kind()),
                )
                .help("an expression with `[`, `{`, `#` or `: ` in it needs quotes, and a line of its own"));
            }
        };
        let expr = expr::parse(&text).map_err(|e| Fault::new(node.at, key, e.to_string()))?;
        Ok(Rule { expr, at: node.at, key: key.to_owned() })
    }
}

/// A derived value.
#[derive(Debug)]
pub(crate) struct Derived {
    pub rule: Rule,
    pub paths: Vec<Path>,
    pub sort: Sort,
}

/// What names of one block are bound against.
pub(crate) struct Scope<'a> {
    pub axes: &'a [Axis],
    /// Which of the axes vary in this block.
    pub active: &'a [usize],
    pub derived: &'a [Derived],
    pub traffic: &'a [Node],
    /// The block's scenario, defaults filled in.
    pub json: &'a Json,
}

impl Scope<'_> {
    /// Binds every name of an expression.
    pub fn bind(&self, rule: &Rule) -> Result<Vec<(String, Binding)>, Fault> {
        let words = rule.expr.words();
        let mut bound = Vec::new();
        for name in rule.expr.names() {
            match self.name(name) {
                Ok(Some(binding)) => {
                    let binding = binding.narrowed(rule.expr.elements(name));
                    bound.push((name.to_owned(), binding));
                }
                Ok(None) | Err(_) if words.contains(&name) => {}
                Ok(None) => {
                    let message = format!("`{name}` has no value in `{}`", rule.expr.source());
                    return Err(Fault::new(rule.at, &rule.key, message)
                        .help("set it in `base` so that expressions can use it"));
                }
                Err((message, help)) => {
                    let message = format!("{message} (in `{}`)", rule.expr.source());
                    return Err(Fault::new(rule.at, &rule.key, message).maybe_help(help));
                }
            }
        }
        Ok(bound)
    }

    fn members(&self) -> impl Iterator<Item = (usize, usize, &super::axis::Member)> {
        self.active.iter().flat_map(|&axis| {
            self.axes[axis].members.iter().enumerate().map(move |(m, member)| (axis, m, member))
        })
    }

    fn name(&self, name: &str) -> Result<Option<Binding>, (String, Option<String>)> {
        if name.starts_with(FREE) {
            let axis = self.members().find(|(_, _, m)| m.written == name);
            if let Some((axis, member, _)) = axis {
                return Ok(Some(Binding::Axis { axis, member }));
            }
            return match self.derived.iter().position(|d| d.rule.key == name) {
                Some(i) => Ok(Some(Binding::Derived(i))),
                None => Err((
                    format!("`{name}` is neither an axis nor a derived value here"),
                    Some("an axis that a scenario drops has no value there".to_owned()),
                )),
            };
        }
        let paths = keys::resolve(name, self.traffic)?;
        match paths.as_slice() {
            [path] => Ok(self.path(path)),
            many => Err((
                format!("`{name}` stands for {} places", many.len()),
                Some(format!("write one, such as `{}`", many[0])),
            )),
        }
    }

    fn path(&self, path: &Path) -> Option<Binding> {
        if let Some((axis, member, _)) = self.members().find(|(_, _, m)| m.paths.contains(path)) {
            return Some(Binding::Axis { axis, member });
        }
        if let Some(i) = self.derived.iter().position(|d| d.paths.contains(path)) {
            return Some(Binding::Derived(i));
        }
        let Some(Found::Leaf(kind)) = keys::find(path) else { return None };
        if let Some((axis, above, m)) = self.members().find_map(|(axis, _, m)| {
            let above = m.paths.iter().find(|p| p.covers(path))?;
            Some((axis, above, m))
        }) {
            let below = Path(path.0[above.0.len()..].to_vec());
            let read = |json: &Json| match json.pointer(&base::pointer(&below)) {
                Some(json) => value::from_json(kind, json),
                None => default(path),
            };
            return Some(Binding::Inside { axis, values: m.json.iter().map(read).collect() });
        }
        let fixed = match template::get(self.json, path) {
            Some(json) if !json.is_null() => value::from_json(kind, json),
            _ => default(path),
        }?;
        let places = self.places(path);
        match fixed {
            Value::List(list) if !places.is_empty() => Some(Binding::Patched { list, places }),
            fixed => Some(Binding::Fixed(fixed)),
        }
    }

    /// The places of a list of values that vary on their own.
    fn places(&self, list: &Path) -> Vec<(usize, Binding)> {
        let place = |path: &Path| match path.0.split_last() {
            Some((Step::At(i), rest)) if rest == list.0 => Some(*i),
            _ => None,
        };
        let axes = self.members().flat_map(|(axis, member, m)| {
            m.paths.iter().filter_map(place).map(move |i| (i, Binding::Axis { axis, member }))
        });
        let derived = self.derived.iter().enumerate().flat_map(|(d, derived)| {
            derived.paths.iter().filter_map(place).map(move |i| (i, Binding::Derived(d)))
        });
        axes.chain(derived).collect()
    }
}

/// What the table of attributes says where a scenario leaves a key out.
fn default(path: &Path) -> Option<Value> {
    let attribute = attributes::all().iter().find(|a| explain::matches_path(a.path, path))?;
    match (attribute.kind, attribute.default?) {
        (Kind::Bool, text) => text.parse().ok().map(Value::Bool),
        (Kind::Eight(_) | Kind::List(_), _) => None,
        (kind, text) => {
            let read = expr::parse_quantity(text).ok()?;
            value::conform(kind, read).ok()
        }
    }
}

/// The values of one point, as bindings read them.
pub(crate) struct Values<'a> {
    pub axes: &'a [Axis],
    /// The place of each axis; those that do not vary in a block stand at 0 and are not read.
    pub digits: &'a [usize],
    /// As far as they are known.
    pub derived: &'a [Value],
}

impl Binding {
    /// The value at a point.
    pub fn get(&self, at: &Values<'_>) -> Option<Value> {
        match self {
            Binding::Fixed(value) => Some(value.clone()),
            Binding::Axis { axis, member } => {
                at.axes[*axis].members[*member].values.get(at.digits[*axis]).cloned()
            }
            Binding::Derived(i) => at.derived.get(*i).cloned(),
            Binding::Inside { axis, values } => values.get(at.digits[*axis])?.clone(),
            Binding::Patched { list, places } => {
                let mut list = list.clone();
                for (i, binding) in places {
                    *list.get_mut(*i)? = binding.get(at)?;
                }
                Some(Value::List(list))
            }
        }
    }

    /// The same for an expression that takes only these elements of a list (`None`: all of it):
    /// what the other places hold is neither looked up nor waited for, so that one place of a
    /// list may be derived from another.
    fn narrowed(self, elements: Option<Vec<usize>>) -> Binding {
        match (self, elements) {
            (Binding::Patched { list, mut places }, Some(elements)) => {
                places.retain(|(place, _)| elements.contains(place));
                Binding::Patched { list, places }
            }
            (binding, _) => binding,
        }
    }

    /// The derived values it needs.
    pub fn needs(&self) -> Vec<usize> {
        match self {
            Binding::Derived(i) => vec![*i],
            Binding::Patched { places, .. } => places.iter().flat_map(|(_, b)| b.needs()).collect(),
            _ => Vec::new(),
        }
    }
}

/// The order in which derived values can be computed: each after what it needs.
///
/// # Errors
/// The cycle, as places in `derived`.
pub(crate) fn order(needs: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; needs.len()];
    let mut order = Vec::with_capacity(needs.len());
    for start in 0..needs.len() {
        // An own stack: a chain of derived values may be as long as the file.
        let mut stack = if marks[start] == Mark::New { vec![(start, 0)] } else { Vec::new() };
        while let Some((node, next)) = stack.last_mut() {
            marks[*node] = Mark::Open;
            let Some(&need) = needs[*node].get(*next) else {
                marks[*node] = Mark::Done;
                order.push(*node);
                stack.pop();
                continue;
            };
            *next += 1;
            match marks[need] {
                Mark::Done => {}
                Mark::New => stack.push((need, 0)),
                Mark::Open => {
                    let from = stack.iter().position(|(n, _)| *n == need).unwrap_or(0);
                    let mut cycle: Vec<usize> = stack[from..].iter().map(|(n, _)| *n).collect();
                    cycle.push(need);
                    return Err(cycle);
                }
            }
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn derived_values_are_ordered_or_a_cycle_is_shown() {
        assert_eq!(order(&[vec![2], vec![], vec![1]]), Ok(vec![1, 2, 0]));
        assert_eq!(order(&[vec![1], vec![2], vec![1]]), Err(vec![1, 2, 1]));
        assert_eq!(order(&[vec![0]]), Err(vec![0, 0]));
        let chain: Vec<Vec<usize>> =
            (0..100_000).map(|i| if i > 0 { vec![i - 1] } else { vec![] }).collect();
        assert_eq!(order(&chain).map(|o| o.len()), Ok(100_000));
    }
}
