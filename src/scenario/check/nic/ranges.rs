//! Ranges of the attributes of one block of the NIC.

use crate::scenario::check::{MAX_TIME, Report};
use crate::scenario::links::{MAX_DELAY, MAX_RATE, MIN_RATE};
use crate::units::{BitRate, Bytes, Ps};
use std::fmt::Display;

/// Largest count of a thing that nothing else bounds: transports keep 32 bits.
pub(super) const MAX_COUNT: u64 = u32::MAX as u64;
/// Largest gain: beyond it a slip is likelier than a wish.
pub(super) const MAX_GAIN: f64 = 1e6;

/// A block under check.
pub(super) struct At<'a> {
    block: &'static str,
    report: &'a mut Report,
}

impl<'a> At<'a> {
    pub(super) fn new(block: &'static str, report: &'a mut Report) -> At<'a> {
        At { block, report }
    }

    pub(super) fn refuse(&mut self, name: &str, value: impl Display, rule: &str) {
        self.report.refuse(format!("{}.{name}", self.block), value, rule);
    }

    pub(super) fn count(&mut self, name: &str, value: u64, least: u64, most: u64) {
        if !(least..=most).contains(&value) {
            self.refuse(name, value, &format!("must be {least} to {most}"));
        }
    }

    pub(super) fn bytes(&mut self, name: &str, value: Bytes, least: u64, most: u64) {
        if !(least..=most).contains(&value.0) {
            self.refuse(name, value, &format!("must be {least}B to {most}B"));
        }
    }

    pub(super) fn rate(&mut self, name: &str, value: BitRate) {
        if !(MIN_RATE..=MAX_RATE).contains(&value.0) {
            self.refuse(name, value, "must be 1kbps to 100Tbps");
        }
    }

    /// A rate that may be none.
    pub(super) fn step(&mut self, name: &str, value: BitRate) {
        if value.0 > MAX_RATE {
            self.refuse(name, value, "must be 0bps to 100Tbps");
        }
    }

    /// A time that may be none, at most 1 s.
    pub(super) fn delay(&mut self, name: &str, value: Ps) {
        if value.0 > MAX_DELAY {
            self.refuse(name, value, "must be 0s to 1s");
        }
    }

    /// A time that something waits or is divided by, at most 1 s.
    pub(super) fn wait(&mut self, name: &str, value: Ps) {
        if !(1..=MAX_DELAY).contains(&value.0) {
            self.refuse(name, value, "must be above 0s and at most 1s");
        }
    }

    /// A time that may be none, at most the longest one.
    pub(super) fn long(&mut self, name: &str, value: Ps) {
        if value.0 > MAX_TIME {
            self.refuse(name, value, "must be at most 1000000s");
        }
    }

    /// A time above 0, at most the longest one.
    pub(super) fn long_wait(&mut self, name: &str, value: Ps) {
        if !(1..=MAX_TIME).contains(&value.0) {
            self.refuse(name, value, "must be above 0s and at most 1000000s");
        }
    }

    /// A number between two others; false (and refused) otherwise.
    pub(super) fn number(&mut self, name: &str, value: f64, least: f64, most: f64) -> bool {
        let inside = (least..=most).contains(&value);
        if !inside {
            self.refuse(name, value, &format!("must be {least} to {most}"));
        }
        inside
    }

    pub(super) fn share(&mut self, name: &str, value: f64) {
        self.number(name, value, 0.0, 1.0);
    }
}
