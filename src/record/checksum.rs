//! Checksums: every byte of a part is covered, and a part's files vouch for one another.
//!
//! - A file's metadata holds the BLAKE3 and the number of its data bytes, those before the page
//!   indexes and the footer; they are hashed on their way to the disk.
//! - It holds the BLAKE3 of the rest of the file too, taken with [`BLANK`] in that hash's place.
//! - The jobs part, written last, lists every sibling: the file of the same name in another
//!   table's folder, by size, BLAKE3 and rows. While jobs are being replaced it lists the old and
//!   the new file of each, since a kill may leave either.
//!
//! Nothing here asks for a key: this finds accidents, not forgery.

use crate::record::fs::TempFile;
use crate::record::part::damaged;
use crate::record::schema::StoredTable;
use crate::record::{RecordError, Result};
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

const DATA_BYTES: &str = "data_bytes";
const DATA_HASH: &str = "data_blake3";
const FOOTER_HASH: &str = "footer_blake3";
const SIBLINGS: &str = "siblings";
/// Metadata of every file: the plan or plans its rows were recorded for, with commas.
pub(super) const PLAN_HASH: &str = "plan_hash";

/// What the hash of the footer is taken with, in the place of the hash.
const BLANK: &str = "----------------------------------------------------------------";

/// A whole file in short.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Sum {
    pub bytes: u64,
    pub blake3: String,
    pub rows: u64,
}

/// What the files beside a jobs part may be, by table. More than one: jobs were being replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Siblings(BTreeMap<String, Vec<Sum>>);

impl Siblings {
    /// Adds what a table's file may be.
    pub fn add(&mut self, table: StoredTable, sum: Sum) {
        let sums = self.0.entry(table.name().to_owned()).or_default();
        if !sums.contains(&sum) {
            sums.push(sum);
        }
    }

    /// Adds all of another's.
    pub fn extend(&mut self, other: &Siblings) {
        for (table, sums) in &other.0 {
            let mine = self.0.entry(table.clone()).or_default();
            mine.extend(sums.iter().filter(|sum| !mine.contains(sum)).cloned().collect::<Vec<_>>());
        }
    }

    /// What a table's file may be; empty if there is to be none.
    pub fn of(&self, table: StoredTable) -> &[Sum] {
        self.0.get(table.name()).map_or(&[], Vec::as_slice)
    }

    /// The metadata of the jobs part.
    pub fn note(&self) -> KeyValue {
        // Texts and numbers have no way to fail.
        let text = serde_json::to_string(self).unwrap_or_default();
        KeyValue::new(SIBLINGS.to_owned(), text)
    }

    /// Reads it back; a part without it lists nothing.
    pub fn read(path: &Path, notes: &Notes) -> Result<Self> {
        let Some(text) = notes.get(SIBLINGS) else { return Ok(Siblings::default()) };
        serde_json::from_str(text).map_err(|e| damaged(path, format!("`{SIBLINGS}`: {e}")))
    }

    /// Refuses a file that is not the one listed.
    pub fn vouch(&self, path: &Path, table: StoredTable, found: &Sum) -> Result<()> {
        if self.of(table).contains(found) {
            return Ok(());
        }
        Err(damaged(path, "it is not the file that was published with its jobs part"))
    }
}

/// Key-value metadata of a file.
pub(super) type Notes = BTreeMap<String, String>;

/// A file on its way to the disk, hashed.
pub(super) struct Hashing {
    file: TempFile,
    hasher: blake3::Hasher,
    bytes: u64,
    /// Page indexes and footer, held back until their hash is known.
    tail: Option<Vec<u8>>,
}

impl Hashing {
    pub fn new(file: TempFile) -> Self {
        Hashing { file, hasher: blake3::Hasher::new(), bytes: 0, tail: None }
    }

    /// The data is complete; the metadata that says what it was.
    pub fn end_of_data(&mut self) -> [KeyValue; 3] {
        self.tail = Some(Vec::new());
        let note = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
        [
            note(DATA_BYTES, self.bytes.to_string()),
            note(DATA_HASH, self.hasher.finalize().to_hex().to_string()),
            note(FOOTER_HASH, BLANK.to_owned()),
        ]
    }

