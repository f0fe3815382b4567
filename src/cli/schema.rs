//! `schema`: the JSON Schema of the sweep file, for editors.

use super::exit::Failure;
use crate::scenario::schema::schema;
use std::io::Write;

/// Prints the schema.
///
/// # Errors
/// When stdout cannot be written.
pub fn run(out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{:#}", schema())?;
    Ok(())
}
