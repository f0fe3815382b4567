//! Typed values: from a YAML scalar to an exact value to JSON in base units.
//!
//! Owns the check of a value against the kind of its key, in both directions: what a file says
//! becomes an exact [`Value`], and a [`Value`] (from the file or from an expression) becomes the
//! JSON a scenario is built from. Refuses to judge ranges: a readable value that a switch would
//! not take makes the point infeasible, which is for `scenario::check` to say.

use super::expr::{self, Value};
use super::fault::{Fault, suggest};
use super::yaml::{Node, Tree};
use crate::scenario::attributes::Kind;
use crate::units::Rational;
use num_traits::Signed;
use serde_json::Value as Json;

/// Reads a node as a value of a kind.
pub(crate) fn read(kind: Kind, node: &Node, key: &str) -> Result<Value, Fault> {
    let fault = |message: String| Fault::new(node.at, key, message);
    match (kind, &node.value) {
        (Kind::Eight(inner), Tree::List(items)) => {
            if items.len() != 8 {
                let n = items.len();
                return Err(fault(format!("has {n} values, needs 8"))
                    .help("one value for each class or pool, 0 to 7"));
            }
            list(*inner, items, key)
        }
        (Kind::List(inner), Tree::List(items)) => list(*inner, items, key),
        (Kind::Eight(_) | Kind::List(_), _) => {
            Err(fault(format!("{} is {}, not a list", node.show(), node.kind()))
                .help(format!("write a list such as [{}]", example(kind))))
        }
        (Kind::Bool, Tree::Bool(b)) => Ok(Value::Bool(*b)),
        (Kind::Bool, _) => Err(fault(format!("`{}` is not a boolean", node.show()))
            .help("write `true` or `false`, without quotes")),
        (Kind::Text, Tree::Scalar { text, .. }) => Ok(Value::Text(text.clone())),
        (Kind::Enum(words), Tree::Scalar { text, .. }) => {
            if words.contains(&text.as_str()) {
                return Ok(Value::Text(text.clone()));
            }
            Err(fault(format!("`{text}` is none of its words")).maybe_help(suggest(text, words)))
        }
        (_, Tree::Scalar { text, quoted: false }) => {
            let value = scalar(text).map_err(|m| fault(m.0).maybe_help(m.1))?;
            conform(kind, value).map_err(|(m, help)| fault(m).maybe_help(help))
        }
        (_, Tree::Scalar { text, quoted: true }) => {
            Err(fault(format!("'{text}' is a text, not {}", name(kind))).help("remove the quotes"))
        }
        _ => Err(fault(format!("`{}` is {}, not {}", node.show(), node.kind(), name(kind)))
            .help(format!("write a value such as `{}`", example(kind)))),
    }
}

fn list(inner: Kind, items: &[Node], key: &str) -> Result<Value, Fault> {
    let read_one = |(i, item): (usize, &Node)| read(inner, item, &format!("{key}[{i}]"));
    Ok(Value::List(items.iter().enumerate().map(read_one).collect::<Result<_, _>>()?))
}

/// Reads a node without a kind: what a free variable (`let.name`) may hold.
pub(crate) fn read_free(node: &Node, key: &str) -> Result<Value, Fault> {
    match &node.value {
        Tree::Bool(b) => Ok(Value::Bool(*b)),
        Tree::Scalar { text, quoted: true } => Ok(Value::Text(text.clone())),
        Tree::Scalar { text, quoted: false } => {
            scalar(text).map_err(|m| Fault::new(node.at, key, m.0).maybe_help(m.1))
        }
        Tree::List(items) => {
            let read_one = |(i, n): (usize, &Node)| read_free(n, &format!("{key}[{i}]"));
            Ok(Value::List(items.iter().enumerate().map(read_one).collect::<Result<_, _>>()?))
        }
        _ => Err(Fault::new(node.at, key, format!("{} is not a value", node.kind()))),
    }
}

/// A message and what to do about it.
type Complaint = (String, Option<String>);

/// A plain scalar as an exact value.
fn scalar(text: &str) -> Result<Value, Complaint> {
    expr::parse_quantity(text).map_err(|e| (e.message, None))
}

