//! `attributes`: every key of a scenario, or one in full.

use super::exit::{Exit, Failure};
use super::text::{Align, TextTable};
use crate::scenario::attributes::{self, Attribute};
use clap::Args;
use std::io::Write;

/// Arguments of `attributes`.
#[derive(Debug, Args)]
pub struct AttributesArgs {
    /// A key, by its full path or its last part: HeadRoomPerPortLimit
    name: Option<String>,
}

/// Prints the table, or one attribute in full.
///
/// # Errors
/// A name that is not known, or not unique.
pub fn run(args: &AttributesArgs, out: &mut dyn Write) -> Result<(), Failure> {
    match &args.name {
        None => all(out),
        Some(name) => one(name, out),
    }
}

fn all(out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = TextTable::new(
        ["key", "type", "default", "range"].map(|name| (name.to_string(), Align::Left)),
    );
    for attribute in attributes::all() {
        table.row([
            attribute.path.into(),
            attribute.kind.describe(),
            attribute.default.unwrap_or("-").into(),
            attribute.range.into(),
        ]);
    }
    out.write_all(table.render().as_bytes())?;
    writeln!(out, "\none in full: poolsweep attributes NAME")?;
    Ok(())
}

fn one(name: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let found = attributes::candidates(name);
    if found.is_empty() {
        let near = match attributes::nearest(name).as_slice() {
            [] => String::new(),
            near => format!("; nearest: {}", near.join(", ")),
        };
        return Err(Failure::new(
            Exit::Usage,
            format!("no attribute is called {name}{near}; all of them: poolsweep attributes"),
        ));
    }
    for (index, attribute) in found.into_iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        full(attribute, out)?;
    }
    Ok(())
}

fn full(attribute: &Attribute, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{}", attribute.path)?;
    writeln!(out, "  type     {}", attribute.kind.describe())?;
    if !attribute.range.is_empty() {
        writeln!(out, "  range    {}", attribute.range)?;
    }
    writeln!(
        out,
        "  default  {}",
        attribute.default.unwrap_or("none: must be given, or is absent")
    )?;
    writeln!(out, "  meaning  {}", attribute.meaning)?;
    if !attribute.read_at.is_empty() {
        writeln!(out, "  read at  {}", attribute.read_at)?;
    }
    Ok(())
}
