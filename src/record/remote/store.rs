//! The few things done to an object store, each a call that waits.
//!
//! Everything asynchronous of poolsweep is in this file: one runtime on no thread of its own, driven
//! by whoever calls. Retries with growing pauses are the client's.

use super::{RemoteError, RemoteUrl};
use bytes::Bytes;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, ClientConfigKey, Error, ObjectStore, ObjectStoreExt, PutMode, PutPayload,
    PutResult, RetryConfig, UpdateVersion,
};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// Objects fetched at a time.
const AT_ONCE: usize = 16;
/// How long a transfer may take: a part of some 100 MB over a slow line.
const TRANSFER_TIMEOUT: &str = "900s";
/// Pauses before a conditional put whose answer got lost is tried again. The client does not do
/// that itself, not knowing that equal bytes are fine.
const PAUSES: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(15)];

/// Which version of an object was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(UpdateVersion);

impl From<PutResult> for Version {
    fn from(put: PutResult) -> Self {
        Version(put.into())
    }
}

/// An object in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name below the dataset's prefix.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Its version.
    pub version: Version,
}

/// When a put may go through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum If {
    /// Always.
    Always,
    /// If there is nothing of that name.
    Absent,
    /// If it is as it was seen.
    Unchanged(Version),
}

/// What became of a put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// It is there.
    Done(Version),
    /// The condition did not hold; nothing was changed.
    Refused,
}

/// What is done to the objects of one dataset; names are below its prefix.
pub trait Objects: Send + Sync + fmt::Debug {
    /// Objects directly in a folder, and the names of the folders in it.
    fn list(&self, folder: &str) -> Result<(Vec<Listed>, Vec<String>), RemoteError>;
    /// Objects and their versions, in the order of names.
    fn get(&self, names: &[String]) -> Result<Vec<(Bytes, Version)>, RemoteError>;
    /// Puts an object in one piece.
    fn put(&self, name: &str, bytes: Bytes, condition: If) -> Result<Put, RemoteError>;
    /// Removes an object; one that is not there is fine.
    fn delete(&self, name: &str) -> Result<(), RemoteError>;
}

/// A real store.
#[derive(Debug)]
pub struct Store {
    url: RemoteUrl,
    store: Arc<dyn ObjectStore>,
    runtime: Runtime,
}

impl Store {
    /// The store that the AWS_* environment variables tell of. `patient`: whether to wait minutes
    /// for one that does not answer, as a run that has results to lose does.
    pub fn from_environment(url: &RemoteUrl, patient: bool) -> Result<Self, RemoteError> {
        // Two libraries may have chosen differently; the first choice stands, and either does.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let retry = match patient {
            true => RetryConfig::default(),
            false => RetryConfig {
                backoff: BackoffConfig::default(),
                max_retries: 3,
                retry_timeout: Duration::from_secs(20),
            },
        };
        let timeout = AmazonS3ConfigKey::Client(ClientConfigKey::Timeout);
        let mut builder =
            AmazonS3Builder::from_env().with_bucket_name(url.bucket()).with_retry(retry);
        if std::env::var_os("AWS_TIMEOUT").is_none() {
            builder = builder.with_config(timeout, TRANSFER_TIMEOUT);
        }
        let settings = |error: Error| RemoteError::Settings {
            url: url.to_string(),
            detail: error.to_string(),
        };
        Store::over(url, Arc::new(builder.build().map_err(settings)?))
    }

    /// Any store.
    pub fn over(url: &RemoteUrl, store: Arc<dyn ObjectStore>) -> Result<Self, RemoteError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| RemoteError::Settings {
            url: url.to_string(),
            detail: format!("no asynchronous runtime: {error}"),
        })?;
        Ok(Store { url: url.clone(), store, runtime })
    }

    fn key(&self, name: &str) -> Result<Key, RemoteError> {
        Key::parse(format!("{}/{name}", self.url.prefix()))
            .map_err(|error| RemoteError::BadUrl { detail: error.to_string() })
    }

    /// The name of a key below the prefix.
    fn name(&self, key: &Key) -> Option<String> {
        let rest = key.as_ref().strip_prefix(self.url.prefix().as_ref())?;
        Some(rest.trim_start_matches('/').to_owned())
    }

    fn failed(&self, action: &'static str, name: &str) -> impl Fn(Error) -> RemoteError {
        let url = if name.is_empty() { self.url.to_string() } else { self.url.of(name) };
        move |error| {
            let text = chain(&error);
            let (detail, next) = (detail(&text), next(&error, &text));
            RemoteError::Store { action, url: url.clone(), detail, next }
        }
    }

    fn put_once(&self, key: &Key, bytes: &Bytes, mode: PutMode) -> object_store::Result<PutResult> {
        let payload = PutPayload::from(bytes.clone());
        self.runtime.block_on(self.store.put_opts(key, payload, mode.into()))
    }
}

