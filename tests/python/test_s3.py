"""Datasets on object storage: a server started on loopback, written to, killed, read back.

The server is moto's, in a thread of the tests; it keeps its objects in memory and knows conditional
puts. Other processes reach it as they would any other.
"""

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import boto3
import polars as pl
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError
from conftest import (
    BINARY, RESULTS, SWEEPS, TIMEOUT_S, assert_same_tables, plain, poolsweep, read_table,
)
from moto.server import ThreadedMotoServer

MANY = SWEEPS / "many.yaml"
SMALL = SWEEPS / "small.yaml"
JOBS = 64 * 32 * 3
TABLES = ["points", "jobs", "port_buffers", "drops", "pfc"]
BUCKET = "sweeps"


class Store:
    """The server, and one bucket in it."""

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        self.client.create_bucket(Bucket=BUCKET)

    def objects(self, prefix):
        """ETags by name below the prefix."""
        pages = self.client.get_paginator("list_objects_v2")
        found = {}
        for page in pages.paginate(Bucket=BUCKET, Prefix=f"{prefix}/"):
            for entry in page.get("Contents", []):
                found[entry["Key"].removeprefix(f"{prefix}/")] = entry["ETag"]
        return found

    def parts(self, prefix, table="jobs"):
        return [name for name in self.objects(prefix) if name.startswith(f"{table}/")]

    def checks_credentials(self, does):
        """Whether the server lets in only those it knows; it knows nobody."""
        request = urllib.request.Request(
            f"{self.endpoint}/moto-api/reset-auth",
            data=b"0" if does else b"inf",
            headers={"Content-Type": "text/plain"},
        )
        urllib.request.urlopen(request).close()

    def download(self, prefix, folder):
        """As `aws s3 cp --recursive` does."""
        for name in self.objects(prefix):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self.client.download_file(BUCKET, f"{prefix}/{name}", str(path))
        return folder


