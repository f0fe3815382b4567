"""A dataset as lazy tables: where they are, what their columns mean, and how they join.

Owns the rules of the folder: the marker, which parts count, and that `points` joins everything else
by `job_id`. Refuses to compute results and to write: a dataset is read only here.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from .errors import NoDataset, NothingYet, OtherVersion, UnknownName

SCHEMA_VERSION = 4
"""The schema version of `dataset.json` that this package reads."""

FORMAT = "poolsweep dataset"

STATUSES = ("ok", "infeasible", "failed", "budget", "quarantined")
"""What `jobs.status` may say."""

# Tables of runs, not of jobs: their parts stand alone.
_OF_RUNS = {"timings", "provenance"}

# Columns of `points` that are no axis.
_KEYS = ("job_id", "scenario", "repetition", "excluded_by")


@dataclass(frozen=True)
class Column:
    """What is known of a column."""

    name: str
    unit: str | None
    """Base unit: B, ps, us, bit/s, %, 1 (a number without one); `None` for words and truths."""
    description: str | None


@dataclass(frozen=True)
class Axis(Column):
    """A column of `points`: what was varied, or follows from it."""

    derived: bool
    """Computed from other columns for every point, not varied itself."""


def open_dataset(path: str | Path) -> "Dataset":
    """Opens the dataset in a folder; reads its marker and nothing else.

    A dataset that is still being written can be opened: it shows what is finished so far.

    Raises `NoDataset` or `OtherVersion`.
    """
    folder = Path(path)
    marker = folder / "dataset.json"
    if not folder.is_dir():
        raise NoDataset(f"there is no folder {folder}: run `poolsweep run FILE --out {folder}`")
    if not marker.is_file():
        inside = sorted(p.parent.name for p in folder.glob("*/dataset.json"))
        hint = (
            f"did you mean {folder / inside[0]}?"
            if inside
            else "it has no dataset.json; datasets are made by `poolsweep run FILE --out DIR`"
        )
        raise NoDataset(f"{folder} is no poolsweep dataset: {hint}")
    try:
        found = json.loads(marker.read_text())
        if found["format"] != FORMAT:
            raise ValueError
        version = int(found["schema_version"])
    except (ValueError, KeyError, TypeError):
        raise NoDataset(f"{marker} is no dataset marker of poolsweep") from None
    if version != SCHEMA_VERSION:
        older = "a newer poolsweep_analysis" if version > SCHEMA_VERSION else "poolsweep run again"
        raise OtherVersion(
            f"{folder} has schema version {version}, this package reads {SCHEMA_VERSION}: "
            f"what helps is {older}"
        )
    return Dataset(folder)


class Dataset:
    """A folder that `poolsweep run` wrote. Made by `open_dataset`.

    Everything is lazy (`polars.LazyFrame`): nothing is read before `.collect()`, and then only the
    columns and rows that are asked for. `.collect().to_pandas()` gives a pandas user the same.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"Dataset({str(self.path)!r})"

    # Files

    @property
    def tables(self) -> list[str]:
        """Tables with at least one finished part, `points` first."""
        there = [
            p.name for p in self.path.iterdir() if p.is_dir() and any(p.glob("part-*.parquet"))
        ]
        return ["points", *sorted(there)]

    def parts(self, table: str) -> list[Path]:
        """The files of a table that count: those whose `jobs` part is there.

        The `jobs` part of a chunk is renamed last, so a part without it is of a run that was
        killed, or is still writing; its rows come with the jobs, or again.
        """
        if table == "points":
            return [self.path / "points.parquet"]
        # `jobs` first: what appears while we look has no part yet, never the other way round.
        whole = {p.name for p in (self.path / "jobs").glob("part-*.parquet")}
        found = sorted((self.path / table).glob("part-*.parquet"))
        return [p for p in found if table in _OF_RUNS or p.name in whole]

    def table(self, name: str) -> pl.LazyFrame:
        """A table as it is on disk, every column in its base unit.

        Raises `UnknownName` if no job recorded it, `NothingYet` if no job is finished.
        """
        files = self.parts(name)
        if not files or not files[0].is_file():
            if len(self.tables) == 1:
                raise NothingYet(
                    f"no job of {self.path} is finished: `poolsweep status {self.path}` says how "
                    f"far it is, `poolsweep run {self.path}` goes on"
                )
            raise UnknownName("recorded table", name, self.tables)
        return pl.scan_parquet(files)

    def _schema(self, table: str) -> pa.Schema:
        files = self.parts(table)
        if not files or not files[0].is_file():
            self.table(table)  # says what is wrong
        return pq.read_schema(files[0])

    # Columns

    def columns(self, table: str) -> dict[str, Column]:
        """The columns of a table with units and descriptions, in order."""
        return {f.name: _column(f) for f in self._schema(table)}

    @cached_property
    def axes(self) -> dict[str, Axis]:
        """What was varied, and what follows from it: the columns of `points` in their order.

        `scenario` is among them if the sweep names scenarios.
        """
        varied = {name for axis in self.plan["axes"] for name in axis["members"]} | {"scenario"}
        axes = {}
        for field in self._schema("points"):
            if field.name in _KEYS and not (field.name == "scenario" and self._has_scenarios):
                continue
            c = _column(field)
            axes[c.name] = Axis(c.name, c.unit, c.description, derived=c.name not in varied)
        return axes

    def axis(self, name: str) -> Axis:
        """One axis by its name. Raises `UnknownName` with the nearest one."""
        if name not in self.axes:
            raise UnknownName("axis", name, self.axes)
        return self.axes[name]

    def unit(self, name: str) -> str | None:
        """The base unit of an axis or of a column of `jobs`; an axis goes first."""
        if name in self.axes:
            return self.axes[name].unit
        known = self.columns("jobs")
        if name not in known:
            raise UnknownName("axis or column of jobs", name, [*self.axes, *known])
        return known[name].unit

    @property
    def _has_scenarios(self) -> bool:
        return self.points().select(pl.col("scenario").is_not_null().any()).collect().item()

    # Tables that join

    @cached_property
    def plan(self) -> dict[str, Any]:
        """`plan.json`: name, axes, seeds, exclusions, warnings."""
        return json.loads((self.path / "plan.json").read_text())

    def points(self) -> pl.LazyFrame:
        """What was asked: a row a grid point and repetition. Excluded points have no `job_id`."""
        return self.table("points")

    def jobs(self, status: str | Sequence[str] | None = None) -> pl.LazyFrame:
        """What came out: a row a finished job, `status` one or several of `STATUSES`."""
        return _with_status(self.table("jobs"), status)

    def results(
        self,
        status: str | Sequence[str] | None = "ok",
        where: Mapping[str, object] | None = None,
    ) -> pl.LazyFrame:
        """`points` with their jobs: axes, derived values and the columns of `jobs` in one row.

        Points that are excluded, or whose job is not finished, are left out. Points that share a
        job have a row each. `status` filters (`None`: every finished job), `where` keeps the rows
        in which these axes have these values (a list: one of them; `None`: no value).

        Rows are in the order of the sweep. The columns of `jobs` that `points` has too are those of
        `points`.
        """
        jobs = self.jobs(status)
        twice = set(self._schema("points").names) & set(self._schema("jobs").names) - {"job_id"}
        joined = self.points().join(
            jobs.drop(twice), on="job_id", how="inner", maintain_order="left"
        )
        return joined.filter(self.conditions(where or {}))

    def intervals(
        self,
        table: str,
        status: str | Sequence[str] | None = "ok",
        where: Mapping[str, object] | None = None,
    ) -> pl.LazyFrame:
        """A table of intervals, flows or drops with the axes of its job in front.

        A row for every point of the job: where two points share one (`results` shows it), a sum
        over all rows counts it twice, a sum by axes does not. An interval in which nothing was held
        or changed has no row, unless `record.zeros` asked for it.
        """
        rows = self.table(table)
        keep = self.jobs(status).select("job_id")
        points = self.points().filter(self.conditions(where or {}))
        axes = points.select("job_id", "repetition", *self.axes)
        # An axis goes before a column of the same name, as in `results`.
        rows = rows.drop(set(self.axes) & set(self._schema(table).names))
        return axes.join(keep, on="job_id", how="semi").join(rows, on="job_id", how="inner")

    def timings(self) -> pl.LazyFrame:
        """The last time each job was simulated: wall and CPU time, host, thread, run."""
        return self.table("timings").sort("start_us").unique("job_id", keep="last")

    def scenario(self, job_id: str) -> dict[str, Any]:
        """The resolved scenario of a finished job, in B, bit/s and ps."""
        row = self.jobs().filter(pl.col("job_id") == job_id).select("scenario_json").collect()
        if row.is_empty():
            known = self.jobs().select(pl.col("job_id").cast(pl.String)).head(3).collect()
            raise UnknownName("finished job", job_id, [*known["job_id"], "…"])
        return json.loads(row.item())

    def summary(self) -> pl.DataFrame:
        """How far the dataset is: points by what became of them, the whole as the sum.

        `excluded` by a constraint, one of `STATUSES`, or `outstanding`.
        """
        points = self.points().select("job_id", "excluded_by")
        if self.parts("jobs"):
            points = points.join(self.jobs().select("job_id", "status"), on="job_id", how="left")
        else:
            points = points.with_columns(status=pl.lit(None, pl.String))
        became = (
            pl.when(pl.col("excluded_by").is_not_null())
            .then(pl.lit("excluded"))
            .otherwise(pl.col("status").cast(pl.String).fill_null("outstanding"))
        )
        return points.group_by(became=became).agg(points=pl.len()).sort("became").collect()

    def duckdb(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection with a view for every table, and `results`: `points` with `jobs`.

        The files are those of this moment; open another connection to see what a run has added.
        """
        connection = duckdb.connect()
        for table in self.tables:
            files = ", ".join(_quoted(str(p), "'") for p in self.parts(table))
            if files:
                view = f"CREATE VIEW {_quoted(table)} AS SELECT * FROM read_parquet([{files}])"
                connection.execute(view)
        if self.parts("jobs"):
            twice = set(self._schema("points").names) & set(self._schema("jobs").names) - {"job_id"}
            names = ", ".join(_quoted(name) for name in sorted(twice))
            connection.execute(
                f"CREATE VIEW results AS SELECT * FROM points"
                f" JOIN (SELECT * EXCLUDE ({names}) FROM jobs) USING (job_id)"
            )
        return connection

    def conditions(self, where: Mapping[str, object]) -> list[pl.Expr]:
        """`where` as filters on rows of `points`. Raises `UnknownName` for what is no axis."""
        conditions = [pl.lit(True)]
        for name, value in where.items():
            if name != "repetition":
                self.axis(name)
            if value is None:
                conditions.append(pl.col(name).is_null())
            elif pa.types.is_list(self._schema("points").field(name).type):
                # One value of such an axis is a list.
                conditions.append(pl.col(name) == pl.lit(pl.Series([value])))
            elif isinstance(value, list | tuple | set):
                conditions.append(pl.col(name).is_in(list(value)))
            else:
                conditions.append(pl.col(name).eq(value))
        return conditions


def _column(field: pa.Field) -> Column:
    notes = field.metadata or {}
    unit, description = notes.get(b"unit"), notes.get(b"description")
    return Column(field.name, unit and unit.decode(), description and description.decode())


def _with_status(jobs: pl.LazyFrame, status: str | Sequence[str] | None) -> pl.LazyFrame:
    if status is None:
        return jobs
    wanted = [status] if isinstance(status, str) else list(status)
    for name in wanted:
        if name not in STATUSES:
            raise UnknownName("status", name, STATUSES)
    return jobs.filter(pl.col("status").cast(pl.String).is_in(wanted))


def _quoted(text: str, mark: str = '"') -> str:
    return mark + text.replace(mark, mark * 2) + mark
