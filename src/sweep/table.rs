//! A CSV file as an axis: its columns are keys, its rows are taken in step.
//!
//! Owns the reading of such a file into nodes with positions. Refuses to know what the keys mean.

use super::fault::{Fault, Pos, Sources, Text, Unread};
use super::yaml::{self, Node};

/// Most bytes of a table.
const MAX_BYTES: u64 = 16 << 20;

/// One column.
pub(crate) struct Column {
    /// The key its head names.
    pub key: String,
    pub at: Pos,
    pub cells: Vec<Node>,
}

/// Reads a CSV file named by an axis; the text joins the sources.
pub(crate) fn read(
    name: &str,
    at: Pos,
    axis: &str,
    sources: &mut Sources,
) -> Result<Vec<Column>, Fault> {
    let path = sources.folder(at.file).join(name);
    let fault = |m: String| Fault::new(at, axis, m);
    let shown = path.display();
    let text = match sources.read(&path, MAX_BYTES) {
        Ok(Text { text, .. }) => text,
        Err(Unread::Io(error)) => return Err(fault(format!("cannot read `{shown}`: {error}"))),
        Err(Unread::NotAFile | Unread::TooLong(_)) => {
            return Err(fault(format!("`{shown}` is not a file of at most 16 MiB")));
        }
        Err(Unread::NotText(line)) => {
            return Err(fault(format!("`{shown}` is not UTF-8 text (line {line})")));
        }
    };
    let file = sources.add(path, text.clone(), true)?;
    columns(&text, file, axis)
}

fn columns(text: &str, file: u16, axis: &str) -> Result<Vec<Column>, Fault> {
    let here = |line: u64| Pos { file, line: line.try_into().unwrap_or(u32::MAX).max(1), col: 1 };
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let broken = |e: csv::Error| {
        let line = e.position().map_or(1, csv::Position::line);
        let message = match e.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("this row has {len} cells, the head has {expected_len}")
            }
            _ => format!("not a readable CSV file: {e}"),
        };
        Fault::new(here(line), axis, message)
    };
    let head = reader.headers().map_err(broken)?.clone();
    let at = here(head.position().map_or(1, csv::Position::line));
    let mut columns: Vec<Column> =
        head.iter().map(|key| Column { key: key.to_owned(), at, cells: Vec::new() }).collect();
    for (i, column) in columns.iter().enumerate() {
        if columns[..i].iter().any(|c| c.key == column.key) {
            return Err(Fault::new(at, axis, format!("two columns are called `{}`", column.key)));
        }
    }
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let at = here(record.position().map_or(1, csv::Position::line));
        for (column, cell) in columns.iter_mut().zip(&record) {
            if cell.is_empty() {
                return Err(Fault::new(at, &column.key, "this cell is empty"));
            }
            let node = yaml::parse(file, cell).map_err(|f| Fault { at: Some(at), ..f })?;
            column.cells.push(Node { value: node.value, at });
        }
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_cells_with_their_line() {
        let columns = columns("# c\na, b\n1KB,\"[1, 2]\"\n2KB, [3]\n", 7, "t").unwrap();
        assert_eq!(columns[0].key, "a");
        assert_eq!(columns[0].cells[1].show(), "2KB");
        assert_eq!(columns[1].cells[0].show(), "[1, 2]");
        assert_eq!(columns[1].cells[1].at, Pos { file: 7, line: 4, col: 1 });
    }

    #[test]
    fn ragged_and_empty_cells_are_refused() {
        let message = |text: &str| columns(text, 0, "t").err().unwrap().message;
        assert_eq!(message("a,b\n1\n"), "this row has 1 cells, the head has 2");
        assert_eq!(message("a,b\n1,\n"), "this cell is empty");
        assert_eq!(message("a,a\n1,2\n"), "two columns are called `a`");
    }
}