@pytest.fixture(scope="module")
def store():
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            environment.delenv(name)
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        try:
            host, port = server.get_host_and_port()
            environment.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
            environment.setenv("AWS_ALLOW_HTTP", "true")
            environment.setenv("AWS_REGION", "us-east-1")
            environment.setenv("AWS_ACCESS_KEY_ID", "test")
            environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
            environment.setenv("NO_PROXY", host)
            said = subprocess.run(
                [BINARY, "status", f"s3://{BUCKET}/none"], capture_output=True, text=True
            )
            if "built without object storage" in said.stderr:
                pytest.skip("poolsweep was built without the feature s3")
            yield Store(f"http://{host}:{port}")
        finally:
            server.stop()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The same sweep into a folder, undisturbed."""
    folder = tmp_path_factory.mktemp("whole") / "data"
    poolsweep("run", "--quiet", MANY, "--out", folder)
    return folder


def start(*arguments):
    command = [BINARY, "run", "--quiet", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process, code=0):
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == code, f"exit code {process.returncode}:\n{out}{err}"
    return out, err


def wait_for_a_part(process, store, prefix):
    deadline = time.monotonic() + TIMEOUT_S
    while not store.parts(prefix):
        assert process.poll() is None, f"ended before its first part: {process.communicate()}"
        assert time.monotonic() < deadline, "no part came"
        time.sleep(0.002)


def test_a_sweep_is_written_and_read_back(store, tmp_path, small):
    url, staging = f"s3://{BUCKET}/a/small", tmp_path / "staging"
    out, _ = poolsweep("run", "--quiet", SMALL, "--out", url, "--staging", staging)
    assert re.search(rf"^data +{url}$", out, re.MULTILINE)
    assert [path.name for path in staging.iterdir() if path.is_dir()] == [], "the copy stays"
    assert_same_tables(small, store.download("a/small", tmp_path / "down"), ["points", *RESULTS])
    # By what reads object storage itself.
    options = {
        "aws_endpoint_url": store.endpoint,
        "aws_allow_http": "true",
        "aws_region": "us-east-1",
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test",
    }
    jobs = pl.read_parquet(f"{url}/jobs/*.parquet", storage_options=options)
    assert jobs.height == read_table(small, "jobs").num_rows
    s3 = pafs.S3FileSystem(
        endpoint_override=store.endpoint, region="us-east-1", access_key="test", secret_key="test"
    )
    rows = plain(pq.read_table(f"{BUCKET}/a/small/pfc", filesystem=s3))
    order = [(name, "ascending") for name in rows.column_names]
    assert rows.sort_by(order).equals(read_table(small, "pfc"))

    # The commands that read.
    out, _ = poolsweep("status", url)
    assert out.startswith("small: 18 of 18 jobs done")
    poolsweep("export", "--csv", url, "--out", tmp_path / "up")
    poolsweep("export", "--csv", small, "--out", tmp_path / "local")
    for table in ["points", *RESULTS]:
        lines = [
            sorted((tmp_path / where / f"{table}.csv").read_text().splitlines())
            for where in ("up", "local")
        ]
        assert lines[0] == lines[1], table
    contents = []
    for dataset in (url, small):
        page = tmp_path / "page.html"
        poolsweep("report", dataset, "--out", page)
        content = json.loads(re.search(r'id="content">(.*?)</script>', page.read_text()).group(1))
        # Where it is and when it ran.
        assert content.pop("head")["dataset"] == str(dataset)
        assert len(content["timelines"]) > 0
        contents.append(content)
    assert contents[0] == contents[1]
    job = jobs.filter(pl.col("status") == "ok")["job_id"][0]
    out, _ = poolsweep("repro", job, "--data", url)
    assert re.search(r"^port_buffers +\d+ rows equal$", out, re.MULTILINE)
    # Again: nothing to do, nothing changes.
    before = store.objects("a/small")
    out, _ = poolsweep("run", "--quiet", url)
    assert "0 jobs now" in out and store.objects("a/small") == before


def test_killed_and_run_again_gives_the_same_tables(store, tmp_path, whole):
    url, staging = f"s3://{BUCKET}/killed", tmp_path / "staging"
    poolsweep("plan", MANY, "--out", url)
    process = start(url, "--threads", 1, "--staging", staging)
    try:
        wait_for_a_part(process, store, "killed")
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    kept = {name: store.objects("killed")[name] for name in store.parts("killed")}
    # From another machine, that is: without what the first left on its disk.
    _, err = poolsweep("status", url, code=5)
    out, _ = poolsweep("run", "--quiet", url, "--staging", tmp_path / "other")
    before = int(re.search(r"([\d,]+) jobs before", out).group(1).replace(",", ""))
    assert 0 < before < JOBS, "killed too late to be a test"
    after = store.objects("killed")
    assert {name: after[name] for name in kept} == kept, "done again"
    assert_same_tables(whole, store.download("killed", tmp_path / "down"), TABLES)


def test_a_polite_interruption_keeps_what_was_done(store, tmp_path, whole):
    url = f"s3://{BUCKET}/polite"
    process = start(MANY, "--out", url, "--threads", 1, "--staging", tmp_path)
    wait_for_a_part(process, store, "polite")
    process.send_signal(signal.SIGTERM)
    _, err = finish(process, code=5)
    assert "the same command goes on with them" in err
    assert store.parts("polite", "journal"), "the journal did not go up"
    poolsweep("run", "--quiet", MANY, "--out", url, "--staging", tmp_path)
    assert_same_tables(whole, store.download("polite", tmp_path / "down"), TABLES)


def abort_in_flight(worker, staging):
    """Ends the worker by a signal of its own making while a job is in flight: it stands still while
    that is looked at."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        os.kill(worker, signal.SIGSTOP)
        while Path(f"/proc/{worker}/stat").read_text().rsplit(")")[-1].split()[0] != "T":
            assert time.monotonic() < deadline, "the worker does not stop"
        flying = 0
        for journal in staging.glob("*/journal/*.jsonl"):
            text = journal.read_text()
            flying += text.count('"e":"start"') - text.count('"how":"ran"')
        if flying:
            os.kill(worker, signal.SIGABRT)
        os.kill(worker, signal.SIGCONT)
        if flying:
            return
        assert time.monotonic() < deadline, "no job is ever in flight"
        time.sleep(0.003)


def test_a_crash_is_noted_in_the_store_and_the_run_goes_on(store, tmp_path, whole):
    url = f"s3://{BUCKET}/crash"
    # While one worker publishes the other runs jobs.
    process = start(MANY, "--out", url, "--threads", 2, "--staging", tmp_path)
    wait_for_a_part(process, store, "crash")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    abort_in_flight(int(children[0]), tmp_path)
    _, err = finish(process)
    (jobs,) = re.findall(r"died of SIGABRT with ([0-9a-f, ]+) (?:alone )?in flight", err)
    names = [f"suspects/{job}.json" for job in sorted(jobs.split(", "))]
    assert sorted(store.parts("crash", "suspects")) == names
    journals = [
        store.client.get_object(Bucket=BUCKET, Key=f"crash/{name}")["Body"].read().decode()
        for name in store.parts("crash", "journal")
    ]
    assert len(journals) == 2 and sum('"death"' in text for text in journals) == 1
    assert_same_tables(whole, store.download("crash", tmp_path / "down"), TABLES)


def test_shards_at_once_also_by_mistake_the_same(store, tmp_path, whole):
    url = f"s3://{BUCKET}/shards"
    poolsweep("plan", MANY, "--out", url)
    shards = ["1/2", "2/2", "2/2"]
    processes = [
        start(url, "--shard", shard, "--threads", 1, "--staging", tmp_path) for shard in shards
    ]
    for process in processes:
        finish(process)
    out, _ = poolsweep("status", url)
    assert re.search(r"^ *2/2 .* finished$", out, re.MULTILINE), out
    down = store.download("shards", tmp_path / "down")
    assert_same_tables(whole, down, TABLES)
    assert len(store.parts("shards", "journal")) == 3


