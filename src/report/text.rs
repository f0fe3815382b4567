//! Text for a terminal: aligned tables and quantities as people write them.

use crate::sweep::plan::{Column, ColumnValues};
use crate::units::{BitRate, Bytes, Ps, thousands};
use std::fmt::Write;

/// How a column of a text table is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// An aligned text table.
#[derive(Debug, Default)]
pub struct TextTable {
    head: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table with these columns.
    pub fn new(head: impl IntoIterator<Item = (String, Align)>) -> Self {
        TextTable { head: head.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table, each line starting with two spaces.
    pub fn render(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|c| chars(c));
            cells.chain([chars(&self.head[column].0)]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let heads: Vec<String> = self.head.iter().map(|(name, _)| name.clone()).collect();
        let mut text = String::new();
        for row in std::iter::once(&heads).chain(&self.rows) {
            let mut line = String::new();
            for (column, &width) in widths.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                let gap = " ".repeat(width - chars(cell));
                match self.head[column].1 {
                    Align::Left => line.extend(["  ", cell, &gap]),
                    Align::Right => line.extend(["  ", &gap, cell]),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Counts with their noun: `1 job`, `2 jobs`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number as i128), if number == 1 { "" } else { "s" })
}

/// Bytes to three figures, for estimates: `1.2 MB`.
pub fn about_bytes(bytes: f64) -> String {
    const STEPS: [(f64, &str); 4] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match STEPS.iter().find(|(step, _)| bytes >= *step) {
        Some((step, unit)) => {
            let scaled = bytes / step;
            let digits = if scaled < 10.0 { 1 } else { 0 };
            format!("{scaled:.digits$} {unit}")
        }
        None => format!("{bytes:.0} B"),
    }
}

/// A time to four figures: `344.1 us`.
pub fn about_time(ps: f64) -> String {
    about(ps, &[(1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns")], "ps")
}

/// A rate likewise: `387.2 Gbps`.
pub fn about_rate(bps: f64) -> String {
    about(bps, &[(1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps")], "bps")
}

fn about(value: f64, steps: &[(f64, &str)], least: &str) -> String {
    let step = steps.iter().copied().find(|(step, _)| value >= *step);
    let (step, unit) = step.unwrap_or((1.0, least));
    let scaled = value / step;
    let digits = match scaled {
        100.0.. => 1,
        10.0.. => 2,
        _ => 3,
    };
    format!("{scaled:.digits$} {unit}")
}

/// An integer of a unit as a sweep file would have it: `256KB`, `500ns`, `400Gbps`, `7`.
pub fn quantity(value: i64, unit: &str) -> String {
    let Ok(positive) = u64::try_from(value) else {
        return value.to_string();
    };
    match unit {
        "B" => Bytes(positive).to_string(),
        "ps" => Ps(positive).to_string(),
        "bit/s" => BitRate(positive).to_string(),
        _ => value.to_string(),
    }
}

/// A number of a unit: whole amounts as [`quantity`] has them.
fn number(value: f64, unit: &str) -> String {
    // Above 2^53 not every whole number is an `f64`: digits could be made up.
    if !unit.is_empty() && value.fract() == 0.0 && (0.0..9.0e15).contains(&value) {
        return quantity(value as i64, unit);
    }
    if unit.is_empty() { value.to_string() } else { format!("{value} {unit}") }
}

/// Value of a column at a point; `-` where the axis was dropped.
pub fn cell(column: &Column, point: usize) -> String {
    fn list<T: Copy>(values: &[T], show: impl Fn(T) -> String) -> String {
        let mut text = String::from("[");
        for (index, value) in values.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(text, "{comma}{}", show(*value));
        }
        text + "]"
    }
    let unit = column.unit.as_str();
    let text = match &column.values {
        ColumnValues::Int(all) => all[point].map(|value| quantity(value, unit)),
        ColumnValues::Float(all) => all[point].map(|value| number(value, unit)),
        ColumnValues::Bool(all) => all[point].map(|value| value.to_string()),
        ColumnValues::Text(all) => all[point].clone(),
        ColumnValues::IntList(all) => {
            all[point].as_deref().map(|values| list(values, |value| quantity(value, unit)))
        }
        ColumnValues::FloatList(all) => {
            all[point].as_deref().map(|values| list(values, |value| value.to_string()))
        }
    };
    text.unwrap_or_else(|| "-".into())
}

/// Whether a column's values are numbers, set to the right.
pub fn align(column: &Column) -> Align {
    match column.values {
        ColumnValues::Int(_) | ColumnValues::Float(_) => Align::Right,
        _ => Align::Left,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_and_have_no_trailing_blanks() {
        let mut table =
            TextTable::new([("name".into(), Align::Left), ("drops".into(), Align::Right)]);
        table.row(["a".into(), "12,000".into()]);
        table.row(["longer".into()]);
        assert_eq!(table.render(), "  name     drops\n  a       12,000\n  longer\n");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!([count(1, "job"), count(1_200, "job")], ["1 job", "1,200 jobs"]);
        assert_eq!([about_bytes(999.0), about_bytes(1_240_000.0)], ["999 B", "1.2 MB"]);
        assert_eq!([about_time(999.0), about_time(1_240_000.0)], ["999.0 ps", "1.240 us"]);
        assert_eq!([about_rate(4e11), about_rate(1.6e12)], ["400.0 Gbps", "1.600 Tbps"]);
    }

    #[test]
    fn cells_are_in_the_units_of_the_file() {
        let column = |unit: &str, values| Column { name: "x".into(), unit: unit.into(), values };
        let bytes = column("B", ColumnValues::Int(vec![Some(256_000), None]));
        assert_eq!([cell(&bytes, 0), cell(&bytes, 1)], ["256KB", "-"]);
        let times = column("ps", ColumnValues::Int(vec![Some(500_000)]));
        assert_eq!(cell(&times, 0), "500ns");
        let computed = column("B", ColumnValues::Float(vec![Some(20_500.0), Some(0.5)]));
        assert_eq!([cell(&computed, 0), cell(&computed, 1)], ["20.5KB", "0.5 B"]);
        let map = column("", ColumnValues::IntList(vec![Some(vec![0, -1, 2])]));
        assert_eq!(cell(&map, 0), "[0, -1, 2]");
        let rates = column("bit/s", ColumnValues::IntList(vec![Some(vec![400_000_000_000])]));
        assert_eq!(cell(&rates, 0), "[400Gbps]");
    }
}
