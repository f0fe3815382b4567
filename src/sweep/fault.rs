//! What can be wrong with a sweep file, and how it is said.
//!
//! Owns positions, the texts they point into, and the one error type of this room. Refuses to
//! decide what is wrong: the readers do.

use super::trace::Outlook;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;

/// Why there is no plan.
#[derive(Debug, Error)]
pub enum SweepError {
    /// A file could not be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file, or a setting of the command line, says something that cannot be.
    #[error("{0}")]
    Invalid(Box<Problem>),
    /// A plan on disk cannot be used as it is.
    #[error("{}: {message}", path.display())]
    Frozen {
        /// The file.
        path: PathBuf,
        /// Why not, and what to do.
        message: String,
    },
}

/// One thing wrong with a sweep file, with the place where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where; `None` where no single place is to blame.
    pub place: Option<Place>,
    /// The key it is about, as a path; may be empty.
    pub key: String,
    /// What is wrong: value and rule.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// A place in a source text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as opened, or the command-line setting.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The line itself.
    pub excerpt: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{}:{}:{}: ", place.file.display(), place.line, place.column)?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}", self.message)?;
        if let Some(place) = &self.place
            && !place.excerpt.is_empty()
        {
            let number = place.line.to_string();
            let (excerpt, column) = window(&place.excerpt, place.column as usize);
            write!(f, "\n  {number} | {excerpt}")?;
            write!(f, "\n  {:pad$} | {:>column$}", "", "^", pad = number.len())?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

/// The part of a long line around a column, and the column in it.
fn window(line: &str, column: usize) -> (String, usize) {
    const WIDTH: usize = 100;
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if line.chars().count() <= WIDTH {
        return (line.chars().map(clean).collect(), column.max(1));
    }
    let skip = column.saturating_sub(WIDTH / 2);
    (line.chars().skip(skip).take(WIDTH).map(clean).collect(), (column - skip).max(1))
}

/// A place in one of the [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pos {
    /// Number of the source.
    pub file: u16,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub col: u32,
}

/// Something wrong, before its place is looked up in the [`Sources`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub at: Option<Pos>,
    pub key: String,
    pub message: String,
    pub help: Option<String>,
}

impl Fault {
    /// A fault at a place.
    pub fn new(at: Pos, key: impl Into<String>, message: impl Into<String>) -> Self {
        Fault { at: Some(at), key: key.into(), message: message.into(), help: None }
    }

    /// A fault of the whole file.
    pub fn nowhere(message: impl Into<String>) -> Self {
        Fault { at: None, key: String::new(), message: message.into(), help: None }
    }

    /// With what to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With what to do about it, where that is known.
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }
}

/// A text that positions point into.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Path as opened, or the command-line setting.
    pub name: PathBuf,
    /// The text.
    pub text: String,
    /// A file (and not a setting of the command line).
    pub is_file: bool,
}

/// All texts read for one plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    list: Vec<Source>,
    /// What was read of traces, by path; shared, as a file is read once however often it is named.
    pub traces: Arc<Mutex<BTreeMap<PathBuf, (String, Outlook)>>>,
    /// The texts of a frozen plan, by path as opened; with them the disk is not asked for any.
    frozen: Option<Arc<BTreeMap<PathBuf, String>>>,
}

/// A text as it was read.
pub(crate) struct Text {
    /// The text.
    pub text: String,
    /// What tells the file from others, however its path is written.
    pub known: PathBuf,
}

/// Why a text could not be read.
pub(crate) enum Unread {
    /// The system says no.
    Io(std::io::Error),
    /// A folder, a device, …
    NotAFile,
    /// Longer than allowed; its bytes.
    TooLong(u64),
    /// Not UTF-8; the line where it stops being so.
    NotText(usize),
}

impl Sources {
    /// Most texts one plan may be made of.
    pub const LIMIT: usize = 1_000;

    /// Adds a text and returns its number.
    pub fn add(&mut self, name: PathBuf, text: String, is_file: bool) -> Result<u16, Fault> {
        if self.list.len() >= Self::LIMIT {
            return Err(Fault::nowhere(format!(
                "more than {} files and settings in one plan",
                Self::LIMIT
            )));
        }
        self.list.push(Source { name, text, is_file });
        Ok((self.list.len() - 1) as u16)
    }

    /// Sources that give these texts instead of what is on the disk now.
    pub fn frozen(texts: BTreeMap<PathBuf, String>) -> Self {
        Sources { frozen: Some(Arc::new(texts)), ..Sources::default() }
    }

