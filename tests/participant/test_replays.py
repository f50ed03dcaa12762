# SPDX-License-Identifier: Apache-2.0
"""Owners whose trainings a drawn auditor replays: accepted and refused ones."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from threading import Event
from typing import Any

import pytest

from blockful_py.child_process import ChildProcesses
from blockful_py.committee.motions import AGREED, Agreements
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import BlockfulError, QuorumError
from blockful_py.forget import Forget
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.intervals import Recorder
from blockful_py.learning.models import Architecture
from blockful_py.learning.together import TrainingJob
from blockful_py.learning.training import Fitted
from blockful_py.ledger.replay import ReplayFinding, ReplayWord, SignedWord
from blockful_py.participant.auditors_turns import AuditorsTurn
from blockful_py.participant.serving import NextWork, ParticipantService
from blockful_py.participant.task import MODULE
from blockful_py.pipeline.coordination.motions import read_motion
from blockful_py.pipeline.replaying import AuditorWork
from blockful_py.pipeline.review.commitments import Commitments
from blockful_py.pipeline.review.replays import Replays, ReplayStanding
from blockful_py.pipeline.run.clock import tick
from blockful_py.pipeline.run.entering import enter
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.commitments import Turn
from blockful_py.record.model_node import ModelNode
from blockful_py.record.shown import shown
from blockful_py.report.runs.certificate_page import page_of
from blockful_py.types import Checked, Paradigm
from tests.cli.commands import blockful
from tests.member.leaders import SECONDS, until
from tests.member.processes import WORDS
from tests.participant.conftest import Machines, nodes_for

pytestmark = pytest.mark.processes

BLOCKS = 120
TURN = 30
"""Blocks of an auditor's turn: half of an owner's time, shared by two."""
AUDITORS = [ReaderKeys.generate(SeededRng(name)) for name in (b"first auditor", b"second auditor")]


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {"starts": ["s", "t"], "blocks": BLOCKS}}


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    register(machines, AUDITORS)
    for name in ("b", "t", "x", "y", "z"):
        machines.participants[name].agree_to(AUDITORS)
    return machines.publish()


def register(machines: Machines, auditors: Sequence[ReaderKeys]) -> None:
    """Has a quorum of the members' operators agree to auditors."""
    with machines.participants["a"].run() as party:
        for keys in auditors:
            administration = party.federation.administration()
            with pytest.raises(QuorumError, match="has not agreed to register"):
                administration.set_auditor(keys.account, keys.encryption_key)
            (path,) = party.federation.run.motions.glob("*.json")
            for member in machines.members[:3]:
                Agreements(member.folder / AGREED).agree(read_motion(path))
            administration.set_auditor(keys.account, keys.encryption_key)


@contextmanager
def auditing(machines: Machines, keys: ReaderKeys) -> Iterator[AuditorWork]:
    """An auditor that has the federation file and nodes, and nothing else."""
    own = machines.folder / f"auditor-{keys.account.hex()}"
    chains = machines.participants["a"].nodes
    with ExitStack() as stack:
        nodes = stack.enter_context(nodes_for(chains, keys.account_secret))
        run = enter(own, machines.file.read_bytes(), nodes, own={})
        yield AuditorWork(run, nodes, keys)


@contextmanager
def at_work(machines: Machines, auditors: Sequence[ReaderKeys] = AUDITORS) -> Iterator[list[ReplayWord]]:
    """Auditors in threads of their own, until the block ends; yields the words that they tell."""
    told, done = list[ReplayWord](), Event()

    def work(keys: ReaderKeys) -> None:
        with auditing(machines, keys) as auditor:
            while not done.wait(0.5):
                with suppress(BlockfulError):  # it tries again, as a duty does
                    told.extend(auditor.replay())

    with ThreadPoolExecutor(len(auditors)) as pool:
        working = [pool.submit(work, keys) for keys in auditors]
        try:
            yield told
        finally:
            done.set()
        for each in working:
            each.result()


def test_a_drawn_auditor_replays_all_and_the_certificate_names_it(published: Machines) -> None:
    number = published.ask("t", 5)
    with at_work(published) as told:
        nodes = [published.take(name, number) for name in ("t", "y")]
    accounts = {"0x" + each.account.hex() for each in AUDITORS}
    for node in nodes:
        assert node.spot_check is not None and node.spot_check.replay is not None
        assert node.spot_check.replay.auditor in accounts
        assert node.spot_check.challenged == node.spot_check.intervals > 1
    assert [word.outcome for word in told] == [ReplayFinding.SAME] * 2
    with published.participants["t"].run() as party:
        certificate = party.certificate(number)
        assert party.federation.verify().passed
    checked = check_certificate(certificate)
    said = shown(certificate.statement)
    assert said.review is Checked.REPLAYED
    assert "drawn for each new training from 2 or more that its owner had agreed to" in said.kind
    page = page_of(certificate, checked, "erasure.json")
    assert "replayed whole, all" in dict(page.spot_checks)["t"]


