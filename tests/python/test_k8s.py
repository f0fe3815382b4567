"""The manifest for Kubernetes against Kubernetes' own schema. It is not run."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml
from conftest import SWEEPS, poolsweep

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "kubernetes-job.json").read_text())


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("k8s") / "it's planned"
    poolsweep("plan", SWEEPS / "small.yaml", "--out", folder)
    return folder


def manifest(planned, *options):
    text, _ = poolsweep("k8s", planned, "--image", "lab/poolsweep:1", "--claim", "sweeps", *options)
    return yaml.safe_load(text)


def validator():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def test_manifests_are_jobs(planned):
    every = [
        "--mount", "/mnt/net", "--path", "out/small", "--shards", "7", "--parallelism", "3",
        "--cpu", "2.5", "--memory", "512Mi", "--drain", "30", "--namespace", "lab",
        "--name", "nightly",
    ]
    for options in ([], every):
        validator().validate(manifest(planned, *options))
    job = manifest(planned, *every)
    assert job["metadata"]["name"] == "nightly" and job["metadata"]["namespace"] == "lab"
    assert job["spec"]["completions"] == 7 and job["spec"]["parallelism"] == 3
    pod = job["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == 30
    container = pod["containers"][0]
    assert container["resources"]["limits"] == {"cpu": "2.5", "memory": "512Mi"}
    assert "/mnt/net/out/small" in container["args"][0]


def test_what_is_coupled_fits_together(planned):
    """What Kubernetes checks beyond its schema."""
    spec = manifest(planned)["spec"]
    assert spec["completionMode"] == "Indexed"
    pod = spec["template"]["spec"]
    # A pod failure policy asks for both of these.
    assert pod["restartPolicy"] == "Never" and spec["podReplacementPolicy"] == "Failed"
    names = {container["name"] for container in pod["containers"]}
    for rule in spec["podFailurePolicy"]["rules"]:
        assert ("onExitCodes" in rule) != ("onPodConditions" in rule)
        codes = rule.get("onExitCodes")
        if codes:
            assert codes["containerName"] in names
            assert codes["values"] == sorted(set(codes["values"])) and 0 not in codes["values"]
        # A word: a YAML boolean would be refused.
        assert all(c["status"] == "True" for c in rule.get("onPodConditions", []))
    mounts = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}
    assert mounts == {volume["name"] for volume in pod["volumes"]}


def test_the_schema_refuses_what_is_none(planned):
    good = manifest(planned)
    for spoil in (
        lambda job: job["spec"].update(completionmode="Indexed"),
        lambda job: job["spec"].update(completions="7"),
        lambda job: job["spec"]["podFailurePolicy"]["rules"][0].pop("action"),
        lambda job: job["spec"]["template"]["spec"].pop("containers"),
        lambda job: job["spec"]["template"]["spec"]["volumes"][0].pop("name"),
        lambda job: job.update(kind="CronJob"),
    ):
        bad = json.loads(json.dumps(good))
        spoil(bad)
        assert not validator().is_valid(bad)
        assert validator().is_valid(good)


def test_the_container_runs_its_shard(planned):
    """The shell in the container finds the dataset and counts from 1."""
    (line,) = manifest(planned)["spec"]["template"]["spec"]["containers"][0]["args"]
    shown = line.replace("exec poolsweep", "printf '%s\\n'")
    done = subprocess.run(
        ["/bin/sh", "-c", shown], env={"JOB_COMPLETION_INDEX": "0"},
        capture_output=True, text=True, check=True,
    )
    words = done.stdout.splitlines()
    assert words == ["run", "/data/it's planned", "--quiet", "--shard", "1/15"]
