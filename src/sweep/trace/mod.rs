//! Trace files: flows in a CSV or Parquet file.
//!
//! Owns the file's columns and what their values may be, and names file, line and column of a
//! mistake. Refuses to open files and to know hosts: a trace may be used with many topologies.
//!
//! | column | value | |
//! |---|---|---|
//! | `src`, `dst` | host numbers, not the same | required |
//! | `bytes` | IP bytes, at least 1 | required |
//! | `start_ns` | start in ns, a whole number of ps | required |
//! | `dscp` | code point, 0 to 63 | required, may be empty |
//! | `packet` | IP bytes of a packet, 1 to 65,535 | optional |
//! | `ect` | `true` or `false`, 1 or 0 | optional |
//! | `role` | codepoint role | optional |
//! | `rate` | rate cap in bit/s of wire bytes, at least 1 | optional |
//!
//! An empty cell, or a column that is not there, means as the pattern says. In a CSV file the
//! columns come in any order under a line of names, `bytes`, `packet` and `rate` may have units
//! (`4MB`, `100Gbps`), and lines that start with `#` are comments. In a Parquet file numbers may
//! be of any type as long as their values are whole.

mod cell;
mod csv_file;
mod error;
mod outlook;
mod parquet_file;

pub use error::{Place, TraceError};
pub(crate) use outlook::Outlook;

use crate::sim::traffic::TraceFlow;
use cell::Cell;
use std::path::Path;

/// Reads the flows of a trace file, in the file's order.
///
/// A file that starts with the Parquet magic `PAR1` is read as Parquet, any other as CSV. `path`
/// only names the file in errors.
///
/// # Errors
///
/// [`TraceError`], with line or row and column where there is one: a file that cannot be decoded,
/// a column missing, unknown or named twice, or a value out of its range.
pub fn parse_trace(path: &Path, bytes: &[u8]) -> Result<Vec<TraceFlow>, TraceError> {
    if bytes.starts_with(b"PAR1") {
        parquet_file::parse(path, bytes)
    } else {
        csv_file::parse(path, bytes)
    }
}

/// The columns a trace may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Src,
    Dst,
    Bytes,
    StartNs,
    Dscp,
    Packet,
    Ect,
    Role,
    Rate,
}

impl Column {
    const ALL: [Column; 9] = [
        Column::Src,
        Column::Dst,
        Column::Bytes,
        Column::StartNs,
        Column::Dscp,
        Column::Packet,
        Column::Ect,
        Column::Role,
        Column::Rate,
    ];
    const REQUIRED: usize = 5;

    fn name(self) -> &'static str {
        match self {
            Column::Src => "src",
            Column::Dst => "dst",
            Column::Bytes => "bytes",
            Column::StartNs => "start_ns",
            Column::Dscp => "dscp",
            Column::Packet => "packet",
            Column::Ect => "ect",
            Column::Role => "role",
            Column::Rate => "rate",
        }
    }
}

/// Where each column is in the file.
#[derive(Debug)]
struct Layout([Option<usize>; Column::ALL.len()]);

impl Layout {
    /// The layout of a file with columns of these names.
    fn new<'a>(
        path: &Path,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Layout, TraceError> {
        let mut layout = Layout([None; Column::ALL.len()]);
        for (at, name) in names.clone().enumerate() {
            let Some(column) = Column::ALL.into_iter().find(|column| column.name() == name) else {
                return Err(TraceError::unknown_column(path, name));
            };
            if layout.0[column as usize].replace(at).is_some() {
                let column = column.name();
                return Err(TraceError::ColumnTwice { path: path.into(), column });
            }
        }
        for column in &Column::ALL[..Column::REQUIRED] {
            if layout.0[*column as usize].is_none() {
                return Err(TraceError::MissingColumn {
                    path: path.into(),
                    column: column.name(),
                    found: names.collect::<Vec<_>>().join(","),
                });
            }
        }
        Ok(layout)
    }

    /// One row as a flow; `cell` gives the value at a place among the file's columns.
    fn flow<'a>(
        &self,
        path: &Path,
        place: Place,
        cell: impl Fn(usize) -> Cell<'a>,
    ) -> Result<TraceFlow, TraceError> {
        let fail = |column: Column, rule: String| {
            let at = self.0[column as usize];
            let value = at.map_or(Cell::Empty, &cell).to_string();
            TraceError::Value { path: path.into(), place, column: column.name(), value, rule }
        };
        macro_rules! read {
            ($column:ident, $read:expr) => {
                match self.0[Column::$column as usize].map_or(Cell::Empty, &cell) {
                    Cell::Empty => None,
                    cell => Some($read(&cell).map_err(|rule| fail(Column::$column, rule))?),
                }
            };
            ($column:ident, $read:expr, required) => {
                read!($column, $read).ok_or_else(|| fail(Column::$column, "give a value".into()))?
            };
        }
        let src = read!(Src, Cell::host, required);
        let dst = read!(Dst, Cell::host, required);
        if src == dst {
            return Err(fail(Column::Dst, "is `src` too; a host does not send to itself".into()));
        }
        Ok(TraceFlow {
            src,
            dst,
            bytes: read!(Bytes, Cell::bytes, required),
            start: read!(StartNs, Cell::start, required),
            dscp: read!(Dscp, Cell::dscp),
            packet: read!(Packet, Cell::packet),
            ect: read!(Ect, Cell::ect),
            role: read!(Role, Cell::role),
            rate: read!(Rate, Cell::rate),
        })
    }
}

#[cfg(test)]
mod tests;
