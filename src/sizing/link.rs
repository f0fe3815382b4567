//! A link as headroom is sized for it.

use crate::scenario::links::{MAX_DELAY, MAX_RATE, MIN_RATE, PAUSE_QUANTA};
use crate::scenario::offered::{FRAME_OVERHEAD, MIN_CHARGE};
use crate::scenario::{Switch, Timing};
use crate::sim::link::Line;
use crate::sim::packet::PFC_WIRE_BYTES;
use crate::units::{BitRate, Ps};
use thiserror::Error;

/// Largest IP packet, bytes.
const LARGEST_PACKET: u64 = 65_535;

/// A switch port, its cable and the sender at the other end: all that decides how much arrives
/// after a pause. Checked when made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkCase {
    /// bit/s.
    pub rate: u64,
    /// One-way delay, ps.
    pub delay: u64,
    /// Largest packet of the paused class as charged, bytes.
    pub packet: u64,
    /// Largest packet of any class as charged, bytes: one the pause may have to wait for.
    pub own_packet: u64,
    /// Time from the arrival of a pause at the sender to its taking effect, ps.
    pub response: u64,
    /// PFC frames up to the one that names the class: its place among the lossless classes.
    pub pfc_frames: u64,
    /// Resolution of serialization times.
    pub timing: Timing,
}

/// Why no headroom can be sized for a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum LinkCaseError {
    #[error("a rate of {0}: must be 1kbps to 100Tbps")]
    Rate(BitRate),
    #[error("a one-way delay of {0}: must be 0s to 1s")]
    Delay(Ps),
    #[error("a largest packet of {0} B: must be 46 to 65535 B, as the switch charges it")]
    Packet(u64),
    #[error("a response time of {0}: must be 0s to 1s")]
    Response(Ps),
    #[error("{0} PFC frames: must be 1 to 8, one a lossless class")]
    PfcFrames(u64),
}

impl LinkCase {
    /// A link with one lossless class, packets of one size and a sender that obeys at once.
    pub fn simple(rate: u64, delay: u64, packet: u64) -> LinkCase {
        LinkCase {
            rate,
            delay,
            packet,
            own_packet: packet,
            response: 0,
            pfc_frames: 1,
            timing: Timing::Picoseconds,
        }
    }

    /// The same, if every figure is in its range.
    ///
    /// # Errors
    /// The first figure that is not.
    pub fn checked(self) -> Result<LinkCase, LinkCaseError> {
        if !(MIN_RATE..=MAX_RATE).contains(&self.rate) {
            return Err(LinkCaseError::Rate(BitRate(self.rate)));
        }
        if self.delay > MAX_DELAY {
            return Err(LinkCaseError::Delay(Ps(self.delay)));
        }
        for packet in [self.packet, self.own_packet] {
            if !(MIN_CHARGE..=LARGEST_PACKET).contains(&packet) {
                return Err(LinkCaseError::Packet(packet));
            }
        }
        if self.response > MAX_DELAY {
            return Err(LinkCaseError::Response(Ps(self.response)));
        }
        if !(1..=8).contains(&self.pfc_frames) {
            return Err(LinkCaseError::PfcFrames(self.pfc_frames));
        }
        Ok(self)
    }

    /// Whether switches with these settings have a headroom of a port and pool as sized here.
    pub fn applies_to(switch: &Switch) -> bool {
        switch.model == crate::scenario::SwitchModel::Scala
    }

    /// Serialization as the simulator has it.
    pub(super) fn line(&self) -> Line {
        let line = Line::new(self.rate, self.delay);
        match self.timing {
            Timing::Picoseconds => line,
            Timing::WholeNs => line.in_whole_ns(),
        }
    }

    /// Time of a full frame of the class, ps; at least 1.
    pub fn frame_time(&self) -> u64 {
        self.line().serialize(self.packet + FRAME_OVERHEAD).max(1)
    }

    /// Time of a full frame of any class, ps.
    pub fn own_time(&self) -> u64 {
        self.line().serialize(self.own_packet + FRAME_OVERHEAD)
    }

    /// Time of a PFC frame, ps.
    pub fn pfc_time(&self) -> u64 {
        self.line().serialize(u64::from(PFC_WIRE_BYTES))
    }

    /// How long a pause lasts from its arrival, ps.
    pub fn pause_time(&self) -> u64 {
        self.line().pause_time(PAUSE_QUANTA)
    }
}
