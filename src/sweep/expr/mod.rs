//! The sweep file's expression language.
//!
//! Owns scalars with units and the expressions of `derived`, `constraints` and `checks`: their
//! grammar, their exact arithmetic and the check of their dimensions. Refuses to know any name:
//! whoever evaluates an expression says what names stand for.
//!
//! ```
//! use poolsweep::sweep::expr::{self, Value};
//!
//! let rule = expr::parse("HeadRoomPerPortLimit * topology.hosts <= 16MB * 0.5").unwrap();
//! let holds = rule.eval(&|name| match name {
//!     "HeadRoomPerPortLimit" => expr::parse_quantity("256KB").ok(),
//!     "topology.hosts" => Some(Value::integer(33)),
//!     _ => None,
//! });
//! assert_eq!(holds, Ok(Value::Bool(false)));
//! ```
//!
//! # The language
//!
//! Loosest first; what stands on one line groups from the left, except that comparisons do not
//! chain:
//!
//! | | |
//! |---|---|
//! | `or` | truth values; the right side is not looked at if the left decides |
//! | `and` | likewise |
//! | `not` | |
//! | `==` `!=` `<` `<=` `>` `>=` `in` `not in` | two values of one kind; `in` a list |
//! | `+` `-` | two values of one kind |
//! | `*` `/` | see below |
//! | `-` | in front of a value |
//! | `list[index]` | from 0 |
//!
//! Values are numbers (`3`, `0.5`, `1e-6`), quantities (`64KB`, `400Gbps`, `500ns`; no space
//! before the unit), `true`, `false`, words in single or double quotes (no escapes), lists
//! (`[a, b]`), names, and calls: `if(condition, then, else)`, of which only the chosen side is
//! looked at; `min`, `max`, `sum` of values or of one list; `abs`; `floor`, `ceil` and `round`
//! (halves up) to whole base units, or to a multiple of a second value (`round(x, 208B)`); `len`
//! of a list. A fraction such as `1/8` is a division, and exact.
//!
//! **Names** may have dots (`topology.hosts`). An index belongs to the name where a key follows
//! (`traffic[0].bytes` is one name); at the end it takes an element (`PoolAllocationMap[0]` asks
//! for `PoolAllocationMap`).
//!
//! **Words.** On the right of `==` and `!=`, and in a list on the right of `in`, a plain name
//! nobody knows stands for itself if a word stands on the left: `switch.model == scala`. On the
//! left it is an error, so that a mistyped name cannot compare unequal in silence.
//!
//! **Dimensions.** A number times or over a quantity keeps its dimension (a number over a
//! quantity has none we know, and is an error); a quantity over one of its own dimension is a
//! number. Rates are in bits and sizes in bytes, so the factor of 8 is applied where they meet:
//! rate × time = bytes, bytes ÷ time = rate, bytes ÷ rate = time. Everything else is an error:
//! a count of bytes plus a time, or plus a bare number.
//!
//! **Exactness.** Amounts are fractions of 128-bit integers; what does not fit is an error, never
//! a rounding.

mod arith;
mod ast;
mod compute;
mod error;
mod eval;
mod lexer;
mod parser;
mod quantity;
mod value;

pub use error::ExprError;
pub use quantity::parse_quantity;
pub use value::Value;

use ast::{Node, Operator, Printer, Shape, level};
use std::fmt;
use std::sync::Arc;

/// Longest expression, in bytes.
pub const MAX_LEN: usize = 8192;

/// Most operations, brackets and parentheses inside each other. A sum of `n` terms counts as
/// `n`.
pub const MAX_DEPTH: usize = 200;

/// A parsed expression. Cheap to clone; may be evaluated from many threads at once.
///
/// Displays with the fewest parentheses that read back as the same expression.
#[derive(Debug, Clone)]
pub struct Expr {
    source: Arc<str>,
    names: Arc<[String]>,
    tree: Arc<Node>,
}

/// Parses an expression.
///
/// # Errors
///
/// An [`ExprError`] that points at the first thing that is not of the language, or at the place
/// where [`MAX_LEN`] or [`MAX_DEPTH`] is exceeded.
pub fn parse(source: &str) -> Result<Expr, ExprError> {
    let (tree, names) = parser::parse(source)?;
    Ok(Expr { source: source.into(), names: names.into(), tree: Arc::new(tree) })
}

