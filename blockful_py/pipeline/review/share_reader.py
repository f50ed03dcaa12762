# SPDX-License-Identifier: Apache-2.0
"""Reads a member's shares, dealt by owners or handed on by earlier members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blockful_py.chain.quorum import HomeCommitteeContract
from blockful_py.crypto.envelope import MAX_SEALED_BYTES
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.sharing.residues import Array
from blockful_py.errors import KeyDestroyedError
from blockful_py.keys.handed_shares import HandedShares
from blockful_py.keys.sealing import plain
from blockful_py.keys.shared_files import FIELD, DealtPart, SharedPlace, ShareFile, share_files, share_in
from blockful_py.learning.shared_sums import Shared
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.pipeline.review.refusing import require
from blockful_py.pipeline.review.shared_pools import samples_of
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.record.statement_parts import SharedPart
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Address, Bytes32, Point, Uri

DEALT = bytes(32)
"""Names shares that an owner dealt."""

Names = Mapping[str, frozenset[Bytes32]]
"""By model, the names of a member's shares of its part: shares of equal name fit together."""


@dataclass(frozen=True)
class ShareReader:
    """Reads shares of parts with the member's keys; `features` includes the constant one."""

    sources: ReviewSources
    handed: HandedShares
    secret: int
    features: int

    @property
    def context(self) -> bytes:
        live = self.sources.contracts.live
        return context_of(live.chain_id, live.address)

    def names(self, part: SharedPart, epochs: range) -> frozenset[Bytes32]:
        """Names of the member's shares of a part, of these epochs' members."""
        files = share_uris(part)
        found = [self.handed.find(uri) for uri in files]
        each = [{one.name for one in shares if one.epoch in epochs} for shares in found]
        common = set.intersection(*each) if each else {DEALT}
        if part.epoch in epochs and not any(one.is_settled for shares in found for one in shares):
            try:
                self.sources.keyring.find(files).require(files)
                common.add(DEALT)
            except KeyDestroyedError:
                pass
        return frozenset(common)

    def share(self, name: str, part: SharedPart, of: Bytes32, member: int, classes: int) -> Shared:
        """The share of sums `of` this name, dealt to this member or handed on.  Raises as `read`."""
        entries = self.features * (self.features + 1) // 2
        total = np.zeros((FIELD.count, classes, entries), np.int64)
        labels = [each.label for each in part.classes]
        shares = self.read(name, self.files(part)[: len(labels)], of, member)
        for label, share in zip(labels, shares, strict=True):
            total[:, label] = share
        samples = samples_of(part)
        return Shared(total, tuple(samples.get(label, 0) for label in range(classes)))

    def samples(self, name: str, part: SharedPart, of: Bytes32, member: int) -> dict[int, Array]:
        """Shares (k, n_c, F) of samples by class: features but the last, and rows.  Raises as `read`."""
        labels = [each.label for each in part.classes]
        shares = self.read(name, self.files(part)[len(labels) :], of, member)
        return {
            label: each.reshape(FIELD.count, -1, self.features)
            for label, each in zip(labels, shares, strict=True)
        }

    def files(self, part: SharedPart) -> list[tuple[ShareFile, Uri]]:
        """A part's files of shares: of sums by class, then of samples by class."""
        return [*zip(share_files(samples_of(part), self.features), share_uris(part), strict=True)]

    def read(
        self, name: str, files: Sequence[tuple[ShareFile, Uri]], of: Bytes32, member: int
    ) -> list[Array]:
        """Shares (k, size) in files.  Raises KeyDestroyedError or StorageError, and as `share_in`."""
        if of == DEALT:
            place, read = self._place(name), self._contents(uri for _, uri in files)
            return [share_in(place, file, read[uri], member, self.secret) for file, uri in files]
        return [next(each.share for each in self.handed.find(uri) if each.name == of) for _, uri in files]

    def dealt(self, name: str, part: SharedPart, keys: Sequence[Point]) -> DealtPart:
        """The files of a part that was dealt to members with these keys.

        Raises KeyDestroyedError or StorageError: this member cannot read them.
        """
        proof, files = parse_cid(part.proof or ""), self.files(part)
        read = self._contents([proof, *(uri for _, uri in files)])
        contents = [read[uri] for _, uri in files]
        return DealtPart(self._place(name), samples_of(part), read[proof], contents, keys)

    def _contents(self, uris: Iterable[Uri]) -> dict[Uri, bytes]:
        listed = [*uris]
        keys, store = self.sources.keyring.find(listed), self.sources.store
        return {uri: b"".join(plain(keys[uri], store.stream(uri, MAX_SEALED_BYTES), uri)) for uri in listed}

    def _place(self, name: str) -> SharedPlace:
        return SharedPlace(self.context, name, owner_of(self.sources.setup, name), self.features)


def share_uris(part: SharedPart) -> list[Uri]:
    """A part's files of shares, in the order of `ShareReader.files`."""
    return [*map(parse_cid, part.share_files)]


def same_members(committee: HomeCommitteeContract, epoch: int, since: int = 1) -> range:
    """The epochs up to this one, from `since` on, with the same members in any order."""
    members, first = _members(committee, epoch), epoch
    while first > since and _members(committee, first - 1) == members:
        first -= 1
    return range(first, epoch + 1)


def _members(committee: HomeCommitteeContract, epoch: int) -> frozenset[Address]:
    return frozenset(committee.roster(epoch)[0].members)


def packed_names(names: Names) -> bytes:
    """Bytes of names of shares, to be compared with the other members'."""
    pairs = sorted((keccak(model.encode()), each) for model, found in names.items() for each in found)
    return b"".join(model + each for model, each in pairs)


def agreed(models: Iterable[str], words: Mapping[int, bytes]) -> tuple[dict[str, Bytes32], frozenset[int]]:
    """By model, the name of the shares that most members have, and the members that have them all.

    Args:
        words: `packed_names` by member.
    """
    pairs = {j: {word[i : i + 64] for i in range(0, len(word), 64)} for j, word in words.items()}
    chosen = dict[str, Bytes32]()
    for model in models:
        start = keccak(model.encode())
        found = Counter(
            each for own in pairs.values() for each in own if each[:32] == start and len(each) == 64
        )
        if found:
            chosen[model] = min(found, key=lambda each: (-found[each], each))[32:]
    wanted = {keccak(model.encode()) + chosen.get(model, b"") for model in models}
    return chosen, frozenset(j for j, own in pairs.items() if wanted <= own)


def owner_of(setup: TrainingSetup, name: str) -> int:
    """The user whose model it is by plan.  Raises RefusedError."""
    names, users = setup.federation.scenario.names, setup.federation.scenario.users
    require(name in names, f"there is no model {name} in this federation")
    return names.index(name) % users + 1


def context_of(chain_id: int, contract: Address) -> bytes:
    """Binds parts and their proofs to a federation."""
    return keccak(b"BlockFUL shared sums" + chain_id.to_bytes(32, "big") + contract)
