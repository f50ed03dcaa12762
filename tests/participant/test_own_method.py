# SPDX-License-Identifier: Apache-2.0
"""Among machines, a custom method runs only at parties that allow it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.callbacks.events import RequestDone
from blockful_py.child_process import ChildProcesses
from blockful_py.errors import QuorumError
from blockful_py.forget import Forget
from blockful_py.participant.joining import join
from blockful_py.participant.serving import ParticipantService
from blockful_py.participant.task import MODULE as WORK
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.request_stage import RequestStage
from blockful_py.types import Paradigm
from tests.cli.commands import blockful
from tests.member.leaders import until
from tests.member.processes import WORDS
from tests.participant.conftest import SEED, Machines, Participant
from tests.pipeline.test_callbacks import Made
from tests.pipeline.test_own_method import EXAMPLE

OWN = "in_turn_over:InTurn"
REFUSED = f"there is no method '{OWN}' here: custom code runs only if"
MODULE = (
    EXAMPLE
    + """

from blockful_py.unlearning.method import Need


class InTurn(StartOver):
    paradigms, needs = frozenset({Paradigm.SEQUENTIAL}), frozenset({Need.DESCENDANT_DATA})
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on the path of this process, but of no member's."""
    place = tmp_path_factory.mktemp("code")
    (place / "in_turn_over.py").write_text(MODULE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(place))
        yield place
    sys.modules.pop("in_turn_over", None)


def names(machines: Machines, participant: Participant, **code: tuple[str, ...]) -> None:
    """Makes a participant name code; omitted names stay."""
    file, data = machines.file.read_bytes(), RunDirectory.open(participant.folder.run).party
    assert data is not None and data.data is not None
    join(
        participant.folder,
        participant.keys,
        file,
        data.data,
        participant.nodes,
        SEED,
        "cpu",
        code=code,
    )


def refusal(participant: Participant, number: int) -> str | None:
    """The reason why a serving participant does no part of a request."""
    with (
        ChildProcesses(WORK) as processes,
        ParticipantService(participant.folder, participant.keys, processes) as service,
    ):
        return service.statuses(service.catalogue())[number - 1].refused


def taken(party: PartyRun, number: int) -> list[str]:
    """The models with finished parts; empty while too few members agree."""
    try:
        return [node.name for node in party.take_part(number)]
    except QuorumError:
        return []


@pytest.mark.slow
def test_owner_and_members_each_allow_the_code_that_they_run(
    machines: Machines, folder: Path, tmp_path: Path
) -> None:
    assert "[run]" not in machines.file.read_text()
    owner = machines.participants["z"]
    Made.made.clear()
    names(machines, owner, callbacks=(f"{Made.__module__}:Made",))
    for name in ("a", "b", "z"):
        with machines.participants[name].run() as party:
            party.train_next()
    with owner.run() as party:
        assert OWN not in party.federation.run.allowed_code
        number = party.request(("z",), Forget.of_classes([3]), Paradigm.SEQUENTIAL, OWN)
        assert party.stage(number) is RequestStage.FILED  # no member allows the method yet
        assert party.take_part(number) == ()
    (tmp_path / "words").write_text(WORDS)
    place = ("--live-url", owner.nodes.live.url, "--archive-url", owner.nodes.archive.url)
    for member in machines.members[:3]:  # a quorum
        named = blockful(
            tmp_path,
            *("committee", "enter", str(member.folder), "--federation", str(machines.file), *place),
            *("--allow", OWN, "--passphrase-file", "words"),
        )
        assert named.status == 0, named.err
    with owner.run() as party:
        until(lambda: party.stage(number) is RequestStage.OPEN)  # members soon look at their settings again
    assert (why := refusal(owner, number)) is None, why
    names(machines, owner, allow=())
    assert "does not allow the code in_turn_over:InTurn" in str(refusal(owner, number))
    names(machines, owner, allow=(OWN,))
    with owner.run() as party:
        until(lambda: taken(party, number) == ["z"])
        assert party.federation.catalogue()["z"].version == 1
        assert party.federation.verify().passed
        certificate = party.certificate(number)
    check_certificate(certificate)
    assert certificate.statement.request.method == f"{OWN} {{}}"
    told = [event for each in Made.made for event in each.events]
    assert [method for method, _ in told] == ["training", "publication", "request", "certificate"]
    assert isinstance(done := told[2][1], RequestDone)
    assert [(each.model, each.version) for each in done.versions] == [("z", 1)]
    silent = RunDirectory.open(machines.members[3].folder / "run")
    assert silent.allowed_code == frozenset()
