//! Behaviour of the whole crate, one module a subject, in one binary.

mod cli;
mod field;
mod golden;
mod nics;
mod ns3;
mod oracle;
mod reuse;
mod sim_random;
mod sim_worked;
mod sweeps;
