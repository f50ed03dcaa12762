# SPDX-License-Identifier: Apache-2.0
"""The command `blockful experiment attack` without training: its stored results and its refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import blockful

STORED = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "attack" / "digits"
ATTACK = ("experiment", "attack", "--seeds", "5", "--output", "attack")


def test_tables_are_made_anew_from_the_document_alone(tmp_path: Path) -> None:
    (tmp_path / "attack").mkdir()
    (tmp_path / "attack" / "attack.json").write_bytes((STORED / "attack.json").read_bytes())
    found = blockful(tmp_path, *ATTACK, "--render-only")
    assert found.status == 0, found.err
    table = (tmp_path / "attack" / "attack.md").read_text(encoding="utf-8")
    assert table == (STORED / "attack.md").read_text(encoding="utf-8")
    assert (tmp_path / "attack" / "attack.png").read_bytes().startswith(b"\x89PNG")
    told = blockful(tmp_path, *ATTACK, "--render-only", "--json")
    assert json.loads(told.out) == json.loads((STORED / "attack.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--shadows", "3"), "at least 4 shadow federations"),
        (("--method", "magic"), "no method 'magic'"),
        (("--ask", "everything"), "everything"),
        (("--render-only",), "measure them first"),
    ],
)
def test_what_cannot_be_attacked_is_refused(tmp_path: Path, words: tuple[str, ...], reason: str) -> None:
    found = blockful(tmp_path, *ATTACK, *words)
    assert found.status != 0
    assert reason in found.err
