//! `completions`: the script a shell completes commands with.

use super::Cli;
use super::exit::Failure;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io::Write;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// When stdout cannot be written.
pub fn run(args: &CompletionsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    // Into memory first: the generator panics when its writer fails, and a closed pipe is no bug.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "poolsweep", &mut script);
    out.write_all(&script)?;
    Ok(())
}
