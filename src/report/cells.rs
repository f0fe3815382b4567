//! Single values out of the rows of a table.

use crate::sweep::plan::JobId;
use arrow::array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// 16 lower-case hex digits.
pub fn parse_id(text: &str) -> Option<JobId> {
    let hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    (text.len() == 16 && text.bytes().all(hex))
        .then(|| u64::from_str_radix(text, 16).ok().map(JobId))?
}

/// A column's values as text, `None` where there is none.
pub fn texts<'b>(batch: &'b RecordBatch, name: &str) -> impl Fn(usize) -> Option<String> + 'b {
    let column: Option<&ArrayRef> = batch.column_by_name(name);
    let options = FormatOptions::default();
    let shown = column.and_then(|column| ArrayFormatter::try_new(column, &options).ok());
    move |index| {
        let column = column?;
        column.is_valid(index).then(|| Some(shown.as_ref()?.value(index).to_string()))?
    }
}

/// A column's integer.
pub fn integer(batch: &RecordBatch, name: &str, index: usize) -> Option<i64> {
    let column = batch.column_by_name(name)?.as_any().downcast_ref::<Int64Array>()?;
    column.is_valid(index).then(|| column.value(index))
}

/// A column's number.
pub fn number(batch: &RecordBatch, name: &str, index: usize) -> Option<f64> {
    let column = batch.column_by_name(name)?.as_any().downcast_ref::<Float64Array>()?;
    column.is_valid(index).then(|| column.value(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_sixteen_lower_case_digits() {
        assert_eq!(parse_id("00000000000000ff"), Some(JobId(255)));
        for bad in ["", "ff", "00000000000000FF", "00000000000000fg", "+0000000000000ff"] {
            assert_eq!(parse_id(bad), None, "{bad}");
        }
    }
}
