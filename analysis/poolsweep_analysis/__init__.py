"""poolsweep datasets in polars, DuckDB and pandas, and the figures that answer buffer questions.

from poolsweep_analysis import heat_map, open_dataset

data = open_dataset("out/pools")
data.axes                      # what was varied, with units
data.results().collect()       # a row a point: axes and outcomes
data.intervals("port_buffers") # a table of intervals with the axes of its job
heat_map(data, "senders", "StaticPoolXoffThreshold", "drops", where={"let.share": 0.1})
"""

from .command import poolsweep, run, shipped, status
from .dataset import SCHEMA_VERSION, STATUSES, Axis, Column, Dataset, open_dataset
from .errors import (
    Ambiguous,
    CommandFailed,
    DatasetError,
    NoDataset,
    NothingYet,
    OtherVersion,
    UnknownName,
)
from .plots import frontier_plot, heat_map, loss_plot, timeline
from .stats import AGGREGATES, aggregate, frontier, loss_share, wilson
from .style import COLOURS, GREY, MARKERS, in_units, use_style
from .thresholds import thresholds
from .units import Scale, human, scale

__all__ = [
    "AGGREGATES",
    "Ambiguous",
    "Axis",
    "COLOURS",
    "Column",
    "CommandFailed",
    "Dataset",
    "DatasetError",
    "GREY",
    "MARKERS",
    "NoDataset",
    "NothingYet",
    "OtherVersion",
    "SCHEMA_VERSION",
    "STATUSES",
    "Scale",
    "UnknownName",
    "aggregate",
    "frontier",
    "frontier_plot",
    "heat_map",
    "human",
    "in_units",
    "loss_plot",
    "loss_share",
    "open_dataset",
    "poolsweep",
    "run",
    "scale",
    "shipped",
    "status",
    "thresholds",
    "timeline",
    "use_style",
    "wilson",
]