def test_conditional_puts_are_refused_by_this_server(store):
    """Else the tests below would show nothing."""
    put = {"Bucket": BUCKET, "Key": "conditional"}
    store.client.put_object(**put, Body=b"first", IfNoneMatch="*")
    for condition in ({"IfNoneMatch": "*"}, {"IfMatch": '"0123"'}):
        with pytest.raises(ClientError, match="PreconditionFailed"):
            store.client.put_object(**put, Body=b"second", **condition)


def test_an_object_in_the_way_is_not_written_over(store, tmp_path):
    url = f"s3://{BUCKET}/way"
    poolsweep("run", "--quiet", SMALL, "--out", url)
    (name,) = store.parts("way")
    # A part of that name that is not ours, put between the plan and the run.
    other = f"s3://{BUCKET}/way2"
    poolsweep("plan", SMALL, "--out", other)
    store.client.put_object(Bucket=BUCKET, Key=f"way2/{name}", Body=b"somebody else's")
    _, err = poolsweep("run", "--quiet", other, "--staging", tmp_path, code=7)
    assert name in err
    body = store.client.get_object(Bucket=BUCKET, Key=f"way2/{name}")["Body"].read()
    assert body == b"somebody else's"
    # Rows that no jobs part claims are of a run that died; they give way.
    third = f"s3://{BUCKET}/way3"
    poolsweep("plan", SMALL, "--out", third)
    pfc = name.replace("jobs/", "pfc/")
    store.client.put_object(Bucket=BUCKET, Key=f"way3/{pfc}", Body=b"of a run that died")
    poolsweep("run", "--quiet", third)
    assert store.objects("way3")[pfc] == store.objects("way")[pfc]


def test_what_the_store_refused_goes_up_later(store, tmp_path, small):
    """A bucket that takes no more objects for a while: nothing computed is lost."""
    url = f"s3://{BUCKET}/refused"
    poolsweep("plan", SMALL, "--out", url)
    deny = (
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", '
        f'"Action": "s3:PutObject", "Resource": "arn:aws:s3:::{BUCKET}/refused/pfc/*"}}]}}'
    )
    store.client.put_bucket_policy(Bucket=BUCKET, Policy=deny)
    try:
        _, err = poolsweep("run", "--quiet", url, "--staging", tmp_path, code=7)
        assert f"cannot upload {url}/pfc/" in err and "AWS_ACCESS_KEY_ID" in err
        assert "the same command goes on from there" in err
        assert store.parts("refused") == [], "half a chunk can be seen"
    finally:
        store.client.delete_bucket_policy(Bucket=BUCKET)
    out, _ = poolsweep("run", "--quiet", url, "--staging", tmp_path)
    assert "0 jobs now" in out, "computed again"
    assert_same_tables(small, store.download("refused", tmp_path / "down"), ["points", *RESULTS])


def test_mistakes_are_told(store, tmp_path, monkeypatch):
    _, err = poolsweep("run", "--quiet", SMALL, "--out", "s3://nowhere/a", code=7)
    assert "s3://nowhere/a" in err and "NoSuchBucket" in err
    assert "check the names of bucket and prefix" in err
    _, err = poolsweep("run", "--quiet", f"s3://{BUCKET}/nothing", code=7)
    assert f"there is no dataset in s3://{BUCKET}/nothing" in err
    _, err = poolsweep("status", f"s3://{BUCKET}", code=2)
    assert "s3://bucket/prefix" in err
    _, err = poolsweep("plan", f"s3://{BUCKET}/a.yaml", code=2)
    assert "read from a local file" in err
    store.client.put_object(Bucket=BUCKET, Key="photos/a.jpg", Body=b"x")
    _, err = poolsweep("run", "--quiet", SMALL, "--out", f"s3://{BUCKET}/photos", code=7)
    assert "nothing was touched" in err and list(store.objects("photos")) == ["a.jpg"]
    # From here on the server wants to know who asks.
    store.checks_credentials(True)
    try:
        _, err = poolsweep("run", "--quiet", SMALL, "--out", f"s3://{BUCKET}/x", code=7)
        assert "InvalidAccessKeyId" in err and "check AWS_ACCESS_KEY_ID" in err
    finally:
        store.checks_credentials(False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    began = time.monotonic()
    _, err = poolsweep("run", "--quiet", SMALL, "--out", f"s3://{BUCKET}/x", code=7)
    assert "AWS_ENDPOINT_URL" in err and "refused" in err
    assert time.monotonic() - began < 60, "it took too long to find out"
