# SPDX-License-Identifier: Apache-2.0
"""A federation of processes goes on under another federation file, by commands alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockful_py.cli.local_federation import LocalFederation
from tests.cli.commands import Outcome, blockful_process
from tests.member.leaders import until

pytestmark = pytest.mark.processes

SETTINGS = Path(__file__).parents[2] / "examples" / "machines.toml"
SMALL = ("federation.users=2", "federation.wave=2", "federation.rounds=1", "learning.epochs=1")
MEMBERS = ("member-1", "member-2", "member-3")


def test_participants_train_another_round_once_the_committee_has_decided_it(tmp_path: Path) -> None:
    folder = tmp_path / "federation"
    sets = [part for each in SMALL for part in ("--set", each)]
    local = LocalFederation(folder, lambda command: None)

    def run(*command: str, by: str) -> Outcome:
        return blockful_process(tmp_path, *command, "--passphrase-file", str(local.words(by)), "--json")

    def published() -> Any:
        outcome = run("participant", "status", str(local.party("participant-1")), by="participant-1")
        assert outcome.status == 0, outcome.err
        return json.loads(outcome.out)["federation"]

    try:
        started = blockful_process(tmp_path, "up", str(SETTINGS), "--folder", str(folder), *sets)
        assert started.status == 0, started.err
        until(lambda: published() == 2)
        new = tmp_path / "federation.toml"
        text = local.file.read_text(encoding="utf-8")
        assert "rounds = 1\n" in text
        new.write_text(text.replace("rounds = 1\n", "rounds = 2\n"), encoding="utf-8")
        leader = local.party(MEMBERS[0])
        change = ("federation", "change", str(new), str(leader))
        assert "0 of 4 members agree" in run(*change, by=MEMBERS[0]).out
        (motion,) = (leader / "run" / "motions").glob("*.json")
        for name in MEMBERS:
            agreed = run("committee", "agree", str(motion), str(local.party(name)), by=name)
            assert agreed.document["changed"] == ["federation.rounds: 1 -> 2"]
        changed = run(*change, by=MEMBERS[0])
        assert changed.document["changed"] == ["federation.rounds: 1 -> 2"]
        until(lambda: published() == 4)
    finally:
        blockful_process(tmp_path, "down", "--folder", str(folder))
