//! Decimal numbers read and printed without rounding.

use super::Rational;
use thiserror::Error;

/// Largest power of ten an `i128` holds.
const MAX_POWER: u32 = 38;

/// What is wrong with a number.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AmountError {
    /// There is none.
    #[error("a number is expected, for example `64`")]
    Missing,
    /// `1_000`.
    #[error("`_` is not a digit separator: write `{0}`")]
    Separator(String),
    /// `1,000`.
    #[error("`,` is not a digit separator: write the digits without it, and `.` before decimals")]
    Comma,
    /// `010`.
    #[error("leading zeros are refused, as some readers take them for octal: write `{0}`")]
    LeadingZero(String),
    /// `.5`.
    #[error("a digit is missing before the point: write `0{0}`")]
    NoInteger(String),
    /// `5.`.
    #[error("a digit is missing after the point: write `{0}0` or leave the point out")]
    NoFraction(String),
    /// `1.2.3`.
    #[error("a number has one point")]
    Points,
    /// More than an exact fraction of 128-bit integers holds.
    #[error("the number has too many digits to be kept exact (38 is the limit)")]
    TooLong,
}

/// A number at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// Its exact value.
    pub value: Rational,
    /// Bytes of text it takes.
    pub len: usize,
}

/// Reads the unsigned decimal number a text begins with: digits, decimals after a point, and a
/// power of ten (`1.5e-6`). Exact. A comma ends the number, as in a list: see
/// [`refuse_comma`] for where it cannot be one.
///
/// # Errors
///
/// [`AmountError`]; [`AmountError::Missing`] if the text does not begin with a digit or a point.
pub fn scan_amount(text: &str) -> Result<Amount, AmountError> {
    let bytes = text.as_bytes();
    let mut end = run(bytes, 0, |b| b.is_ascii_digit() || matches!(b, b'.' | b'_'));
    let mantissa = &text[..end];
    if mantissa.is_empty() {
        return Err(AmountError::Missing);
    }
    if mantissa.contains('_') {
        return Err(AmountError::Separator(mantissa.replace('_', "")));
    }
    let (integer, fraction) = match mantissa.split_once('.') {
        None => (mantissa, ""),
        Some((_, fraction)) if fraction.contains('.') => return Err(AmountError::Points),
        Some(("", "")) => return Err(AmountError::Missing),
        Some(("", _)) => return Err(AmountError::NoInteger(mantissa.to_owned())),
        Some((_, "")) => return Err(AmountError::NoFraction(mantissa.to_owned())),
        Some(parts) => parts,
    };
    if integer.len() > 1 && integer.starts_with('0') {
        let bare = mantissa.trim_start_matches('0');
        let zero = if bare.is_empty() || bare.starts_with('.') { "0" } else { "" };
        return Err(AmountError::LeadingZero(format!("{zero}{bare}")));
    }

    let mut power = 0i32;
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent_end = run(bytes, signed, |b| b.is_ascii_digit());
        // Letters that only begin like an exponent are left to whoever reads the unit.
        if exponent_end > signed {
            power = text[end + 1..exponent_end].parse().map_err(|_| AmountError::TooLong)?;
            end = exponent_end;
        }
    }
    // Zeros at the end of the decimals carry no value, and would only use up digits.
    let fraction = fraction.trim_end_matches('0');
    let digits = [integer, fraction].concat();
    let mantissa: i128 = digits.parse().map_err(|_| AmountError::TooLong)?;
    let shift = i32::try_from(fraction.len()).map_err(|_| AmountError::TooLong)?;
    let value = scale(mantissa, power.checked_sub(shift).ok_or(AmountError::TooLong)?)
        .ok_or(AmountError::TooLong)?;
    Ok(Amount { value, len: end })
}

/// Refuses the comma of `1,000`, given what follows the number.
///
/// # Errors
///
/// [`AmountError::Comma`].
pub fn refuse_comma(rest: &str) -> Result<(), AmountError> {
    match rest.strip_prefix(',') {
        Some(digits) if digits.starts_with(|c: char| c.is_ascii_digit()) => Err(AmountError::Comma),
        _ => Ok(()),
    }
}

/// `mantissa` × 10^`power`.
fn scale(mantissa: i128, power: i32) -> Option<Rational> {
    if mantissa == 0 {
        return Some(Rational::from_integer(0));
    }
    let ten = ten_to(power.unsigned_abs())?;
    if power < 0 {
        Some(Rational::new(mantissa, ten))
    } else {
        mantissa.checked_mul(ten).map(Rational::from_integer)
    }
}

fn ten_to(power: u32) -> Option<i128> {
    (power <= MAX_POWER).then(|| 10i128.pow(power))
}

/// End of the run of bytes from `start` that `wanted` accepts.
fn run(bytes: &[u8], start: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|b| wanted(**b)).count()
}

/// The exact decimal spelling of a fraction, if it has one.
pub(super) fn format_decimal(value: Rational) -> Option<String> {
    let (numerator, denominator) = (*value.numer(), *value.denom());
    if denominator == 1 {
        return Some(numerator.to_string());
    }
    let mut rest = denominator;
    let (mut twos, mut fives) = (0u32, 0u32);
    while rest % 2 == 0 {
        rest /= 2;
        twos += 1;
    }
    while rest % 5 == 0 {
        rest /= 5;
        fives += 1;
    }
    if rest != 1 {
        return None;
    }
    let places = twos.max(fives);
    let unit = ten_to(places)?;
    let (integer, part) = (numerator / denominator, numerator % denominator);
    let decimals = part.checked_mul(unit / denominator)?.unsigned_abs();
    let sign = if numerator < 0 { "-" } else { "" };
    let width = usize::try_from(places).ok()?;
    Some(format!("{sign}{}.{decimals:0width$}", integer.unsigned_abs()))
}

/// A fraction as an exact decimal, or as `1/3` where no decimal is exact.
#[must_use]
pub fn format_rational(value: Rational) -> String {
    format_decimal(value).unwrap_or_else(|| format!("{}/{}", value.numer(), value.denom()))
}
