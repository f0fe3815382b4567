//! What is found in a dataset, and what findings are called.

pub mod points;
pub mod whole;
pub mod words;