    /// The file is complete.
    pub fn finish(mut self, rows: u64) -> io::Result<(TempFile, Sum)> {
        let mut tail = self.tail.take().unwrap_or_default();
        let hash = blake3::hash(&tail).to_hex();
        let place = footer_hash(&tail).ok_or_else(|| {
            io::Error::other("the Parquet library did not write the footer's hash as text")
        })?;
        tail[place].copy_from_slice(hash.as_bytes());
        self.write_all(&tail)?;
        let blake3 = self.hasher.finalize().to_hex().to_string();
        Ok((self.file, Sum { bytes: self.bytes, blake3, rows }))
    }
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(tail) = &mut self.tail {
            tail.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Where the footer's hash stands: after its name, which is there once, in Thrift's encoding of a
/// field and a length.
fn footer_hash(tail: &[u8]) -> Option<std::ops::Range<usize>> {
    let name = FOOTER_HASH.as_bytes();
    let mut places = tail.windows(name.len()).enumerate().filter(|(_, at)| *at == name);
    let (place, _) = places.next()?;
    let start = place + name.len() + 2;
    let range = start..start + BLANK.len();
    (places.next().is_none() && range.end <= tail.len()).then_some(range)
}

/// A file read to its end and found whole.
#[derive(Debug, Clone)]
pub(super) struct Checked {
    pub sum: Sum,
    pub notes: Notes,
}

/// Reads a file to its end and checks every byte against its own checksums.
///
/// # Errors
///
/// [`RecordError::Damaged`], also for a file without checksums.
pub(super) fn check(path: &Path) -> Result<Checked> {
    let mut file = File::open(path).map_err(RecordError::io("open", path))?;
    check_open(path, &mut file)
}

/// As [`check`], of an open file; leaves it at its start.
pub(super) fn check_open(path: &Path, file: &mut File) -> Result<Checked> {
    let (notes, metadata) = read_notes(path, file)?;
    let rows = u64::try_from(metadata.file_metadata().num_rows())
        .map_err(|_| damaged(path, "a negative number of rows"))?;
    let note = |key: &str| {
        notes.get(key).ok_or_else(|| damaged(path, format!("it carries no checksum `{key}`")))
    };
    let length: u64 =
        note(DATA_BYTES)?.parse().map_err(|_| damaged(path, format!("`{DATA_BYTES}`")))?;
    let read = RecordError::io("read", path);
    let mut hasher = blake3::Hasher::new();
    let mut tail = Vec::new();
    let copied = file.seek(SeekFrom::Start(0)).and_then(|_| {
        hasher.update_reader(Read::by_ref(file).take(length))?;
        file.read_to_end(&mut tail)?;
        file.seek(SeekFrom::Start(0))
    });
    copied.map_err(read)?;
    let wrong = |what: &str| Err(damaged(path, format!("{what} are not those that were written")));
    if hasher.count() != length {
        return Err(damaged(path, "it has fewer bytes of data than were written"));
    }
    if hasher.finalize().to_hex().as_str() != note(DATA_HASH)? {
        return wrong("its bytes of data");
    }
    let written = note(FOOTER_HASH)?;
    hasher.update(&tail);
    let Some(place) = footer_hash(&tail).filter(|place| tail[place.clone()] == *written.as_bytes())
    else {
        return wrong("the bytes of its footer");
    };
    tail[place].copy_from_slice(BLANK.as_bytes());
    if blake3::hash(&tail).to_hex().as_str() != written {
        return wrong("the bytes of its footer");
    }
    let bytes = length + tail.len() as u64;
    let sum = Sum { bytes, blake3: hasher.finalize().to_hex().to_string(), rows };
    Ok(Checked { sum, notes })
}

/// The metadata of a file, its data unread.
pub(super) fn notes(path: &Path) -> Result<Notes> {
    let mut file = File::open(path).map_err(RecordError::io("open", path))?;
    Ok(read_notes(path, &mut file)?.0)
}

fn read_notes(path: &Path, file: &mut File) -> Result<(Notes, ParquetMetaData)> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(file);
    let metadata = metadata.map_err(|e| damaged(path, e))?;
    let pairs = metadata.file_metadata().key_value_metadata().into_iter().flatten();
    let notes =
        pairs.filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?))).collect::<Notes>();
    Ok((notes, metadata))
}
