//! What other programs write, and what their scripts read.
//!
//! Owns importing (`hpcc`: the input files of HPCC's ns-3 code), exporting (`traces`: the trace
//! files of that code) and telling batch systems what to run (`batch`). Refuses to run jobs and to
//! know how a dataset is stored.

pub mod batch;
pub mod hpcc;
pub mod traces;
