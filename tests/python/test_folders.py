"""Folders that are not as they should be: refused by name, left alone, and with a way out."""

import json
import shutil

import pytest
from conftest import RESULTS, SWEEPS, assert_same_tables, poolsweep

SMALL = SWEEPS / "small.yaml"


@pytest.fixture
def copy(small, tmp_path):
    return shutil.copytree(small, tmp_path / "data")


def contents(folder):
    return {path: path.read_bytes() for path in folder.glob("**/*") if path.is_file()}


def refused(folder):
    """Running into the folder fails with exit code 7 and touches nothing; what it says."""
    before = contents(folder)
    out, err = poolsweep("run", "--quiet", SMALL, "--out", folder, code=7)
    assert out == ""
    assert contents(folder) == before
    return err


def a_part(folder, table):
    (part,) = (folder / table).glob("*.parquet")
    return part


def test_a_folder_that_is_no_dataset(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "todo.txt").write_text("buy cables\n")
    assert refused(folder) == (
        f"error: {folder} is not empty and is no poolsweep dataset (it has no dataset.json): "
        "nothing was touched; choose a new folder\n"
    )


def test_another_schema_version(copy):
    marker = copy / "dataset.json"
    text = json.loads(marker.read_text())
    marker.write_text(json.dumps({**text, "schema_version": text["schema_version"] + 1}))
    assert f"{copy} has schema version {text['schema_version'] + 1}" in refused(copy)


def test_a_marker_of_something_else(copy):
    (copy / "dataset.json").write_text("[]")
    assert "is no dataset marker of poolsweep" in refused(copy)


@pytest.mark.parametrize("table", ["jobs", "port_buffers", "drops"])
@pytest.mark.parametrize("keep", [0.0, 0.5, 0.99], ids=["empty", "half", "nearly-whole"])
def test_a_truncated_part(small, copy, table, keep):
    part = a_part(copy, table)
    part.write_bytes(part.read_bytes()[: int(part.stat().st_size * keep)])
    error = refused(copy)
    assert f"{part} is truncated or damaged" in error
    assert "delete it and the file of the same name in jobs/, then run again" in error
    # The way out leads out.
    part.unlink()
    if table != "jobs":
        a_part(copy, "jobs").unlink()
    poolsweep("run", "--quiet", SMALL, "--out", copy)
    assert_same_tables(small, copy, ["points", *RESULTS])


def test_a_parquet_file_that_is_no_part(copy):
    stranger = copy / "jobs" / "mine.parquet"
    shutil.copy(copy / "points.parquet", stranger)
    error = refused(copy)
    assert f"{stranger} does not belong to this dataset" in error
    assert "move it elsewhere" in error


def test_a_part_of_another_table(copy):
    stranger = copy / "jobs" / "part-0000000000000000-0000000000000000.parquet"
    shutil.copy(a_part(copy, "drops"), stranger)
    assert f"{stranger} does not belong to this dataset" in refused(copy)
