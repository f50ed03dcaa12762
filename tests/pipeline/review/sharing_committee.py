# SPDX-License-Identifier: Apache-2.0
"""Members of several epochs in one process, who share an owner's sums by signed messages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from blockful_py.committee import wire
from blockful_py.committee.service.messages import Empty, HandOnRequest, HeadRequest
from blockful_py.committee.service.shared_mail import Mailbox
from blockful_py.committee.shared_rounds import LeftOut
from blockful_py.committee.vault import Vault
from blockful_py.crypto import curve
from blockful_py.crypto.envelope import KEY_BYTES
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import BlockfulError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.keys.appointed_keyring import VaultKeyring
from blockful_py.keys.handed_shares import HandedShares
from blockful_py.keys.sealing import seal
from blockful_py.keys.shared_files import PartFiles, SharedPlace, deal_files
from blockful_py.learning.data import Samples
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.models.analytic import HEAD, UNIT
from blockful_py.learning.models.ridge import Head, head_of
from blockful_py.learning.sums import SHIFT, no_sums, part_of, total_of, with_part
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights, from_bytes
from blockful_py.pipeline.coordination.sharers import Sharers
from blockful_py.pipeline.jobs.shared import part_bytes, shared_part
from blockful_py.pipeline.review.handing_on import ShareHander
from blockful_py.pipeline.review.opened_heads import OpenedHeads
from blockful_py.pipeline.review.share_reader import ShareReader, context_of
from blockful_py.pipeline.review.share_runs import ShareRuns
from blockful_py.pipeline.review.shared_heads import HeadOpener, _AskedHead
from blockful_py.pipeline.review.shared_pools import SharedPool
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.statement_parts import SharedPart
from blockful_py.types import Uri
from tests.participant.conftest import machine_settings

SECRETS = sorted((1000 + j for j in range(6)), key=lambda each: curve.address(curve.multiply_base(each)))
"""Of all people, in the order of their addresses; members are named by their places in this list."""
KEYS = [curve.multiply_base(each) for each in SECRETS]
ADDRESSES = [curve.address(each) for each in KEYS]
OWNER, CONTRACT = b"o" * 20, bytes(20)
FEATURES, CLASSES = 9, 10
LEARNING = {"model": "analytic", "options": {"features": FEATURES - 1}, "shares_sums": True}
NO_GRAPH = InheritanceGraph.from_references({})
ALONE = InheritanceGraph.from_references({"a": ()})
Opened = dict[int, Weights | BlockfulError]
T = TypeVar("T")


def sharing_setup() -> TrainingSetup:
    learning = {**LEARNING, "epochs": 20, "root_factor": 3}
    unlearning = {"parallel": "auto", "sequential": "auto"}
    urls = tuple(f"http://127.0.0.1:{j}" for j in range(1, 5))
    return TrainingSetup.of(machine_settings(urls, learning=learning, unlearning=unlearning))


class Member:
    """A person's vault, shares, mail and memory, and all that was sent to it."""

    def __init__(self, i: int, folder: Path) -> None:
        self.vault = Vault(folder / str(i) / "vault", SECRETS[i])
        self.handed = HandedShares(folder / str(i) / "handed", self.vault)
        self.mailbox, self.left_out, self.heads = Mailbox(), LeftOut(), OpenedHeads()
        self.got = bytearray()


