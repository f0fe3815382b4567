//! Hosts whose NIC reacts, through the whole simulator.

mod collectives;
mod properties;
mod scenarios;
mod worked;
