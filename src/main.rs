//! The `poolsweep` command.

// The recorder grows many columns while several threads simulate; mimalloc has less contention
// and returns less to the system in between than the system's allocator.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // A panic outside a job is a bug of ours; the hook has printed it.
    let exit =
        std::panic::catch_unwind(poolsweep::cli::main).unwrap_or(poolsweep::cli::Exit::Internal);
    std::process::ExitCode::from(exit as u8)
}