/// The value as its kind wants it, or what is wrong with it.
///
/// Whole numbers, lists of the right length and known words are asked for here too, because
/// expressions give values as well.
pub(crate) fn conform(kind: Kind, value: Value) -> Result<Value, Complaint> {
    let wrong = |value: &Value, help: Option<String>| {
        Err((format!("`{}` is {}, not {}", value, article(value), name(kind)), help))
    };
    match (kind, value) {
        (Kind::Bytes, Value::Bytes(r)) => whole(&r, Value::Bytes(r), "bytes"),
        (Kind::Rate, Value::Rate(r)) => whole(&r, Value::Rate(r), "bit/s"),
        (Kind::Time, Value::Time(r)) => whole(&r, Value::Time(r), "ps"),
        (Kind::Count, Value::Number(r)) => {
            if r.is_negative() {
                return Err((format!("`{}` is below 0", Value::Number(r)), None));
            }
            whole(&r, Value::Number(r), "")
        }
        (Kind::Int, Value::Number(r)) => {
            if !r.is_integer() || i64::try_from(r.to_integer()).is_err() {
                return Err((format!("`{}` is not a whole number", Value::Number(r)), None));
            }
            Ok(Value::Number(r))
        }
        (Kind::Number, Value::Number(r)) => Ok(Value::Number(r)),
        (Kind::Bool, Value::Bool(b)) => Ok(Value::Bool(b)),
        (Kind::Text, Value::Text(t)) => Ok(Value::Text(t)),
        (Kind::Enum(words), Value::Text(t)) => {
            if words.contains(&t.as_str()) {
                Ok(Value::Text(t))
            } else {
                Err((format!("`{t}` is none of its words"), suggest(&t, words)))
            }
        }
        (Kind::Eight(inner), Value::List(items)) => {
            if items.len() != 8 {
                return Err((format!("has {} values, needs 8", items.len()), None));
            }
            conform_list(*inner, items)
        }
        (Kind::List(inner), Value::List(items)) => conform_list(*inner, items),
        (Kind::Bytes | Kind::Rate | Kind::Time, Value::Number(r)) => {
            let n = Value::Number(r);
            let units = match kind {
                Kind::Bytes => format!("write `{n}B`, `{n}KB` (1000) or `{n}KiB` (1024)"),
                Kind::Rate => format!("write `{n}Gbps`"),
                _ => format!("write `{n}ns` or `{n}us`"),
            };
            Err((format!("`{n}` has no unit, {} needs one", name(kind)), Some(units)))
        }
        (Kind::Bytes | Kind::Rate | Kind::Time, value) => {
            wrong(&value, Some(format!("write a value such as `{}`", example(kind))))
        }
        (Kind::Count | Kind::Int | Kind::Number, Value::Text(text)) => Err((
            format!("`{text}` is not {}", name(kind)),
            Some(format!("write a value such as `{}`", example(kind))),
        )),
        (_, value) => wrong(&value, None),
    }
}

fn conform_list(inner: Kind, items: Vec<Value>) -> Result<Value, Complaint> {
    let all: Result<Vec<_>, _> = items.into_iter().map(|v| conform(inner, v)).collect();
    all.map(Value::List)
}

/// Largest integer a table can hold.
const LARGEST: i128 = i64::MAX as i128;

fn whole(r: &Rational, value: Value, unit: &str) -> Result<Value, Complaint> {
    if r.is_negative() {
        return Err((format!("`{value}` is below 0"), None));
    }
    if !r.is_integer() {
        let what = if unit.is_empty() {
            "a whole number".into()
        } else {
            format!("a whole number of {unit}")
        };
        return Err((
            format!("`{value}` is not {what}"),
            Some("in an expression use `floor(…)`, `ceil(…)` or `round(…)`; in an axis `integer: true`".into()),
        ));
    }
    if r.to_integer() > LARGEST {
        return Err((
            format!("`{value}` is too large (at most {LARGEST} {unit})").replace(" )", ")"),
            None,
        ));
    }
    Ok(value)
}

