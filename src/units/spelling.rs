//! The unit words: which there are, which are refused and what to write instead.

use super::decimal::{AmountError, format_decimal, refuse_comma, scan_amount};
use super::error::UnitError;
use super::{Rational, format_rational};
use num_traits::CheckedMul;
use std::cmp::Reverse;
use std::fmt;

/// A kind of quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Counted in bytes.
    Bytes,
    /// Counted in bits per second.
    Rate,
    /// Counted in picoseconds.
    Time,
}

impl Dimension {
    /// The word messages use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "byte count",
            Self::Rate => "bit rate",
            Self::Time => "time",
        }
    }

    /// Spelling of the base unit.
    #[must_use]
    pub fn base(self) -> &'static str {
        match self {
            Self::Bytes => "B",
            Self::Rate => "bps",
            Self::Time => "ps",
        }
    }

    /// A value people would write.
    fn example(self) -> &'static str {
        match self {
            Self::Bytes => "64KB",
            Self::Rate => "400Gbps",
            Self::Time => "500ns",
        }
    }

    /// The unit offered to somebody who wrote none.
    fn usual_unit(self) -> &'static str {
        match self {
            Self::Bytes => "B",
            Self::Rate => "Gbps",
            Self::Time => "ns",
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One unit word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Its spelling.
    pub word: &'static str,
    /// What it measures.
    pub dimension: Dimension,
    /// Base units in one.
    pub factor: u64,
}

const fn unit(word: &'static str, dimension: Dimension, factor: u64) -> Unit {
    Unit { word, dimension, factor }
}

/// Every unit that is printed, decimal prefixes before binary ones, small before large.
const UNITS: [Unit; 17] = [
    unit("B", Dimension::Bytes, 1),
    unit("KB", Dimension::Bytes, 1_000),
    unit("MB", Dimension::Bytes, 1_000_000),
    unit("GB", Dimension::Bytes, 1_000_000_000),
    unit("KiB", Dimension::Bytes, 1 << 10),
    unit("MiB", Dimension::Bytes, 1 << 20),
    unit("GiB", Dimension::Bytes, 1 << 30),
    unit("bps", Dimension::Rate, 1),
    unit("Kbps", Dimension::Rate, 1_000),
    unit("Mbps", Dimension::Rate, 1_000_000),
    unit("Gbps", Dimension::Rate, 1_000_000_000),
    unit("Tbps", Dimension::Rate, 1_000_000_000_000),
    unit("ps", Dimension::Time, 1),
    unit("ns", Dimension::Time, 1_000),
    unit("us", Dimension::Time, 1_000_000),
    unit("ms", Dimension::Time, 1_000_000_000),
    unit("s", Dimension::Time, 1_000_000_000_000),
];

const ALL_WORDS: &str = "units are B KB MB GB KiB MiB GiB, bps Kbps Mbps Gbps Tbps, ps ns us ms s";

impl Unit {
    /// The unit a word spells.
    ///
    /// # Errors
    ///
    /// What to write instead, if the word is no unit.
    pub fn lookup(word: &str) -> Result<Self, String> {
        // `Gb/s` is a second spelling of `Gbps`.
        let per_second = word.strip_suffix("b/s").map(|prefix| format!("{prefix}bps"));
        let canonical = per_second.as_deref().unwrap_or(word);
        UNITS.iter().find(|unit| unit.word == canonical).copied().ok_or_else(|| hint(word))
    }

    /// `amount` of this unit in base units; `None` if it does not fit.
    #[must_use]
    pub fn apply(self, amount: Rational) -> Option<Rational> {
        amount.checked_mul(&Rational::from_integer(i128::from(self.factor)))
    }
}

