# SPDX-License-Identifier: Apache-2.0
"""Members open heads of shared sums with each other, and name those who lie."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load, save

from blockful_py.committee import wire
from blockful_py.committee.service.messages import HeadRequest
from blockful_py.committee.service.shared_mail import Mailbox
from blockful_py.committee.shared_rounds import LeftOut
from blockful_py.crypto import curve
from blockful_py.crypto.envelope import KEY_BYTES
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.sharing.rounds import Sent
from blockful_py.errors import BlockfulError, CheaterError, CryptoError, QuorumError, RefusedError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.keys.sealing import FoundKeys, seal
from blockful_py.keys.shared_files import (
    FIELD,
    DealtPart,
    PartComplaint,
    PartFiles,
    SharedPlace,
    deal_files,
)
from blockful_py.learning.data import Samples
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.models.analytic import HEAD, UNIT
from blockful_py.learning.models.ridge import head_of
from blockful_py.learning.shared_head import HeadPlan
from blockful_py.learning.sums import SHIFT, no_sums, part_of, total_of, with_part
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights, from_bytes
from blockful_py.pipeline.coordination.sharers import Sharers
from blockful_py.pipeline.jobs.shared import part_bytes
from blockful_py.pipeline.review.opened_heads import OpenedHeads
from blockful_py.pipeline.review.shared_heads import HeadOpener, _ShareReader, context_of
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.statement_parts import SharedClass, SharedPart
from blockful_py.storage.cid import cid_string
from blockful_py.types import Uri
from tests.participant.conftest import machine_settings

SECRETS = sorted((1000 + j for j in range(4)), key=lambda each: curve.address(curve.multiply_base(each)))
"""Of the members, in the order of their addresses."""
KEYS = [curve.multiply_base(each) for each in SECRETS]
ADDRESSES = [curve.address(each) for each in KEYS]
OWNER, CONTRACT = b"o" * 20, bytes(20)
FEATURES, CLASSES = 9, 10
LEARNING = {"model": "analytic", "options": {"features": FEATURES - 1}, "shares_sums": True}
Opened = dict[int, Weights | BlockfulError]


@pytest.fixture(scope="module")
def setup() -> TrainingSetup:
    learning = {**LEARNING, "epochs": 20, "root_factor": 3}
    unlearning = {"parallel": "auto", "sequential": "auto"}
    urls = tuple(f"http://127.0.0.1:{j}" for j in range(1, 5))
    return TrainingSetup.of(machine_settings(urls, learning=learning, unlearning=unlearning))


@dataclass
class Member:
    """A member's mail, its memory, and all that was sent to it."""

    mailbox: Mailbox = field(default_factory=Mailbox)
    left_out: LeftOut = field(default_factory=LeftOut)
    heads: OpenedHeads = field(default_factory=OpenedHeads)
    got: bytearray = field(default_factory=bytearray)


@dataclass
class Committee:
    """Four members of one epoch, who read the same chain, store and vault."""

    setup: TrainingSetup
    files: dict[Uri, bytes] = field(default_factory=dict)
    keys: dict[Uri, bytes] = field(default_factory=dict)
    members: list[Member] = field(default_factory=lambda: [Member() for _ in SECRETS])
    patience: float = 60.0

    def stream(self, uri: Uri, limit: int) -> Iterator[bytes]:
        yield self.read(uri, limit)

    def read(self, uri: Uri, limit: int) -> bytes:
        return self.files[uri]

    def find(self, uris: Any) -> FoundKeys:
        return FoundKeys({uri: self.keys[uri] for uri in uris if uri in self.keys})

    def opener(self, i: int) -> HeadOpener:
        contracts: Any = SimpleNamespace(
            live=SimpleNamespace(chain_id=31337, address=CONTRACT),
            committee=SimpleNamespace(
                current_epoch=lambda: 1, roster=lambda epoch: (SimpleNamespace(members=tuple(ADDRESSES)), 3)
            ),
            participants=SimpleNamespace(
                participant=lambda account: SimpleNamespace(since=1, number=1 if account == OWNER else 2)
            ),
        )
        record: Any = SimpleNamespace(catalogue=SimpleNamespace(read=lambda: Catalogue({}, NO_GRAPH)))
        docket: Any = SimpleNamespace(awaited=frozenset)
        here: Any = self
        own = self.members[i]
        sources = ReviewSources(contracts, record, here, here, self.setup, docket=docket, heads=own.heads)
        clients: Any = {j + 1: SimpleNamespace(ask=self._carry(i, j)) for j in range(len(SECRETS))}
        members, messages = Sharers(1, tuple(KEYS), clients), wire.domain(31337, CONTRACT)
        return HeadOpener(sources, messages, SECRETS[i], members, own.mailbox, own.left_out, self.patience)

    def _carry(self, sender: int, to: int) -> Callable[..., None]:
        def ask(kind: object, epoch: int, subject: bytes, data: bytes) -> None:
            self.members[to].got += data
            self.members[to].mailbox.put(ADDRESSES[sender], subject, data)

        return ask

    def put(self, content: bytes) -> str:
        file = seal(lambda: (content,), system_rng(KEY_BYTES))
        self.files[file.uri], self.keys[file.uri] = b"".join(file.pieces()), file.key
        return cid_string(file.uri)

    def part(
        self, samples: Samples, spoil: Callable[[PartFiles], PartFiles] = lambda files: files
    ) -> SharedPart:
        features, labels = rows(self.setup, samples)
        place = SharedPlace(context_of(31337, CONTRACT), "a", 1, FEATURES)
        files = spoil(deal_files(place, features, labels, KEYS, system_rng))
        classes = tuple(
            SharedClass(label=label, samples=files.samples[label], shares=self.put(file))
            for label, file in files.classes.items()
        )
        return SharedPart(epoch=1, proof=self.put(files.proof), classes=classes)

    def open(self, part: SharedPart, sender: bytes = OWNER, there: tuple[int, ...] = (0, 1, 2, 3)) -> Opened:
        """By member, the head, or the error."""
        found: Opened = {}
        asking: Any = SimpleNamespace(sender=sender, subject=system_rng(32))

        def run(i: int) -> None:
            try:
                opened = self.opener(i).open(asking, HeadRequest(("a",), 0, (), part_bytes(part)))
                found[i] = from_bytes(opened.heads[0])
            except BlockfulError as error:
                found[i] = error

        threads = [threading.Thread(target=run, args=(i,)) for i in there]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return found


