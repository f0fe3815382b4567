//! Traces as CSV.

use super::cell::Cell;
use super::{Layout, Place, TraceError};
use crate::sim::traffic::TraceFlow;
use std::path::Path;

pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<TraceFlow>, TraceError> {
    let fail = |source| TraceError::Csv { path: path.into(), source };
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(bytes);
    let layout = Layout::new(path, reader.headers().map_err(fail)?.iter())?;
    let mut flows = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(fail)? {
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |at| match record.get(at) {
            None | Some("") => Cell::Empty,
            Some(text) => Cell::Text(text),
        };
        flows.push(layout.flow(path, Place::Line(line), cell)?);
    }
    Ok(flows)
}
