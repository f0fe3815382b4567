"""How the figures look: colours that colour-blind readers tell apart, and axes in human units."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from .units import scale

# Okabe and Ito's palette, the yellow left out: it is too light for lines on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#666666"
MAP = "cividis"
"""The colour map of heat maps: ordered by lightness, so that it also prints in grey."""

_SETTINGS: Any = {
    "figure.figsize": (8.0, 4.5),
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "axes.prop_cycle": cycler(color=COLOURS),
}


@contextmanager
def styled() -> Iterator[None]:
    """Figures made inside look as those of this package; settings of the caller come back after."""
    with mpl.rc_context(_SETTINGS):
        yield


def use_style() -> None:
    """The same for all figures from here on: the first line of a notebook."""
    mpl.rcParams.update(_SETTINGS)


def in_units(ax: Axes, which: str, unit: str | None, label: str) -> None:
    """Labels the ticks of `x` or `y`, whose data is in the base unit `unit`, in one human unit.

    The unit follows from the limits of the axis, so call it once everything is drawn.
    """
    axis = getattr(ax, f"{which}axis")
    chosen = scale(unit, max(abs(end) for end in getattr(ax, f"get_{which}lim")()))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / chosen.factor:,.6g}"))
    axis.set_label_text(chosen.label(label))
