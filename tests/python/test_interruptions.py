"""What a reader sees of a run that goes on, and what is left of one that was killed."""

import os
import re
import signal
import subprocess
import time

import polars as pl
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import BINARY, SWEEPS, TIMEOUT_S, assert_same_tables, poolsweep, results

MANY = SWEEPS / "many.yaml"
JOBS = 64 * 32 * 3
TABLES = ["points", "jobs", "port_buffers", "drops", "pfc"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A dataset of many.yaml from one undisturbed run."""
    folder = tmp_path_factory.mktemp("whole") / "data"
    poolsweep("run", "--quiet", MANY, "--out", folder)
    return folder


class Running:
    """A run in the background, ended with its test whatever happens."""

    def __init__(self, folder, *arguments):
        self.folder = folder
        command = [BINARY, "run", "--quiet", str(MANY), "--out", str(folder), *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def goes_on(self):
        return self.process.poll() is None

    def wait_for_a_part(self):
        """Until some jobs are done."""
        deadline = time.monotonic() + TIMEOUT_S
        while not list(self.folder.glob("jobs/*.parquet")):
            assert self.goes_on(), "the run ended before its first part"
            assert time.monotonic() < deadline, "no part came"
            time.sleep(0.002)


def jobs_in(folder):
    return pl.scan_parquet(folder / "jobs" / "*.parquet").select(pl.len()).collect().item()


def test_no_half_file_is_ever_visible(tmp_path, whole):
    """Whoever reads by glob while the run goes on reads whole files, and more and more of them."""
    folder = tmp_path / "data"
    looks, counts = 0, set()
    with Running(folder, "--threads", "1") as run:
        while run.goes_on():
            for path in folder.glob("*/*.parquet"):
                rows = pq.read_table(path)
                assert rows.num_rows > 0 or path.parent.name == "drops", path
            # The jobs part comes last: a job that is listed has its rows everywhere.
            if list(folder.glob("jobs/*.parquet")):
                jobs = pl.read_parquet(folder / "jobs" / "*.parquet")
                buffers = pl.scan_parquet(folder / "port_buffers" / "*.parquet")
                missing = jobs.lazy().join(buffers, on="job_id", how="anti").collect()
                assert missing.is_empty()
                counts.add(jobs.height)
            looks += 1
        assert run.process.returncode == 0
    assert looks > 1 and min(counts) < JOBS, "the run was never seen half done"
    assert_same_tables(whole, folder, TABLES)


def test_killed_and_run_again_gives_the_same_tables(tmp_path, whole):
    folder = tmp_path / "data"
    with Running(folder, "--threads", "1") as run:
        run.wait_for_a_part()
        run.process.send_signal(signal.SIGKILL)
        assert run.process.wait(TIMEOUT_S) == -signal.SIGKILL
    before = jobs_in(folder)
    assert 0 < before < JOBS, "killed too late to be a test"
    kept = {path: os.stat(path).st_mtime_ns for path in folder.glob("jobs/*.parquet")}
    out, _ = poolsweep("run", "--quiet", MANY, "--out", folder, "--threads", "2")
    assert f"{before:,} jobs before" in out
    # What was done is not done again, and nothing of the killed process is left.
    assert {path: os.stat(path).st_mtime_ns for path in kept} == kept
    assert not list(folder.glob("**/.tmp-*"))
    assert_same_tables(whole, folder, TABLES)


def test_a_polite_interruption_keeps_what_was_done(tmp_path, whole):
    folder = tmp_path / "data"
    with Running(folder, "--threads", "1") as run:
        run.wait_for_a_part()
        run.process.send_signal(signal.SIGTERM)
        _, err = run.process.communicate(timeout=TIMEOUT_S)
        assert run.process.returncode == 5, err
        assert "the same command goes on with them" in err
    assert 0 < jobs_in(folder) < JOBS
    assert not list(folder.glob("**/.tmp-*"))
    poolsweep("run", "--quiet", MANY, "--out", folder)
    assert_same_tables(whole, folder, TABLES)


def test_nothing_left_to_do_changes_nothing(whole):
    before = {path: path.read_bytes() for path in whole.glob("**/*.parquet")}
    out, _ = poolsweep("run", "--quiet", MANY, "--out", whole)
    assert re.search(rf"^time +0 jobs now in .*, {JOBS:,} jobs before$", out, re.MULTILINE)
    assert {path: path.read_bytes() for path in whole.glob("**/*.parquet")} == before


def test_what_is_added_to_a_sweep_runs_and_nothing_else(tmp_path):
    """One more value of an axis, then one more table."""
    folder, small = tmp_path / "data", SWEEPS / "small.yaml"
    poolsweep("run", "--quiet", small, "--out", folder)
    wider = ["--axis", "HeadRoomPerPortLimit=8KB,16KB,32KB,64KB,900KB"]
    # 32KB at two delays in three scenarios.
    out, _ = poolsweep("run", "--quiet", small, *wider, "--out", folder)
    assert re.search(r"^time +6 jobs now in .*, 18 jobs before$", out, re.MULTILINE)
    fewer = tmp_path / "fewer"
    tables = "record.tables=[jobs, drops]"
    poolsweep("run", "--quiet", small, *wider, "--set", tables, "--out", fewer)
    assert not (fewer / "pfc").exists()
    poolsweep("run", "--quiet", small, *wider, "--out", fewer)
    assert_same_tables(folder, fewer, ["points", "port_buffers", "drops", "pfc", "flows"])
    # What cannot run is not run again: its row keeps saying which tables were asked for then.
    ran = [results(data, "jobs").filter(pc.field("status") == "ok") for data in (folder, fewer)]
    assert ran[0].num_rows > 0 and ran[0].equals(ran[1])
