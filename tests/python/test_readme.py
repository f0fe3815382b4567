"""The README shows what really comes out.

Every `console` block is run (`$ poolsweep …`), every `python` block too, and what the README shows
below it has to be what is printed; a `yaml` block is a file, named in its first line. Blocks run in
order, in one empty folder beside the shipped sweeps; pictures are those they save, and those of
pictures.py. When one differs the failure shows the new output: paste it.
"""

import os
import re
import shlex
import subprocess
import sys

import matplotlib.image
import numpy as np
import pictures
import pyarrow.parquet as pq
import pytest
from conftest import BINARY, RESULTS, ROOT, TIMEOUT_S, VOLATILE

README = (ROOT / "README.md").read_text()
PICTURES = ROOT / "analysis" / "pictures"
SHOWN = re.findall(r"!\[.*\]\(analysis/pictures/(.*)\)", README)
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def lasting(text):
    """What does not depend on the machine: no times a run took, no blanks at line ends."""
    text = re.sub(r"(?m)^((?:time|shard) .* now in )[^,]*,", r"\1…,", text)
    text = re.sub(r"(?m)^(sound: .* in )\d+ files( of .* parts?, )\d+ bytes", r"\1… files\2… bytes", text)
    # Which of several jobs that come out alike is simulated depends on which was started first.
    text = re.sub(r"(?m)^reuse   \d+ of .*\n", "", text)
    text = re.sub(r", \d+ of which follow from another's simulation", "", text)
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def output(command, folder):
    # As if the command and the package of analysis/ were installed.
    env = {**os.environ, "POOLSWEEP": BINARY, "PYTHONPATH": str(ROOT / "analysis"), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, env=env
    )
    assert done.returncode == 0, done.stderr
    # Where the README's reader is.
    return done.stdout.replace(str(folder), "/home/lab")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme")
    (folder / "sweeps").symlink_to(ROOT / "sweeps")
    return folder


def test_blocks_are_as_shown(folder):
    ran = {"console": 0, "python": 0, "yaml": 0}
    printed = None
    for kind, text in BLOCKS:
        if kind == "yaml":
            name = re.match(r"# (\S+\.yaml)\n", text).group(1)
            (folder / name).write_text(text)
        elif kind == "console":
            first, shown = text.split("\n", 1)
            command = shlex.split(first.removeprefix("$ "))
            assert command[0] == "poolsweep"
            assert lasting(shown) == lasting(output([BINARY, *command[1:]], folder)), first
        elif kind == "python":
            printed = output([sys.executable, "-c", text], folder)
        elif kind == "text" and printed is not None:
            assert lasting(text) == lasting(printed)
            printed = None
        if kind in ran:
            ran[kind] += 1
    assert printed is None, "a python block without its output"
    assert min(ran.values()) > 0, ran
    saved = [name for name in SHOWN if name not in {**pictures.TERMINALS, **pictures.PAGES}]
    assert saved
    for name in saved:
        # Made by a block, and shown as it came out but for a pixel's shade.
        made, shown = (matplotlib.image.imread(at / name) for at in (folder, PICTURES))
        assert made.shape == shown.shape, name
        assert np.abs(made - shown).mean() < 0.01, f"{name} differs: copy the new one"


def test_pictures_of_a_terminal_are_what_it_shows(folder):
    lab = folder / "lab"
    lab.mkdir()
    pictures.lab(lab)
    for name, command in pictures.TERMINALS.items():
        assert name in SHOWN and f"\n{command}\n" in README, name
        made = pictures.terminal(command, pictures.run(command, lab))
        assert made == (PICTURES / name).read_text(), f"{name} differs: pictures.py makes it again"


def test_pictures_are_small_and_all_are_shown():
    files = {path.name: path.stat().st_size for path in PICTURES.iterdir()}
    assert set(files) == set(SHOWN)
    assert max(files.values()) < 150_000, files


def test_every_column_is_listed(small):
    for table in [*RESULTS, *VOLATILE]:
        (row,) = re.findall(rf"^\| `{table}` \| (.*) \|$", README, re.MULTILINE)
        part = sorted((small / table).glob("*.parquet"))[0]
        names = [name for name in pq.read_schema(part).names if name != "job_id"]
        assert re.findall(r"`(\w+)`", row) == names, table


def test_every_command_and_exit_code_is_listed(folder):
    text = output([BINARY, "--help"], folder)
    commands = re.search(r"Commands:\n(.*?)\n\n", text, re.DOTALL).group(1)
    names = set(re.findall(r"^  (\w+)", commands, re.MULTILINE)) - {"help"}
    table = README.split("## Commands")[1]
    assert names == set(re.findall(r"^\| `(\w+)[^|]*` \| ", table, re.MULTILINE))
    codes = re.search(r"Exit codes: (.*)", text, re.DOTALL).group(1)
    listed = re.findall(r"^\| (\d) \|", README, re.MULTILINE)
    assert listed == re.findall(r"(?:^|;\s+)(\d)\s", codes)
