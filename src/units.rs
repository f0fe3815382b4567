//! Bytes, bit rates and times as whole base units.
//!
//! Owns the three quantities every other room speaks in. A quantity is an integer count of its
//! base unit (bytes, bits per second, picoseconds), so equal inputs give equal results on every
//! machine. Refuses floating point: a value that is not a whole number of base units is an error
//! of whoever read it, never a silent rounding here.

use serde::{Deserialize, Serialize};

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