@contextmanager
def served(machines: Machines, name: str) -> Iterator[ParticipantService]:
    """A participant's loop, which does nothing unless it is called."""
    participant = machines.participants[name]
    with ParticipantService(participant.folder, participant.keys, ChildProcesses(MODULE)) as service:
        yield service


def waiting(machines: Machines, name: str) -> list[NextWork]:
    with served(machines, name) as service:
        return list(service.waiting(service.catalogue()))


def test_an_owner_does_parts_of_other_requests_while_an_auditor_has_its_turn(published: Machines) -> None:
    """t's owner waits for an auditor in one request, and hands in a clean model for another meanwhile."""
    with published.participants["y"].run() as party:
        other = party.request(("y",), Forget.of_classes([9]), Paradigm.PARALLEL, "retrain_ahead")
    with at_work(published):
        for name in ("a", "b", "s", "x"):
            published.take(name, other)
    number = published.ask("t", 8)
    assert [work.request for work in waiting(published, "t")] == [other, number]
    with published.participants["t"].run() as party:
        assert party.take_part(number) == ()
        assert party.take_part(number) == ()
    found = standing(published, "t", number)
    assert found is not None and len(found.turns) == 1
    turn = AuditorsTurn("t", "0x" + found.turns[0].auditor.hex(), found.turns[0].since + TURN - 1)
    assert [work.request for work in waiting(published, "t")] == [other]
    with served(published, "a") as anybody:
        turns = {each.number: each.turns for each in anybody.statuses(anybody.catalogue())}
    assert (turns[number], turns[other]) == ((turn,), ())
    status = ("participant", "status", str(published.participants["t"].folder.path))
    said, document = (
        blockful(published.folder, *status, *words, environment={"BLOCKFUL_PASSPHRASE": WORDS}).out
        for words in ((), ("--json",))
    )
    assert f"t waits for the auditor {turn.auditor} to replay it, until block {turn.until}" in said
    requests = {each["number"]: each for each in json.loads(document)["requests"]}
    assert requests[number]["turns"] == [asdict(turn)]
    with at_work(published):
        assert published.take("t", other).spot_check
        assert published.take("y", other).spot_check
        with published.participants["t"].run() as party:
            party.certificate(other, SECONDS)
        assert all(published.take(name, number).spot_check for name in ("t", "y"))


@contextmanager
def taking(machines: Machines, name: str, number: int) -> Iterator[Future[ModelNode]]:
    """An owner that does its part meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(machines.take, name, number)


def standing(machines: Machines, name: str, number: int) -> ReplayStanding | None:
    """The state of a replay, without the words; None before the commitment."""
    with machines.participants["a"].run() as party:
        context = party.federation.context
        status = context.docket[number]
        committed = Commitments(context.contracts.participants, context.stores.live).first(status, name)
        if committed is None:
            return None
        return Replays(context.contracts).standing(status, name, committed)


def turn(machines: Machines, name: str, number: int, place: int) -> ReaderKeys:
    """Waits for the turn at a place, from 0; returns its auditor's keys."""

    def begun() -> bool:
        found = standing(machines, name, number)
        return found is not None and len(found.turns) > place

    until(begun)
    found = standing(machines, name, number)
    assert found is not None
    return next(each for each in AUDITORS if each.account == found.turns[place].auditor)


def pass_turn(machines: Machines) -> None:
    for _ in range(TURN):
        tick(machines.contracts.live.node)


def test_a_silent_auditor_is_followed_by_the_next_and_two_silent_ones_by_what_members_measure(
    published: Machines,
) -> None:
    number = published.ask("t", 6)
    with taking(published, "t", number) as made:
        turn(published, "t", number, 0)
        pass_turn(published)
        second = turn(published, "t", number, 1)
        with at_work(published, [second]) as told:
            node = made.result()
    assert node.spot_check is not None and node.spot_check.replay is not None
    assert node.spot_check.replay.auditor == "0x" + second.account.hex()
    assert [word.outcome for word in told] == [ReplayFinding.SAME]
    with taking(published, "y", number) as made:
        for place in range(len(AUDITORS)):
            turn(published, "y", number, place)
            pass_turn(published)
        assert made.result().spot_check is None


def samples(machines: Machines, name: str, paradigm: Paradigm, method: str | None = None) -> int:
    """A request to forget two samples of an owner."""
    with machines.participants[name].run() as party:
        user = party.federation.setup.users[0].index
        return party.request((), Forget.of_samples([(user, 0), (user, 2)]), paradigm, method)