NO_GRAPH = InheritanceGraph.from_references({})


def rows(setup: TrainingSetup, samples: Samples) -> tuple[Any, Any]:
    network = setup.architecture.sums(initial_weights(setup.federation))
    return network.features(samples.x), samples.y.numpy()


def require_head(found: Opened, setup: TrainingSetup, members: int = 3) -> None:
    """All have the head of the sums of the first user's samples."""
    features, labels = rows(setup, setup.users[0].train)
    part = part_of(features, labels, CLASSES)
    clear = with_part(no_sums(CLASSES, part.shape[1]), part)
    numbers, unit = head_of(total_of(clear), int(clear[SHIFT]))
    assert len(found) == members
    for each in found.values():
        assert isinstance(each, Mapping), each
        assert np.array_equal(each[HEAD].numpy(), numbers) and int(each[UNIT]) == unit


def test_the_head_is_that_of_the_sums_which_nobody_sees(setup: TrainingSetup) -> None:
    committee, samples = Committee(setup), setup.users[0].train
    found = committee.open(committee.part(samples))
    require_head(found, setup, members=4)
    features, labels = rows(setup, samples)
    part = part_of(features, labels, CLASSES)
    seen = [bytes(member.got) for member in committee.members] + list(committee.files.values())
    assert sum(map(len, seen)) > 1 << 20
    canaries = [row.astype(kind).tobytes() for row in features[:, :-1] for kind in (np.uint8, np.float64)]
    canaries += [each.astype("<u4").tobytes() for each in part[:, :8] if each.any()]
    assert not any(canary in each for canary in canaries if any(canary) for each in seen)


def test_a_pool_that_would_show_its_samples_has_no_head(setup: TrainingSetup) -> None:
    committee, samples = Committee(setup), setup.users[0].train
    for count, opens in ((16 * FEATURES - 1, False), (16 * FEATURES, True)):
        for each in committee.open(committee.part(samples.at(torch.arange(count)))).values():
            assert isinstance(each, Mapping), each
            assert bool(each[HEAD].any()) is opens


def test_an_owner_is_named_whose_shares_do_not_fit(setup: TrainingSetup) -> None:
    def swapped(files: PartFiles) -> PartFiles:
        first, second, *_ = files.classes
        mixed = load(files.classes[first]) | {"2": load(files.classes[second])["2"]}
        classes = {**files.classes, first: save(mixed)}
        return replace(files, classes=classes)

    committee = Committee(setup)
    for each in committee.open(committee.part(setup.users[0].train, swapped)).values():
        assert "the owner of a dealt member(s) 2 wrong shares, which they proved" in str(each)


