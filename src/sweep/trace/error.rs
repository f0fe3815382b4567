//! What can be wrong with a trace file.

use super::Column;
use crate::sweep::fault::nearest;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A trace file that cannot be used.
#[derive(Debug, Error)]
pub enum TraceError {
    /// Not a CSV file: unequal lengths of lines, not UTF-8.
    #[error("{}: not a CSV file of flows: {source}", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// What the reader says, with the line.
        source: csv::Error,
    },
    /// Not a Parquet file, or one that cannot be decoded.
    #[error(
        "{}: cannot decode this Parquet file: {source} (compression has to be none, snappy or \
         zstd)",
        path.display()
    )]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the reader says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A column that has to be there.
    #[error(
        "{}: no column `{column}` (found: {found}); a trace has the columns \
         src,dst,bytes,start_ns,dscp and optionally packet,ect,role,rate",
        path.display()
    )]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// The file's columns.
        found: String,
    },
    /// A column that traces do not have.
    #[error(
        "{}: unknown column `{column}`{}; a trace has the columns \
         src,dst,bytes,start_ns,dscp and optionally packet,ect,role,rate",
        path.display(),
        nearest.map_or_else(String::new, |n| format!(", did you mean `{n}`?"))
    )]
    UnknownColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The known column that may be meant.
        nearest: Option<&'static str>,
    },
    /// A column that is there twice.
    #[error("{}: column `{column}` is there twice; remove one", path.display())]
    ColumnTwice {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
    },
    /// A column of a Parquet file whose type cannot hold its values.
    #[error("{}: column `{column}` is of type {found}; store it as numbers, booleans or strings",
        path.display())]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Its Arrow type.
        found: String,
    },
    /// A value that the column does not take.
    #[error("{}:{place}: `{column}` is `{value}`: {rule}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// Line or row.
        place: Place,
        /// The column.
        column: &'static str,
        /// The value as the file has it.
        value: String,
        /// What it has to be.
        rule: String,
    },
}

impl TraceError {
    pub(super) fn unknown_column(path: &Path, column: &str) -> TraceError {
        TraceError::UnknownColumn {
            path: path.into(),
            column: column.into(),
            nearest: nearest(column, Column::ALL.map(Column::name)),
        }
    }
}

/// Where in a file a flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Line of a CSV file, from 1, the line of names included.
    Line(u64),
    /// Row of a Parquet file, from 0.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "{line}"),
            Place::Row(row) => write!(f, " row {row} (from 0)"),
        }
    }
}
