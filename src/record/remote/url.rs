//! Addresses.

use super::{RemoteError, SCHEME};
use object_store::path::Path as Key;
use std::fmt;

/// `s3://bucket/prefix`, the prefix being that of all objects of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteUrl {
    bucket: String,
    prefix: Key,
}

impl RemoteUrl {
    /// Reads an address.
    ///
    /// # Errors
    /// Another scheme; no bucket; no prefix, as a dataset would own the whole bucket; a prefix
    /// that no store takes.
    pub fn parse(text: &str) -> Result<Self, RemoteError> {
        let bad = |detail: String| RemoteError::BadUrl { detail };
        let rest = text
            .strip_prefix(SCHEME)
            .ok_or_else(|| bad(format!("`{text}` does not start with {SCHEME}")))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if bucket.is_empty() || !bucket.chars().all(fit) {
            return Err(bad(format!("`{text}` names no bucket")));
        }
        let prefix = Key::parse(prefix.trim_end_matches('/'))
            .map_err(|error| bad(format!("the prefix of `{text}` does not do ({error})")))?;
        if prefix.as_ref().is_empty() {
            return Err(bad(format!("`{text}` has no prefix: a dataset needs one of its own")));
        }
        Ok(RemoteUrl { bucket: bucket.to_owned(), prefix })
    }

    /// The bucket.
    pub(super) fn bucket(&self) -> &str {
        &self.bucket
    }

    /// What all keys start with.
    pub(super) fn prefix(&self) -> &Key {
        &self.prefix
    }

    /// The address of an object of the dataset.
    pub(super) fn of(&self, relative: &str) -> String {
        format!("{self}/{relative}")
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.bucket, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_bucket_and_a_prefix() {
        let url = RemoteUrl::parse("s3://sweeps/2026/incast/").unwrap();
        assert_eq!((url.bucket(), url.prefix().as_ref()), ("sweeps", "2026/incast"));
        assert_eq!(url.to_string(), "s3://sweeps/2026/incast");
        assert_eq!(url.of("jobs/a"), "s3://sweeps/2026/incast/jobs/a");
        for (bad, why) in [
            ("s3:///x", "names no bucket"),
            ("s3://b", "has no prefix"),
            ("s3://b//", "has no prefix"),
            ("s3://b/a//c", "does not do"),
            ("s3://b/../c", "does not do"),
            ("http://b/c", "does not start"),
        ] {
            let error = RemoteUrl::parse(bad).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("s3://bucket/prefix"), "{error}");
        }
    }
}
