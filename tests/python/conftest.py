"""What all tests share: the command, and one dataset it made."""

import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]
SWEEPS = Path(__file__).resolve().parent / "sweeps"
BINARY = os.environ.get("POOLSWEEP", str(ROOT / "target" / "debug" / "poolsweep"))

# Tables that depend on nothing but the sweep file and poolsweep itself.
RESULTS = [
    "jobs", "port_buffers", "switch_buffers", "drops", "pfc", "port_counters", "flows", "transport",
]
# Tables that tell of the machine and the clock.
VOLATILE = ["reuse", "timings", "provenance"]

# Every command of these tests ends in seconds; one that does not is a bug.
TIMEOUT_S = 300


def poolsweep(*arguments, code=0, cwd=None):
    """Runs the command to its end, there; checks the exit code, returns (stdout, stderr)."""
    done = subprocess.run(
        [BINARY, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert done.returncode == code, f"exit code {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def plain(rows):
    """The rows with words instead of dictionaries, which differ with the cut into parts."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))


def read_table(dataset, table):
    """All parts of a table, in the order of all its columns: tables are equal if rows are."""
    path = dataset / "points.parquet" if table == "points" else dataset / table
    rows = plain(pq.read_table(path))
    return rows.sort_by([(name, "ascending") for name in rows.column_names])


def results(dataset, table):
    """The rows without whose simulation they are: that depends on which job was started first."""
    rows = read_table(dataset, table)
    return rows.drop_columns("reused_from") if table == "jobs" else rows


def assert_same_tables(left, right, tables):
    """Two datasets hold the same rows."""
    for table in tables:
        a, b = results(left, table), results(right, table)
        assert a.num_rows > 0, f"{table} is empty: nothing would be compared"
        assert a.equals(b), f"{table} differs"


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """A finished dataset of sweeps/small.yaml, for reading only."""
    folder = tmp_path_factory.mktemp("small") / "data"
    poolsweep("run", "--quiet", SWEEPS / "small.yaml", "--out", folder)
    return folder
