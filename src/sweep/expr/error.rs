//! The one error of this language: what is wrong, and where.

use std::error::Error;
use std::fmt;
use std::ops::Range;

/// Most characters of an expression a message shows.
const SHOWN: usize = 100;

/// What is wrong with an expression, and where.
///
/// Displays as the message, the expression, and carets under the part that is wrong:
///
/// ```text
/// `+` between a byte count and a time
///   64KB + 500ns
///        ^
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExprError {
    /// What is wrong and what to write instead, in one line.
    pub message: String,
    /// The part of [`source`](Self::source) that is wrong, in bytes; empty at its end where
    /// something is missing.
    pub span: Range<usize>,
    /// The whole expression.
    pub source: String,
}

impl ExprError {
    pub(super) fn new(message: impl Into<String>, span: Range<usize>, source: &str) -> Self {
        Self { message: message.into(), span, source: source.to_owned() }
    }
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        // One column a character; line breaks and the like would tear the carets off.
        let shown: Vec<(usize, char)> = self
            .source
            .char_indices()
            .map(|(at, c)| (at, if c.is_control() { ' ' } else { c }))
            .collect();
        if shown.is_empty() {
            return Ok(());
        }
        let column = |byte: usize| shown.iter().take_while(|(at, _)| *at < byte).count();
        let (start, end) = (column(self.span.start), column(self.span.end));
        let first = if shown.len() > SHOWN { start.saturating_sub(SHOWN / 2) } else { 0 };
        let last = shown.len().min(first + SHOWN);
        let (before, after) =
            (if first > 0 { "..." } else { "" }, if last < shown.len() { "..." } else { "" });
        let line: String = shown[first..last].iter().map(|(_, c)| c).collect();
        let indent = before.len() + start - first;
        let carets = end.min(last).saturating_sub(start).max(1);
        write!(f, "\n  {before}{line}{after}\n  {:indent$}{:^<carets$}", "", "")
    }
}

impl Error for ExprError {}
