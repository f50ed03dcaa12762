# SPDX-License-Identifier: Apache-2.0
"""The changes that "Extend the package" names are enough: they are made in a copy, which is used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.code_blocks import blocks

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "extend-the-package.md"


def changes() -> list[tuple[str, str]]:
    """Path and lines of every change on the page."""
    found = [each.text for each in blocks(PAGE) if each.language == "diff"]
    return [(head.removeprefix("+++ "), text) for head, _, text in (each.partition("\n") for each in found)]


def change(path: Path, text: str) -> None:
    """Makes a change: each part's unmarked lines are in the file once, and its marked ones are added."""
    if not path.exists():
        path.write_text("".join(line.removeprefix("+") + "\n" for line in text.splitlines()))
        return
    found = path.read_text(encoding="utf-8")
    for part in text.strip("\n").split("\n\n"):
        lines = part.splitlines()
        before = "\n".join(line[1:] for line in lines if not line.startswith("+"))
        assert found.count(f"{before}\n") == 1, f"{path.name} has another number of: {before}"
        found = found.replace(f"{before}\n", "\n".join(line[1:] for line in lines) + "\n")
    path.write_text(found, encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with all changes of the page."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        ROOT / "blockful_py", folder / "blockful_py", ignore=shutil.ignore_patterns("__pycache__")
    )
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    for path, text in changes():
        change(folder / path, text)
    return folder


def run(copy: Path, *command: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(copy)}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_extension_touches_at_most_three_files() -> None:
    rooms = [path.split("/")[1] for path, _ in changes()]
    assert {room: rooms.count(room) for room in rooms} == {"unlearning": 2, "chain": 1, "explorer": 3}


def test_the_method_is_known_by_its_name(copy: Path) -> None:
    script = (
        "from blockful_py.unlearning.registry import create_method; print(create_method('start_over').review)"
    )
    assert run(copy, sys.executable, "-c", script) == "remeasured\n"


def test_the_kind_of_chain_answers(copy: Path) -> None:
    script = (
        "from blockful_py.chain.devnet import Devnet, NodeOptions\n"
        "with Devnet(NodeOptions(1337, kind='cancun')) as devnet:\n"
        "    print(devnet.node.rpc.call('eth_chainId'), devnet.node.client.split('/')[0])\n"
    )
    assert run(copy, sys.executable, "-c", script) == "0x539 anvil\n"


def test_the_page_is_bundled_and_served(copy: Path) -> None:
    run(copy, "node_modules/.bin/tsc", "-p", "blockful_py/explorer/web")
    run(
        copy, "node_modules/.bin/esbuild", "blockful_py/explorer/web/main.ts", "--bundle", "--outfile=main.js"
    )
    assert "The live chain has id" in (copy / "main.js").read_text(encoding="utf-8")
    script = "from blockful_py.explorer.app import PAGES; print('/chains' in PAGES)"
    assert run(copy, sys.executable, "-c", script) == "True\n"