    /// Reads a text of at most so many bytes.
    ///
    /// # Errors
    /// Why not.
    pub fn read(&self, path: &Path, at_most: u64) -> Result<Text, Unread> {
        if let Some(frozen) = &self.frozen {
            let missing = || Unread::Io(std::io::ErrorKind::NotFound.into());
            let text = frozen.get(path).ok_or_else(missing)?.clone();
            return Ok(Text { text, known: path.to_owned() });
        }
        let known = path.canonicalize().map_err(Unread::Io)?;
        // Judged before it is read: a device or a disk image must not fill the memory.
        let meta = std::fs::metadata(&known).map_err(Unread::Io)?;
        if !meta.is_file() {
            return Err(Unread::NotAFile);
        }
        if meta.len() > at_most {
            return Err(Unread::TooLong(meta.len()));
        }
        let bytes = std::fs::read(&known).map_err(Unread::Io)?;
        let text = String::from_utf8(bytes).map_err(|e| {
            let good = e.utf8_error().valid_up_to();
            Unread::NotText(e.as_bytes()[..good].iter().filter(|&&b| b == b'\n').count() + 1)
        })?;
        Ok(Text { text, known })
    }

    /// The traces read, with the hash of each.
    pub fn trace_hashes(&self) -> BTreeMap<PathBuf, String> {
        let traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        traces.iter().map(|(path, (hash, _))| (path.clone(), hash.clone())).collect()
    }

    /// What was read of traces, by the hash of the file.
    pub fn outlooks(&self) -> BTreeMap<String, Outlook> {
        let traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        traces.values().cloned().collect()
    }

    /// All texts in the order they were read.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.list.iter()
    }

    /// One text.
    pub fn get(&self, file: u16) -> Option<&Source> {
        self.list.get(usize::from(file))
    }

    /// The folder relative paths of a text start from.
    pub fn folder(&self, file: u16) -> &Path {
        self.get(file).filter(|s| s.is_file).and_then(|s| s.name.parent()).unwrap_or(Path::new(""))
    }

    /// `file:line`, as origins are shown.
    pub fn show(&self, pos: Pos) -> String {
        match self.get(pos.file) {
            Some(s) if s.is_file => format!("{}:{}", s.name.display(), pos.line),
            Some(s) => s.name.display().to_string(),
            None => String::new(),
        }
    }

    /// The error a person sees.
    pub fn error(&self, fault: Fault) -> SweepError {
        let place = fault.at.and_then(|pos| {
            let source = self.get(pos.file)?;
            let line = source.text.lines().nth((pos.line as usize).saturating_sub(1));
            Some(Place {
                file: source.name.clone(),
                line: pos.line,
                column: pos.col,
                excerpt: line.unwrap_or_default().to_owned(),
            })
        });
        SweepError::Invalid(Box::new(Problem {
            place,
            key: fault.key,
            message: fault.message,
            help: fault.help,
        }))
    }
}

/// The candidate nearest to a misspelt name, if one is near enough to be meant.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&wanted, &c.to_lowercase()), c))
        .min_by_key(|&(d, c)| (d, c.len()))
        .filter(|&(d, c)| d <= 2.max(wanted.chars().count().max(c.chars().count()) / 4))
        .map(|(_, c)| c)
}

/// `did you mean …?` for a misspelt name, or the list of what there is.
pub(crate) fn suggest(name: &str, known: &[&str]) -> Option<String> {
    if let Some(near) = nearest(name, known.iter().copied()) {
        return Some(format!("did you mean `{near}`?"));
    }
    if known.is_empty() {
        return None;
    }
    let listed: Vec<String> = known.iter().take(20).map(|k| format!("`{k}`")).collect();
    Some(format!("known here: {}", listed.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_shows_its_line() {
        let mut sources = Sources::default();
        let file = sources.add("a.yaml".into(), "x: 1\nyy: 300\n".into(), true).unwrap();
        let fault =
            Fault::new(Pos { file, line: 2, col: 5 }, "yy", "300 has no unit").help("write `300B`");
        assert_eq!(
            sources.error(fault).to_string(),
            "a.yaml:2:5: yy: 300 has no unit\n  2 | yy: 300\n    |     ^\n  help: write `300B`"
        );
    }

    #[test]
    fn nearest_is_near() {
        assert_eq!(nearest("PlaneBdp", ["PlaneBDP", "LossyAlpha"]), Some("PlaneBDP"));
        assert_eq!(nearest("zzz", ["PlaneBDP", "LossyAlpha"]), None);
    }

    #[test]
    fn a_long_line_is_cut_around_the_column() {
        let (text, column) = window(&"x".repeat(5_000), 4_000);
        assert_eq!((text.len(), column), (100, 50));
    }
}
