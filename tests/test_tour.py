# SPDX-License-Identifier: Apache-2.0
"""The notebook examples/tour.ipynb runs from start to a verified erasure, with its stored outputs.

The command `python -m tests.test_tour` runs it and stores the outputs.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

TOUR = Path(__file__).resolve().parents[1] / "examples" / "tour.ipynb"


VARYING = re.compile(r"(?:(?:/[\w.-]+)+/)?tour\b|0x[0-9a-f]{8,}|\b[0-9a-f]{16,}\b")
"""Varying parts of outputs: the folder of the run, and digests that depend on its random keys."""


def test_it_is_kept_with_its_outputs() -> None:
    notebook = nbformat.read(TOUR, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.id for cell in code if not cell.outputs] == ["settings"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    assert [cell.metadata for cell in code if cell.metadata] == []


@pytest.fixture
def kernel_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment inherited by the kernel, which is a separate process."""
    monkeypatch.setenv("PYTHONPATH", str(TOUR.parents[1]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jupyter"))


def executed(notebook: Any, folder: Path) -> dict[str, Any]:
    """The outputs after a run in `folder`."""
    client = NotebookClient(notebook, timeout=3000, resources={"metadata": {"path": str(folder)}})
    client.execute()
    return outputs(notebook)


def outputs(notebook: Any) -> dict[str, Any]:
    """The first output's data of every code cell, text or HTML, by the id of the cell."""
    return {
        cell.id: cell.outputs[0].get("data", cell.outputs[0])
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.outputs
    }


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("kernel_environment")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client", "ignore::ResourceWarning")
def test_it_goes_from_nothing_to_a_verified_erasure(tmp_path: Path) -> None:
    shutil.copy(TOUR, tmp_path)
    kept = outputs(nbformat.read(TOUR, as_version=4))
    shown = executed(nbformat.read(tmp_path / TOUR.name, as_version=4), tmp_path)
    assert {cell: seen(data) for cell, data in shown.items()} == {
        cell: seen(data) for cell, data in kept.items()
    }
    assert "<caption" in shown["creation"]["text/html"] and "4 members" in shown["creation"]["text/html"]
    assert "5 models on the live chain" in shown["training"]["text/html"]
    assert "0 of 1 owners" in shown["request"]["text/html"]
    assert "class 3" in shown["unlearning"]["text/html"]
    assert "3 models, 3 data keys destroyed" in shown["certificate"]["text/html"]
    assert shown["verification"]["text"] == "holds: 3 models forgot class 3\n"
    assert shown["forgery"]["text"].startswith("refused: ")


@pytest.mark.usefixtures("kernel_environment")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client", "ignore::ResourceWarning")
def test_a_mistake_in_a_cell_is_found(tmp_path: Path) -> None:
    wrong = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("from blockful_py import Federated")])
    with pytest.raises(CellExecutionError, match="Federated"):
        executed(wrong, tmp_path)


def seen(output: Mapping[str, Any]) -> str:
    """The text of an output without its varying parts."""
    return VARYING.sub(
        "", str(next(output[each] for each in ("text/html", "text/plain", "text") if each in output))
    )


def _short(found: re.Match[str]) -> str:
    return "tour" if found[0].endswith("tour") else found[0]


def main() -> None:
    """Runs the notebook and keeps its outputs, without the folder and the times of this run."""
    notebook = nbformat.read(TOUR, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        executed(notebook, Path(folder))
    for cell in notebook.cells:
        cell.metadata.clear()
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/html" in data:
                data.pop("text/plain")
                data["text/html"] = VARYING.sub(_short, data["text/html"])
    TOUR.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