/// A conforming value as the JSON of a scenario.
pub(crate) fn json(kind: Kind, value: &Value) -> Json {
    match (kind, value) {
        (Kind::Number, Value::Number(r)) => Json::from(float(r)),
        (_, Value::Number(r) | Value::Bytes(r) | Value::Rate(r) | Value::Time(r)) => {
            Json::from(r.to_integer() as i64)
        }
        (_, Value::Bool(b)) => Json::from(*b),
        (_, Value::Text(t)) => Json::from(t.as_str()),
        (Kind::Eight(inner) | Kind::List(inner), Value::List(items)) => {
            items.iter().map(|v| json(*inner, v)).collect()
        }
        (_, Value::List(items)) => items.iter().map(|v| json(kind, v)).collect(),
    }
}

/// The nearest double; never −0, so that equal values have one spelling. The last bit may differ
/// from the nearest for a fraction whose parts exceed 2^53 and that is no decimal either.
pub(crate) fn float(r: &Rational) -> f64 {
    const EXACT: i128 = 1 << 53;
    let (n, d) = (*r.numer(), *r.denom());
    if n.unsigned_abs() < EXACT as u128 && d < EXACT {
        return n as f64 / d as f64 + 0.0;
    }
    let mut scale: i128 = 1;
    for exponent in 0..=38 {
        if scale % d == 0 {
            let digits = n.checked_mul(scale / d);
            // Reading a decimal rounds once, and correctly.
            if let Some(Ok(f)) = digits.map(|digits| format!("{digits}e-{exponent}").parse::<f64>())
            {
                return f + 0.0;
            }
        }
        match scale.checked_mul(10) {
            Some(next) => scale = next,
            None => break,
        }
    }
    n as f64 / d as f64 + 0.0
}

/// JSON of a scenario as a value expressions can use; `None` for what has none (null, mappings).
pub(crate) fn from_json(kind: Kind, json: &Json) -> Option<Value> {
    Some(match (kind, json) {
        (Kind::Eight(inner) | Kind::List(inner), Json::Array(items)) => {
            Value::List(items.iter().map(|v| from_json(*inner, v)).collect::<Option<_>>()?)
        }
        (_, Json::Bool(b)) => Value::Bool(*b),
        (_, Json::String(s)) => Value::Text(s.clone()),
        (_, Json::Number(n)) => {
            let exact = match n.as_i64().map(i128::from).or(n.as_u64().map(i128::from)) {
                Some(whole) => Rational::from_integer(whole),
                // The shortest decimal that reads back as this double: 0.1 is one tenth.
                None => decimal(&n.to_string())?,
            };
            match kind {
                Kind::Bytes => Value::Bytes(exact),
                Kind::Rate => Value::Rate(exact),
                Kind::Time => Value::Time(exact),
                _ => Value::Number(exact),
            }
        }
        _ => return None,
    })
}

/// An exact decimal such as `-1.25e-7`.
pub(crate) fn decimal(text: &str) -> Option<Rational> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let exponent = exponent.parse::<i32>().ok()? - i32::try_from(fraction.len()).ok()?;
    let scale = 10i128.checked_pow(exponent.unsigned_abs())?;
    if exponent >= 0 {
        Some(Rational::from_integer(digits.checked_mul(scale)?))
    } else {
        Some(Rational::new(digits, scale))
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Bytes => "a byte count",
        Kind::Rate => "a bit rate",
        Kind::Time => "a time",
        Kind::Count => "a whole number",
        Kind::Int => "a whole number",
        Kind::Number => "a number",
        Kind::Bool => "a boolean",
        Kind::Enum(_) => "a word",
        Kind::Text => "a text",
        Kind::Eight(_) => "a list of 8",
        Kind::List(_) => "a list",
    }
}

fn article(value: &Value) -> &'static str {
    match value {
        Value::Number(_) => "a number",
        Value::Bytes(_) => "a byte count",
        Value::Rate(_) => "a bit rate",
        Value::Time(_) => "a time",
        Value::Bool(_) => "a boolean",
        Value::Text(_) => "a text",
        Value::List(_) => "a list",
    }
}

