//! What to configure, and why a job lost packets.
//!
//! Owns the logic of explanations: findings over jobs, causes of drops, settings to move. Refuses
//! threads, files and what a person reads: it answers with numbers.

pub mod explain;