@dataclass
class Committee:
    """People who read the same chain and store.

    Attributes:
        rosters: members of each epoch, from 1 on; the last one is current.
        there: people who can be reached.
        current: the part of model "a" that its current version names.
    """

    setup: TrainingSetup
    folder: Path
    rosters: list[tuple[int, ...]] = field(default_factory=lambda: [(0, 1, 2, 3)])
    patience: float = 60.0
    there: frozenset[int] = frozenset(range(len(SECRETS)))
    files: dict[Uri, bytes] = field(default_factory=dict)
    current: SharedPart | None = None

    def __post_init__(self) -> None:
        self.members = [Member(i, self.folder) for i in range(len(SECRETS))]

    def stream(self, uri: Uri, limit: int, begin: int = 0) -> Iterator[bytes]:
        yield self.read(uri, limit)[begin:]

    def read(self, uri: Uri, limit: int) -> bytes:
        return self.files[uri]

    def sources(self, i: int) -> ReviewSources:
        def roster(epoch: int) -> Any:
            keys = tuple(KEYS[j] for j in self.rosters[epoch - 1])
            return SimpleNamespace(keys=keys, members=tuple(map(curve.address, keys))), 3

        contracts: Any = SimpleNamespace(
            live=SimpleNamespace(chain_id=31337, address=CONTRACT),
            committee=SimpleNamespace(current_epoch=lambda: len(self.rosters), roster=roster),
            participants=SimpleNamespace(
                participant=lambda account: SimpleNamespace(since=1, number=1 if account == OWNER else 2)
            ),
        )
        catalogue: Any = Catalogue({}, NO_GRAPH)
        if self.current is not None:
            node = SimpleNamespace(shared=self.current)
            catalogue = SimpleNamespace(models={"a": SimpleNamespace(node=node)})
        record: Any = SimpleNamespace(catalogue=SimpleNamespace(read=lambda: catalogue))
        docket: Any = SimpleNamespace(awaited=frozenset)
        here: Any = self
        own = self.members[i]
        keyring = VaultKeyring(own.vault)
        return ReviewSources(contracts, record, here, keyring, self.setup, docket=docket, heads=own.heads)

    def runs(self, i: int) -> ShareRuns:
        own, domain = self.members[i], wire.domain(31337, CONTRACT)
        return ShareRuns(domain, SECRETS[i], own.mailbox, own.left_out, self.patience)

    def opener(self, i: int) -> HeadOpener:
        roster = sorted(self.rosters[-1])
        clients: Any = {
            j: SimpleNamespace(ask=self._carry(i, to))
            for j, to in enumerate(roster, start=1)
            if to in self.there
        }
        members = Sharers(len(self.rosters), tuple(KEYS[j] for j in roster), clients)
        return HeadOpener(self.sources(i), self.runs(i), members, self.members[i].handed)

    def hander(self, i: int) -> ShareHander:
        clients: Any = {ADDRESSES[j]: SimpleNamespace(ask=self._carry(i, j)) for j in self.there}
        return ShareHander(self.sources(i), self.runs(i), self.members[i].handed, clients)

    def reader(self, i: int) -> ShareReader:
        return ShareReader(self.sources(i), self.members[i].handed, SECRETS[i], FEATURES)

    def _carry(self, sender: int, to: int) -> Callable[..., None]:
        def ask(kind: object, epoch: int, subject: bytes, data: bytes) -> None:
            self.members[to].got += data
            self.members[to].mailbox.put(ADDRESSES[sender], subject, data)

        return ask

    def put(self, content: bytes) -> Uri:
        """Stores a sealed file; all current members get its key."""
        file = seal(lambda: (content,), system_rng(KEY_BYTES))
        self.files[file.uri] = b"".join(file.pieces())
        for j in self.rosters[-1]:
            self.members[j].vault.put({file.uri.digest: file.key})
        return file.uri

    def part(
        self,
        samples: Samples,
        spoil: Callable[[PartFiles], PartFiles] = lambda files: files,
        numbers: Sequence[int] | None = None,
    ) -> SharedPart:
        """A dealt part; `numbers`: of the samples' rows, by default from 0 on."""
        features, labels = rows(self.setup, samples)
        listed = np.arange(len(samples)) if numbers is None else np.array(numbers)
        place = SharedPlace(context_of(31337, CONTRACT), "a", 1, FEATURES)
        keys = [KEYS[j] for j in sorted(self.rosters[-1])]
        files = spoil(deal_files(place, features, labels, listed, keys, system_rng))
        uris = [self.put(each) for each in (files.proof, *files.files)]
        return shared_part(len(self.rosters), files.counts, uris)

    def open(self, part: SharedPart, sender: bytes = OWNER, there: Iterable[int] = (0, 1, 2, 3)) -> Opened:
        """By member, the head of a new part, or the error."""
        asking: Any = SimpleNamespace(sender=sender, subject=system_rng(32))

        def opened(i: int) -> Weights:
            answer = self.opener(i).open(asking, HeadRequest(("a",), 0, (), part_bytes(part)))
            return from_bytes(answer.heads[0])

        return self._together(opened, there)

    def open_current(
        self, there: Iterable[int], new: SharedPart | None = None, rows: Iterable[int] = ()
    ) -> dict[int, list[Head | None] | BlockfulError]:
        """By member, the head of the current part, or the error.

        `new`: takes its place by a request that names these rows.
        """
        asking: Any = SimpleNamespace(sender=OWNER, subject=system_rng(32))
        assert self.current is not None
        asked = [_AskedHead(SharedPool("a", ALONE, {"a": self.current}), 1)]
        if new is not None:
            pool = SharedPool("a", ALONE, {"a": new})
            asked = [_AskedHead(pool, 1, new, self.current, frozenset(rows))]
        return self._together(lambda i: self.opener(i)._run(asking, asked, FEATURES), there)

    def hand_on(
        self, there: Iterable[int], epoch: int | None = None, sender: int | None = None
    ) -> dict[int, Empty | BlockfulError]:
        """Hands the current part on from an epoch's members, by default of the one before."""
        leader = self.rosters[-1][0] if sender is None else sender
        asking: Any = SimpleNamespace(sender=ADDRESSES[leader], subject=system_rng(32))
        asked = HandOnRequest(("a",), len(self.rosters) - 1 if epoch is None else epoch)
        return self._together(lambda i: self.hander(i).hand_on(asking, asked), there)

    def _together(self, work: Callable[[int], T], there: Iterable[int]) -> dict[int, T | BlockfulError]:
        """The results of members, or their errors, each in a thread; the others cannot be reached."""
        found: dict[int, T | BlockfulError] = {}
        self.there = frozenset(there)

        def run(i: int) -> None:
            try:
                found[i] = work(i)
            except BlockfulError as error:
                found[i] = error

        threads = [threading.Thread(target=run, args=(i,)) for i in self.there]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return found


def rows(setup: TrainingSetup, samples: Samples) -> tuple[Any, Any]:
    """Features and labels."""
    network = setup.architecture.sums(initial_weights(setup.federation))
    return network.features(samples.x), samples.y.numpy()


def clear_head(setup: TrainingSetup, samples: Samples | None = None) -> Head:
    """The head of the sums of samples, by default of all of the first user's."""
    features, labels = rows(setup, samples or setup.users[0].train)
    part = part_of(features, labels, CLASSES)
    clear = with_part(no_sums(CLASSES, part.shape[1]), part)
    return head_of(total_of(clear), int(clear[SHIFT]))


def require_head(found: Opened, setup: TrainingSetup, members: int = 3) -> None:
    """All have the head of the sums of the first user's samples."""
    numbers, unit = clear_head(setup)
    assert len(found) == members
    for each in found.values():
        assert isinstance(each, Mapping), each
        assert np.array_equal(each[HEAD].numpy(), numbers) and int(each[UNIT]) == unit
