"""Bytes, picoseconds and bit/s in the units people say, as poolsweep writes them.

Owns how a value with a unit is printed. The data itself stays in base units: nothing here changes
a column.
"""

from dataclasses import dataclass
from math import isfinite

# By the unit in a column's metadata: (size of the prefix, its name), the smallest first.
_PREFIXES: dict[str, list[tuple[float, str]]] = {
    "B": [(1, "B"), (1e3, "KB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")],
    "ps": [(1, "ps"), (1e3, "ns"), (1e6, "us"), (1e9, "ms"), (1e12, "s")],
    "us": [(1e-6, "ps"), (1e-3, "ns"), (1, "us"), (1e3, "ms"), (1e6, "s")],
    "bit/s": [(1, "bps"), (1e3, "kbps"), (1e6, "Mbps"), (1e9, "Gbps"), (1e12, "Tbps")],
}


@dataclass(frozen=True)
class Scale:
    """A unit for a whole axis: divide by `factor`, label with `name` (empty: a pure number)."""

    factor: float
    name: str

    def label(self, text: str) -> str:
        """`text` with the unit in brackets."""
        return f"{text} ({self.name})" if self.name else text


def scale(unit: str | None, largest: float) -> Scale:
    """The unit in which `largest`, given in the base unit `unit`, is 1 or a little more."""
    if unit == "%":
        return Scale(1, "%")
    fitting = [prefix for prefix in _PREFIXES.get(unit or "", []) if prefix[0] <= abs(largest)]
    if not fitting:
        fitting = _PREFIXES.get(unit or "", [(1.0, "")])[:1]
    return Scale(*fitting[-1])


def human(value: object, unit: str | None = None, digits: int = 4) -> str:
    """A value as people say it: `human(52_000, "B")` is `52KB`, `human(1_500_000, "ps")` is
    `1.5us`.

    `unit` is the base unit (B, ps, us, bit/s, %, 1). Words stay as they are, `None` is `-`, and of
    what is no whole number `digits` significant digits are shown.
    """
    if value is None:
        return "-"
    if isinstance(value, list):
        return f"[{', '.join(human(one, unit, digits) for one in value)}]"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if not isfinite(value):
        return str(value)
    if unit in _PREFIXES:
        chosen = scale(unit, value)
        # 999,999 B are 1MB with four digits, not 1000KB.
        rounded = float(f"{value / chosen.factor:.{digits}g}") * chosen.factor
        chosen = scale(unit, rounded)
        return _number(value / chosen.factor, digits) + chosen.name
    return _number(value, digits) + ("%" if unit == "%" else "")


def _number(value: float, digits: int) -> str:
    """At most `digits` significant digits; counts in full and with separators."""
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e9):
        return f"{int(value):,}"
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e+" in text and abs(value) < 1e15 else text
