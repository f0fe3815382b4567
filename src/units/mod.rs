//! Bytes, bit rates and times as whole base units.
//!
//! Owns the three quantities every other room speaks in, how they are spelled and how they are
//! printed. A quantity is an integer count of its base unit (bytes, bits per second,
//! picoseconds), so equal inputs give equal results on every machine. Refuses floating point: a
//! value that is not a whole number of base units is an error of whoever read it, never a silent
//! rounding here, and so is one that does not fit.
//!
//! What is printed is exact and parses back to the same integer:
//!
//! ```
//! use poolsweep::units::{BitRate, Bytes, Ps};
//!
//! assert_eq!("1.5KB".parse::<Bytes>().unwrap(), Bytes(1500));
//! assert_eq!("400Gb/s".parse::<BitRate>().unwrap().to_string(), "400Gbps");
//! assert_eq!(Ps(84_384_800).to_string(), "84.3848us");
//! assert!("64kb".parse::<Bytes>().unwrap_err().to_string().contains("`KB`"));
//! ```

mod decimal;
mod error;
mod spelling;

pub use decimal::{Amount, AmountError, format_rational, refuse_comma, scan_amount};
pub use error::UnitError;
pub use spelling::{Dimension, Unit, format_quantity, scan_unit};

use num_rational::Ratio;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An exact fraction: what amounts are before they have proved to be whole base units.
pub type Rational = Ratio<i128>;

/// A byte count.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A bit rate in bits per second.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct BitRate(pub u64);

/// A time or a duration in picoseconds.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Ps(pub u64);

/// What the three quantities have in common.
macro_rules! quantity {
    ($name:ident, $dimension:expr) => {
        impl $name {
            /// The quantity this type counts.
            pub const DIMENSION: Dimension = $dimension;

            /// The sum, or `None` if it does not fit.
            #[must_use]
            pub fn checked_add(self, other: Self) -> Option<Self> {
                self.0.checked_add(other.0).map(Self)
            }

            /// The difference, or `None` if it would be negative.
            #[must_use]
            pub fn checked_sub(self, other: Self) -> Option<Self> {
                self.0.checked_sub(other.0).map(Self)
            }

            /// `factor` times the quantity, or `None` if it does not fit.
            #[must_use]
            pub fn checked_mul(self, factor: u64) -> Option<Self> {
                self.0.checked_mul(factor).map(Self)
            }

            /// The quantity as an exact fraction of base units.
            #[must_use]
            pub fn to_rational(self) -> Rational {
                Rational::from_integer(i128::from(self.0))
            }

            /// The quantity that is exactly `value` base units.
            ///
            /// # Errors
            ///
            /// [`UnitError::NotWhole`], [`UnitError::Negative`] or [`UnitError::TooLarge`].
            pub fn from_rational(value: Rational) -> Result<Self, UnitError> {
                whole(value, $dimension, || describe(value, $dimension)).map(Self)
            }
        }

        impl fmt::Display for $name {
            /// The shortest exact spelling; it parses back to the same integer.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&describe(self.to_rational(), $dimension))
            }
        }

        impl FromStr for $name {
            type Err = UnitError;

            fn from_str(text: &str) -> Result<Self, UnitError> {
                let value = spelling::parse(text, $dimension)?;
                whole(value, $dimension, || text.to_owned()).map(Self)
            }
        }
    };
}

quantity!(Bytes, Dimension::Bytes);
quantity!(BitRate, Dimension::Rate);
quantity!(Ps, Dimension::Time);

/// `value` as a whole number of base units; `text` says in messages what the value was.
fn whole(
    value: Rational,
    dimension: Dimension,
    text: impl Fn() -> String,
) -> Result<u64, UnitError> {
    let base = dimension.base();
    if *value.numer() < 0 {
        return Err(UnitError::Negative { text: text() });
    }
    if *value.denom() != 1 {
        return Err(UnitError::NotWhole {
            text: text(),
            base,
            below: value.numer() / value.denom(),
        });
    }
    u64::try_from(*value.numer()).map_err(|_| UnitError::TooLarge {
        text: text(),
        base,
        limit: u64::MAX,
    })
}

/// A value in the shortest exact spelling, or as a fraction of the base unit where no decimal is
/// exact.
fn describe(value: Rational, dimension: Dimension) -> String {
    format_quantity(value, dimension)
        .unwrap_or_else(|| format!("{} {}", format_rational(value), dimension.base()))
}

/// An integer with a comma between each three digits: `16,000,000`.
#[must_use]
pub fn thousands(value: impl Into<i128>) -> String {
    let value = value.into();
    let digits = value.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0 {
        out.push('-');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
