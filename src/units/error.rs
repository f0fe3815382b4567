//! Why a text is not a quantity.

use super::decimal::AmountError;
use super::spelling::Dimension;
use thiserror::Error;

/// Why a text or a value is not a quantity; every message names what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnitError {
    /// The number itself is malformed.
    #[error("`{text}`: {source}")]
    Amount {
        /// The text as given.
        text: String,
        /// What is wrong with the number.
        source: AmountError,
    },
    /// A bare number where a quantity is expected.
    #[error("`{text}` has no unit: {expected} expected, for example `{example}`")]
    MissingUnit {
        /// The text as given.
        text: String,
        /// The quantity expected.
        expected: Dimension,
        /// The same number with a unit.
        example: String,
    },
    /// Letters that are no unit.
    #[error("`{text}`: `{unit}` is not a unit: {hint}")]
    UnknownUnit {
        /// The text as given.
        text: String,
        /// The letters after the number.
        unit: String,
        /// The right spelling.
        hint: String,
    },
    /// A unit of another quantity.
    #[error("`{text}` is a {found}: {expected} expected, for example `{example}`")]
    WrongDimension {
        /// The text as given.
        text: String,
        /// The quantity its unit belongs to.
        found: Dimension,
        /// The quantity expected.
        expected: Dimension,
        /// A value of the quantity expected.
        example: &'static str,
    },
    /// Not a whole number of base units.
    #[error("`{text}` is not a whole number of {base}: the nearest below is {below}{base}")]
    NotWhole {
        /// The value as given.
        text: String,
        /// The base unit.
        base: &'static str,
        /// The largest whole number of base units below.
        below: i128,
    },
    /// Below zero.
    #[error("`{text}` is negative: write a value of zero or more")]
    Negative {
        /// The value as given.
        text: String,
    },
    /// Beyond what an integer of base units holds.
    #[error("`{text}` is too large: the largest value is {limit}{base}")]
    TooLarge {
        /// The value as given.
        text: String,
        /// The base unit.
        base: &'static str,
        /// The largest count of base units.
        limit: u64,
    },
}
