//! Scalars of the sweep file: a quantity, a number, a fraction, or else a word.

use super::error::ExprError;
use super::value::Value;
use crate::units::{AmountError, Rational, Unit, refuse_comma, scan_amount, scan_unit};
use num_traits::CheckedDiv;
use std::ops::Range;

/// Longest scalar that is looked at as a number; anything longer is a word.
const MAX_LEN: usize = 200;

/// Reads a scalar as the sweep file writes it.
///
/// A number (`0.5`, `-3`, `1e-6`), a fraction (`1/8`, kept exact) or a number with a unit (`64KB`)
/// becomes that value; any other text is a [`Value::Text`], `true` and `false` included. What
/// looks like a number with a unit but is none (`64kb`, `64 KB`, `1_000`, `010`, `5m`) is an error
/// rather than a word, because nobody means a word by it.
///
/// # Errors
///
/// An [`ExprError`] that names the right spelling.
pub fn parse_quantity(text: &str) -> Result<Value, ExprError> {
    let word = || Ok(Value::Text(text.to_owned()));
    let trimmed = text.trim();
    if trimmed.len() > MAX_LEN || !looks_numeric(trimmed) {
        return word();
    }
    let start = text.len() - text.trim_start().len();
    let fail = |message: String, span: Range<usize>| {
        Err(ExprError::new(
            format!("`{trimmed}`: {message}"),
            start + span.start..start + span.end,
            text,
        ))
    };
    let sign = usize::from(trimmed.starts_with(['-', '+']));
    let amount = match scan_amount(&trimmed[sign..]) {
        Ok(amount) => amount,
        // Version labels and the like.
        Err(AmountError::Points) => return word(),
        Err(error) => return fail(error.to_string(), 0..trimmed.len()),
    };
    // Amounts are read from digits, so never the one integer that has no negative.
    let signed = |value: Rational| if trimmed.starts_with('-') { -value } else { value };
    let unit_at = sign + amount.len;
    let rest = &trimmed[unit_at..];
    if let Err(error) = refuse_comma(rest) {
        return fail(error.to_string(), 0..trimmed.len());
    }
    if rest.is_empty() {
        return Ok(Value::Number(signed(amount.value)));
    }
    if let Some(below) = rest.strip_prefix('/') {
        let below_at = unit_at + 1;
        let divisor = match scan_amount(below) {
            Ok(divisor) => divisor.value,
            Err(error) => return fail(error.to_string(), below_at..trimmed.len()),
        };
        if *divisor.numer() == 0 {
            return fail("a fraction of zero parts".into(), below_at..trimmed.len());
        }
        return match amount.value.checked_div(&divisor) {
            Some(value) => Ok(Value::Number(signed(value))),
            None => fail(AmountError::TooLong.to_string(), 0..trimmed.len()),
        };
    }
    let unit_word = rest.trim_start();
    let span = unit_at..trimmed.len();
    match Unit::lookup(unit_word) {
        Ok(_) if unit_word != rest => fail(
            format!("no space before the unit: write `{}{unit_word}`", &trimmed[..unit_at]),
            span,
        ),
        Ok(unit) => match unit.apply(amount.value) {
            Some(base) => Ok(Value::quantity(signed(base), unit.dimension)),
            None => fail(AmountError::TooLong.to_string(), 0..trimmed.len()),
        },
        Err(hint) => fail(format!("`{unit_word}` is not a unit: {hint}"), span),
    }
}

/// Whether a text has the shape of a number, a fraction of two, or a number with letters after it.
fn looks_numeric(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut begin = unsigned.chars();
    let starts = match begin.next() {
        Some('.') => begin.next().is_some_and(|c| c.is_ascii_digit()),
        first => first.is_some_and(|c| c.is_ascii_digit()),
    };
    if !starts {
        return false;
    }
    let rest = after_number(unsigned);
    if rest.strip_prefix('/').is_some_and(|below| {
        below.starts_with(|c: char| c.is_ascii_digit()) && after_number(below).is_empty()
    }) {
        return true;
    }
    let letters = rest.trim_start();
    !letters.contains('_') && letters[scan_unit(letters)..].is_empty()
}

/// What follows the characters numbers are made of.
fn after_number(text: &str) -> &str {
    let digits =
        text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | ','));
    let exponent = digits
        .strip_prefix(['e', 'E'])
        .map(|power| power.strip_prefix(['-', '+']).unwrap_or(power));
    match exponent {
        Some(power) if power.starts_with(|c: char| c.is_ascii_digit()) => {
            power.trim_start_matches(|c: char| c.is_ascii_digit())
        }
        _ => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> String {
        match parse_quantity(text) {
            Ok(value) => format!("{} {value}", value.dimension_name()),
            Err(error) => format!("error: {}", error.message),
        }
    }

    #[test]
    fn scalars_get_their_kind() {
        for (text, expected) in [
            ("64KB", "byte count 64KB"),
            ("-64KB", "byte count -64KB"),
            ("0.3B", "byte count 0.3B"),
            ("400Gb/s", "bit rate 400Gbps"),
            (" 500ns ", "time 500ns"),
            ("0", "number 0"),
            ("-0.50", "number -0.5"),
            ("1e-3", "number 0.001"),
            ("1/8", "number 0.125"),
            ("-1/3", "number -1/3"),
            ("1.5/0.5", "number 3"),
            ("true", "word true"),
            ("scala", "word scala"),
            ("crc32WithSalt", "word crc32WithSalt"),
            ("", "word "),
            ("-", "word -"),
            (".inf", "word .inf"),
            ("1.2.3", "word 1.2.3"),
            ("10.0.0.0/8", "word 10.0.0.0/8"),
            ("2026-11-30", "word 2026-11-30"),
            ("0x10", "word 0x10"),
            ("1/8KB", "word 1/8KB"),
            ("_1", "word _1"),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn near_misses_are_errors_with_the_right_spelling() {
        for (text, expected) in [
            ("64kb", "write `KB`"),
            ("64 KB", "no space before the unit: write `64KB`"),
            ("-64 KB", "write `-64KB`"),
            ("5m", "minute, a metre"),
            ("50GB/s", "write `Gbps`"),
            ("1_000", "write `1000`"),
            ("1,000", "`,` is not a digit separator"),
            ("010", "write `10`"),
            (".5", "write `0.5`"),
            ("1/0", "zero parts"),
            ("2x", "`x` is not a unit"),
            ("1e99", "too many digits"),
        ] {
            let message = read(text);
            assert!(
                message.starts_with("error") && message.contains(expected),
                "{text}: {message}"
            );
        }
        assert_eq!(
            parse_quantity(" 64kb").unwrap_err().to_string(),
            "`64kb`: `kb` is not a unit: write `KB` for bytes or `Kbps` for a rate\n   64kb\n     ^^"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,30}|[-+.0-9_eE/,KMGTBbps ]{0,30}") {
            if let Err(error) = parse_quantity(&text) {
                prop_assert!(error.to_string().contains('^'));
            }
        }

        #[test]
        fn whole_quantities_round_trip(amount: i64, kind in 0usize..4) {
            let amount = Rational::from_integer(i128::from(amount));
            let value = [Value::Number, Value::Bytes, Value::Rate, Value::Time][kind](amount);
            // Zero without its unit's prefix is still of its kind.
            prop_assert_eq!(parse_quantity(&value.to_string()), Ok(value));
        }
    }
}
