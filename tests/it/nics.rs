//! Hosts whose NIC reacts, through the whole simulator.

mod collectives;
mod fabrics;
mod properties;
pub mod scenarios;
mod worked;
