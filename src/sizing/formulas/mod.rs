//! Headroom by the formulas that practitioners use.
//!
//! Owns every named formula as a pure function of a cable and of what the formula asks beside it.
//! On one link they disagree two- to fourfold, so a number never goes without its formula's name.
//! Refuses to guess: a speed that a formula's table lacks is an error that names those it knows.
//! Arithmetic is exact, rounded once at the end; only `sonic-mellanox` uses doubles, because its
//! published script does and its outputs are rounded up to whole KiB.

mod every;
mod ieee;
mod sonic;

pub use every::{Estimate, every};
pub use ieee::ieee;
pub use sonic::{Asic, Sonic, SonicSizes};

use crate::scenario::sizing::guideline;
use crate::units::{BitRate, Rational};
use num_traits::ToPrimitive;
use thiserror::Error;

/// ps × bit/s of one byte.
const BYTE: i128 = 8_000_000_000_000;
/// Bytes `reverie` adds to two frames and the cable.
const REVERIE_ALLOWANCE: u64 = 3_860;
/// Header bytes `reverie` adds to the payload of a frame.
pub const REVERIE_HEADER: u64 = 48;
/// Slowest rate `mlx5` calculates with, bit/s.
const MLX5_SLOWEST: u64 = 40_000_000_000;
/// Longest cable the formulas take, m: a second of light, five times around the Earth.
const LONGEST: i128 = 200_000_000;
/// Fastest rate the formulas take, bit/s.
const FASTEST: u64 = crate::scenario::links::MAX_RATE;

/// A cable and what runs over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cable {
    /// bit/s, 1 to 100 Tbit/s.
    pub rate: u64,
    /// One-way delay, ps, at most 1 s.
    pub delay: u64,
    /// Length, m, 0 to 200,000,000; need not be whole.
    pub metres: Rational,
}

impl Cable {
    /// A cable of a length, at so many ns of delay a metre.
    ///
    /// # Errors
    /// Quantities out of range; a length whose delay is not a whole number of ps.
    pub fn of_length(
        rate: u64,
        metres: Rational,
        ns_per_m: Rational,
    ) -> Result<Cable, FormulaError> {
        check_slope(ns_per_m)?;
        check_length(metres)?;
        let delay = metres * ns_per_m * Rational::from_integer(1_000);
        let whole = delay.is_integer().then(|| delay.to_integer().to_u64()).flatten();
        let delay = whole.ok_or(FormulaError::DelayNotWhole)?;
        Cable { rate, delay, metres }.checked()
    }

    /// A cable of a one-way delay in ps, at so many ns of delay a metre.
    ///
    /// # Errors
    /// Quantities out of range.
    pub fn of_delay(rate: u64, delay: u64, ns_per_m: Rational) -> Result<Cable, FormulaError> {
        check_slope(ns_per_m)?;
        let metres = Rational::from_integer(i128::from(delay)) / (ns_per_m * 1_000);
        Cable { rate, delay, metres }.checked()
    }

    fn checked(self) -> Result<Cable, FormulaError> {
        if self.rate == 0 || self.rate > FASTEST {
            return Err(FormulaError::Rate(BitRate(self.rate)));
        }
        check_length(self.metres)?;
        Ok(self)
    }

    /// Bytes in flight one way; need not be whole.
    fn in_flight(&self) -> Rational {
        Rational::new(i128::from(self.rate) * i128::from(self.delay), BYTE)
    }

    /// Rate in Gbit/s; need not be whole.
    fn gbps(&self) -> Rational {
        Rational::new(i128::from(self.rate), 1_000_000_000)
    }

    /// The entry of a table by whole Gbit/s.
    fn look_up<T: Copy>(
        &self,
        formula: &'static str,
        table: &[(u64, T)],
    ) -> Result<T, FormulaError> {
        let found = table.iter().find(|(gbps, _)| gbps * 1_000_000_000 == self.rate);
        found.map(|(_, entry)| *entry).ok_or_else(|| FormulaError::UnknownSpeed {
            formula,
            rate: BitRate(self.rate),
            known: table.iter().map(|(gbps, _)| gbps.to_string()).collect::<Vec<_>>().join(", "),
        })
    }
}

fn check_slope(ns_per_m: Rational) -> Result<(), FormulaError> {
    let range = Rational::from_integer(3)..=Rational::from_integer(100);
    if range.contains(&ns_per_m) { Ok(()) } else { Err(FormulaError::Slope) }
}

fn check_length(metres: Rational) -> Result<(), FormulaError> {
    let range = Rational::from_integer(0)..=Rational::from_integer(LONGEST);
    if range.contains(&metres) { Ok(()) } else { Err(FormulaError::Length) }
}

/// Why a formula has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum FormulaError {
    #[error("a rate of {0}: must be above 0bps and at most 100Tbps")]
    Rate(BitRate),
    #[error("the length of the cable must be 0 to 200,000,000 m")]
    Length,
    #[error(
        "the delay of a metre must be 3 to 100 ns: light takes 3.3 ns, fibre and copper about 5"
    )]
    Slope,
    #[error("the delay of this cable is not a whole number of ps: give it as --delay")]
    DelayNotWhole,
    #[error("{formula} has figures for {known} Gbps, none for {rate}")]
    UnknownSpeed { formula: &'static str, rate: BitRate, known: String },
    #[error("{formula}: {what} = {value}: must be {range}")]
    Input { formula: &'static str, what: &'static str, value: u64, range: &'static str },
    #[error("the result is beyond 2^64 bytes")]
    TooLarge,
}

/// `hpcc`: three times what is in flight one way, ⌊rate × delay ÷ 8⌋; no frame in it. Bytes.
///
/// # Errors
/// A result beyond 64 bits.
pub fn hpcc(cable: &Cable) -> Result<u64, FormulaError> {
    bytes(cable.in_flight().floor() * 3)
}

/// `conweave`: what is in flight both ways and two frames of `mtu` bytes, rounded up; the switch
/// model's guideline by another name. Bytes.
pub fn conweave(cable: &Cable, mtu: u64) -> u64 {
    guideline(cable.rate, cable.delay, mtu)
}

/// `reverie`: what is in flight both ways, two frames of `payload` bytes with their headers of
/// [`REVERIE_HEADER`] bytes, and 3,860 B, rounded up. Bytes.
///
/// # Errors
/// A result beyond 64 bits.
pub fn reverie(cable: &Cable, payload: u64) -> Result<u64, FormulaError> {
    let frames = i128::from(payload) * 2 + i128::from(2 * REVERIE_HEADER + REVERIE_ALLOWANCE);
    bytes((cable.in_flight() * 2 + frames).ceil())
}

/// `mlx5`: (301 + ⌊2.16 × metres⌋) × Gbit/s + 2.72 × `mtu`, cut down to whole bytes; rates below
/// 40 Gbit/s count as that. `mtu` in bytes. Bytes.
///
/// # Errors
/// A result beyond 64 bits.
pub fn mlx5(cable: &Cable, mtu: u64) -> Result<u64, FormulaError> {
    let gbps = Cable { rate: cable.rate.max(MLX5_SLOWEST), ..*cable }.gbps();
    let fixed = (cable.metres * Rational::new(54, 25)).floor() + 301;
    bytes((fixed * gbps + Rational::new(68, 25) * i128::from(mtu)).floor())
}

/// A whole number of bytes.
fn bytes(whole: Rational) -> Result<u64, FormulaError> {
    whole.to_integer().to_u64().ok_or(FormulaError::TooLarge)
}

#[cfg(test)]
mod tests;
