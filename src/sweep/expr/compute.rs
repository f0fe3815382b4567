//! What operators and functions do to values; dimensions are checked here.

use super::arith;
use super::ast::{Function, Operator};
use super::value::{Kind, Value};
use crate::units::{Dimension, Rational};
use std::cmp::Ordering;

/// Picoseconds in a second times bits in a byte: what links bytes, bits per second and
/// picoseconds.
const BIT_PS_PER_BYTE_SECOND: i128 = 8_000_000_000_000;

const BYTES: Kind = Kind::Quantity(Dimension::Bytes);
const RATE: Kind = Kind::Quantity(Dimension::Rate);
const TIME: Kind = Kind::Quantity(Dimension::Time);

fn too_large() -> String {
    "the result is too large to be kept exact".into()
}

fn link() -> Rational {
    Rational::from_integer(BIT_PS_PER_BYTE_SECOND)
}

/// The amounts of two values that have one.
fn amounts(
    operator: Operator,
    left: &Value,
    right: &Value,
) -> Result<(Rational, Rational), String> {
    match (left.amount(), right.amount()) {
        (Some(a), Some(b)) => Ok((a, b)),
        _ => Err(mismatch(operator, left, right)),
    }
}

fn mismatch(operator: Operator, left: &Value, right: &Value) -> String {
    let (a, b) = (left.kind(), right.kind());
    let word = operator.spelling();
    if a == b {
        return format!("`{word}` has no meaning between two values of the kind {}", a.name());
    }
    let hint = match (a, b) {
        (Kind::Number, Kind::Quantity(_)) | (Kind::Quantity(_), Kind::Number)
            if !matches!(operator, Operator::Multiply | Operator::Divide) =>
        {
            ": write the number with its unit"
        }
        _ => "",
    };
    format!("`{word}` between a {} and a {}{hint}", a.name(), b.name())
}

/// `+ - * /`.
pub(super) fn arithmetic(operator: Operator, left: &Value, right: &Value) -> Result<Value, String> {
    let (a, b) = amounts(operator, left, right)?;
    let (kind, amount) = match operator {
        Operator::Multiply => product(a, b, left.kind(), right.kind()),
        Operator::Divide => {
            let quotient = quotient(a, b, left.kind(), right.kind());
            if quotient.is_some() && *b.numer() == 0 {
                return Err("division by zero".into());
            }
            quotient
        }
        _ if left.kind() != right.kind() => None,
        Operator::Add => Some((left.kind(), arith::add(a, b))),
        Operator::Subtract => Some((left.kind(), arith::subtract(a, b))),
        _ => None,
    }
    .ok_or_else(|| mismatch(operator, left, right))?;
    let amount = amount.ok_or_else(too_large)?;
    kind.with(amount).ok_or_else(|| mismatch(operator, left, right))
}

/// Kind and amount of a product; `None` if the kinds do not multiply.
fn product(a: Rational, b: Rational, left: Kind, right: Kind) -> Option<(Kind, Option<Rational>)> {
    match (left, right) {
        (Kind::Number, kind) | (kind, Kind::Number) => Some((kind, arith::multiply(a, b))),
        (RATE, TIME) | (TIME, RATE) => {
            Some((BYTES, arith::multiply(a, b).and_then(|bits| arith::divide(bits, link()))))
        }
        _ => None,
    }
}

/// Kind and amount of a quotient; `None` if the kinds do not divide.
fn quotient(a: Rational, b: Rational, left: Kind, right: Kind) -> Option<(Kind, Option<Rational>)> {
    match (left, right) {
        (kind, Kind::Number) => Some((kind, arith::divide(a, b))),
        (left, right) if left == right => Some((Kind::Number, arith::divide(a, b))),
        (BYTES, RATE) => Some((TIME, linked(a, b))),
        (BYTES, TIME) => Some((RATE, linked(a, b))),
        _ => None,
    }
}

fn linked(bytes: Rational, per: Rational) -> Option<Rational> {
    arith::multiply(bytes, link()).and_then(|bits| arith::divide(bits, per))
}

/// `== !=`, `in`: whether two values of one kind are equal.
pub(super) fn equal(operator: Operator, left: &Value, right: &Value) -> Result<bool, String> {
    match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        (Value::Text(a), Value::Text(b)) => Ok(a == b),
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b) {
                if !equal(operator, a, b)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(order(operator, left, right)? == Ordering::Equal),
    }
}

/// How two quantities of one kind compare.
pub(super) fn order(operator: Operator, left: &Value, right: &Value) -> Result<Ordering, String> {
    if left.kind() != right.kind() {
        return Err(mismatch(operator, left, right));
    }
    let (a, b) = amounts(operator, left, right)?;
    Ok(arith::compare(a, b))
}

pub(super) fn negate(value: &Value) -> Result<Value, String> {
    same_kind(value, "`-`", arith::negate)
}