def test_a_member_that_complains_of_right_shares_is_named(
    setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    committee, honest = Committee(setup), DealtPart.complaint

    def lying(self: DealtPart, member: int, secret: int) -> PartComplaint | None:
        return PartComplaint(()) if member == 2 else honest(self, member, secret)

    monkeypatch.setattr(DealtPart, "complaint", lying)
    for each in committee.open(committee.part(setup.users[0].train)).values():
        assert isinstance(each, CheaterError) and each.members == (2,)
        assert "a complaint about right shares" in str(each)


def test_an_owner_is_named_that_claims_more_samples_than_it_dealt(setup: TrainingSetup) -> None:
    committee = Committee(setup)
    part = committee.part(setup.users[0].train)
    first, *others = part.classes
    more = first.model_copy(update={"samples": first.samples + 1})
    for each in committee.open(part.model_copy(update={"classes": (more, *others)})).values():
        assert "the owner of a dealt member(s) 1, 2, 3, 4 wrong shares" in str(each)


def test_only_its_owner_has_a_model_opened_and_few_pools_of_it(
    setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    committee = Committee(setup)
    part = committee.part(setup.users[0].train)
    assert "belongs to another participant" in str(committee.open(part, b"x" * 20, (0,))[0])
    opener = committee.opener(0)
    monkeypatch.setattr("blockful_py.pipeline.review.opened_heads.MOST_POOLS", 1)
    asking: Any = SimpleNamespace(sender=OWNER, subject=bytes(32))

    def begun(self: HeadOpener, asking: Any, asked: Sequence[Any], features: int) -> list[None]:
        for each in asked:
            self.sources.heads.begin(each.pool, each.version)
        return [None] * len(asked)

    monkeypatch.setattr(HeadOpener, "_run", begun)
    for _ in range(2):
        opener.open(asking, HeadRequest(("a",), 0, (), part_bytes(part)))
    other = part_bytes(committee.part(setup.users[0].train))
    with pytest.raises(BlockfulError, match="more would show sums"):
        opener.open(asking, HeadRequest(("a",), 0, (), other))


def test_a_silent_member_is_left_out_and_takes_part_again(
    setup: TrainingSetup, caplog: pytest.LogCaptureFixture
) -> None:
    committee = Committee(setup, patience=2.0)
    part = committee.part(setup.users[0].train)
    without = committee.open(part, there=(0, 1, 3))
    require_head(without, setup)
    assert f"leaves out member(s) 3 (0x{ADDRESSES[2].hex()})" in caplog.text
    caplog.clear()
    require_head(committee.open(part), setup, members=4)
    assert "leaves out" not in caplog.text


def test_no_head_opens_while_t_members_are_silent(setup: TrainingSetup) -> None:
    committee = Committee(setup, patience=1.0)
    for each in committee.open(committee.part(setup.users[0].train), there=(0, 3)).values():
        assert isinstance(each, QuorumError) and "member(s) 2, 3 take no part" in str(each)


def test_a_member_that_was_absent_uses_no_wrong_shares(setup: TrainingSetup) -> None:
    def without_box(files: PartFiles) -> PartFiles:
        left = {name: each for name, each in load(files.proof).items() if name != "3"}
        return replace(files, proof=save(left))

    committee = Committee(setup)
    for spoil, fits in ((without_box, False), (lambda files: files, True)):
        part = committee.part(setup.users[0].train, spoil)
        for i in range(len(SECRETS)):
            opener = committee.opener(i)
            reader = _ShareReader(opener.sources, i + 1, SECRETS[i], FEATURES)
            if i != 2 or fits:
                opener._require_fitting("a", part, reader)
            else:
                with pytest.raises(RefusedError, match="wrong shares while it was absent"):
                    opener._require_fitting("a", part, reader)


class Liar:
    """A protocol whose member opens other numbers, from its `first` opening of a head's shape on."""

    def __init__(self, protocol: Any, first: int) -> None:
        self._protocol, self._left = protocol, first

    def __next__(self) -> Sent:
        return self._spoilt(next(self._protocol))

    def send(self, inbox: Any) -> Sent:
        return self._spoilt(self._protocol.send(inbox))

    def close(self) -> None:
        self._protocol.close()

    def _spoilt(self, sent: Sent) -> Sent:
        if isinstance(sent.public, np.ndarray) and sent.public.shape[1:] == (FEATURES, CLASSES):
            self._left -= 1
            if self._left <= 0:
                return replace(sent, public=(sent.public + 1) % np.min(FIELD.primes(3)))
        return sent


@pytest.mark.parametrize("in_product", [True, False])
def test_no_member_has_a_head_that_another_lied_about(
    setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch, in_product: bool
) -> None:
    """The liar is named where the head itself is opened, and left out; in a product of shares it is found."""
    committee, honest, samples = Committee(setup), HeadOpener._protocol, setup.users[0].train
    counts = tuple(np.bincount(samples.y.numpy(), minlength=CLASSES).tolist())
    openings = 2 * len(HeadPlan(FEATURES, counts, 0, 2).refinements) + 2

    def lying(self: HeadOpener, index: int, *args: Any) -> Any:
        protocol = honest(self, index, *args)
        return Liar(protocol, 1 if in_product else openings) if index == 3 else protocol

    monkeypatch.setattr(HeadOpener, "_protocol", lying)
    part = committee.part(samples)
    for each in committee.open(part).values():
        if in_product:
            assert isinstance(each, CryptoError) and "which cannot be told" in str(each)
        else:
            assert isinstance(each, CheaterError) and each.members == (3,)
    if not in_product:
        again = committee.open(part)
        assert isinstance(liars := again.pop(2), RefusedError) and "leave this member out" in str(liars)
        require_head(again, setup)
