//! What the buffer of a switch was compared with over a run, and what another one would start with.
//!
//! Owns the question whether a switch that starts otherwise would have answered alike. Everything
//! that is not a threshold kept here has to be equal, and whoever asks has made sure of it.

use super::datacenter::{DatacenterSeen, DatacenterStart};
use super::hpcc::{HpccSeen, HpccStart};
use super::scala::ScalaSeen;
use crate::scenario::startup::Startup;
use serde::{Deserialize, Serialize};

/// What thresholds were compared with, by model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Seen {
    /// Of [`Scala`](super::Scala).
    Scala(Box<ScalaSeen>),
    /// Of [`Hpcc`](super::Hpcc).
    Hpcc(HpccSeen),
    /// Of [`Datacenter`](super::Datacenter).
    Datacenter(DatacenterSeen),
}

/// The thresholds a switch starts with, by model.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// Of [`Scala`](super::Scala).
    Scala(Box<Startup>),
    /// Of [`Hpcc`](super::Hpcc).
    Hpcc(HpccStart),
    /// Of [`Datacenter`](super::Datacenter).
    Datacenter(DatacenterStart),
}

impl Seen {
    /// Whether every comparison would have come out alike on a switch that starts so.
    pub fn holds(&self, start: &Start) -> bool {
        match (self, start) {
            (Seen::Scala(seen), Start::Scala(startup)) => seen.holds(startup),
            (Seen::Hpcc(seen), Start::Hpcc(start)) => seen.holds(start),
            (Seen::Datacenter(seen), Start::Datacenter(start)) => seen.holds(start),
            _ => false,
        }
    }

    /// Takes in what a switch of the same model and ports was compared with.
    pub fn add(&mut self, other: &Seen) {
        match (self, other) {
            (Seen::Scala(seen), Seen::Scala(other)) => seen.add(other),
            (Seen::Hpcc(seen), Seen::Hpcc(other)) => seen.add(other),
            (Seen::Datacenter(seen), Seen::Datacenter(other)) => seen.add(other),
            _ => unreachable!("the switches of a job run one model"),
        }
    }
}
