//! What to configure, and why a job lost packets.
//!
//! Owns the headroom formulas practitioners use, the worst case of this product's own model, the
//! minimal simulations that confirm it, the buffer's budget and the settings that meet the sizing
//! conditions; the search for the smallest or largest setting that keeps a condition and the
//! frontier between two figures; the logic of explanations: findings over jobs, causes of drops,
//! settings to move. Refuses threads, files and what a person reads: it answers with numbers.

pub mod budget;
pub mod explain;
pub mod formulas;
pub mod frontier;
mod link;
pub mod proposal;
pub mod replay;
pub mod search;
pub mod worst;

pub use link::{LinkCase, LinkCaseError};
