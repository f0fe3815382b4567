"""Numbers over repetitions, and the best of two measures. Frames in, frames out; no drawing."""

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import NormalDist
from typing import Literal

import polars as pl

from .dataset import Dataset
from .errors import Ambiguous, UnknownName

Best = Literal["min", "max"]

AGGREGATES = ("mean", "median", "min", "max", "sum")
"""How several values may become one."""


def wilson(hits: int, tries: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval of a share: `hits` of `tries`, from 0 to 1.

    It holds up where few were tried and where all or none hit: 0 of 20 is 0 to 0.16, not 0 to 0.
    """
    if not 0 <= hits <= tries or tries == 0:
        raise ValueError(f"{hits} of {tries} is no share")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = hits / tries
    centre = share + z * z / (2 * tries)
    half = z * sqrt(share * (1 - share) / tries + z * z / (4 * tries * tries))
    low, high = ((centre + sign * half) / (1 + z * z / tries) for sign in (-1, 1))
    # Exactly 0 and 1 at the ends, whatever the rounding says.
    return (0.0 if hits == 0 else low, 1.0 if hits == tries else high)


def loss_share(
    dataset: Dataset,
    by: str | Sequence[str],
    where: Mapping[str, object] | None = None,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """By values of `by`: the share of jobs that dropped any packet, with its Wilson interval.

    Columns: `by`, `repetitions`, `with_loss`, `share`, `low`, `high`. Raises `Ambiguous` if another
    axis varies besides repetitions: repetitions of different points are no sample of one thing.
    """
    axes = [by] if isinstance(by, str) else list(by)
    rows = one_point_each(dataset, axes, ["drops"], where)
    counts = (
        rows.group_by(axes)
        .agg(repetitions=pl.len(), with_loss=(pl.col("drops") > 0).sum())
        .sort(axes)
    )
    bounds = [
        wilson(hits, tries, confidence)
        for hits, tries in counts.select("with_loss", "repetitions").iter_rows()
    ]
    return counts.with_columns(
        pl.Series(
            "share", [h / t for h, t in counts.select("with_loss", "repetitions").iter_rows()]
        ),
        pl.Series("low", [low for low, _ in bounds], pl.Float64),
        pl.Series("high", [high for _, high in bounds], pl.Float64),
    )


def aggregate(
    dataset: Dataset,
    by: Sequence[str],
    measure: str,
    how: str = "mean",
    where: Mapping[str, object] | None = None,
    over: Sequence[str] = (),
) -> pl.DataFrame:
    """A measure (a column of `jobs`) by axes, over repetitions, and over the axes named in `over`.

    Columns: `by`, the measure, and `jobs`, how many went into it. Raises `Ambiguous` if another
    axis varies: fix it with `where`, or name it in `over` if it is to be merged too.
    """
    if how not in AGGREGATES:
        raise UnknownName("aggregate", how, AGGREGATES)
    rows = one_point_each(dataset, by, [measure], where, over)
    value = getattr(pl.col(measure), how)()
    return rows.group_by(by).agg(value, jobs=pl.len()).sort(by)


def frontier(
    rows: pl.DataFrame, x: str, y: str, x_best: Best = "min", y_best: Best = "max"
) -> pl.DataFrame:
    """The Pareto points of two measures: rows that no other row beats in one and equals in the
    other.

    Ordered by `x`, the best first. Rows that tie in both are all there; rows without a value are
    not.
    """
    for name in (x, y):
        if name not in rows.columns:
            raise UnknownName("column", name, rows.columns)
    there = rows.filter(pl.col(x).is_not_null() & pl.col(y).is_not_null())
    ordered = there.sort([x, y], descending=[x_best == "max", y_best == "max"], maintain_order=True)
    # Going from the best x, a row is on the frontier if it is the best of its x and better in y
    # than all rows of better x.
    kept: list[int] = []
    best: float | None = None
    at: tuple[object, object] | None = None
    for place, (a, b) in enumerate(ordered.select(x, y).iter_rows()):
        better = best is None or (b < best if y_best == "min" else b > best)
        if better:
            best, at = b, (a, b)
        if better or (a, b) == at:
            kept.append(place)
    return ordered[kept]


def one_point_each(
    dataset: Dataset,
    by: Sequence[str],
    measures: Sequence[str],
    where: Mapping[str, object] | None = None,
    over: Sequence[str] = (),
) -> pl.DataFrame:
    """Results in which nothing varies within one combination of `by` but repetitions and `over`.

    Raises `Ambiguous` if something does, `UnknownName` for an axis or measure that is none.
    """
    for name in [*by, *over]:
        dataset.axis(name)
    known = dataset.columns("jobs")
    for name in measures:
        if name not in known:
            raise UnknownName("column of jobs", name, known)
    others = [a.name for a in dataset.axes.values() if a.name not in {*by, *over} and not a.derived]
    rows = (
        dataset.results(where=where).select(*by, *over, *others, "repetition", *measures).collect()
    )
    if others and rows.height:

        def combinations(names: Sequence[str]) -> int:
            return rows.group_by(names).len().height

        busy = [name for name in others if combinations([*by, name]) > combinations(by)]
        if busy:
            raise Ambiguous(
                f"{', '.join(busy)} varies within one value of {', '.join(by)}: "
                f'fix it with where={{"{busy[0]}": …}} or merge it with over=["{busy[0]}"]'
            )
    return rows