impl Objects for Store {
    fn list(&self, folder: &str) -> Result<(Vec<Listed>, Vec<String>), RemoteError> {
        let key = if folder.is_empty() { self.url.prefix().clone() } else { self.key(folder)? };
        let listing = self.runtime.block_on(self.store.list_with_delimiter(Some(&key)));
        let listing = listing.map_err(self.failed("list", folder))?;
        let listed = listing.objects.into_iter().filter_map(|object| {
            let version = UpdateVersion { e_tag: object.e_tag, version: object.version };
            let name = self.name(&object.location)?;
            Some(Listed { name, size: object.size, version: Version(version) })
        });
        let folders = listing.common_prefixes.iter().filter_map(|key| self.name(key));
        Ok((listed.collect(), folders.collect()))
    }

    fn get(&self, names: &[String]) -> Result<Vec<(Bytes, Version)>, RemoteError> {
        let mut got = Vec::with_capacity(names.len());
        for names in names.chunks(AT_ONCE) {
            let keys =
                names.iter().map(|name| self.key(name)).collect::<Result<Vec<_>, RemoteError>>()?;
            let mut results: Vec<_> = self.runtime.block_on(async {
                let mut tasks = JoinSet::new();
                for (place, key) in keys.into_iter().enumerate() {
                    let store = Arc::clone(&self.store);
                    tasks.spawn(async move { (place, fetch(store.as_ref(), &key).await) });
                }
                tasks.join_all().await
            });
            results.sort_by_key(|(place, _)| *place);
            for ((_, result), name) in results.into_iter().zip(names) {
                got.push(result.map_err(self.failed("download", name))?);
            }
        }
        Ok(got)
    }

    fn put(&self, name: &str, bytes: Bytes, condition: If) -> Result<Put, RemoteError> {
        let key = self.key(name)?;
        let mode = match condition {
            If::Always => PutMode::Overwrite,
            If::Absent => PutMode::Create,
            If::Unchanged(version) => PutMode::Update(version.0),
        };
        let mut pauses = PAUSES.into_iter().filter(|_| mode != PutMode::Overwrite);
        loop {
            match self.put_once(&key, &bytes, mode.clone()) {
                Ok(put) => return Ok(Put::Done(put.into())),
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                    return Ok(Put::Refused);
                }
                Err(error @ Error::Generic { .. }) => match pauses.next() {
                    Some(pause) => std::thread::sleep(pause),
                    None => return Err(self.failed("upload", name)(error)),
                },
                Err(error) => return Err(self.failed("upload", name)(error)),
            }
        }
    }

    fn delete(&self, name: &str) -> Result<(), RemoteError> {
        let key = self.key(name)?;
        match self.runtime.block_on(self.store.delete(&key)) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed("remove", name)(error)),
        }
    }
}

async fn fetch(store: &dyn ObjectStore, key: &Key) -> object_store::Result<(Bytes, Version)> {
    let got = store.get(key).await?;
    let (e_tag, version) = (got.meta.e_tag.clone(), got.meta.version.clone());
    Ok((got.bytes().await?, Version(UpdateVersion { e_tag, version })))
}

/// The innermost errors say what happened, the outer ones where.
fn chain(error: &Error) -> String {
    let mut texts = vec![error.to_string()];
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        let text = inner.to_string();
        // Most of them repeat those they contain.
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
        source = inner.source();
    }
    let text = texts.join(": ");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// What the store answered, if it says so, else all that is known.
fn detail(text: &str) -> String {
    let between = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        Some(rest.split_once(&format!("</{tag}>"))?.0)
    };
    match (between("Code"), between("Message")) {
        (Some(code), Some(message)) => format!("the store answers {code}: {message}"),
        _ => text.to_owned(),
    }
}

/// What to look at. Lists have no errors of their own for what is not there or not allowed.
fn next(error: &Error, text: &str) -> &'static str {
    let status = |code: &str| text.contains(&format!("status code: {code}"));
    match error {
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => MAY,
        Error::NotFound { .. } => NAMES,
        _ if status("403") || status("401") => MAY,
        _ if status("404") => NAMES,
        _ => "check the network, AWS_ENDPOINT_URL and AWS_REGION, and that there are credentials",
    }
}

const NAMES: &str = "check the names of bucket and prefix, and AWS_REGION";
const MAY: &str = "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, and what \
                   they may do in the bucket (list, get, put, delete)";

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(text: &str) -> Error {
        Error::Generic { store: "S3", source: text.to_owned().into() }
    }

    #[test]
    fn the_answer_of_the_store_is_told_and_what_to_look_at() {
        let text = "GET http://a/b - Server returned non-2xx status code: 403 Forbidden: <Error>\
                    <Code>AccessDenied</Code><Message>Not you.</Message></Error>";
        assert_eq!(detail(text), "the store answers AccessDenied: Not you.");
        assert_eq!(next(&generic(text), text), MAY);
        let text = "status code: 404 Not Found: <Code>NoSuchBucket</Code>";
        assert_eq!((detail(text).as_str(), next(&generic(text), text)), (text, NAMES));
        assert!(next(&generic("refused"), "refused").contains("AWS_ENDPOINT_URL"));
    }
}
