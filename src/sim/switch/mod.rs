//! What a switch is made of: its buffer manager, its ECN marker, its routes.

pub mod buffer;
pub mod ecn;
pub mod route;
