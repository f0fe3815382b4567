//! The sweep file's expression language.
//!
//! Owns scalars with units and the expressions of `derived`, `constraints` and `checks`.

mod error;
mod quantity;
mod value;

pub use error::ExprError;
pub use quantity::parse_quantity;
pub use value::Value;
