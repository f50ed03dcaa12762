# SPDX-License-Identifier: Apache-2.0
"""Models of sums in a federation that `blockful up` starts: nobody waits for an owner that is gone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from blockful_py.cli.local_federation import LocalFederation
from blockful_py.detached import end
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.certificates.document import parse_certificate
from blockful_py.record.shown import shown
from blockful_py.settings.learning import REVEALED
from blockful_py.types import Checked
from tests.cli.commands import told

pytestmark = pytest.mark.processes

SETTINGS = Path(__file__).parents[2] / "examples" / "machines.toml"
SMALL = (
    "federation.users=2",
    "federation.wave=2",
    "federation.rounds=2",
    "learning.model=analytic",
    "learning.epochs=20",
    "learning.learning_rate=0.1",
)
KINDS = {
    False: ("learning.reveals_samples=true", "learning.options={features = 16}"),
    True: ("learning.shares_sums=true", "learning.options={features = 8}"),
}
MODELS = 4
PATIENCE_SECONDS = 600


@pytest.mark.parametrize("shared", [False, pytest.param(True, marks=pytest.mark.timeout(3600))])
def test_requests_of_every_level_are_carried_out_without_owners_that_are_gone(
    tmp_path: Path, shared: bool
) -> None:
    """Whether members and readers see the sums, or members share them and open heads alone."""
    folder = tmp_path / "federation"
    sets = [part for each in (*SMALL, *KINDS[shared]) for part in ("--set", each)]
    warnings = [] if shared else [REVEALED]
    local = LocalFederation(folder, lambda command: None)

    def participant(command: str, *more: str) -> Any:
        words = ("--passphrase-file", str(local.words("participant-1")))
        return told(tmp_path, "participant", command, str(local.party("participant-1")), *more, *words)

    def certified(*request: str) -> tuple[set[str], Checked]:
        number = str(participant("request", *request)["request"])
        file = tmp_path / f"erasure-{number}.json"
        wait = str(PATIENCE_SECONDS)
        participant("certificate", number, "--output", str(file), "--wait", wait)
        certificate = parse_certificate(file.read_bytes())
        check_certificate(certificate)
        return {each.name for each in certificate.statement.replaced}, shown(certificate.statement).review

    try:
        brought = told(tmp_path, "up", str(SETTINGS), "--folder", str(folder), *sets)["data"]
        assert brought == {name: [f"warning: {each}" for each in warnings] for name in local.participants}
        limit = time.monotonic() + PATIENCE_SECONDS
        while participant("status")["federation"] < MODELS:
            assert time.monotonic() < limit
        assert participant("status")["warnings"] == warnings
        (other,) = (each for each in local.services() if each.name == "participant-2")
        assert end(other.pid, other.mark)
        names, review = certified("--start", "r1", "--class", "3")
        assert review is Checked.EXACT and "r1" in names
        names, review = certified("--sample", "0", "--sample", "5")
        assert review is (Checked.EXACT if shared else Checked.RECOMPUTED) and {"r1", "r3"} <= names
        names, review = certified("--sample", "7", "--paradigm", "sequential")
        assert review is (Checked.EXACT if shared else Checked.RECOMPUTED) and {"r1", "r3"} <= names
        names, review = certified("--client")
        assert review is Checked.EXACT and {"r1", "r3"} <= names
        verified = told(tmp_path, "verify", "--run", str(local.party("participant-1") / "run"))
        assert (verified["checked"], verified["failed"]) == (MODELS, [])
    finally:
        local.down()
