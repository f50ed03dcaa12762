# SPDX-License-Identifier: Apache-2.0
"""Access to models' keys, with real keys on a real chain: grants, refusals and their reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from blockful_py.committee.service.messages import ReadRequest
from blockful_py.crypto import envelope
from blockful_py.crypto.passphrase import KdfCost
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import ContractError, EnvelopeError, KeystoreError, RefusedError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.weights import equal
from blockful_py.pipeline.administration import Administration
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.reader import LeaderDecryptor, ReaderDecryptor, ReaderSession
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.types import Position
from tests.federations import GRAPH, put_back, readable, small


def keys(name: str) -> ReaderKeys:
    return ReaderKeys.generate(SeededRng(name.encode()))


EARLY, MIDDLE, LATE, STRANGER = map(keys, ("early", "middle", "late", "stranger"))


class JoiningAfterTheFirstWave:
    """Progress that registers a reader once a block of models stands."""

    def __init__(self, session: ReaderSession) -> None:
        self._session = session

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        def advance(done: int) -> None:
            if not self._session.status().joined:
                self._session.register()

        yield advance


@dataclass(frozen=True)
class Case:
    """Models of heights 1 to 4; readers joined before height 1, 2 and 5."""

    federation: Federation

    def session(self, reader: ReaderKeys) -> ReaderSession:
        return ReaderSession(self.federation.run.path, reader, self.federation.nodes)


@pytest.fixture(scope="module")
def case(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Case:
    settings = small(access={"joined_by": "publication"})
    federation = Federation.create(settings, tmp_path_factory.mktemp("access") / "run", nodes=chains)
    found = Case(federation)
    found.session(EARLY).register()
    federation.train(JoiningAfterTheFirstWave(found.session(MIDDLE)))
    found.session(LATE).register()
    assert [found.session(reader).status().joined for reader in (EARLY, MIDDLE, LATE)] == [1, 2, 5]
    return found


@pytest.fixture
def undone(case: Case) -> Iterator[Case]:
    """Undoes a test's changes of chains and keys."""
    nodes = case.federation.nodes
    with readable(case.federation), put_back(nodes.live, nodes.archive):
        yield case


def test_a_registered_reader_reads_every_model(case: Case) -> None:
    models = case.federation.models()
    for name, model in models.items():
        assert equal(case.session(EARLY).read(name), model.weights)


def test_who_joined_later_reads_what_was_published_later(case: Case) -> None:
    assert equal(case.session(MIDDLE).read("s"), case.federation.models()["s"].weights)


@pytest.mark.parametrize(("reader", "name", "joined"), [(MIDDLE, "a", 2), (LATE, "a", 5), (LATE, "y", 5)])
def test_who_joined_too_late_is_refused(case: Case, reader: ReaderKeys, name: str, joined: int) -> None:
    height = case.federation.catalogue()[name].position.height
    expected = f"joined before block {joined}, the model at {height}:.* was published in block {height}:"
    with pytest.raises(RefusedError, match=expected):
        case.session(reader).read(name)


def test_who_is_not_registered_is_refused(case: Case) -> None:
    with pytest.raises(RefusedError, match="is not a registered reader"):
        case.session(STRANGER).read("a")


def test_who_has_left_is_refused(undone: Case) -> None:
    session = undone.session(EARLY)
    session.leave()
    with pytest.raises(RefusedError, match="is not a registered reader"):
        session.read("a")


def test_who_leaves_and_returns_has_joined_anew(undone: Case) -> None:
    session = undone.session(EARLY)
    session.leave()
    assert session.register().joined == 5
    with pytest.raises(RefusedError, match="joined before block 5"):
        session.read("a")


def test_who_is_barred_is_refused_until_readmitted(undone: Case) -> None:
    session, administration = undone.session(EARLY), Administration(undone.federation.context)
    administration.set_barred(EARLY.account, True)
    with pytest.raises(RefusedError, match="was barred by the committee"):
        session.read("a")
    with pytest.raises(ContractError, match="ReaderIsBarred"):
        session.register()
    administration.set_barred(EARLY.account, False)
    assert session.register().joined == 5