def test_samples_are_forgotten_by_waves_in_replayed_parts(published: Machines) -> None:
    number = samples(published, "t", Paradigm.PARALLEL, "retrain_ahead")
    with at_work(published):
        nodes = [published.take(name, number) for name in ("t", "y")]
    assert all(node.spot_check and node.spot_check.replay for node in nodes)
    with published.participants["t"].run() as party:
        certificate = party.certificate(number, SECONDS)
    check_certificate(certificate)
    said = shown(certificate.statement)
    assert said.review is Checked.REPLAYED
    assert said.kind.startswith("Exact given the graph, replayed: an auditor, drawn")


def test_a_start_is_replayed_where_members_pass_the_rest_on(published: Machines) -> None:
    with published.participants["x"].run() as party:
        forget = Forget.of_classes([6])
        number = party.request(("x",), forget, Paradigm.PARALLEL, "gradient_ascent")
    with at_work(published) as told:
        node = published.take("x", number)
    assert node.spot_check is not None and node.spot_check.replay is not None
    assert [word.outcome for word in told] == [ReplayFinding.SAME]
    with published.participants["x"].run() as party:
        certificate = party.certificate(number, SECONDS)
        assert party.federation.verify().passed
    check_certificate(certificate)
    said = shown(certificate.statement)
    assert said.review is Checked.RECOMPUTED
    assert "Of the starts, 1 of 1 showed" in said.kind


def test_an_owner_that_shows_nothing_usable_reaches_no_other_auditor(published: Machines) -> None:
    """Else a forger could leave out honest auditors, until one is drawn that is not.

    Its version becomes the mean of its references.
    """
    number = samples(published, "z", Paradigm.SEQUENTIAL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.jobs.spot_check.seal_for", lambda *_: os.urandom(3 << 20))
        with at_work(published) as told:
            node = published.take("z", number)
    assert node.spot_check is None and node.redaction is not None and node.redaction.untrained
    assert [word.outcome for word in told] == [ReplayFinding.UNUSABLE]


def test_a_word_of_somebody_else_is_refused(published: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    number, stranger = published.ask("x", 4), ReaderKeys.generate(SeededRng(b"stranger"))
    monkeypatch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)

    class Alone(Replays):
        """Takes the owner's own accomplice for a drawn auditor."""

        def standing(self, status: Any, name: str, committed: Any, words: Any = ()) -> ReplayStanding:
            found = super().standing(status, name, committed, words)
            said = {stranger.account: {ReplayFinding.SAME: self.signed(status, name, committed)}}
            own = Turn(stranger.account, committed.block_number, committed.uri)
            return replace(found, turns=(own,), said=said)

        def signed(self, status: Any, name: str, committed: Any) -> SignedWord:
            return self.word(status, name, committed).signed(stranger.account_secret, self.domain)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.jobs.spot_check.Replays", Alone)
        with pytest.raises(QuorumError, match="no auditor whose turn it is signed the replay of x"):
            published.take("x", number)


class Forger(Recorder):
    """Commits to another state after the first interval than it leads to."""

    def __call__(self, architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
        (fitted,) = super().__call__(architecture, jobs)
        self.states[1] = "0" * 128
        return (fitted,)


def test_a_forged_training_is_found_and_not_accepted_with_less(published: Machines) -> None:
    number = published.ask("t", 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.jobs.spot_check.Recorder", Forger)
        with at_work(published) as told, taking(published, "t", number) as made:
            for place in range(len(AUDITORS)):
                turn(published, "t", number, place)
                until(lambda: len(told) > place)  # noqa: B023
                pass_turn(published)
            with pytest.raises(QuorumError, match="discloses nothing of the training that it committed to"):
                made.result()
    assert [(word.outcome, word.interval) for word in told] == [(ReplayFinding.DIFFERS, 0)] * 2


def test_a_false_objection_is_settled_by_one_interval_and_the_next_auditor_replays(
    published: Machines,
) -> None:
    number = published.ask("b", 7)
    with taking(published, "b", number) as made:
        liar = turn(published, "b", number, 0)
        with auditing(published, liar) as auditor, pytest.MonkeyPatch.context() as patch:
            patch.setattr(auditor, "_found", lambda drawn: (ReplayFinding.DIFFERS, 2))
            until(lambda: bool(auditor.replay()))
        pass_turn(published)
        with at_work(published, [each for each in AUDITORS if each != liar]):
            node = made.result()
    assert node.spot_check is not None and node.spot_check.replay is not None
    assert node.spot_check.replay.auditor != "0x" + liar.account.hex()
    assert node.spot_check.replay.disputed == (2,)
    assert "members recomputed interval 2, which an auditor had disputed" in str(node.spot_check)
