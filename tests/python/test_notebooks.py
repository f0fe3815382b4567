"""The notebooks: stripped, in order, and true when they are run from nothing."""

import re

import nbformat
import pytest
from conftest import BINARY, ROOT
from nbclient import NotebookClient

NOTEBOOKS = sorted((ROOT / "analysis").glob("*.ipynb"))
TIMEOUT_S = 120


def load(path):
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def test_the_questions_have_notebooks():
    assert {path.stem for path in NOTEBOOKS} == {
        "alpha", "buffer-models", "headroom", "overnight", "pool-split", "uet-trimming",
    }  # fmt: skip


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stripped_and_asks_a_question(path):
    notebook = load(path)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None, cell.id
        assert cell.metadata == {}, cell.id
    # What editors add about the machine is not kept either.
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert set(notebook.metadata.language_info) == {"name"}
    opening = notebook.cells[0].source
    assert re.match(r"# [^\n]+\?\n", opening) and re.search(r"sweeps/[\w-]+\.yaml", "".join(
        cell.source for cell in notebook.cells if cell.cell_type == "markdown"
    ))  # fmt: skip
    assert [cell.source for cell in notebook.cells[-3:-2]] == ["## Answer"]
    assert "assert " in notebook.cells[-1].source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_nothing_and_ends_with_its_answer(path, tmp_path, monkeypatch):
    monkeypatch.setenv("POOLSWEEP", BINARY)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "analysis"))
    # What Jupyter and matplotlib keep for themselves.
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    folder = tmp_path / "here"
    folder.mkdir()
    notebook = load(path)
    client = NotebookClient(
        notebook, timeout=TIMEOUT_S, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    outputs = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    assert any("image/png" in out.get("data", {}) for out in outputs), "no figure"
    warned = [out.text for out in outputs if out.get("name") == "stderr"]
    assert warned == []
    (answer,) = notebook.cells[-2].outputs
    assert re.search(r"\d.*\.\n$", answer.text), answer
    assert [p.name for p in folder.iterdir()] == ["out"], "data goes to out/ and nowhere else"
