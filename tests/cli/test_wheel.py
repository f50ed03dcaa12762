# SPDX-License-Identifier: Apache-2.0
"""An installed wheel works without the checkout and without Node.js.

So does the page for readers with their own model and data.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli.wheel import ROOT, Installed
from tests.federations import GRAPH, TOML

PAGE = ROOT / "docs" / "tutorial" / "your-own.md"
BLOCK = re.compile(r"^```(sh|python|toml)\n(.*?)^```", re.M | re.S)
MOST_LINES = 40

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed.into(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_every_file_of_the_package(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        shipped = {name for name in archive.namelist() if name.startswith("blockful_py/")}
    package = ROOT / "blockful_py"
    wanted = {
        str(path.relative_to(ROOT))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and "web" not in path.relative_to(package).parts
    }
    assert shipped == wanted
    assert {Path(name).suffix for name in wanted} >= {
        ".json",
        ".sql",
        ".toml",
        ".js",
        ".css",
        ".j2",
        ".typed",
    }


def test_the_demo_runs(installed: Installed, tmp_path: Path) -> None:
    assert shutil.which("node", path=str(installed.programs)) is None
    (tmp_path / "small.toml").write_text(TOML)
    shown = installed.shell("blockful demo small.toml --output runs/one", tmp_path)
    assert re.search(r"The record verifies \((\d+) of \1\)", " ".join(shown.split()))
    assert (tmp_path / "runs" / "one" / "report.html").is_file()
    assert (tmp_path / "runs" / "one" / "chains" / "live.sqlite").is_file()
    for paradigm in ("parallel", "sequential"):
        verified = installed.shell(f"blockful verify --run runs/one/{paradigm} --json", tmp_path)
        assert json.loads(verified)["checked"] == len(GRAPH)


def test_a_federation_of_processes_needs_no_clone_but_node(installed: Installed, tmp_path: Path) -> None:
    shown = installed.shell("blockful init machines", tmp_path)
    assert "blockful up machines.toml" in shown
    refused = installed.shell("blockful up 2>&1 || true; blockful up machines.toml 2>&1 || true", tmp_path)
    assert refused.count("no program `node` was found on PATH: install Node.js 18 or later") == 2
    assert installed.shell("blockful up --set learning.epochs=0 2>&1 || true", tmp_path).startswith(
        "error: learning.epochs"
    )


def test_a_run_of_ones_own_is_trained_forgotten_and_proved(installed: Installed, tmp_path: Path) -> None:
    shown = installed.shell(
        "blockful init scripted\n"
        "blockful train scripted.toml --run runs/mine --set learning.epochs=1\n"
        "blockful unlearn --run runs/mine --json\n",
        tmp_path,
    )
    assert "wrote scripted.toml" in shown
    exported = json.loads(installed.shell("blockful export-proof r5 --run runs/mine --json", tmp_path))
    keys = [word for key in exported["key_ids"].values() for word in ("--key-id", key)]
    known = ["--block-hash", exported["block_hash"], "--archive-head", exported["archive_head"], *keys]
    proved = installed.shell(f"blockful verify-proof r5.proof.json {' '.join(known)}", tmp_path)
    assert re.search(r"r5 at \S+, version 1: on the record", proved)


def test_the_page_leads_to_a_proof_in_few_lines(installed: Installed, tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    lines = [line for _, block in blocks for line in block.splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES
    assert blocks[0][0] == "sh" and "pip install" in blocks[0][1]
    said = [_follow(installed, tmp_path, *each) for each in blocks[1:]]
    assert "the certificate holds: 3 models, class 1" in said[-1]
    assert "d at 3:0, version 1: on the record" in said[-1]
    assert "version 0 superseded" in said[-1]
    report = json.loads((tmp_path / "runs" / "mine" / "report.json").read_text())
    models: dict[str, Any] = {model["name"]: model for model in report["models"]}
    assert {name for name in models if models[name]["affected"]} == {"b", "c", "d"}
    for name in ("b", "c", "d"):
        before, after = models[name]["before"], models[name]["parallel"]
        assert (after["ad_f"], after["version"]) == (0, 1) and before["ad_f"] > 50
        assert after["ad_r"] > 90
    assert models["a"]["parallel"] is None


def _follow(installed: Installed, folder: Path, language: str, block: str) -> str:
    """Writes the file of a page's block, or runs its commands and returns their output."""
    if language == "sh":
        return installed.shell(block, folder)
    name = re.match(r"# (\w+\.\w+)\n", block)
    assert name is not None
    (folder / name[1]).write_text(block, encoding="utf-8")
    return ""
