//! Words as bash, sbatch and a log path take them.
//!
//! Owns quoting. What no quoting makes safe (a newline would end a directive and begin another
//! command) is refused instead.

use super::BatchError;

/// Refuses control characters, newlines first among them.
pub fn plain(option: &'static str, text: &str) -> Result<(), BatchError> {
    match text.chars().any(char::is_control) {
        true => {
            Err(BatchError::option(option, text, "newlines and control characters are refused"))
        }
        false => Ok(()),
    }
}

/// A text that [`plain`] let through as one word of bash, in which nothing is expanded.
pub fn bash(text: &str) -> String {
    match is_word(text) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A text that [`plain`] let through as one word of an `#SBATCH` line.
///
/// sbatch takes quotes off and a backslash as "the next character as it is", inside quotes of
/// either kind too; a `#` outside of quotes begins a comment.
pub fn directive(text: &str) -> String {
    match is_word(text) {
        true => text.to_owned(),
        false => format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"")),
    }
}

/// A folder as the literal part of `--output`, in which `%` begins a replacement symbol.
///
/// # Errors
/// A backslash: in `--output` it turns off all replacement, so every task would write to one file.
pub fn log_folder(option: &'static str, folder: &str) -> Result<String, BatchError> {
    match folder.contains('\\') {
        true => Err(BatchError::option(
            option,
            folder,
            "a backslash in the path of a log file means something else to Slurm: use another path",
        )),
        false => Ok(folder.replace('%', "%%")),
    }
}

fn is_word(text: &str) -> bool {
    let safe = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    !text.is_empty() && text.chars().all(safe)
}
