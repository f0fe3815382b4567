//! Words of a file and where they stand.
//!
//! Owns splitting at white space, positions, and numbers. Refuses to know what a word is for.

use super::Source;
use std::fmt::Display;
use std::str::FromStr;

/// What is wrong with an imported file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct ImportError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// What is wrong and what to do about it.
    pub problem: String,
}

/// A word and where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub file: &'a str,
    pub text: &'a str,
    pub line: usize,
    pub column: usize,
}

impl<'a> Word<'a> {
    /// An error at this word.
    pub fn error(&self, problem: impl Display) -> ImportError {
        ImportError {
            file: self.file.to_owned(),
            line: self.line,
            column: self.column,
            problem: problem.to_string(),
        }
    }

    /// The word as a number; `what` says in messages what it should be.
    pub fn number<T: FromStr>(&self, what: &str) -> Result<T, ImportError> {
        self.text.parse().map_err(|_| self.error(format!("{:?} is not {what}", self.text)))
    }

    /// The word as a finite number, 0 or more.
    pub fn real(&self, what: &str) -> Result<f64, ImportError> {
        let number: f64 = self.number(what)?;
        if number.is_finite() && number >= 0.0 {
            return Ok(number);
        }
        Err(self.error(format!("{} is not {what}", self.text)))
    }
}

/// The words of a line.
pub(super) fn words_of<'a>(file: &'a str, line: usize, text: &'a str) -> Vec<Word<'a>> {
    let mut words = Vec::new();
    let mut start = None;
    for (column, (at, c)) in text.char_indices().chain([(text.len(), ' ')]).enumerate() {
        match (c.is_whitespace(), start) {
            (false, None) => start = Some((at, column + 1)),
            (true, Some((from, column))) => {
                words.push(Word { file, text: &text[from..at], line, column });
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// The words of a whole file, whatever its lines, taken one by one.
#[derive(Debug)]
pub(super) struct Words<'a> {
    words: std::vec::IntoIter<Word<'a>>,
    end: Word<'a>,
}

impl<'a> Words<'a> {
    pub fn new(source: Source<'a>) -> Self {
        let mut words = Vec::new();
        let mut lines = 0;
        for (at, line) in source.text.lines().enumerate() {
            words.extend(words_of(source.name, at + 1, line));
            lines = at + 1;
        }
        let end = Word { file: source.name, text: "", line: lines.max(1), column: 1 };
        Words { words: words.into_iter(), end }
    }

    /// The next word; `what` says in messages what it should be.
    pub fn take(&mut self, what: &str) -> Result<Word<'a>, ImportError> {
        self.words.next().ok_or_else(|| self.end.error(format!("the file ends before {what}")))
    }

    /// The next word as a number.
    pub fn number<T: FromStr>(&mut self, what: &str) -> Result<T, ImportError> {
        self.take(what)?.number(what)
    }

    /// What is left, which nothing reads there either.
    pub fn rest(&self) -> Option<Word<'a>> {
        self.words.as_slice().first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_where_they_start() {
        let words = words_of("f", 3, "  KEY\té 12 ");
        let seen: Vec<_> = words.iter().map(|w| (w.text, w.column)).collect();
        assert_eq!(seen, [("KEY", 3), ("é", 7), ("12", 9)]);
        let error = words[2].real("a rate").map(|n| n as u64);
        assert_eq!(error, Ok(12));
        assert_eq!(
            words[0].real("a rate").unwrap_err().to_string(),
            "f:3:3: \"KEY\" is not a rate"
        );
        assert!(words_of("f", 1, "-1")[0].real("a rate").is_err());
        assert!(words_of("f", 1, "nan")[0].real("a rate").is_err());
    }

    #[test]
    fn a_file_that_ends_early_is_told_at_its_last_line() {
        let mut words = Words::new(Source { name: "f", text: "1\n2\n" });
        assert_eq!(words.number::<u32>("a count"), Ok(1));
        assert_eq!(words.rest().map(|w| w.line), Some(2));
        assert_eq!(words.number::<u32>("a count"), Ok(2));
        let error = words.take("the switches").unwrap_err();
        assert_eq!(error.to_string(), "f:2:1: the file ends before the switches");
    }
}