def test_verifying_opens_what_the_reader_may_read_and_says_how_much(case: Case) -> None:
    federation = case.federation
    middle = federation.verify(decryptor=ReaderDecryptor(case.session(MIDDLE)))
    later = [p for p in federation.catalogue().models.values() if p.position.height >= 2]
    for decryptor, decrypted in ((None, 0), (LeaderDecryptor(federation.weights), len(GRAPH))):
        outcome = federation.verify(decryptor=decryptor)
        assert (outcome.passed, outcome.decrypted) == (True, decrypted)
    assert (middle.passed, middle.decrypted) == (True, len(later))


def test_sealed_bytes_that_hold_no_weights_are_found_by_who_has_their_key(undone: Case) -> None:
    federation = undone.federation
    weights = federation.catalogue()["a"].node.weights
    key = federation.context.keys.keyring.find((weights,))[weights]
    keyring = federation.context.keys.keyring
    keyring.destroy([weights])
    keyring.deliver({weights: bytes(32)})
    try:
        (failure,) = federation.verify(decryptor=LeaderDecryptor(federation.weights)).failures
        assert failure.check == "content"
        assert "has another key than this one" in failure.detail
        assert federation.verify().passed
    finally:
        keyring.destroy([weights])
        keyring.deliver({weights: key})


def test_a_redaction_moves_no_model_out_of_reach_and_ends_the_old_version(undone: Case) -> None:
    federation, session = undone.federation, undone.session(MIDDLE)
    place = federation.catalogue()["s"].position
    assert session.key(ReadRequest(place, 0))
    federation.unlearn()
    assert equal(session.read("s"), federation.models()["s"].weights)
    with pytest.raises(RefusedError, match=f"version 0 of the model at {place} is not current; version 1 is"):
        session.key(ReadRequest(place, 0))


@pytest.mark.parametrize("version", [1, 7])
def test_a_version_to_come_is_refused(case: Case, version: int) -> None:
    place = case.federation.catalogue()["a"].position
    with pytest.raises(RefusedError, match=f"version {version} of the model at {place} is not current"):
        case.session(EARLY).key(ReadRequest(place, version))


def test_a_reader_that_is_no_participant_gets_no_clean_model(case: Case) -> None:
    place = case.federation.catalogue()["a"].position
    with pytest.raises(RefusedError, match=r"is no participant: only they train from clean models"):
        case.session(EARLY).key(ReadRequest(place, 0, increment=1))


def test_a_model_that_is_not_there_is_refused(case: Case) -> None:
    with pytest.raises(RefusedError, match="there is no model at 9:0"):
        case.session(EARLY).key(ReadRequest(Position(9, 0), 0))


def test_a_key_in_transit_opens_for_its_reader_and_model_only(case: Case) -> None:
    session, models = case.session(EARLY), case.federation.catalogue().models
    wanted, other = (ReadRequest(models[name].position, 0) for name in ("a", "b"))
    access = session._access
    wrapped = access.wrapped(EARLY.account, wanted, case.federation.context.keys.keyring)
    key = envelope.unwrap(wrapped, EARLY.encryption_secret, access.context(EARLY.account, wanted))
    assert key == session.key(wanted)
    for secret, account, version in (
        (MIDDLE.encryption_secret, EARLY.account, wanted),
        (EARLY.encryption_secret, MIDDLE.account, wanted),
        (EARLY.encryption_secret, EARLY.account, other),
    ):
        with pytest.raises(EnvelopeError):
            envelope.unwrap(wrapped, secret, access.context(account, version))


def test_secrets_of_a_reader_rest_under_a_passphrase(tmp_path: Path) -> None:
    path = tmp_path / "reader.json"
    EARLY.save(path, "correct horse", KdfCost(n=1 << 15))
    assert ReaderKeys.load(path, "correct horse") == EARLY
    with pytest.raises(KeystoreError, match="passphrase is wrong"):
        ReaderKeys.load(path, "correct mouse")
    with pytest.raises(KeystoreError, match="exists already"):
        MIDDLE.save(path, "correct horse", KdfCost(n=1 << 15))
    path.chmod(0o644)
    with pytest.raises(KeystoreError, match="others than its user may read"):
        ReaderKeys.load(path, "correct horse")


def test_a_missing_key_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(KeystoreError, match=r"make one with `blockful reader keygen`"):
        ReaderKeys.load(tmp_path / "reader.json", "correct horse")
