"""The figures: heat map over two axes, occupancy over time with its thresholds, frontier, loss.

Each draws into `ax`, or into a figure of its own, and returns the axes. All numbers come from
`stats` and `dataset`; nothing is computed here but positions.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle

import matplotlib.pyplot as plt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Rectangle

from .dataset import Dataset
from .errors import Ambiguous, NothingYet, UnknownName
from .stats import Best, aggregate, frontier, loss_share
from .style import COLOURS, GREY, MAP, MARKERS, in_units, styled
from .thresholds import thresholds
from .units import human


def heat_map(
    dataset: Dataset,
    x: str,
    y: str,
    measure: str,
    how: str = "mean",
    where: Mapping[str, object] | None = None,
    over: Sequence[str] = (),
    log: bool = False,
    limits: tuple[float, float] | None = None,
    show: Callable[[float], str] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A measure (a column of `jobs`) over two axes, aggregated over repetitions by `how`.

    Every cell shows its value, as `show` writes it (else in human units); one without any job that
    is `ok` (excluded, infeasible, not run) is hatched. `log` colours by order of magnitude, with
    zeros at the lower end; `limits` are the values of the darkest and lightest colour, for several
    maps to share. Raises `Ambiguous` if a third axis varies: see `aggregate` for `where` and
    `over`.
    """
    rows = aggregate(dataset, [x, y], measure, how, where, over)
    # All values asked for, also those without a result.
    asked = dataset.points().filter(dataset.conditions(where or {})).select(x, y).collect()
    columns, lines = _values(asked, x), _values(asked, y)
    if rows.is_empty():
        raise NothingYet(
            f"no point of {dataset.path} with a job that is ok matches: nothing to draw"
        )
    cells = {(_key(a), _key(b)): v for a, b, v in rows.select(x, y, measure).iter_rows()}
    unit = dataset.unit(measure)
    numbers = [v for v in cells.values() if v is not None]
    above = [v for v in numbers if v > 0]
    norm: Normalize
    if log and above:
        # Ten times below the least, so that the least is told from zero.
        low, high = limits or (min(above) / 10, max(above))
        norm = LogNorm(low, high, clip=True)
    else:
        low, high = limits or (min(numbers, default=0), max(numbers, default=1))
        norm = Normalize(low, high if high > low else low + 1, clip=True)
    colours = plt.get_cmap(MAP)
    with styled():
        ax = ax or plt.subplots(figsize=(1.9 + 0.95 * len(columns), 1.7 + 0.55 * len(lines)))[1]
        ax.grid(False)
        for i, a in enumerate(columns):
            for j, b in enumerate(lines):
                value = cells.get((_key(a), _key(b)))
                corner = (i - 0.5, j - 0.5)
                if value is None:
                    ax.add_patch(Rectangle(corner, 1, 1, fc="white", ec=GREY, hatch="///", lw=0))
                    continue
                shade = colours(0.0 if log and value <= 0 else float(norm(value)))
                ax.add_patch(Rectangle(corner, 1, 1, fc=shade, ec="white", lw=1))
                dark = 0.299 * shade[0] + 0.587 * shade[1] + 0.114 * shade[2] < 0.5
                text = show(value) if show else human(value, unit, 3)
                ax.text(i, j, text, ha="center", va="center", color="white" if dark else "black")
        ax.set_xlim(-0.5, len(columns) - 0.5)
        ax.set_ylim(-0.5, len(lines) - 0.5)
        ax.set_xticks(range(len(columns)), [human(v, dataset.axis(x).unit) for v in columns])
        ax.set_yticks(range(len(lines)), [human(v, dataset.axis(y).unit) for v in lines])
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
        ax.set_xlabel(x)
        ax.set_ylabel(y)
        # Which aggregate matters only where there is more than one job to merge.
        merged = f", {how} of {_range(rows['jobs'])} jobs a cell" if max(rows["jobs"]) > 1 else ""
        ax.set_title(title or f"{measure}{merged}", loc="left")
    return ax


