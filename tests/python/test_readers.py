"""What notebooks rely on, in the four libraries they read with."""

import re

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from conftest import RESULTS, SWEEPS, VOLATILE, plain, poolsweep

# Worked out by hand from small.yaml: 4 headrooms × 2 delays × 3 scenarios, of which the constraint
# takes 2 headrooms at one delay; the largest headroom does not fit in the buffer.
POINTS, EXCLUDED, INFEASIBLE = 24, 6, 3
JOBS = POINTS - EXCLUDED


def glob(dataset, table):
    return str(dataset / "points.parquet" if table == "points" else dataset / table / "*.parquet")


def schemas(dataset):
    for table in ["points", *RESULTS, *VOLATILE]:
        path = dataset / "points.parquet"
        if table != "points":
            path = sorted((dataset / table).glob("*.parquet"))[0]
        yield table, pq.read_schema(path)


@pytest.mark.parametrize("table", ["points", *RESULTS, *VOLATILE])
def test_all_libraries_see_the_same_rows(small, table):
    pattern = glob(small, table)
    arrow = pq.read_table(small / ("points.parquet" if table == "points" else table))
    assert arrow.num_rows > 0
    polars = pl.scan_parquet(pattern).collect()
    duck = duckdb.sql(f"SELECT * FROM '{pattern}'").to_arrow_table()
    pandas = pd.read_parquet(small / ("points.parquet" if table == "points" else table))
    names = arrow.column_names
    assert polars.columns == names
    assert duck.column_names == names
    assert list(pandas.columns) == names
    # Values, not types of strings: each library has its own.
    expected = plain(arrow).to_pylist()
    assert polars.to_dicts() == expected
    assert duck.to_pylist() == expected
    assert len(pandas) == len(expected)
    for name in names:
        if pd.api.types.is_integer_dtype(pandas[name]):
            assert pandas[name].tolist() == arrow[name].to_pylist()


def test_points_jobs_and_the_other_tables_join(small):
    points, jobs = glob(small, "points"), glob(small, "jobs")
    joined = pl.scan_parquet(points).join(pl.scan_parquet(jobs), on="job_id").collect()
    assert joined.height == JOBS
    ((count, excluded, infeasible),) = duckdb.sql(
        f"SELECT count(*), count(*) FILTER (excluded_by IS NOT NULL),"
        f" count(*) FILTER (status = 'infeasible')"
        f" FROM '{points}' LEFT JOIN '{jobs}' USING (job_id)"
    ).fetchall()
    assert (count, excluded, infeasible) == (POINTS, EXCLUDED, INFEASIBLE)
    for table in RESULTS:
        orphans = pl.scan_parquet(glob(small, table)).join(
            pl.scan_parquet(points), on="job_id", how="anti"
        )
        assert orphans.collect().is_empty(), table
    # The drops of a job are the sum of its rows in drops.
    by_job = duckdb.sql(
        f"SELECT job_id, drops, coalesce(sum(ivl_packets), 0) FROM '{jobs}'"
        f" LEFT JOIN '{glob(small, 'drops')}' USING (job_id)"
        f" WHERE status = 'ok' GROUP BY ALL"
    ).fetchall()
    assert len(by_job) == JOBS - INFEASIBLE
    assert all(drops == summed for _, drops, summed in by_job)
    assert sum(drops for _, drops, _ in by_job) > 0


def test_integers_are_signed(small):
    seen = 0
    for table, schema in schemas(small):
        for field in schema:
            if pa.types.is_integer(field.type):
                seen += 1
                assert pa.types.is_signed_integer(field.type), f"{table}.{field.name}"
    assert seen > 50


def test_a_difference_below_zero_is_a_negative_number(small):
    """What unsigned columns would turn into 1.8e19."""
    pattern = glob(small, "port_buffers")
    room = pl.col("ivl_max_bytes") - pl.col("buff_limit")
    least = pl.scan_parquet(pattern).select(room.min()).collect().item()
    sql = f"SELECT min(ivl_max_bytes - buff_limit) FROM '{pattern}'"
    ((least_duck,),) = duckdb.sql(sql).fetchall()
    assert least == least_duck < 0


def test_every_quantity_has_its_unit(small):
    known = {b"B", b"ps", b"us", b"bit/s", b"%", b"1"}
    suffixes = {"_ps": b"ps", "_bytes": b"B", "_usec": b"us", "_bps": b"bit/s"}
    for table, schema in schemas(small):
        for field in schema:
            unit = (field.metadata or {}).get(b"unit")
            number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
            assert (unit in known) if number else unit is None, f"{table}.{field.name}: {unit}"
            for suffix, expected in suffixes.items():
                if number and field.name.endswith(suffix):
                    assert unit == expected, f"{table}.{field.name}"
    points = dict(schemas(small))["points"]
    assert points.field("HeadRoomPerPortLimit").metadata[b"unit"] == b"B"
    assert points.field("topology.delay").metadata[b"unit"] == b"ps"


def test_values_are_in_base_units(small):
    points = pl.read_parquet(small / "points.parquet")
    assert points["HeadRoomPerPortLimit"].unique().sort().to_list() == [
        8_000, 16_000, 64_000, 900_000,
    ]
    assert points["topology.delay"].unique().sort().to_list() == [500_000, 1_000_000]


def test_a_folder_is_a_dataset_for_pyarrow(small):
    """Temporary names and the lock are not taken for data; filters reach the files."""
    jobs = ds.dataset(small / "jobs", format="parquet")
    assert jobs.count_rows() == JOBS
    assert jobs.count_rows(filter=ds.field("status") == "infeasible") == INFEASIBLE


def test_the_lines_run_prints_work_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out, _ = poolsweep("run", "--quiet", SWEEPS / "small.yaml", "--out", "some data")
    line = {
        name: re.search(rf"^{name} +(.+)$", out, re.MULTILINE).group(1)
        for name in ["data", "polars", "duckdb"]
    }
    assert line["data"] == "some data"
    polars = eval(line["polars"], {"pl": pl})
    duck = duckdb.sql(line["duckdb"]).pl()
    assert polars.height == duck.height == JOBS
    assert sorted(polars["job_id"].to_list()) == sorted(duck["job_id"].to_list())
    assert {"HeadRoomPerPortLimit", "drops"} <= set(polars.columns) & set(duck.columns)


def test_csv_export_is_the_same_table(small, tmp_path):
    poolsweep("export", "--csv", small, "--out", tmp_path / "csv")
    jobs = pd.read_csv(tmp_path / "csv" / "jobs.csv").set_index("job_id")["drops"].dropna()
    parquet = pd.read_parquet(small / "jobs").set_index("job_id")["drops"].dropna()
    assert len(jobs) == JOBS - INFEASIBLE
    assert jobs.to_dict() == parquet.to_dict()
