//! What an expression is made of and comes to.

use crate::units::{Dimension, Rational, format_quantity, format_rational};
use std::fmt;

/// A value: a quantity in base units, exact, or a word, a truth or a list.
///
/// Quantities may be negative or a fraction of a base unit while an expression is computed;
/// whoever uses the result turns it into whole base units, or refuses
/// ([`Bytes::from_rational`](crate::units::Bytes::from_rational)).
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number without a unit: a count or a ratio.
    Number(Rational),
    /// Bytes.
    Bytes(Rational),
    /// Bits per second.
    Rate(Rational),
    /// Picoseconds.
    Time(Rational),
    /// True or false.
    Bool(bool),
    /// A word: an enumeration's value or a label.
    Text(String),
    /// A list, of anything.
    List(Vec<Value>),
}

/// What kind of value a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Quantity(Dimension),
    Bool,
    Text,
    List,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Quantity(dimension) => dimension.name(),
            Self::Bool => "truth value",
            Self::Text => "word",
            Self::List => "list",
        }
    }

    /// A value of this kind from base units; only for kinds that have an amount.
    pub(super) fn with(self, amount: Rational) -> Option<Value> {
        match self {
            Self::Number => Some(Value::Number(amount)),
            Self::Quantity(dimension) => Some(Value::quantity(amount, dimension)),
            Self::Bool | Self::Text | Self::List => None,
        }
    }
}

impl Value {
    /// The integer as a number without a unit.
    #[must_use]
    pub fn integer(value: impl Into<i128>) -> Self {
        Self::Number(Rational::from_integer(value.into()))
    }

    /// `amount` base units of a dimension.
    #[must_use]
    pub fn quantity(amount: Rational, dimension: Dimension) -> Self {
        match dimension {
            Dimension::Bytes => Self::Bytes(amount),
            Dimension::Rate => Self::Rate(amount),
            Dimension::Time => Self::Time(amount),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Number(_) => Kind::Number,
            Self::Bytes(_) => Kind::Quantity(Dimension::Bytes),
            Self::Rate(_) => Kind::Quantity(Dimension::Rate),
            Self::Time(_) => Kind::Quantity(Dimension::Time),
            Self::Bool(_) => Kind::Bool,
            Self::Text(_) => Kind::Text,
            Self::List(_) => Kind::List,
        }
    }

    /// The amount in base units, of a number or a quantity.
    #[must_use]
    pub fn amount(&self) -> Option<Rational> {
        match self {
            Self::Number(amount)
            | Self::Bytes(amount)
            | Self::Rate(amount)
            | Self::Time(amount) => Some(*amount),
            Self::Bool(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// The word messages use for this kind of value: `number`, `byte count`, `bit rate`, `time`,
    /// `truth value`, `word` or `list`; each goes with the article `a`.
    #[must_use]
    pub fn dimension_name(&self) -> &'static str {
        self.kind().name()
    }
}

impl fmt::Display for Value {
    /// Human units, exact: `256KB`, `1/3`, `[1KB, 2KB]`. A quantity that is not a decimal number
    /// of its base unit shows as `1/3 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(amount) => f.write_str(&format_rational(*amount)),
            Self::Bytes(amount) => write_quantity(f, *amount, Dimension::Bytes),
            Self::Rate(amount) => write_quantity(f, *amount, Dimension::Rate),
            Self::Time(amount) => write_quantity(f, *amount, Dimension::Time),
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Text(text) => f.write_str(text),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
        }
    }
}

fn write_quantity(
    f: &mut fmt::Formatter<'_>,
    amount: Rational,
    dimension: Dimension,
) -> fmt::Result {
    match format_quantity(amount, dimension) {
        Some(text) => f.write_str(&text),
        None => write!(f, "{} {}", format_rational(amount), dimension.base()),
    }
}
