//! poolsweep: a parallel parameter-sweep engine for switch buffers.
//!
//! A sweep file goes in, independent deterministic simulations of a switch's shared buffer run on
//! every core, and a Parquet dataset comes out. The rooms, from the bottom up: [`units`],
//! [`scenario`], [`sim`], [`sweep`], [`record`], [`sizing`], [`run`], [`interop`], [`report`], [`cli`]; a room
//! uses only rooms below it.

pub mod cli;
pub mod interop;
pub mod record;
pub mod report;
pub mod run;
pub mod scenario;
pub mod sim;
pub mod sizing;
pub mod sweep;
pub mod units;
