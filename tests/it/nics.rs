//! Hosts whose NIC reacts, through the whole simulator.

mod collectives;
mod fabrics;
mod properties;
mod scenarios;
mod worked;
