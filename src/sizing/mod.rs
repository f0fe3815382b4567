//! What to configure: headroom, Xoff, Xon and pools of a switch.
//!
//! Owns the headroom formulas practitioners use, the worst case of this product's own model, the
//! minimal simulations that confirm it, the buffer's budget and the settings that meet the sizing
//! conditions. Refuses threads, files and what a person reads: it answers with numbers.

pub mod budget;
pub mod formulas;
mod link;
pub mod proposal;
pub mod replay;
pub mod worst;

pub use link::{LinkCase, LinkCaseError};