/// Applies `f` to the amount of a number or quantity.
fn same_kind(
    value: &Value,
    what: &str,
    f: impl FnOnce(Rational) -> Option<Rational>,
) -> Result<Value, String> {
    let kind = value.kind();
    let amount = value
        .amount()
        .ok_or_else(|| format!("{what} needs a number or a quantity: this is a {}", kind.name()))?;
    let result = f(amount).ok_or_else(too_large)?;
    kind.with(result).ok_or_else(too_large)
}

/// The element of a list.
/// The place an index means, if it is a whole number of 0 or more.
pub(super) fn position(index: &Value) -> Option<usize> {
    match index {
        Value::Number(number) if *number.denom() == 1 => usize::try_from(*number.numer()).ok(),
        _ => None,
    }
}

pub(super) fn element(list: &Value, index: &Value) -> Result<Value, String> {
    let Value::List(items) = list else {
        return Err(format!("only a list has elements: this is a {}", list.dimension_name()));
    };
    if !matches!(index, Value::Number(_)) {
        return Err(format!("an index is a number: this is a {}", index.dimension_name()));
    }
    match position(index).and_then(|position| items.get(position)) {
        Some(item) => Ok(item.clone()),
        None if items.is_empty() => Err("the list is empty".into()),
        None => Err(format!(
            "there is no element {index}: the list has {} elements, 0 to {}",
            items.len(),
            items.len() - 1
        )),
    }
}

pub(super) fn call(function: Function, arguments: &[Value]) -> Result<Value, String> {
    let name = function.name();
    let what = format_args!("`{name}`");
    match (function, arguments) {
        (Function::Min, _) => extreme(function, arguments, Ordering::Less),
        (Function::Max, _) => extreme(function, arguments, Ordering::Greater),
        (Function::Sum, _) => total(arguments),
        (Function::Len, [Value::List(items)]) => {
            // A list's length fits easily.
            Ok(Value::integer(items.len() as i128))
        }
        (Function::Len, [other]) => {
            Err(format!("`len` needs a list: this is a {}", other.dimension_name()))
        }
        (Function::Abs, [value]) => same_kind(value, &what.to_string(), arith::absolute),
        (_, [value]) => same_kind(value, &what.to_string(), |a| to_whole(function, a)),
        (_, [value, step]) => snap(function, value, step),
        _ => Err(format!("write {}", function.usage())),
    }
}

fn to_whole(function: Function, amount: Rational) -> Option<Rational> {
    match function {
        Function::Floor => Some(arith::floor(amount)),
        Function::Ceil => arith::ceil(amount),
        _ => arith::round(amount),
    }
}

/// To a multiple of a step: `round(100KB, 208B)`.
fn snap(function: Function, value: &Value, step: &Value) -> Result<Value, String> {
    let (kind, name) = (value.kind(), function.name());
    let (Some(amount), Some(size)) = (value.amount(), step.amount()) else {
        return Err(format!("`{name}` needs numbers or quantities"));
    };
    if kind != step.kind() {
        return Err(format!(
            "`{name}` of a {} in steps of a {}: both have to be of one kind",
            kind.name(),
            step.dimension_name()
        ));
    }
    if *size.numer() <= 0 {
        return Err(format!("the step of `{name}` has to be larger than zero: it is {step}"));
    }
    arith::divide(amount, size)
        .and_then(|steps| to_whole(function, steps))
        .and_then(|steps| arith::multiply(steps, size))
        .and_then(|amount| kind.with(amount))
        .ok_or_else(too_large)
}

/// The values a function of many goes over: its arguments, or those of its one list.
fn many(arguments: &[Value]) -> &[Value] {
    match arguments {
        [Value::List(items)] => items,
        arguments => arguments,
    }
}

fn extreme(function: Function, arguments: &[Value], wanted: Ordering) -> Result<Value, String> {
    let name = function.name();
    let Some((first, others)) = many(arguments).split_first() else {
        return Err(format!("`{name}` of an empty list"));
    };
    let mut best = first;
    for value in std::iter::once(first).chain(others) {
        let (Some(a), Some(b)) = (value.amount(), best.amount()) else {
            return Err(format!(
                "`{name}` needs numbers or quantities: there is a {}",
                value.dimension_name()
            ));
        };
        if value.kind() != best.kind() {
            return Err(format!(
                "`{name}` needs values of one kind: there are a {} and a {}",
                best.dimension_name(),
                value.dimension_name()
            ));
        }
        if arith::compare(a, b) == wanted {
            best = value;
        }
    }
    Ok(best.clone())
}

fn total(arguments: &[Value]) -> Result<Value, String> {
    let Some((first, others)) = many(arguments).split_first() else {
        return Err("`sum` of an empty list: it would have no unit".into());
    };
    if first.amount().is_none() {
        return Err(format!(
            "`sum` needs numbers or quantities: there is a {}",
            first.dimension_name()
        ));
    }
    others.iter().try_fold(first.clone(), |sum, value| {
        arithmetic(Operator::Add, &sum, value).map_err(|message| format!("in `sum`: {message}"))
    })
}
