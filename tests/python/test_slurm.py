"""A real array on a real Slurm: one task drained, one killed, then submitted again and finished."""

import os
import re
import shlex
import signal
import subprocess

import debian
import pyarrow.parquet as pq
import pytest
import slurm_cluster
from conftest import BINARY, SWEEPS, TIMEOUT_S, assert_same_tables, poolsweep

SWEEP = SWEEPS / "shards.yaml"
JOBS = 32 * 3
SHARDS = 4
TABLES = ["points", "jobs", "port_buffers", "drops", "pfc"]


@pytest.fixture
def slurm(tmp_path):
    try:
        slurm_cluster.install()
    except debian.Unavailable as why:
        pytest.skip(f"a real Slurm: {why}")
    with slurm_cluster.Slurm(tmp_path / "cluster") as running:
        yield running


def submit(slurm, folder, *options):
    """Submits with poolsweep; the ids of the array and of the job after it, and what it printed."""
    done = subprocess.run(
        [BINARY, "slurm", str(folder), "--shards", str(SHARDS), "--cpus-per-task", "1",
         "--time", "5", "--submit", *options],
        env=slurm.environment, capture_output=True, text=True, timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    array, finish = re.findall(r"^(?:array|finish) +(\d+),", done.stdout, re.MULTILINE)
    return array, finish, done.stdout


def jobs_in(folder):
    return sum(pq.read_metadata(path).num_rows for path in folder.glob("jobs/*.parquet"))


def logs(folder):
    return "\n".join(f"{path.name}:\n{path.read_text()}" for path in folder.glob("slurm/*.log"))


def wait_until_ended(slurm, folder, job):
    ended = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"}
    states = {}

    def all_ended():
        states.update(slurm.states(job))
        return states and set(states.values()) <= ended

    try:
        slurm.until(f"{job} has ended", all_ended, within_s=TIMEOUT_S)
    except AssertionError as error:
        raise AssertionError(f"{states}: {error}\n{logs(folder)}") from error
    return states


def processes(slurm, job, index):
    """The processes of a running task."""
    told = slurm.run("scontrol", "listpids", slurm.task(job, index)["JobId"])
    pids = [int(line.split()[0]) for line in told.splitlines()[1:]]
    return sorted(pid for pid in pids if pid > 0)


def test_an_array_with_a_drained_and_a_killed_task_is_finished_by_submitting_it_again(
    tmp_path, slurm
):
    # Every character that bash, sbatch or a log path could take for something else.
    folder = tmp_path / "two words $HOME 100% it's \"a\" # set;%a"
    whole = tmp_path / "whole"
    poolsweep("run", "--quiet", SWEEP, "--out", whole)
    poolsweep("plan", SWEEP, "--out", folder)

    array, finish, said = submit(slurm, folder)
    # Each task has a CPU. It writes a journal once it runs jobs, so it hears signals by then.
    slurm.until(
        "all tasks run jobs",
        lambda: sum(path.stat().st_size > 0 for path in folder.glob("journal/*.jsonl")) == SHARDS,
    )
    # Before it says so, Slurm refuses to pass a signal on.
    slurm.until(
        "Slurm says so too",
        lambda: list(slurm.states(array).values()) == ["RUNNING"] * SHARDS,
    )
    # As at a time limit: to the batch shell alone.
    slurm.signal(array, 1, "USR1")
    killed = processes(slurm, array, 2)
    assert killed
    # The watching process first: it has no time to make another end of it.
    for pid in killed:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it went with its parent
    states = wait_until_ended(slurm, folder, array)
    assert states == {"1": "FAILED", "2": "FAILED", "3": "COMPLETED", "4": "COMPLETED"}, logs(folder)
    codes = [slurm.task(array, index)["ExitCode"] for index in (1, 2, 3, 4)]
    assert codes == ["5:0", "0:9", "0:0", "0:0"], logs(folder)
    # The job after the array ran although tasks had failed, and simulated nothing.
    before = jobs_in(folder)
    assert 0 < before < JOBS
    assert wait_until_ended(slurm, folder, finish) == {"N/A": "FAILED"}, logs(folder)
    assert jobs_in(folder) == before
    report = (folder / "slurm" / f"{finish}-finish.log").read_text()
    assert f"{before} of {JOBS} jobs done" in report, report

    # A log a task, each at its own name.
    names = {path.name for path in folder.glob(f"slurm/{array}_*.log")}
    assert names == {f"{array}_{index}.log" for index in (1, 2, 3, 4)}
    assert f"squeue -j {array},{finish}" in said

    array, finish, _ = submit(slurm, folder)
    states = wait_until_ended(slurm, folder, array)
    assert set(states.values()) == {"COMPLETED"}, logs(folder)
    assert wait_until_ended(slurm, folder, finish) == {"N/A": "COMPLETED"}, logs(folder)
    assert jobs_in(folder) == JOBS
    assert_same_tables(whole, folder, TABLES)


def test_what_poolsweep_refuses_slurm_refuses_and_the_last_it_takes_slurm_takes(tmp_path, slurm):
    """The limit of an array is asked of Slurm, and is off by none."""
    folder = tmp_path / "data"
    poolsweep("plan", SWEEPS / "many.yaml", "--out", folder)

    def ask(shards, code):
        done = subprocess.run(
            [BINARY, "slurm", str(folder), f"--shards={shards}", "--force"],
            env=slurm.environment, capture_output=True, text=True, timeout=TIMEOUT_S,
        )
        assert done.returncode == code, done.stderr
        return done.stderr

    assert "1000 at most" in ask(1001, 2)
    ask(1000, 0)
    script = folder / "slurm" / "sweep.sbatch"
    held = slurm.run("sbatch", "--parsable", "--hold", script)
    slurm.run("scancel", held)
    text = script.read_text()
    assert "--array=1-1000\n" in text
    script.write_text(text.replace("--array=1-1000\n", "--array=1-1001\n"))
    slurm.run("sbatch", "--parsable", "--hold", script, code=1)


def test_printed_scripts_are_bash(tmp_path):
    """Without Slurm: bash reads them, and takes the paths apart as they were put together."""
    folder = tmp_path / "it's `x` $(y) \"z\" *"
    poolsweep("plan", SWEEPS / "small.yaml", "--out", folder)
    for which in ("sweep", "finish"):
        script, _ = poolsweep("slurm", folder, f"--print={which}", "--binary", tmp_path / "no such")
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        words = shlex.split(script.split("\nexec ")[1].replace("\\\n", ""))
        assert words[0] == str(tmp_path / "no such")
        assert words[2] == str(folder)
