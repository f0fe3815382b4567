//! The allowed rate of a queue pair.
//!
//! Owns the two published loops and the choice between them. A loop has no events: what falls due
//! with time is caught up when somebody asks, always before what happens at the same instant, so
//! that the result is that of a timer at every step. Refuses to know packets beyond their number
//! and bytes.
//!
//! Rates are `f64` bit/s, computed with + − × ÷ in a fixed order: the same bits everywhere.

mod dcqcn;
mod scala;

pub use dcqcn::{Dcqcn, DcqcnParameters};
pub use scala::{Scala, ScalaParameters};

use crate::scenario::roce::{RateControl, Roce};

/// What all queue pairs of a job have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Parameters {
    /// Line rate always.
    None,
    /// The documented loop.
    Scala(ScalaParameters),
    /// DCQCN.
    Dcqcn(DcqcnParameters),
}

impl Parameters {
    /// From settings that have passed their checks.
    pub fn new(settings: &Roce) -> Parameters {
        // A sender that does not mark its data does not listen to CNPs either.
        match settings.rate_control {
            _ if !settings.enable_ecn => Parameters::None,
            RateControl::None => Parameters::None,
            RateControl::Scala => Parameters::Scala(ScalaParameters::new(settings)),
            RateControl::Dcqcn => Parameters::Dcqcn(DcqcnParameters::new(&settings.dcqcn)),
        }
    }
}

/// The loop of one queue pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limiter {
    /// Line rate always.
    None,
    /// The documented loop.
    Scala(Scala),
    /// DCQCN.
    Dcqcn(Dcqcn),
}

impl Limiter {
    /// A queue pair at line rate (`line` bit/s).
    pub fn new(parameters: &Parameters, line: u64) -> Limiter {
        match parameters {
            Parameters::None => Limiter::None,
            Parameters::Scala(p) => Limiter::Scala(Scala::new(p, line)),
            Parameters::Dcqcn(_) => Limiter::Dcqcn(Dcqcn::new(line)),
        }
    }

    /// A CNP has arrived.
    pub fn cnp(&mut self, parameters: &Parameters, now: u64) {
        match (self, parameters) {
            (Limiter::Scala(state), Parameters::Scala(p)) => state.cnp(p, now),
            (Limiter::Dcqcn(state), Parameters::Dcqcn(p)) => state.cnp(p, now),
            _ => {}
        }
    }

    /// The allowed rate once what falls due by `now` has happened, whole bit/s; 0: the line's.
    #[inline]
    pub fn allowed(&mut self, parameters: &Parameters, now: u64) -> u64 {
        match (self, parameters) {
            (Limiter::Scala(state), Parameters::Scala(p)) => {
                state.advance(p, now);
                state.rate()
            }
            (Limiter::Dcqcn(state), Parameters::Dcqcn(p)) => {
                state.advance(p, now);
                state.rate()
            }
            _ => 0,
        }
    }

    /// A data packet of `ip` bytes starts to be serialized.
    #[inline]
    pub fn sent(&mut self, parameters: &Parameters, ip: u16) {
        match (self, parameters) {
            (Limiter::Scala(state), _) => state.sent(),
            (Limiter::Dcqcn(state), Parameters::Dcqcn(p)) => state.sent(p, ip),
            _ => {}
        }
    }
}
