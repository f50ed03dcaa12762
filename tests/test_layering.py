# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.layering import violations

ROOT = Path(__file__).resolve().parents[1] / "blockful_py"


def test_imports_point_only_downward() -> None:
    assert violations(ROOT) == []


@pytest.mark.parametrize(
    ("room", "line", "expected"),
    [
        ("crypto", "from blockful_py.chain import node", "crypto imports chain"),
        ("chain", "from blockful_py.storage.cid import parse_cid", "chain imports storage"),
        ("learning", "import web3", "learning imports web3"),
        ("pipeline", "import torch", "pipeline imports torch"),
        ("storage", "def f():\n    from brownie import accounts", "storage imports brownie"),
        ("pipeline", "from blockful_py import cli", "pipeline imports cli"),
        ("attic", "from blockful_py import types", "room attic has no layer"),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, room: str, line: str, expected: str) -> None:
    (tmp_path / room).mkdir()
    (tmp_path / room / "module.py").write_text(line + "\n", encoding="utf-8")
    found = violations(tmp_path)
    assert len(found) == 1
    assert expected in found[0]


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("unlearning", "from blockful_py.learning import training"),
        ("report", "from blockful_py.graph import layout"),
        ("cli", "from blockful_py.pipeline import Federation"),
        ("chain", "import web3"),
    ],
)
def test_an_allowed_import_is_not(tmp_path: Path, room: str, line: str) -> None:
    (tmp_path / room).mkdir()
    (tmp_path / room / "module.py").write_text(line + "\n", encoding="utf-8")
    assert violations(tmp_path) == []


@pytest.mark.parametrize("room", ["graph", "learning", "unlearning"])
def test_the_rooms_of_a_gpu_box_run_without_chains(room: str) -> None:
    """And without what takes seconds to import, in every process of a committee."""
    chains = ["web3", "eth_abi", "eth_account", "brownie", "ipfshttpclient", "coincurve"]
    slow = ["sklearn", "scipy.stats", "pandas"]
    program = (
        "import sys, pkgutil, importlib\n"
        f"for name in {chains + slow!r}: sys.modules[name] = None\n"
        f"package = importlib.import_module('blockful_py.{room}')\n"
        "for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "    importlib.import_module(module.name)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_a_blocked_import_fails_that_check() -> None:
    program = "import sys\nsys.modules['web3'] = None\nimport blockful_py.chain.node\n"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "web3" in result.stderr