fn example(kind: Kind) -> String {
    match kind {
        Kind::Bytes => "256KB".into(),
        Kind::Rate => "400Gbps".into(),
        Kind::Time => "500ns".into(),
        Kind::Count | Kind::Int => "1".into(),
        Kind::Number => "0.5".into(),
        Kind::Bool => "true".into(),
        Kind::Enum(words) => (*words.first().unwrap_or(&"word")).into(),
        Kind::Text => "text".into(),
        Kind::Eight(inner) => vec![example(*inner); 8].join(", "),
        Kind::List(inner) => vec![example(*inner); 2].join(", "),
    }
}

/// What a byte count written in decimal units was probably meant to be: 1024KB for 1MiB.
pub(crate) fn binary_lint(node: &Node, key: &str) -> Option<String> {
    let Tree::Scalar { text, quoted: false } = &node.value else { return None };
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let number: u64 = number.parse().ok()?;
    let (size, binary) = match unit {
        "KB" => (1_000u64, "KiB"),
        "MB" => (1_000_000, "MiB"),
        "GB" => (1_000_000_000, "GiB"),
        _ => return None,
    };
    if number == 0 || !number.is_multiple_of(1024) {
        return None;
    }
    let bytes = number.checked_mul(size)?;
    Some(format!("{key}: {text} is {bytes} B; for powers of two write {number}{binary}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn doubles_are_the_nearest() {
        let float_of = |n, d| float(&Rational::new(n, d));
        assert_eq!(float_of(1, 10), 0.1);
        assert_eq!(float_of(1, 3), 1.0 / 3.0);
        assert_eq!(float_of(12_345_678_901_234_567, 100_000_000_000_000_000), 0.12345678901234567);
        assert_eq!(float_of(0, 1).to_bits(), 0);
        assert_eq!(float_of(-1, 8), -0.125);
    }

    #[test]
    fn json_numbers_are_read_as_they_are_written() {
        let read = |kind, text: &str| from_json(kind, &serde_json::from_str(text).unwrap());
        assert_eq!(read(Kind::Number, "0.1"), Some(Value::Number(Rational::new(1, 10))));
        assert_eq!(read(Kind::Number, "1e-7"), Some(Value::Number(Rational::new(1, 10_000_000))));
        assert_eq!(read(Kind::Time, "500"), Some(Value::Time(Rational::from_integer(500))));
        assert_eq!(read(Kind::Bytes, "null"), None);
        assert_eq!(decimal("1e99"), None);
    }

    #[test]
    fn powers_of_two_in_decimal_units_are_noticed() {
        let lint = |text: &str| {
            let node = super::super::yaml::parse(0, text).unwrap();
            binary_lint(&node, "k").is_some()
        };
        assert!(lint("1024KB") && lint("2048MB"));
        assert!(
            !lint("1000KB")
                && !lint("64KB")
                && !lint("1024KiB")
                && !lint("0KB")
                && !lint("'1024KB'")
        );
    }

    proptest! {
        /// A double that came from JSON goes back to the same double.
        #[test]
        fn doubles_round_trip(f in -1e15f64..1e15) {
            let json = Json::from(f);
            if let Some(Value::Number(r)) = from_json(Kind::Number, &json) {
                prop_assert_eq!(float(&r), f);
            }
        }

        /// Reading any scalar as any kind never panics, and what it gives has its kind's JSON.
        #[test]
        fn any_scalar_is_read_or_refused(text in "\\PC{0,20}|-?[0-9]{1,30}(\\.[0-9]{1,20})?(B|KB|ns|Gbps|/[0-9])?", which in 0usize..7) {
            let kinds = [Kind::Bytes, Kind::Rate, Kind::Time, Kind::Count, Kind::Int, Kind::Number, Kind::Text];
            let at = super::super::fault::Pos::default();
            let node = Node { value: Tree::Scalar { text, quoted: false }, at };
            if let Ok(value) = read(kinds[which], &node, "k") {
                let json = json(kinds[which], &value);
                prop_assert_eq!(json.is_string(), matches!(kinds[which], Kind::Text));
                prop_assert_eq!(json.is_f64(), matches!(kinds[which], Kind::Number));
            }
        }
    }
}
