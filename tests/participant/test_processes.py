# SPDX-License-Identifier: Apache-2.0
"""Parties as processes: killed and frozen at every step, and without access to each other's secrets.

The tests form one history, in their order; at its end, all sent and stored data is searched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from multiprocessing import forkserver
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest
import torch

from blockful_py.learning.data import Dataset
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.sample_files import samples_from_bytes, samples_to_bytes
from blockful_py.learning.weights import to_bytes
from tests.confinement import confined, namespace, require_namespaces, within
from tests.member.leaders import until
from tests.participant import steps
from tests.participant.capture import Capture, finds
from tests.participant.processes import (
    LOG,
    PARTIES,
    AuditorProcess,
    ParticipantProcess,
    ProcessFederation,
    Seat,
    process_federation,
)
from tests.participant.steps import Stop

pytestmark = pytest.mark.processes

WINDOW = slice(64, 128)
"""Length of the searched samples in bytes; one occurrence suffices."""
LABELS = 32
"""Number of searched labels."""


@dataclass
class Watched:
    """A federation, its traffic, and the secrets that must not appear there."""

    federation: ProcessFederation
    capture: Capture
    secrets: dict[str, bytes]


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    require_namespaces()
    forkserver.ensure_running()  # here, so that the processes of other tests do not begin in this namespace
    secrets: dict[str, bytes] = {}

    def plant(paths: list[Path]) -> None:
        for user, path in enumerate(paths, start=1):
            secrets.update(_planted(path, user))

    with ExitStack() as stack:
        name = stack.enter_context(namespace(f"blockful-{os.getpid()}"))
        stack.enter_context(within(name))
        capture = stack.enter_context(Capture(name))
        seats = dict.fromkeys(PARTIES, Seat(namespace=name))
        yield Watched(stack.enter_context(process_federation(seats, plant)), capture, secrets)


@pytest.fixture(scope="module")
def federation(watched: Watched) -> ProcessFederation:
    return watched.federation


@pytest.fixture(scope="module")
def auditor(federation: ProcessFederation) -> Iterator[AuditorProcess]:
    auditor = federation.auditor("y")
    yield auditor
    if auditor.process is not None:
        auditor.kill()


def _planted(path: Path, user: int) -> dict[str, bytes]:
    """Shuffles a participant's training samples and adds a canary.

    Returns the canary and the labels in several forms; sorted labels would reveal nothing.
    """
    data, rng = samples_from_bytes(path.read_bytes()), torch.Generator().manual_seed(user)
    data = replace(data, train=data.train.at(torch.randperm(len(data.train), generator=rng)))
    canary = torch.rand(data.train.x.shape[1:], generator=rng)
    data.train.x[0] = canary
    path.write_bytes(samples_to_bytes(data))
    return {
        f"a sample of user {user}": canary.numpy().tobytes()[WINDOW],
        f"a number of user {user}'s": str(float(canary.flatten()[20])).encode(),
        **_label_lists(data, user),
    }


def _label_lists(data: Dataset, user: int) -> dict[str, bytes]:
    labels = data.train.y[:LABELS].tolist()
    assert len(set(labels)) > 5
    return {
        f"labels of user {user} as numbers of 64 bits": data.train.y[:LABELS].numpy().tobytes(),
        f"labels of user {user} as bytes": bytes(labels),
        f"labels of user {user} as JSON": ", ".join(map(str, labels)).encode(),
        f"labels of user {user} as short JSON": ",".join(map(str, labels)).encode(),
    }


def kill(participant: ParticipantProcess, stop: Stop) -> None:
    """Kills a participant and its stopped work."""
    stop.reached()
    participant.kill()
    stop.kill()


def test_a_participant_that_is_killed_while_it_trains_trains_again(federation: ProcessFederation) -> None:
    participant = federation.participants["a"]
    stop = participant.stop_at(steps.TRAINING)
    participant.start("in steps")
    kill(participant, stop)
    assert federation.versions() == {}
    participant.start("in steps")
    federation.until_published("a")


def test_an_owner_agrees_to_an_auditor_that_a_quorum_names(
    federation: ProcessFederation, auditor: AuditorProcess
) -> None:
    owner = federation.participants["y"]
    federation.names(auditor, "y")
    samples = ("--data", str(owner.folder / "samples.safetensors"))
    owner.run("join", *federation.entering, *samples, "--device", "cpu", "--replay-by", auditor.account)


def test_a_publication_killed_between_the_chains_is_on_both_once(federation: ProcessFederation) -> None:
    participant = federation.participants["s"]
    stop = participant.stop_at(steps.ARCHIVED)
    participant.start("in steps")
    kill(participant, stop)
    federation.until_published("s")  # the members have the decision
    participant.start("in steps")
    federation.participants["y"].start("in steps")
    federation.until_published("y")
    assert federation.contracts.archive.length() == 3


def test_a_hand_in_that_is_killed_is_handed_in_once(federation: ProcessFederation) -> None:
    participant = federation.participants["s"]
    before = federation.versions()
    leaders = {member.folder: Stop(member.folder, steps.ARCHIVED) for member in federation.members}
    participant.kill()
    stop = participant.stop_at(steps.HANDING_IN)
    participant.run("request", "--start", "s", "--class", "3")
    participant.start("in steps")
    kill(participant, stop)
    stop = participant.stop_at(steps.HANDED_IN)
    participant.start("in steps")
    kill(participant, stop)
    assert len(federation.contracts.participants.hand_ins(1)) == 1
    _kill_the_leader(federation, leaders)
    participant.start("in steps")
    federation.until_replaced(before, "s", "y")
    assert federation.certified("s", 1) == {"s", "y"}


def _kill_the_leader(federation: ProcessFederation, stops: dict[Path, Stop]) -> None:
    """Kills the first leading member between the chains; restarts it once the others are done."""
    until(lambda: any(stop.is_reached() for stop in stops.values()))
    leader = next(member for member in federation.members if stops[member.folder].is_reached())
    for stop in stops.values():
        stop.withdraw()
    leader.kill()
    stops[leader.folder].kill()
    federation.until_replaced({"s": 0}, "s")
    leader.start("in steps")


def test_half_of_all_are_frozen_and_killed_at_once(
    federation: ProcessFederation, auditor: AuditorProcess
) -> None:
    before = federation.versions()
    auditor.start()
    owner, heir = federation.participants["s"], federation.participants["y"]
    stop = owner.stop_at(steps.DRAFTED)
    owner.run("request", "--start", "s", "--class", "5", "--paradigm", "sequential")
    stop.reached()
    frozen, killed = federation.members[:2]
    frozen.signal(SIGSTOP)
    owner.signal(SIGSTOP)
    killed.kill()
    heir.kill()
    stop.go_on()  # towards a committee without a quorum
    killed.start("in steps")
    heir.start("in steps")
    owner.signal(SIGCONT)
    frozen.signal(SIGCONT)
    federation.until_replaced(before, "s", "y")
    assert federation.certified("s", 2) == {"s", "y"}


def test_the_auditor_replayed_the_training_that_its_owner_let_it(
    federation: ProcessFederation, auditor: AuditorProcess
) -> None:
    """Kills it, too, so that the tests below search what it leaves."""
    with federation.watched() as record:
        checks = {name: record.catalogue()[name].node.spot_check for name in ("s", "y")}
    assert checks["s"] is None and checks["y"] is not None and checks["y"].replay is not None
    assert checks["y"].replay.auditor == auditor.account
    assert "request 2, y: the training is as committed" in auditor.reported()
    auditor.kill()


def test_nothing_was_lost_or_done_twice(federation: ProcessFederation) -> None:
    assert federation.versions() == {"a": 0, "s": 2, "y": 2}
    assert federation.contracts.archive.length() == 7
    assert len(federation.contracts.participants.hand_ins(1)) == 1
    federation.verifies()


def test_a_request_has_one_id_in_the_logs_of_all(federation: ProcessFederation) -> None:
    """The parts, the leader and the reviews of a request share its id."""
    found: dict[str, set[str]] = {}
    for party in (*federation.members, federation.participants["s"]):
        for line in party.reported().splitlines():
            request = json.loads(line).get("request", "")
            if request.startswith("request-"):
                found.setdefault(request, set()).add(party.folder.name)
    parties = {each.folder.name for each in (*federation.members, federation.participants["s"])}
    assert len(found) == 2
    assert all(len(who & parties) >= 4 and "participant-s" in who for who in found.values())


def test_nobody_reads_anothers_folder(federation: ProcessFederation) -> None:
    parties = (*federation.members, *federation.participants.values())
    folders = [federation.folder / name for name in ("live", "archive", "auditor", *_names(federation))]
    for party in parties:
        own = [folder for folder in folders if folder == party.folder]
        assert len(own) == 1
        confined(party.confinement, _read_own_alone, (own[0], folders))


def _names(federation: ProcessFederation) -> list[str]:
    return [each.folder.name for each in (*federation.members, *federation.participants.values())]


def _read_own_alone(own: Path, folders: list[Path]) -> None:
    """Reads the caller's log, and tries to read all others' logs."""
    assert (own / LOG).read_bytes() is not None
    for folder in folders:
        if folder == own:
            continue
        for attempt in (lambda at: list(at.iterdir()), lambda at: (at / LOG).read_bytes()):
            with pytest.raises(PermissionError):
                attempt(folder)


def test_no_sample_and_no_label_was_sent_or_is_elsewhere(watched: Watched) -> None:
    assert _found_in_traffic(watched, watched.secrets) == set()
    for name, secret in watched.secrets.items():
        own = int(name.split("user ")[1][0])
        assert _found_in_files(watched.federation, {name: secret}, without=own) == set()


def test_no_plain_weights_were_sent_or_are_stored(watched: Watched) -> None:
    federation = watched.federation
    reader = federation.participants["a"]
    reader.kill()
    with federation.watched() as record, reader.opened(federation.nodes) as party:
        initial = to_bytes(initial_weights(record.setup.federation))
        models = party.federation.models()
    weights = {name: _trained_part(to_bytes(model.weights), initial) for name, model in models.items()}
    assert _found_in_traffic(watched, weights) == set()
    assert _found_in_files(federation, weights) == set()


def _trained_part(plain: bytes, initial: bytes) -> bytes:
    """Bytes of the weights that differ from the public initial ones."""
    pieces = (plain[start : start + 64] for start in range(len(plain) - 64, 0, -64))
    return next(piece for piece in pieces if any(piece) and piece not in initial)


def test_a_canary_that_is_sent_and_stored_is_found(watched: Watched) -> None:
    federation, secret = watched.federation, watched.secrets["a sample of user 1"]
    sender = federation.participants["a"]
    assert sender.process is None
    with sender.opened(federation.nodes) as party:
        context = party.federation.context
        context.hand_out([context.stores.live.add(b"a public file" + secret)])
    found = {"a sample of user 1"}
    until(lambda: _found_in_traffic(watched, watched.secrets) == found)
    stored = _found_in_files(federation, {"a sample of user 1": secret}, without=1)
    assert {path.relative_to(federation.folder).parts[0] for path in stored} >= {
        member.folder.name for member in federation.members[:1]
    }


def _found_in_traffic(watched: Watched, secrets: dict[str, bytes]) -> set[str]:
    """Names of the sent secrets; fails if some traffic was not captured."""
    found: set[str] = set()
    seen = 0
    for directions in watched.capture.streams().values():
        for direction in directions:
            content, missing = direction.whole()
            assert not missing, f"{missing} bytes were not captured"
            seen += len(content)
            found.update(finds(content, secrets))
    assert seen > 1_000_000
    return found


def _found_in_files(
    federation: ProcessFederation, secrets: dict[str, bytes], without: int | None = None
) -> set[Path]:
    """Files of all parties that contain a secret, `without` that user's own."""
    own = list(federation.participants.values())[without - 1].folder if without else None
    found, looked = set(), 0
    for path in federation.folder.rglob("*"):
        if path.is_file() and (own is None or own not in path.parents):
            looked += 1
            if any(finds(path.read_bytes(), secrets)):
                found.add(path)
    assert looked > 100
    return found
