//! One value of a trace, whatever file it comes from.

use crate::scenario::Role;
use crate::units::{BitRate, Bytes, Ps};
use serde::Deserialize;
use serde::de::value::{Error as SerdeError, StrDeserializer};
use std::fmt;
use std::str::FromStr;

/// A value as the file has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<'a> {
    Empty,
    Int(i64),
    /// Of a column that may exceed `Int`.
    Large(u64),
    Float(f64),
    Bool(bool),
    Text(&'a str),
}

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Empty => Ok(()),
            Cell::Int(value) => value.fmt(f),
            Cell::Large(value) => value.fmt(f),
            Cell::Float(value) => value.fmt(f),
            Cell::Bool(value) => value.fmt(f),
            Cell::Text(value) => value.fmt(f),
        }
    }
}

/// What a value would have to be.
type Rule = String;

impl Cell<'_> {
    pub(super) fn host(&self) -> Result<u32, Rule> {
        let host = self.whole().and_then(|host| u32::try_from(host).ok());
        host.ok_or_else(|| "hosts are numbered from 0".into())
    }

    pub(super) fn bytes(&self) -> Result<u64, Rule> {
        match self.quantity(|Bytes(bytes)| bytes)? {
            0 => Err("a flow has at least 1 byte".into()),
            bytes => Ok(bytes),
        }
    }

    pub(super) fn start(&self) -> Result<u64, Rule> {
        let start = match self {
            Cell::Text(text) => {
                let ns = format!("{text}ns").parse::<Ps>();
                ns.map(|Ps(ps)| ps).ok().filter(|_| text.ends_with(|c: char| c.is_ascii_digit()))
            }
            Cell::Float(ns) => whole(ns * 1_000.0),
            _ => self.whole().and_then(|ns| ns.checked_mul(1_000)),
        };
        start.ok_or_else(|| "give a time in ns, 0 or more, that is a whole number of ps".into())
    }

    pub(super) fn dscp(&self) -> Result<u8, Rule> {
        let dscp = self.whole().filter(|dscp| *dscp <= 63).map(|dscp| dscp as u8);
        dscp.ok_or_else(|| "code points are 0 to 63".into())
    }

    pub(super) fn packet(&self) -> Result<u32, Rule> {
        match self.quantity(|Bytes(bytes)| bytes)? {
            packet @ 1..=65_535 => Ok(packet as u32),
            _ => Err("an IP packet has 1 to 65535 bytes".into()),
        }
    }

    pub(super) fn ect(&self) -> Result<bool, Rule> {
        match self {
            Cell::Bool(ect) => Ok(*ect),
            Cell::Text("true") => Ok(true),
            Cell::Text("false") => Ok(false),
            _ => match self.whole() {
                Some(0) => Ok(false),
                Some(1) => Ok(true),
                _ => Err("give true or false, or 1 or 0".into()),
            },
        }
    }

    pub(super) fn role(&self) -> Result<Role, Rule> {
        let role = match self {
            Cell::Text(text) => Role::deserialize(StrDeserializer::<SerdeError>::new(text)).ok(),
            _ => None,
        };
        role.ok_or_else(|| {
            "roles are no-trim, trimmable, trimmable-retransmit, control and trimmed".into()
        })
    }

    pub(super) fn rate(&self) -> Result<u64, Rule> {
        match self.quantity(|BitRate(rate)| rate)? {
            0 => Err("leave it empty for line rate".into()),
            rate => Ok(rate),
        }
    }

    /// A number without a unit, or in text one with.
    fn quantity<Q: FromStr<Err: fmt::Display>>(&self, amount: fn(Q) -> u64) -> Result<u64, Rule> {
        match (self.whole(), self) {
            (Some(whole), _) => Ok(whole),
            (None, Cell::Text(text)) if text.bytes().all(|b| b.is_ascii_digit()) => {
                Err(format!("is too large: at most {}", u64::MAX))
            }
            (None, Cell::Text(text)) => {
                text.parse().map(amount).map_err(|error: Q::Err| error.to_string())
            }
            (None, _) => Err("give a whole number, 0 or more".into()),
        }
    }

    /// A whole number, 0 or more.
    fn whole(&self) -> Option<u64> {
        match self {
            Cell::Int(value) => u64::try_from(*value).ok(),
            Cell::Large(value) => Some(*value),
            Cell::Float(value) => whole(*value),
            Cell::Text(text) => text.parse().ok(),
            Cell::Empty | Cell::Bool(_) => None,
        }
    }
}

/// A double that is a whole number below 2⁵³, beyond which not every one is there.
fn whole(value: f64) -> Option<u64> {
    let fits = (0.0..=9_007_199_254_740_992.0).contains(&value) && value.fract() == 0.0;
    fits.then_some(value as u64)
}
