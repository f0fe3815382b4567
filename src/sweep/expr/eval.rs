//! Walking the tree.

use super::Expr;
use super::ast::{Node, Operator, Shape};
use super::compute;
use super::error::ExprError;
use super::value::Value;
use std::cmp::Ordering;

/// Errors are boxed while they travel: a result of the walk stays as small as a value.
type Walked<T> = Result<T, Box<ExprError>>;

pub(super) struct Walk<'a> {
    pub expr: &'a Expr,
    pub lookup: &'a dyn Fn(&str) -> Option<Value>,
}

impl Walk<'_> {
    pub(super) fn value(&self, node: &Node) -> Walked<Value> {
        match &node.shape {
            Shape::Literal(value) => Ok(value.clone()),
            Shape::Name(index) => {
                let name = &self.expr.names[*index];
                (self.lookup)(name).ok_or_else(|| {
                    self.fail(
                        format!(
                            "`{name}` is not a known name; if a word is meant, write it in quotes"
                        ),
                        node,
                    )
                })
            }
            Shape::List(items) => {
                items.iter().map(|item| self.value(item)).collect::<Walked<_>>().map(Value::List)
            }
            Shape::Index(pair) => {
                let (list, index) = (self.value(&pair[0])?, self.value(&pair[1])?);
                compute::element(&list, &index).map_err(|message| self.fail(message, node))
            }
            Shape::Not(inner) => Ok(Value::Bool(!self.truth(inner, "`not`")?)),
            Shape::Negate(inner) => {
                let value = self.value(inner)?;
                compute::negate(&value).map_err(|message| self.fail(message, node))
            }
            Shape::Operation(operator, pair) => self.operation(*operator, pair, node),
            Shape::If(triple) => {
                let [condition, then, otherwise] = triple.as_ref();
                if self.truth(condition, "the condition of `if`")? {
                    self.value(then)
                } else {
                    self.value(otherwise)
                }
            }
            Shape::Call(function, arguments) => {
                let values = arguments
                    .iter()
                    .map(|argument| self.value(argument))
                    .collect::<Walked<Vec<_>>>()?;
                compute::call(*function, &values).map_err(|message| self.fail(message, node))
            }
        }
    }

    fn operation(&self, operator: Operator, pair: &[Node; 2], node: &Node) -> Walked<Value> {
        let [left, right] = pair;
        let fail = |message: String| self.fail(message, node);
        let truth = match operator {
            Operator::And => self.truth(left, "`and`")? && self.truth(right, "`and`")?,
            Operator::Or => self.truth(left, "`or`")? || self.truth(right, "`or`")?,
            Operator::Equal | Operator::NotEqual => {
                let left = self.value(left)?;
                let right = self.value_or_word(right, &left)?;
                let equal = compute::equal(operator, &left, &right).map_err(fail)?;
                equal == (operator == Operator::Equal)
            }
            Operator::In => {
                let left = self.value(left)?;
                self.member(&left, right, node)?
            }
            Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let order = compute::order(operator, &left, &right).map_err(fail)?;
                match operator {
                    Operator::Less => order == Ordering::Less,
                    Operator::LessEqual => order != Ordering::Greater,
                    Operator::Greater => order == Ordering::Greater,
                    _ => order != Ordering::Less,
                }
            }
            Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                return compute::arithmetic(operator, &left, &right).map_err(fail);
            }
        };
        Ok(Value::Bool(truth))
    }

    /// Whether `value` is in the list `node` comes to. All elements are looked at, so that one of
    /// another kind is found wherever it stands.
    fn member(&self, value: &Value, list: &Node, node: &Node) -> Walked<bool> {
        let items = match &list.shape {
            Shape::List(items) => items
                .iter()
                .map(|item| self.value_or_word(item, value))
                .collect::<Walked<Vec<_>>>()?,
            _ => match self.value(list)? {
                Value::List(items) => items,
                other => {
                    let message = format!(
                        "`in` needs a list on its right: this is a {}",
                        other.dimension_name()
                    );
                    return Err(self.fail(message, list));
                }
            },
        };
        let mut found = false;
        for item in &items {
            found |= compute::equal(Operator::In, value, item)
                .map_err(|message| self.fail(message, node))?;
        }
        Ok(found)
    }

    /// The value of `node`; a bare word that is no name stands for itself beside a word.
    fn value_or_word(&self, node: &Node, beside: &Value) -> Walked<Value> {
        match (&node.shape, beside) {
            (Shape::Name(index), Value::Text(_)) => {
                let name = &self.expr.names[*index];
                match (self.lookup)(name) {
                    Some(value) => Ok(value),
                    None if is_word(name) => Ok(Value::Text(name.clone())),
                    None => self.value(node),
                }
            }
            _ => self.value(node),
        }
    }

    fn truth(&self, node: &Node, what: &str) -> Walked<bool> {
        match self.value(node)? {
            Value::Bool(truth) => Ok(truth),
            other => Err(self.fail(
                format!(
                    "{what} needs a truth value, such as a comparison: this is a {}",
                    other.dimension_name()
                ),
                node,
            )),
        }
    }

    fn fail(&self, message: String, node: &Node) -> Box<ExprError> {
        Box::new(ExprError::new(message, node.at.range(), &self.expr.source))
    }
}

/// Whether a name may stand for itself: dots and indices make it a path.
pub(super) fn is_word(name: &str) -> bool {
    !name.contains(['.', '['])
}