impl Expr {
    /// The names in it, each once, in order of appearance; words without quotes included.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    /// Those of its names that stand only where a word may: a name not among these has to be
    /// known when the expression is evaluated.
    #[must_use]
    pub fn words(&self) -> Vec<&str> {
        let mut needed = vec![false; self.names.len()];
        mark_needed(&self.tree, false, &mut needed);
        self.names
            .iter()
            .zip(needed)
            .filter(|(name, needed)| !needed && eval::is_word(name))
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// The elements it takes of a list it calls `name`; `None` if it looks at the list in any other
    /// way than by fixed indices, such as `sum(name)` or `name[n]`.
    #[must_use]
    pub fn elements(&self, name: &str) -> Option<Vec<usize>> {
        let mut taken = Vec::new();
        let index = self.names.iter().position(|n| n == name)?;
        only_elements(&self.tree, index, &mut taken).then_some(taken)
    }

    /// The text it was parsed from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its value, given what names stand for.
    ///
    /// `lookup` may be asked for a name more than once, and is not asked for names on a side that
    /// is not looked at.
    ///
    /// # Errors
    ///
    /// An [`ExprError`] that points at the operator whose sides do not go together, the name that
    /// is not known, a division by zero, or a result too large to be exact.
    pub fn eval(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Result<Value, ExprError> {
        let walk = eval::Walk { expr: self, lookup };
        walk.value(&self.tree).map_err(|error| *error)
    }
}

/// Whether a name stands only where a fixed index takes an element of it; collects the indices.
fn only_elements(node: &Node, name: usize, taken: &mut Vec<usize>) -> bool {
    match &node.shape {
        Shape::Literal(_) => true,
        Shape::Name(index) => *index != name,
        Shape::Index(pair) => match (&pair[0].shape, &pair[1].shape) {
            (Shape::Name(index), Shape::Literal(at)) if *index == name => {
                let place = compute::position(at);
                taken.extend(place);
                place.is_some()
            }
            _ => pair.iter().all(|node| only_elements(node, name, taken)),
        },
        Shape::Not(inner) | Shape::Negate(inner) => only_elements(inner, name, taken),
        Shape::Operation(_, pair) => pair.iter().all(|node| only_elements(node, name, taken)),
        Shape::If(triple) => triple.iter().all(|node| only_elements(node, name, taken)),
        Shape::List(nodes) | Shape::Call(_, nodes) => {
            nodes.iter().all(|node| only_elements(node, name, taken))
        }
    }
}

/// Marks the names that stand somewhere a word may not.
fn mark_needed(node: &Node, word_place: bool, needed: &mut [bool]) {
    match &node.shape {
        Shape::Literal(_) => {}
        Shape::Name(index) => needed[*index] |= !word_place,
        Shape::List(nodes) | Shape::Call(_, nodes) => {
            for node in nodes {
                mark_needed(node, false, needed);
            }
        }
        Shape::Not(inner) | Shape::Negate(inner) => mark_needed(inner, false, needed),
        Shape::Index(pair) => {
            mark_needed(&pair[0], false, needed);
            mark_needed(&pair[1], false, needed);
        }
        Shape::If(triple) => {
            for node in triple.iter() {
                mark_needed(node, false, needed);
            }
        }
        Shape::Operation(operator, pair) => {
            mark_needed(&pair[0], false, needed);
            match (operator, &pair[1].shape) {
                (Operator::In, Shape::List(items)) => {
                    for item in items {
                        mark_needed(item, true, needed);
                    }
                }
                (operator, _) => {
                    let word = matches!(operator, Operator::Equal | Operator::NotEqual);
                    mark_needed(&pair[1], word, needed);
                }
            }
        }
    }
}

/// Two expressions are equal if they are the same operations on the same values; spacing and
/// needless parentheses do not count.
impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names && self.tree == other.tree
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printer = Printer { source: &self.source, names: &self.names };
        printer.write(f, &self.tree, level::OR)
    }
}

#[cfg(test)]
mod tests;