def timeline(
    dataset: Dataset,
    jobs: Mapping[str, str] | Sequence[str],
    buffer: str = "ingressUsage",
    pool: int | None = None,
    node: int | None = None,
    port: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Occupancy over time of one counter in some jobs, with the thresholds of their scenario.

    `jobs` are job ids, or labels with their job ids. `buffer` is a `buff_id` of `port_buffers`.
    `pool`, `node` and `port` choose where several have rows; left out, the one with the largest
    occupancy is taken, for each job, and named in the legend. A line is the mean of each interval,
    the shade reaches from its least to its largest value. Jobs with unequal thresholds have them
    drawn in the colour of the job.
    """
    labels = dict(jobs) if isinstance(jobs, Mapping) else {job: job for job in jobs}
    rows = dataset.table("port_buffers").filter(pl.col("job_id").is_in(list(labels.values())))
    counters = rows.select(pl.col("buff_id").cast(pl.String).unique()).collect()["buff_id"]
    if buffer not in counters:
        raise UnknownName("counter with rows of these jobs", buffer, sorted(counters))
    rows = rows.filter(pl.col("buff_id") == buffer)
    for name, value in (("pool_num", pool), ("node_id", node), ("ifid", port)):
        if value is not None:
            rows = rows.filter(pl.col(name) == value)
    table = rows.collect()
    with styled():
        ax = ax or plt.subplots()[1]
        levels: dict[str, dict[str, int]] = {}
        for (label, job), colour in zip(labels.items(), cycle(COLOURS)):
            scenario = dataset.scenario(job)
            own = table.filter(pl.col("job_id") == job)
            if own.is_empty():
                text = f"{label}: nothing held"
            else:
                most = own.sort("ivl_max_bytes", descending=True, maintain_order=True)
                top = most.row(0, named=True)
                place = ["node_id", "ifid", "pool_num"]
                own = own.filter(*(pl.col(name) == top[name] for name in place))
                text = f"{label}: node {top['node_id']} port {top['ifid']} pool {top['pool_num']}"
            ends, mean, low, high = _steps(dataset, job, own)
            ax.stairs(mean, ends, color=colour, label=text, baseline=None, lw=1.8)
            ax.fill_between(
                ends, [*low, low[-1]], [*high, high[-1]], step="post", color=colour, alpha=0.2, lw=0
            )
            levels[colour] = thresholds(scenario, buffer)
        alike = all(level == next(iter(levels.values())) for level in levels.values())
        for colour, level in list(levels.items())[: 1 if alike else None]:
            for (name, value), dashes in zip(level.items(), cycle(("--", ":", "-."))):
                shade = GREY if alike else colour
                text = f"{name} {human(value, 'B')}"
                ax.axhline(value, color=shade, ls=dashes, lw=1.2, label=text)
        ax.set_ylim(bottom=0)
        ax.margins(x=0)
        in_units(ax, "x", "ps", "simulated time")
        in_units(ax, "y", "B", buffer)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9)
    return ax


def frontier_plot(
    dataset: Dataset,
    x: str,
    y: str,
    x_best: Best = "min",
    y_best: Best = "max",
    label: str | None = None,
    how: str = "mean",
    where: Mapping[str, object] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """All points by two measures (columns of `jobs`, or axes), the Pareto points joined by a line.

    Repetitions of a point are aggregated by `how`. `label` is the axis whose values stand at the
    Pareto points.
    """
    named = [a for a in dataset.axes]
    rows = dataset.results(where=where).collect()
    for name in (x, y):
        if name not in rows.columns:
            raise UnknownName("axis or column of jobs", name, rows.columns)
    measures = [name for name in dict.fromkeys((x, y)) if name not in named]
    rows = rows.group_by(named, maintain_order=True).agg(
        getattr(pl.col(name), how)() for name in measures
    )
    best = frontier(rows, x, y, x_best, y_best)
    with styled():
        ax = ax or plt.subplots()[1]
        ax.scatter(rows[x], rows[y], color=GREY, alpha=0.5, s=28, label="all points", lw=0)
        ax.plot(
            best[x], best[y], color=COLOURS[0], marker="o", label="no other point is better in both"
        )
        if label is not None:
            unit = dataset.axis(label).unit
            # Below and above in turn: neighbours are often close.
            for row, lift in zip(best.iter_rows(named=True), cycle((-13, 6))):
                text = human(row[label], unit)
                ax.annotate(
                    text, (row[x], row[y]), xytext=(6, lift), textcoords="offset points", fontsize=9
                )
        ax.margins(0.08)
        in_units(ax, "x", dataset.unit(x), f"{x}, {_wanted(x_best)}")
        in_units(ax, "y", dataset.unit(y), f"{y}, {_wanted(y_best)}")
        ax.legend()
    return ax


def loss_plot(
    dataset: Dataset,
    x: str,
    by: str | None = None,
    where: Mapping[str, object] | None = None,
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """The share of repetitions that lost any packet over an axis, with Wilson intervals.

    One line for each value of `by`.
    """
    shares = loss_share(dataset, [x] if by is None else [x, by], where, confidence)
    if shares.is_empty():
        raise NothingYet(
            f"no point of {dataset.path} with a job that is ok matches: nothing to draw"
        )
    values = [None] if by is None else _values(shares, by)
    if len(values) > len(MARKERS):
        raise Ambiguous(f"{by} has {len(values)} values: choose {len(MARKERS)} of them with where")
    with styled():
        ax = ax or plt.subplots()[1]
        places = shares[x].unique().sort().to_list()
        # Beside each other, so that bars at one place are told apart.
        gap = 0.006 * (places[-1] - places[0])
        for nth, (value, colour, marker) in enumerate(zip(values, COLOURS, MARKERS)):
            own = shares if by is None else shares.filter(pl.col(by).eq_missing(pl.lit(value)))
            share = own["share"]
            errors = [(share - own["low"]).to_list(), (own["high"] - share).to_list()]
            text = None if by is None else human(value, dataset.axis(by).unit)
            at = own[x] + gap * (nth - (len(values) - 1) / 2)
            ax.errorbar(at, share, yerr=errors, color=colour, marker=marker, capsize=3, label=text)
        ax.set_ylim(-0.03, 1.03)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        tries = _range(shares["repetitions"])
        ax.set_ylabel(f"repetitions with loss\n({tries} each, {confidence:.0%} interval)")
        if len(places) <= 12:
            ax.set_xticks(places)
        in_units(ax, "x", dataset.axis(x).unit, x)
        if by is not None:
            ax.legend(title=by)
    return ax


def _values(rows: pl.DataFrame, name: str) -> list:
    """The distinct values of an axis: numbers by size, words in the order they came, none last."""
    values = list({_key(value): value for value in rows[name].to_list()}.values())
    if rows[name].dtype.is_numeric():
        values.sort(key=lambda value: (value is None, value or 0))
    return values


def _key(value: object) -> object:
    """The value, or what stands for it in a dictionary: lists are values of some axes."""
    return tuple(value) if isinstance(value, list) else value


def _steps(
    dataset: Dataset, job: str, rows: pl.DataFrame
) -> tuple[list[int], list[float], list[int], list[int]]:
    """Edges of all intervals from 0 to the end, and mean, least and largest value in each."""
    length, end = (
        dataset.jobs()
        .filter(pl.col("job_id") == job)
        .select("interval_ps", "end_ps")
        .collect()
        .row(0)
    )
    ends = [*range(length, end, length), end]
    seen = {row["sim_time_ps"]: row for row in rows.iter_rows(named=True)}
    # No row: nothing was held, unless zeros are recorded, and then there is one.
    parts = [seen.get(at) for at in ends]
    mean = [part["ivl_mean_bytes"] if part else 0.0 for part in parts]
    low = [part["ivl_min_bytes"] if part else 0 for part in parts]
    high = [part["ivl_max_bytes"] if part else 0 for part in parts]
    return [0, *ends], mean, low, high


def _range(numbers: pl.Series) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least}" if least == most else f"{least} to {most}"


def _wanted(best: Best) -> str:
    return "less is better" if best == "min" else "more is better"
