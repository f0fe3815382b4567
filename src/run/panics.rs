//! A panic of one job becomes a message, not the end of the run.
//!
//! Owns the process's panic hook while jobs run: a panic inside [`catch`] is recorded with its
//! place and prints nothing; any other panic goes to the hook that was there before.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// `Some` while this thread is inside [`catch`]; filled by the hook.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
}

static INSTALL: Once = Once::new();

/// Runs `f`; a panic in it is an error whose text is its message and place.
///
/// What `f` leaves half done must be dropped by the caller: jobs share nothing mutable.
pub fn catch<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    INSTALL.call_once(install);
    CAUGHT.with_borrow_mut(|slot| *slot = Some(String::new()));
    let result = catch_unwind(AssertUnwindSafe(f));
    let text = CAUGHT.with_borrow_mut(Option::take).unwrap_or_default();
    result.map_err(|_| text)
}

fn install() {
    let before = take_hook();
    set_hook(Box::new(move |info| {
        let ours = CAUGHT
            .with_borrow_mut(|slot| slot.as_mut().map(|text| *text = describe(info)).is_some());
        if !ours {
            before(info);
        }
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)");
    match info.location() {
        Some(at) => format!("panic at {}:{}: {message}", short(at.file()), at.line()),
        None => format!("panic: {message}"),
    }
}

/// A source path without what depends on the machine: a dependency's is cut to `crate/src/…`.
fn short(path: &str) -> &str {
    if !path.starts_with('/') {
        return path;
    }
    let source = path.rfind("/src/").unwrap_or(0);
    let start = path[..source].rfind('/').map_or(0, |slash| slash + 1);
    &path[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_its_message_and_place() {
        let text = catch(|| -> u32 { panic!("port {} has no peer", 7) }).unwrap_err();
        let line = line!() - 1;
        assert_eq!(text, format!("panic at src/run/panics.rs:{line}: port 7 has no peer"));
        assert_eq!(catch(|| 3), Ok(3));
    }

    #[test]
    fn an_arithmetic_panic_is_caught_too() {
        let zero = std::hint::black_box(0u32);
        let text = catch(|| 1 / zero).unwrap_err();
        assert!(text.ends_with("attempt to divide by zero"), "{text}");
    }

    #[test]
    fn paths_do_not_name_the_machine() {
        assert_eq!(short("src/sim/x.rs"), "src/sim/x.rs");
        assert_eq!(short("/home/a/registry/src/index/rand-0.9/src/lib.rs"), "rand-0.9/src/lib.rs");
        assert_eq!(short("/rustc/abc/library/core/src/slice/mod.rs"), "core/src/slice/mod.rs");
    }
}
