# SPDX-License-Identifier: Apache-2.0
"""The base install, without any extra, checks proofs and certificates."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from blockful_py.chain.leaves import roster_id
from blockful_py.extras import EXTRA_OF
from blockful_py.record.proofs.anchors import Anchors
from tests.record.conftest import Scene

HOOK = f"""
import sys
from importlib.abc import MetaPathFinder

class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {set(EXTRA_OF)!r}:
            raise ModuleNotFoundError(f'{{name}} is not installed here', name=name)

sys.meta_path.insert(0, Refuse())
from blockful_py.cli.main import main
main()
"""


@pytest.fixture(scope="module")
def folder(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A proof and a certificate, as somebody else gets them."""
    made = tmp_path_factory.mktemp("received")
    (made / "x.proof.json").write_bytes(scene.proof.to_bytes())
    certificate = scene.federation.certify_erasure(scene.unlearned.request)
    (made / "erasure.json").write_bytes(certificate.to_bytes())
    return made


def base(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command where no extra is installed."""
    command = [sys.executable, "-c", HOOK, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def known(anchors: Anchors) -> list[str]:
    """The block and the archive's head that somebody trusts, as options."""
    (block,), (head,) = anchors.block_hashes, anchors.archive_heads
    return ["--block-hash", "0x" + block.hex(), "--archive-head", "0x" + head.hex()]


def test_a_proof_is_verified(folder: Path, anchors: Anchors) -> None:
    (key,) = anchors.key_ids
    done = base(folder, "verify-proof", "x.proof.json", *known(anchors), "--key-id", "0x" + key.hex())
    assert (done.returncode, done.stderr) == (0, "")
    assert "on the record" in done.stdout


def test_a_proof_of_another_chain_is_not(folder: Path, anchors: Anchors) -> None:
    options = ["--block-hash", "0x" + "ab" * 32, "--key-id", "0x" + "cd" * 32]
    done = base(folder, "verify-proof", "x.proof.json", *options)
    assert done.returncode == 3
    assert "anchor" in done.stderr


def test_a_certificate_is_verified_and_shown(folder: Path, scene: Scene, anchors: Anchors) -> None:
    roster = roster_id(1, scene.federation.contracts.committee.roster(1)[0])
    options = [*known(anchors), "--roster-id", "0x" + roster.hex()]
    done = base(folder, "certificate", "verify", "erasure.json", *options)
    assert (done.returncode, done.stderr) == (0, "")
    shown = base(folder, "certificate", "show", "erasure.json")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "class 3" in shown.stdout


def test_what_needs_an_extra_says_which(folder: Path) -> None:
    done = base(folder, "demo")
    assert done.returncode == 2
    assert "pip install 'blockful[train]'" in done.stderr
