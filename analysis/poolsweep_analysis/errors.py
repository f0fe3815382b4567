"""What can go wrong when a dataset is opened or asked, in words that say what to do next."""

from collections.abc import Iterable
from difflib import get_close_matches


class DatasetError(Exception):
    """The parent of all errors of this package."""


class NoDataset(DatasetError):
    """The folder is not there, or is not a poolsweep dataset."""


class OtherVersion(DatasetError):
    """The dataset was written in another schema version than this package reads."""


class NothingYet(DatasetError):
    """The dataset holds no job, or no rows of the table, so far."""


class UnknownName(DatasetError):
    """No axis, column, table, job or status has that name; the nearest one is named."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        known = list(known)
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        if not near:
            # Paths are long and people write their end.
            near = [other for other in known if name.lower() in other.lower()][:1]
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known) or 'none'}"
        super().__init__(f"no {what} is called {name!r}: {hint}")


class Ambiguous(DatasetError):
    """One number was asked for and the data holds several: say which, or how to merge them."""


class CommandFailed(DatasetError):
    """The `poolsweep` command is not there, or ended with an error."""
