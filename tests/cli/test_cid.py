# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cli.commands import BLOCKFUL, blockful
from tests.storage.conftest import PATTERN

LONG = "bafybeieevljckxqzynw22oy4b22dpphvozdrzujb3h667rehhwwmz6b2ye"
"""Of 1 MiB + 1 byte of the pattern, by ipfs-unixfs-importer."""


def test_the_cid_of_a_file_is_printed_and_nothing_stored(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(PATTERN + PATTERN[:1])
    outcome = blockful(tmp_path, "cid", "model")
    assert (outcome.status, outcome.out) == (0, LONG + "\n")
    assert blockful(tmp_path, "cid", "model", "--json").document == {"file": "model", "cid": LONG}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_standard_input_gets_the_same_name() -> None:
    printed = subprocess.run(
        [*BLOCKFUL, "cid", "-"], input=PATTERN + PATTERN[:1], capture_output=True, check=True
    )
    assert printed.stdout.decode() == LONG + "\n"


def test_what_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    for name in ("missing", "."):
        outcome = blockful(tmp_path, "cid", name)
        assert outcome.status == 2
        assert f"{name} cannot be read" in outcome.error
