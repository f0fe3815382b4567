//! Checksums: right after whatever is published, wrong after any change of a byte.

use super::*;
use crate::record::StoredTable;
use crate::record::checksum::{Siblings, check};
use proptest::prelude::*;
use std::path::PathBuf;

/// Checks that every file of a dataset is whole, and that every jobs part lists what is beside it.
pub(super) fn all_vouched(root: &Path) {
    for name in files(root).keys().filter(|name| name.ends_with(".parquet")) {
        check(&root.join(name)).unwrap();
    }
    let Ok(entries) = fs::read_dir(root.join("jobs")) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_owned();
        if name.to_str().unwrap().starts_with('.') {
            continue;
        }
        let listed = Siblings::read(&path, &check(&path).unwrap().notes).unwrap();
        for table in TableSet::all().iter().map(StoredTable::from).skip(1) {
            let beside = root.join(table.name()).join(&name);
            if beside.exists() {
                listed.vouch(&beside, table, &check(&beside).unwrap().sum).unwrap();
            }
        }
    }
}

#[test]
fn what_is_published_is_vouched_for_with_its_rows() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    let part = publish(&dataset, &[1, 2], "jobs,drops,flows", 5).unwrap().parts.remove(0);
    all_vouched(dir.path());
    let jobs = check(&dir.path().join("jobs").join(&part)).unwrap();
    let listed = Siblings::read(Path::new(""), &jobs.notes).unwrap();
    let path = dir.path().join("drops").join(&part);
    let bytes = fs::read(&path).unwrap();
    let sum = &listed.of(StoredTable::Drops)[0];
    assert_eq!(sum.rows, 2 * INTERVALS);
    assert_eq!(sum.bytes, bytes.len() as u64);
    assert_eq!(sum.blake3, blake3::hash(&bytes).to_hex().as_str());
    assert_eq!(listed.of(StoredTable::Flows).len(), 1);
    assert!(listed.of(StoredTable::Pfc).is_empty());

    // Some of the part's jobs again: the files change and so does the list.
    publish(&dataset, &[2], "jobs,drops,pfc", 7).unwrap();
    all_vouched(dir.path());
    let jobs = check(&dir.path().join("jobs").join(&part)).unwrap();
    let again = Siblings::read(Path::new(""), &jobs.notes).unwrap();
    assert_eq!(again.of(StoredTable::Drops).len(), 1);
    assert_ne!(again.of(StoredTable::Drops), listed.of(StoredTable::Drops));
}

#[test]
fn rows_of_a_damaged_file_are_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    let part = publish(&dataset, &[1, 2], "jobs,drops", 5).unwrap().parts.remove(0);
    let path = dir.path().join("drops").join(&part);
    let good = fs::read(&path).unwrap();
    let mut bytes = good.clone();
    bytes[20] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = publish(&dataset, &[2], "jobs,drops,pfc", 7).unwrap_err().to_string();
    assert!(error.contains("its bytes of data are not those that were written"), "{error}");
    assert!(error.contains(&part), "{error}");

    // A whole file, but of other rows.
    let other = tempfile::tempdir().unwrap();
    let foreign = Dataset::open_or_create(other.path()).unwrap();
    publish(&foreign, &[1, 2], "jobs,drops", 6).unwrap();
    fs::copy(other.path().join("drops").join(&part), &path).unwrap();
    let error = publish(&dataset, &[2], "jobs,drops,pfc", 7).unwrap_err().to_string();
    assert!(error.contains("not the file that was published with its jobs part"), "{error}");

    fs::write(&path, good).unwrap();
    publish(&dataset, &[2], "jobs,drops,pfc", 7).unwrap();
    all_vouched(dir.path());
}

/// One file of each kind.
fn one_of_each() -> (tempfile::TempDir, Vec<PathBuf>) {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::open_or_create(dir.path()).unwrap();
    publish(&dataset, &[1, 2], "jobs,port_buffers,flows", 5).unwrap();
    dataset.write_points(PLAN, &[], &[], &[]).unwrap();
    let names = files(dir.path()).into_keys().filter(|name| name.ends_with(".parquet"));
    let paths = names.map(|name| dir.path().join(name)).collect();
    (dir, paths)
}

#[test]
fn every_bit_of_every_file_counts() {
    let (_dir, paths) = one_of_each();
    assert_eq!(paths.len(), 4);
    for path in paths {
        let good = fs::read(&path).unwrap();
        // A stride prime to eight visits every bit position.
        for place in (0..good.len() * 8).step_by(61) {
            let mut bytes = good.clone();
            bytes[place / 8] ^= 1 << (place % 8);
            fs::write(&path, &bytes).unwrap();
            assert!(check(&path).is_err(), "bit {place} of {}", path.display());
        }
        for end in [0, 3, 11, good.len() / 2, good.len() - 1] {
            fs::write(&path, &good[..end]).unwrap();
            assert!(check(&path).is_err(), "{end} bytes of {}", path.display());
        }
        fs::write(&path, &good).unwrap();
        check(&path).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn bytes_overwritten_anywhere_are_noticed(place: prop::sample::Index, new: [u8; 3]) {
        let (_dir, paths) = one_of_each();
        for path in paths {
            let good = fs::read(&path).unwrap();
            let mut bytes = good.clone();
            let place = place.index(bytes.len() - new.len());
            bytes[place..place + new.len()].copy_from_slice(&new);
            fs::write(&path, &bytes).unwrap();
            prop_assert_eq!(check(&path).is_ok(), bytes == good);
        }
    }
}
