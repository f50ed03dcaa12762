# SPDX-License-Identifier: Apache-2.0
"""The method that docs/how-to/add-models-data-and-methods.md shows how to add."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest
import torch

from blockful_py.errors import SettingsError
from blockful_py.learning import plugins
from blockful_py.unlearning.registry import METHODS, create_method
from tests.unlearning.conftest import UnlearningCase

DOCS = Path(__file__).resolve().parents[2] / "docs"
ADDING = DOCS / "how-to" / "add-models-data-and-methods.md"
METHODS_PAGE = DOCS / "reference" / "unlearning.md"
(EXAMPLE,) = re.findall(r"```python\n(# start_over\.py\n.*?)```", ADDING.read_text(encoding="utf-8"), re.S)


@pytest.fixture
def start_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "start_over.py").write_text(EXAMPLE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield import_module("start_over").StartOver
    sys.modules.pop("start_over")


def test_a_method_of_ones_own_takes_twenty_lines(tiny: UnlearningCase, start_over: Any) -> None:
    assert len([line for line in EXAMPLE.splitlines() if line.strip()]) <= 20
    weights = {step.name: step.weights for step in start_over().steps(tiny.task)}
    assert set(weights) == {"b", "c", "d"}
    for name in weights:
        assert torch.equal(weights[name]["head.weight"], tiny.task.initial["head.weight"])
        assert torch.equal(weights[name]["conv1.weight"], tiny.task.models[name].weights["conv1.weight"])


@pytest.mark.usefixtures("start_over")
def test_a_package_offers_it_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    offered = EntryPoints((EntryPoint("start_over", "start_over:StartOver", "blockful.methods"),))
    monkeypatch.setattr(plugins, "offered", lambda group: offered.select(group=group))
    assert create_method("start_over").name == "start_over"
    with pytest.raises(SettingsError, match="'start_over' has no such settings: depth"):
        create_method("start_over", depth=2)


def test_a_name_is_never_an_import_path() -> None:
    with pytest.raises(SettingsError, match="there is no method 'start_over:StartOver'"):
        create_method("start_over:StartOver")


def test_the_docs_name_every_method() -> None:
    described = METHODS_PAGE.read_text(encoding="utf-8").split("## Methods")[1]
    assert [name for name in METHODS if f"| `{name}` |" not in described] == []
