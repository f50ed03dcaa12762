# SPDX-License-Identifier: Apache-2.0
"""Random histories of the live chain on a node: good and bad appends and redactions, chunks, new epochs.

What a bad action is refused with is known beforehand; after every step the whole chain is read again, and
every opening is checked by the Python twin of the chameleon hash under the key of its own epoch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant

from blockful_py.crypto import chameleon, payload
from blockful_py.types import Opening, Position, Uri
from tests.contracts.histories import Histories, action, run
from tests.contracts.reading import plain
from tests.contracts.refusal import refusal
from tests.contracts.scene import REDACT, Decider, LiveScene, Panel, redaction_digest
from tests.contracts.world import World, position

EXAMPLES, STEPS = 15, 25
DONE = ("append", "redact", "chunk", "epoch")
NUMBER = st.integers(0, 2**16)
"""Chooses among models, modulo how many there are."""


def always(_: Any) -> bool:
    return True


def published(histories: Any) -> bool:
    return bool(histories.world.scene.models)


def with_others(change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Callable[[list[Any]], list[Any]]:
    return lambda updates: [change(updates[0]), *updates[1:]]


SPOILED: dict[str, Callable[[list[Any]], list[Any]]] = {
    "VersionNotNext": with_others(lambda u: (u[0], u[1] + 1, *u[2:])),
    "InvalidOpening": with_others(lambda u: (*u[:2], bytes(32), *u[3:])),
    "UnknownCodec": with_others(lambda u: (*u[:3], 0, *u[4:])),
    "ReferencesChanged": with_others(lambda u: (*u[:5], b"\1" * 32)),
    "PositionsNotAscending": lambda updates: [updates[0], *updates],
}


class LiveChainHistories(Histories):
    """A live chain under an appointed committee of four, which is replaced now and then."""

    def __init__(self, world: World, seen: Counter[str]) -> None:
        super().__init__()
        self.world, self.seen, self.live = world, seen, world.live
        self.panels = {1: world.decider.panel}
        self.before: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
        self.touched: Counter[int] = Counter()
        self.pending: list[tuple[Any, Any, Any]] = []
        self.batch: set[int] = set()
        self.unsettled: set[int] = set()

    def choose(self, numbers: set[int]) -> list[int]:
        places = sorted(self.world.scene.models)
        return sorted({places[number % len(places)] for number in numbers})

    def note(self, updates: list[Any], headers: list[Any]) -> None:
        """A redaction went through."""
        self.world.scene.settle(updates, headers)
        self.touched.update([update[0] for update in updates])
        self.touched.update([position(header[0], 2**32 - 1) for header in headers])

    def refused(self, error: str, method: str, *arguments: Any) -> None:
        assert refusal(self.live, method, *arguments)[0] == error
        self.seen[error] += 1

    @action(always, lists=st.lists(st.sets(NUMBER, max_size=5), min_size=1, max_size=3))
    def append(self, lists: list[set[int]]) -> None:
        models = bool(self.world.scene.models)
        self.world.publish([self.choose(numbers) if models else [] for numbers in lists])
        self.seen["append"] += 1

    @action(
        always,
        error=st.sampled_from(["ParentMismatch", "InvalidOpening", "NotCertified", "UnknownReference"]),
    )
    def append_badly(self, error: str) -> None:
        references = [position(len(self.world.scene.blocks) + 1, 0)] if error == "UnknownReference" else []
        block = self.world.scene.block([references], record=False)
        if error == "ParentMismatch":
            block = (b"\1" * 32, *block[1:])
        elif error == "InvalidOpening":
            block = (*block[:2], block[2] ^ 1, *block[3:])
        action_ = self.world.block_action(block)
        if error == "NotCertified":
            block = (block[0], block[1] + 1, *block[2:])
        self.refused(error, "append", block, action_)

    @action(published, numbers=st.sets(NUMBER, min_size=1, max_size=4))
    def redact(self, numbers: set[int]) -> None:
        updates, headers = self.world.scene.redaction(self.choose(numbers))
        self.live.redact(updates, headers, self.world.redact_action(updates, headers))
        self.note(updates, headers)
        self.unsettled -= {update[0] for update in updates}
        self.seen["redact"] += 1

    @action(published, number=NUMBER, error=st.sampled_from(sorted(SPOILED)))
    def redact_badly(self, number: int, error: str) -> None:
        updates, headers = self.world.scene.redaction(self.choose({number}))
        updates = SPOILED[error](updates)
        self.refused(error, "redact", updates, headers, self.world.redact_action(updates, headers))

    @action(published, number=NUMBER, missing=st.integers(1, 3))
    def redact_with_too_few_votes(self, number: int, missing: int) -> None:
        updates, headers = self.world.scene.redaction(self.choose({number}))
        voters = range(max(0, self.world.decider.quorum - missing))
        action_ = self.world.redact_action(updates, headers, voters=voters)
        self.refused("QuorumNotReached", "redact", updates, headers, action_)

    @action(published, number=NUMBER)
    def redact_with_the_opening_of_a_version_before(self, number: int) -> None:
        """A restored model: the old URI, the old opening, the next version."""
        (place,) = self.choose({number})
        old = self.live.transaction(place)
        self.redact({number})
        updates, headers = self.world.scene.redaction([place])
        back = [(*updates[0][:2], bytes(old[2]), old[3], tuple(old[1]), updates[0][5])]
        self.refused("InvalidOpening", "redact", back, headers, self.world.redact_action(back, headers))

    @action(
        lambda self: len(self.world.scene.blocks) >= 2 and not self.pending,
        numbers=st.sets(NUMBER, min_size=2),
    )
    def decide_in_chunks(self, numbers: set[int]) -> None:
        """One certificate for a redaction in each block; its first chunk is executed."""
        heights = sorted({place >> 32 for place in self.choose(numbers)})
        parts = [self.world.scene.redaction([position(height, 0)]) for height in heights]
        digests = [redaction_digest(*part) for part in parts]
        actions = self.world.decider.actions(self.live.address, REDACT, digests)
        self.pending = [(*part, action_) for part, action_ in zip(parts, actions, strict=True)]
        self.batch = set()
        self.next_chunk()

    @action(lambda self: self.pending, again=st.booleans())
    def go_on(self, again: bool) -> None:
        """The next chunk, unless what it replaces has moved on."""
        updates, headers, action_ = self.pending[0]
        models, blocks = self.world.scene.models, self.world.scene.blocks
        current = updates[0][1] == models[updates[0][0]].version + 1
        if action_[0][0] != self.world.decider.epoch:
            self.refused("StaleEpoch", "redact", updates, headers, action_)
            self.pending = []
        elif not current or headers[0][1] != blocks[headers[0][0]].version + 1:
            self.refused("VersionNotNext", "redact", updates, headers, action_)
            self.pending = []
        else:
            self.next_chunk()
            if again:
                self.refused("ChunkOutOfOrder", "redact", updates, headers, action_)

    def next_chunk(self) -> None:
        updates, headers, action_ = self.pending.pop(0)
        self.live.redact(updates, headers, action_)
        self.note(updates, headers)
        self.unsettled |= {update[0] for update in updates}
        self.batch |= {update[0] for update in updates}
        if not self.pending:
            self.unsettled -= self.batch
        self.seen["chunk"] += 1

    @action(always, size=st.sampled_from([1, 4, 7]))
    def appoint(self, size: int) -> None:
        """The next epoch; the old committee's certificate and trapdoor are refused."""
        world, old = self.world, self.world.decider
        late = world.scene.block([[]], record=False)
        late_action = world.block_action(late)
        epoch = old.epoch + 1
        panel = Panel.seeded(size, f"epoch {epoch}")
        world.committee.appoint(panel.roster())
        self.refused("StaleEpoch", "append", late, late_action)
        world.decider = Decider(panel, old.domain, epoch, old.chain_id)
        if world.scene.models:
            updates, headers = world.scene.redaction([min(world.scene.models)])
            self.refused("InvalidOpening", "redact", updates, headers, world.redact_action(updates, headers))
        world.scene.panel = self.panels[epoch] = panel
        self.seen["epoch"] += 1

    @invariant()
    def the_record_holds(self) -> None:
        scene = self.world.scene
        places = sorted(scene.models)
        found = plain(self.live.transactions(places)) if places else ()
        models = dict(zip(places, found, strict=True))
        headers = {height: plain(self.live.header(height)) for height in scene.blocks}
        for place, new in models.items():
            self.check_model(place, new)
        parent = payload.genesis_block_hash(scene.chain_id, scene.contract)
        for height, new in headers.items():
            assert new[0] == parent
            self.check_header(height, new)
            parent = payload.block_hash(parent, new[1], new[5], new[6])
            assert bytes(self.live.blockHash(height)) == parent
        assert self.live.height() == len(scene.blocks)
        self.before, self.touched = (models, headers), Counter()

    def check_model(self, place: int, new: Any) -> None:
        """ch, opening, URI, codec, version, epoch, owner, settled, references."""
        scene, model = self.world.scene, self.world.scene.models[place]
        old = self.before[0].get(place)
        if old is not None:
            assert (new[0], new[6], new[8]) == (old[0], old[6], old[8])
            assert new[4] == old[4] + self.touched[place]
            assert (new[1:6] == old[1:6]) is (self.touched[place] == 0)
        assert (new[0], new[2], new[4]) == (model.ch, model.uri.digest, model.version)
        assert new[8] == tuple(each.packed for each in model.references)
        assert new[7] is (place not in self.unsettled)
        references = payload.references_hash([Position.unpack(each) for each in new[8]])
        owner = bytes.fromhex(new[6][2:])
        content = payload.transaction_payload(Uri(new[2], model.uri.codec), owner, references)
        message = chameleon.message(new[4], content)
        key = self.panels[new[5]].key
        assert chameleon.verify(key, scene.label(place), message, new[0], Opening(*new[1]))

    def check_header(self, height: int, new: Any) -> None:
        """parentHash, ch, opening, version, epoch, merkleRoot, timestamp, txCount."""
        scene, block = self.world.scene, self.world.scene.blocks[height]
        place = position(height, 2**32 - 1)
        old = self.before[1].get(height)
        if old is not None:
            assert (new[0], new[1], *new[5:]) == (old[0], old[1], *old[5:])
            assert new[3] == old[3] + self.touched[place]
        assert (new[1], new[3], new[5], new[7]) == (block.ch, block.version, block.root, block.count)
        message = chameleon.message(new[3], payload.header_payload(new[0], new[5], new[6], new[7]))
        key = self.panels[new[4]].key
        assert chameleon.verify(key, scene.label(place), message, new[1], Opening(*new[2]))


def test_random_histories_of_the_live_chain(deployed: tuple[Any, ...], fn_isolation: None) -> None:
    from brownie import chain

    committee, live, mirror, archive = deployed
    seen = Counter[str]()
    chain.snapshot()

    def machine() -> LiveChainHistories:
        chain.revert()
        from blockful_py.crypto.eip712 import Domain

        panel = Panel.seeded(4, "first")
        decider = Decider(panel, Domain(chain.id, bytes.fromhex(committee.address[2:])), chain_id=chain.id)
        scene = LiveScene(live.address, panel, chain.id)
        return LiveChainHistories(World(committee, live, mirror, archive, decider, scene), seen)

    run(machine, EXAMPLES, STEPS)
    wanted = (*DONE, *SPOILED, "StaleEpoch", "QuorumNotReached", "ChunkOutOfOrder", "ParentMismatch")
    assert all(seen[name] for name in wanted), f"the histories are too tame: {dict(seen)}"
