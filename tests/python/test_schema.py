"""The JSON Schema that editors use: it takes what we ship and marks what is wrong."""

import json

import jsonschema
import pytest
import yaml
from conftest import ROOT, SWEEPS, poolsweep

SHIPPED = sorted([*(ROOT / "sweeps").glob("**/*.yaml"), *SWEEPS.glob("*.yaml")])

GOOD = """
schema: 1
name: good
base:
  duration: 1ms
  topology: {kind: single-switch, hosts: 4}
  traffic: [{pattern: incast, receiver: 0, senders: 3, bytes: 1MB, dscp: 8}]
axes:
  HeadRoomPerPortLimit: [16KB, 32KB]
"""

# What to change in GOOD, and what for.
BROKEN = {
    "an unknown section": ("name: good", "name: good\nbases: {}"),
    "an unknown key of a section": ("hosts: 4", "hosts: 4, host: 5"),
    "a later version of the language": ("schema: 1", "schema: 2"),
    "a time without its unit": ("duration: 1ms", "duration: 1"),
    "a unit that is none": ("duration: 1ms", "duration: 1m"),
    "a number of hosts that is none": ("hosts: 4", "hosts: many"),
    "a kind of topology that is none": ("single-switch", "double-switch"),
    "an axis without values": ("[16KB, 32KB]", "[]"),
    "a form of axis that is none": ("[16KB, 32KB]", "{range: {from: 1KB, until: 2KB}}"),
    "no repetition": ("name: good", "name: good\nrepetitions: 0"),
    "a list where a section belongs": ("axes:\n  HeadRoomPerPortLimit: [16KB, 32KB]", "axes: []"),
}


def load(text):
    """The file as an editor's JSON sees it: keys are texts, also those of hosts."""
    return json.loads(json.dumps(yaml.safe_load(text)))


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(poolsweep("schema")[0])
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_some_sweeps_are_shipped():
    assert {path.stem for path in SHIPPED} >= {"headroom", "pools", "alpha", "ecn", "mixed"}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_shipped_sweep_is_accepted(validator, path):
    validator.validate(load(path.read_text()))


def test_the_starting_point_is_accepted_by_both(validator, tmp_path):
    validator.validate(load(GOOD))
    (tmp_path / "sweep.yaml").write_text(GOOD)
    poolsweep("plan", tmp_path / "sweep.yaml")


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_rejected_by_both(validator, tmp_path, what):
    old, new = BROKEN[what]
    assert old in GOOD
    text = GOOD.replace(old, new)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(load(text))
    file = tmp_path / "sweep.yaml"
    file.write_text(text)
    _, err = poolsweep("plan", file, code=3)
    assert err.startswith(f"error: {file}:"), err
