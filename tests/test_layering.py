# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.layering import LAB, violations

ROOT = Path(__file__).resolve().parents[1] / "blockful_py"
LAB_ROOT = ROOT.parent / "lab" / LAB
SLOW = {"torch", "web3", "aiohttp", "requests", "eth_account", "matplotlib", "scipy", "sklearn"}


def test_imports_point_only_downward() -> None:
    assert violations(ROOT) == []
    assert violations(LAB_ROOT, LAB) == []


@pytest.mark.parametrize(
    ("module", "line", "expected"),
    [
        ("crypto/a", "from blockful_py.chain import node", "crypto imports chain"),
        ("storage/a", "from blockful_py.chain.node import Node", "storage imports chain"),
        ("learning/a", "import web3", "learning imports web3"),
        ("record/a", "import torch", "record imports torch"),
        ("pipeline/run/a", "import torch", "pipeline imports torch"),
        ("storage/a", "def f():\n    from brownie import accounts", "storage imports brownie"),
        ("pipeline/operated", "from blockful_py import cli", "pipeline imports cli"),
        (
            "cli/a",
            "from blockful_lab.experiments import audit",
            "cli imports blockful_lab, which",
        ),
        ("pipeline/run/a", "from blockful_py.pipeline.jobs.context import X", "run imports jobs"),
        ("pipeline/jobs/a", "import blockful_py.pipeline.federation", "jobs imports federation"),
        (
            "record/proofs/a",
            "from blockful_py.record.certificates import document",
            "proofs imports certificates",
        ),
        ("settings/a", "import torch", "settings imports torch"),
        ("settings/a", "from blockful_py.learning import training", "settings imports learning"),
        ("attic/a", "from blockful_py import types", "blockful_py has no floor for attic"),
        ("pipeline/attic/a", "from blockful_py.pipeline.run import clock", "pipeline has no floor for attic"),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, module: str, line: str, expected: str) -> None:
    assert expected in write(tmp_path, {module: line})[0]


def test_a_forbidden_import_of_the_lab_is_found(tmp_path: Path) -> None:
    (tmp_path / "simulation").mkdir()
    lines = (
        "from blockful_lab.experiments import audit\nimport web3\nfrom blockful_py.costs import Operations\n"
    )
    (tmp_path / "simulation" / "a.py").write_text(lines, encoding="utf-8")
    upward, web3 = violations(tmp_path, LAB)
    assert upward.endswith("simulation imports experiments, which is not below it")
    assert "simulation imports web3" in web3


def test_a_circle_is_found_in_a_folder_without_floors(tmp_path: Path) -> None:
    found = write(
        tmp_path,
        {
            "crypto/__init__": "",
            "crypto/a": "from blockful_py.crypto.b import f",
            "crypto/b": "if TYPE_CHECKING:\n    from blockful_py.crypto.a import g",
        },
    )
    assert len(found) == 1
    assert found[0].startswith("blockful_py.crypto: ")
    assert found[0].endswith("is a circle")


def test_a_circle_is_found_between_a_folder_and_a_file(tmp_path: Path) -> None:
    found = write(
        tmp_path,
        {
            "crypto/a": "from blockful_py.crypto.inner.b import f",
            "crypto/inner/b": "from blockful_py.crypto.c import g",
            "crypto/c": "from blockful_py.crypto.inner.d import h",
            "crypto/inner/d": "",
        },
    )
    assert any("is a circle" in each for each in found)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("unlearning/a", "from blockful_py.learning import training"),
        ("learning/a", "from blockful_py.graph import layout"),
        ("cli/a", "from blockful_py.pipeline import federation"),
        ("pipeline/jobs/a", "from blockful_py.pipeline.run import clock"),
        ("learning/a", "from blockful_py.settings import TrainingSettings"),
        ("chain/a", "import web3"),
    ],
)
def test_an_allowed_import_is_not(tmp_path: Path, module: str, line: str) -> None:
    assert write(tmp_path, {module: line}) == []


def write(root: Path, files: dict[str, str]) -> list[str]:
    """The findings in a package with these files."""
    for name, text in files.items():
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    return violations(root)


def test_no_room_has_more_than_15_percent_of_the_lines() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in ROOT.rglob("*.py")}
    rooms: Counter[str] = Counter()
    for path, count in lines.items():
        rooms[path.relative_to(ROOT).parts[0]] += count
    room, most = rooms.most_common(1)[0]
    assert most <= 0.15 * sum(lines.values()), f"{room} has {most} of {sum(lines.values())} lines"


@pytest.mark.parametrize("room", ["graph", "learning", "unlearning"])
def test_the_rooms_of_a_gpu_box_run_without_chains(room: str) -> None:
    """They also run without slow imports, which every process of a committee would pay for."""
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


def test_the_record_is_read_without_what_is_slow_to_import() -> None:
    program = (
        "import sys, pkgutil, importlib\n"
        "package = importlib.import_module('blockful_py.record')\n"
        "for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "    importlib.import_module(module.name)\n"
        f"print(sorted({SLOW!r} & sys.modules.keys()))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.stdout == "[]\n", result.stderr


def test_a_slow_import_fails_that_check() -> None:
    program = f"import sys, scipy\nprint(sorted({SLOW!r} & sys.modules.keys()))\n"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "['scipy']\n"