/// What to write instead of a word that is no unit.
fn hint(word: &str) -> String {
    let lower = word.to_lowercase();
    let prefix = lower
        .chars()
        .next()
        .filter(|c| matches!(c, 'k' | 'm' | 'g' | 't'))
        .map(|c| c.to_ascii_uppercase().to_string())
        .unwrap_or_default();
    let p = prefix.as_str();
    // `GBps`, `GB/s`: a capital B before "per second" is a rate in bytes.
    if ["B/s", "Bps"].iter().any(|tail| word.ends_with(tail)) && word.len() <= 5 {
        return format!("rates are in bits per second: multiply by 8 and write `{p}bps`");
    }
    match lower.as_str() {
        "k" | "m" | "g" | "t" if word != "m" => {
            let bytes = if p == "T" { "G" } else { p };
            format!("write `{bytes}B` for bytes or `{p}bps` for a rate")
        }
        "m" | "min" | "mins" | "minute" | "minutes" => concat!(
            "`m` may be a minute, a metre or a thousandth: ",
            "write times in `s` or `ms`, a cable as its delay in `ns`"
        )
        .into(),
        "h" | "hour" | "hours" | "sec" | "secs" | "second" | "seconds" => {
            "write times in `s`".into()
        }
        "\u{b5}s" | "\u{3bc}s" | "usec" => "write `us`".into(),
        "msec" => "write `ms`".into(),
        "nsec" => "write `ns`".into(),
        "psec" => "write `ps`".into(),
        "b" => "write `B` for bytes or `bps` for a rate".into(),
        "kb" | "mb" | "gb" if word.ends_with('b') => {
            format!("write `{p}B` for bytes or `{p}bps` for a rate")
        }
        "tb" if word.ends_with('b') => "write `GB` for bytes or `Tbps` for a rate".into(),
        "kib" | "mib" | "gib" => format!("write `{p}iB`"),
        "tb" => "the largest decimal unit is `GB`: 1 TB is 1000GB".into(),
        "tib" => "the largest binary unit is `GiB`: 1 TiB is 1024GiB".into(),
        "byte" | "bytes" => "write `B`".into(),
        "bit" | "bits" | "kbit" | "mbit" | "gbit" | "tbit" => {
            let p = if lower.starts_with('b') { "" } else { p };
            format!("write `{p}bps` for a rate, and bytes in `B`, `KB`, `MB` or `GB`")
        }
        _ => {
            let squeezed =
                lower.replace("bits/s", "bps").replace("bit/s", "bps").replace("b/s", "bps");
            UNITS
                .iter()
                .find(|unit| unit.word.to_lowercase() == squeezed)
                .map_or_else(|| ALL_WORDS.into(), |unit| format!("write `{}`", unit.word))
        }
    }
}

/// Length of the unit word a text begins with: letters, and the `/s` of a data rate.
///
/// `/s` belongs to the word only after a word for data (`Gb/s`, and `GB/s`, which is then
/// refused), so that in `500ns/s` it is left to whoever divides.
#[must_use]
pub fn scan_unit(text: &str) -> usize {
    let letters = text.find(|c: char| !c.is_alphabetic() && c != '_').unwrap_or(text.len());
    let (word, rest) = text.split_at(letters);
    let data = ["b", "B", "bit", "bits"].iter().any(|tail| word.ends_with(tail));
    let ends =
        |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
    if data && rest.strip_prefix("/s").is_some_and(ends) { letters + "/s".len() } else { letters }
}

/// Reads a quantity of one dimension, exactly.
pub(super) fn parse(text: &str, expected: Dimension) -> Result<Rational, UnitError> {
    let fail = |source| UnitError::Amount { text: text.to_owned(), source };
    let trimmed = text.trim();
    let unsigned = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    let amount = scan_amount(unsigned).map_err(fail)?;
    if trimmed.starts_with('-') {
        return Err(UnitError::Negative { text: text.to_owned() });
    }
    let word = &unsigned[amount.len..];
    refuse_comma(word).map_err(fail)?;
    if word.is_empty() {
        // Zero needs no unit to be understood, but a file with `0` for a time reads worse.
        return Err(UnitError::MissingUnit {
            text: text.to_owned(),
            expected,
            example: format!("{}{}", format_rational(amount.value), expected.usual_unit()),
        });
    }
    let unit = Unit::lookup(word).map_err(|hint| UnitError::UnknownUnit {
        text: text.to_owned(),
        unit: word.to_owned(),
        hint: spaced_hint(&unsigned[..amount.len], word).unwrap_or(hint),
    })?;
    if unit.dimension != expected {
        return Err(UnitError::WrongDimension {
            text: text.to_owned(),
            found: unit.dimension,
            expected,
            example: expected.example(),
        });
    }
    unit.apply(amount.value).ok_or(AmountError::TooLong).map_err(fail)
}

/// The hint for `64 KB`.
fn spaced_hint(amount: &str, word: &str) -> Option<String> {
    let tight = word.trim_start();
    (tight != word && Unit::lookup(tight).is_ok())
        .then(|| format!("no space before the unit: write `{amount}{tight}`"))
}

/// The shortest exact decimal spelling of `value` base units, if it has one.
///
/// Units larger than the value are passed over (`500B`, never `0.5KB`); among equally short
/// spellings decimal prefixes win over binary ones, and larger units over smaller ones. Zero is
/// `0B`, `0bps`, `0s`.
#[must_use]
pub fn format_quantity(value: Rational, dimension: Dimension) -> Option<String> {
    if *value.numer() == 0 {
        let word = if dimension == Dimension::Time { "s" } else { dimension.base() };
        return Some(format!("0{word}"));
    }
    let candidates = UNITS.iter().enumerate().filter_map(|(rank, unit)| {
        let factor = i128::from(unit.factor);
        let reached =
            value.numer().unsigned_abs() / value.denom().unsigned_abs() >= u128::from(unit.factor);
        if unit.dimension != dimension || !(unit.factor == 1 || reached) {
            return None;
        }
        let denominator = value.denom().checked_mul(&factor)?;
        let amount = format_decimal(Rational::new(*value.numer(), denominator))?;
        let binary = unit.word.contains('i');
        Some((amount.len() + unit.word.len(), binary, Reverse(rank), amount, unit.word))
    });
    candidates.min().map(|(_, _, _, amount, word)| format!("{amount}{word}"))
}
