# SPDX-License-Identifier: Apache-2.0
"""Whatever other processes verify ahead, a verification comes to what one process comes to alone.

That it does with every alteration of record and store is in test_tampering.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import ClassVar, Self

import pytest

from benchmarks.verification import Snapshot, snapshot
from blockful_py.errors import FormatError, StorageError
from blockful_py.pipeline import verifying
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.reader import LeaderDecryptor
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.stores import Stores
from blockful_py.record import ahead
from blockful_py.record.ahead import Ahead
from blockful_py.record.events import CheckedHistory, Violation
from blockful_py.record.known import Known, digest
from blockful_py.record.verify import Verification, Verifier
from blockful_py.storage.arrivals import Arrivals
from blockful_py.storage.federated import FederatedStore
from blockful_py.storage.store import ContentStore
from blockful_py.types import Position, Uri
from tests.federations import GRAPH, small, trained

MODELS = 220
"""In blocks of 50."""
NO_HISTORY = CheckedHistory((), ())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ContentStore:
    return ContentStore(tmp_path_factory.mktemp("ahead"))


@pytest.fixture(scope="module")
def live(store: ContentStore) -> Snapshot:
    return snapshot(MODELS, store, 100)


@pytest.fixture(autouse=True)
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "LEAST", MODELS // 2)
    monkeypatch.setattr(ahead, "_cores", lambda: 3)


class Empty(ContentStore):
    """A store that has lost all files."""

    def read(self, uri: Uri, limit: int = 0) -> bytes:
        raise StorageError("nothing may be read here")


class Keys:
    """Decrypts the models of even index but for the third block's first."""

    def decrypts(self, position: Position, version: int, weights: Uri) -> bool:
        if position == Position(3, 0):
            raise FormatError("these are no weights")
        return position.index % 2 == 0


def alone(live: Snapshot, store: ContentStore, history: CheckedHistory = NO_HISTORY) -> Verification:
    return Verifier(live, live, store, Keys()).verify_all(history)


def test_processes_verify_all_models_between_them(live: Snapshot, store: ContentStore) -> None:
    verifier = Verifier(live, live, Empty(store.directory))
    with Ahead(verifier, store, verifier.changed()) as others:
        others.wait()
        told: list[int] = []
        outcome = verifier.verify_all(NO_HISTORY, progress=told.append, verified=others.verified)
    assert len(others.verified) == MODELS
    assert outcome == Verifier(live, live, store).verify_all(NO_HISTORY)
    assert outcome.passed
    assert told == list(range(1, MODELS + 1))


def test_what_fails_there_is_verified_here(live: Snapshot, store: ContentStore) -> None:
    verifier = Verifier(live, live, Empty(store.directory))
    with Ahead(verifier, ContentStore(store.directory / "other"), verifier.changed()) as others:
        others.wait()
    assert others.verified == {}


def other_hash(live: Snapshot, place: Position) -> Snapshot:
    return replace(
        live, models={**live.models, place: replace(live.models[place], ch=live.models[place].ch ^ 1)}
    )


ALTERATIONS: dict[str, Callable[[Snapshot], Snapshot]] = {
    "nothing": lambda live: live,
    "a chameleon hash": lambda live: other_hash(live, Position(2, 7)),
    "two": lambda live: other_hash(other_hash(live, Position(5, 1)), Position(1, 0)),
    "an opening that a node no longer has": lambda live: replace(
        live,
        models={**live.models, Position(4, 3): replace(live.models[Position(4, 3)], version=1, opening=None)},
    ),
    "a header": lambda live: replace(
        live, headers_=[*live.headers_[:2], replace(live.headers_[2], timestamp=9), *live.headers_[3:]]
    ),
    "a count": lambda live: replace(
        live, headers_=[replace(live.headers_[0], tx_count=0), *live.headers_[1:]]
    ),
    "the chain's own hash": lambda live: replace(live, hashes=[*live.hashes[:-1], bytes(32)]),
}


