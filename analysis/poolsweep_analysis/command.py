"""Running the `poolsweep` command from a notebook."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .dataset import Dataset, open_dataset
from .errors import CommandFailed

_REPOSITORY = Path(__file__).resolve().parents[2]


def command() -> str:
    """The `poolsweep` to run: the one the environment variable POOLSWEEP names, else the one on the
    path, else the one built in this repository. Raises `CommandFailed`."""
    built = [_REPOSITORY / "target" / kind / "poolsweep" for kind in ("release", "debug")]
    for choice in (os.environ.get("POOLSWEEP"), shutil.which("poolsweep"), *built):
        if choice and Path(choice).is_file():
            return str(choice)
    raise CommandFailed(
        "there is no poolsweep command: `cargo install --path .` in the repository installs it, or "
        "set POOLSWEEP to its path"
    )


def poolsweep(*arguments: object, codes: tuple[int, ...] = (0, 6)) -> str:
    """Runs a command to its end and returns what it printed.

    Raises `CommandFailed` with the command's words if the exit code is none of `codes`. Code 6 is
    no failure unless you say so: the jobs that failed are rows of the dataset.
    """
    words = [command(), *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode not in codes:
        raise CommandFailed(
            f"`poolsweep {' '.join(words[1:])}` ended with exit code {done.returncode}:\n"
            f"{done.stderr.strip()}"
        )
    return done.stdout


def run(
    sweep: str | Path,
    out: str | Path,
    sets: Mapping[str, object] | None = None,
    axes: Mapping[str, str] | None = None,
) -> Dataset:
    """Runs what the dataset `out` does not hold yet of a sweep file, and opens it.

    `sets` and `axes` are `--set KEY=VALUE` and `--axis KEY=VALUES`.
    """
    changes: list[object] = []
    for flag, entries in (("--set", sets), ("--axis", axes)):
        for key, value in (entries or {}).items():
            changes += [flag, f"{key}={value}"]
    poolsweep("run", "--quiet", sweep, "--out", out, *changes)
    return open_dataset(out)


def status(out: str | Path) -> dict[str, Any]:
    """`poolsweep status --json` of a dataset, finished or not."""
    return json.loads(poolsweep("status", "--json", out, codes=(0, 5, 6)))


def shipped(name: str) -> Path:
    """The path of a sweep that comes with the program: `shipped("headroom")`."""
    path = _REPOSITORY / "sweeps" / f"{name}.yaml"
    if not path.is_file():
        raise CommandFailed(f"{path} is not there: start notebooks in a checkout of the repository")
    return path