@pytest.mark.parametrize("what", ALTERATIONS)
def test_failures_and_decrypted_weights_are_those_of_one_process(
    live: Snapshot, store: ContentStore, what: str
) -> None:
    altered = ALTERATIONS[what](live)
    history = CheckedHistory((Violation("order", "model at 4:4", Position(4, 4), "late"),), (b"p",))
    expected = alone(altered, store, history)
    assert expected.decrypted
    assert expected.failures
    verifier = Verifier(altered, altered, store, Keys())
    with Ahead(verifier, store, verifier.changed()) as others:
        others.wait()
        assert others.verified
        assert verifier.verify_all(history, verified=others.verified) == expected


def test_headers_that_are_known_are_not_opened_there_either(live: Snapshot, store: ContentStore) -> None:
    pruned = replace(live, headers_=[replace(each, version=1, opening=None) for each in live.headers_])
    for known, passing in ((Known({}, ()), 0), (Known({}, tuple(map(digest, pruned.headers_))), MODELS)):
        verifier = Verifier(pruned, pruned, store, known=known)
        with Ahead(verifier, store, verifier.changed()) as others:
            others.wait()
        assert len(others.verified) == passing


def test_a_process_that_dies_is_not_missed(live: Snapshot, store: ContentStore) -> None:
    verifier = Verifier(live, live, store, Keys())
    with Ahead(verifier, store, verifier.changed()) as others:
        for process in others.processes:
            process.kill()
        others.wait()
        assert verifier.verify_all(NO_HISTORY, verified=others.verified) == alone(live, store)


def test_processes_end_with_the_block(live: Snapshot, store: ContentStore) -> None:
    verifier = Verifier(live, live, store)
    with Ahead(verifier, store, verifier.changed()) as others:
        assert len(others.processes) == 2
    assert all(each.returncode is not None for each in others.processes)


@pytest.mark.parametrize(
    ("models", "cores", "expected"), [(MODELS - 1, 9, 1), (MODELS, 2, 1), (109, 9, 0), (MODELS, 1, 0)]
)
def test_few_models_and_a_single_core_start_none(
    live: Snapshot,
    store: ContentStore,
    monkeypatch: pytest.MonkeyPatch,
    models: int,
    cores: int,
    expected: int,
) -> None:
    monkeypatch.setattr(ahead, "_cores", lambda: cores)
    verifier = Verifier(live, live, store)
    with Ahead(verifier, store, verifier.changed()[:models]) as others:
        assert len(others.processes) == expected


class Patient(Ahead):
    """Lets the processes come to all models."""

    started: ClassVar[list[Ahead]] = []

    def __enter__(self) -> Self:
        self.started.append(self)
        self.wait()
        return self


@pytest.fixture(scope="module")
def federation(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with trained(small(), tmp_path_factory.mktemp("ahead") / "run", chains) as federation:
        federation.unlearn()
        yield federation


def federated(federation: Federation) -> Stores:
    stores = federation.stores
    live = FederatedStore(stores.live, Arrivals(federation.run.path / "arrivals"), lambda: ())
    return replace(stores, live=live)


@pytest.mark.parametrize("stores", [lambda each: each.stores, federated])
def test_a_federation_is_verified_by_several_processes(
    federation: Federation, monkeypatch: pytest.MonkeyPatch, stores: Callable[[Federation], Stores]
) -> None:
    expected = federation.verify(decryptor=LeaderDecryptor(federation.weights))
    monkeypatch.setattr(ahead, "LEAST", 1)
    monkeypatch.setattr(verifying, "Ahead", Patient)
    monkeypatch.setattr(Federation, "stores", stores(federation))
    assert federation.verify(decryptor=LeaderDecryptor(federation.weights)) == expected
    assert expected.decrypted == len(Patient.started.pop().verified) == len(GRAPH)
    federation.verify(["x"])
    assert not Patient.started.pop().processes
