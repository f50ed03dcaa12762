# SPDX-License-Identifier: Apache-2.0
"""A member's side of handing shares of sums on to the members of the current epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from blockful_py.committee import codec, wire
from blockful_py.committee.service.member_client import MemberClient
from blockful_py.committee.service.messages import Empty, HandOnRequest
from blockful_py.committee.shared_rounds import SharedRounds
from blockful_py.crypto import curve
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.sharing.resharing import Circle, HandingOn
from blockful_py.crypto.sharing.residues import Array, fingerprint
from blockful_py.crypto.sharing.rounds import Protocol, Sent
from blockful_py.errors import QuorumError
from blockful_py.keys.handed_shares import HandedShares
from blockful_py.keys.shared_files import FIELD, threshold_of
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.models.analytic import HEAD
from blockful_py.pipeline.review.refusing import require
from blockful_py.pipeline.review.share_reader import (
    ShareReader,
    agreed,
    packed_names,
    same_members,
    share_uris,
)
from blockful_py.pipeline.review.share_runs import ShareRuns
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.record.statement_parts import SharedPart
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Address, Bytes32, Uri

AT_ONCE = 1 << 17
"""Numbers handed on in one message, lest it exceeds its limit: an owner may have many samples."""


@dataclass(frozen=True)
class _Committee:
    """Members of an epoch: places from 1 in the order of their addresses, as owners deal to them."""

    addresses: Sequence[Address]

    @property
    def size(self) -> int:
        return len(self.addresses)

    @property
    def threshold(self) -> int:
        return threshold_of(self.size)

    def circle(self, run: Mapping[int, Address], there: frozenset[int]) -> Circle:
        places = {j: self.addresses.index(run[j]) + 1 for j in there if run[j] in self.addresses}
        return Circle(self.threshold, self.size, places)


@dataclass(frozen=True)
class ShareHander:
    """Hands shares on, for one member, which may be of the old committee, of the new, or of both.

    The new shares are stored, then all say so, then the old ones are destroyed.  After a cut the same request
    continues: if enough new members have the same new shares, old shares are destroyed; else the old members
    deal again.  A member takes part in one such run at a time.  Two runs have an honest member in common, so
    they never both destroy shares.

    Attributes:
        clients: of the members that answer, by address.
    """

    sources: ReviewSources
    runs: ShareRuns
    handed: HandedShares
    clients: Mapping[Address, MemberClient]

    def hand_on(self, asking: wire.Message, asked: HandOnRequest) -> Empty:
        """Takes part in handing on the shares of these models' parts.

        Raises RefusedError for a sender that has no part in it, QuorumError for too few members, and as
        `SharedRounds.run` and `HandingOn.run`.
        """
        committee = self.sources.contracts.committee
        epoch = committee.current_epoch()
        require(0 < asked.epoch <= epoch, f"there are no members of epoch {asked.epoch} to hand shares on")
        rosters = [committee.roster(each)[0] for each in (asked.epoch, epoch)]
        keys = sorted({*rosters[0].keys, *rosters[1].keys}, key=curve.address)
        old, new = (_Committee(sorted(map(curve.address, each.keys))) for each in rosters)
        addresses = [*old.addresses, *new.addresses]
        require(asking.sender in addresses, "only members hand shares on")
        require(self.runs.address in addresses, "this member was in neither committee")
        subject = keccak(asking.subject + asking.sender + codec.encode(asked))
        places = {curve.address(key): j for j, key in enumerate(keys, start=1)}
        clients = {places[each]: client for each, client in self.clients.items() if each in places}
        before, after = (same_members(committee, each) for each in (asked.epoch, epoch))
        run = _Run(self, asked, old, new, before, after)
        with self.runs.begin(epoch, subject, keys, clients) as rounds:
            run.carry_out(rounds)
        return Empty()


@dataclass(frozen=True)
class _Run:
    """One run, of which everything follows alike from the request, the chain and the roll."""

    hander: ShareHander
    asked: HandOnRequest
    old: _Committee
    new: _Committee
    before: range
    after: range

    def carry_out(self, rounds: SharedRounds) -> None:
        reader, names, own = self._reader, [*self._parts], self.hander.runs.address
        sides = ((self.old, self.before), (self.new, self.after))
        words = rounds.call_roll(
            self.hander.runs.left_out.among(rounds.parties),
            self.old.threshold + self.new.threshold - 2,
            *(
                packed_names({name: reader.names(part, epochs) for name, part in self._parts.items()})
                if own in committee.addresses
                else b""
                for committee, epochs in sides
            ),
        )
        run = rounds.parties.addresses
        absent = frozenset(run) - {*words}
        needed = [j for j, address in run.items() if address in self.new.addresses]
        self.hander.runs.go_on_without(rounds, absent, needed, self.new.threshold - 1)
        target = self.new.circle(run, frozenset(words))
        chosen, there = agreed(names, {j: words[j][1] for j in target.places})
        if len(there) <= self.new.size - self.new.threshold:
            chosen, there = agreed(names, {j: words[j][0] for j in words if run[j] in self.old.addresses})
            source = self.old.circle(run, there)
        elif there == {*target.places}:
            self._settle(chosen)
            return
        else:  # again, to a new member that was absent
            source = self.new.circle(run, there)
        if len(source.places) < source.threshold:
            raise QuorumError(
                f"{len(source.places)} members of epoch {self.asked.epoch} with shares that fit together "
                f"take part, and {source.threshold} are needed to hand them on: start the others, and repeat"
            )
        rounds.run(self._handed_on(rounds.index, source, target, chosen, rounds.parties.subject))

    def _handed_on(
        self, index: int, source: Circle, target: Circle, chosen: Mapping[str, Bytes32], subject: Bytes32
    ) -> Protocol[None]:
        mine, reader = None, self._reader
        if place := source.places.get(index):
            own = [
                each
                for name, part in self._parts.items()
                for each in reader.read(name, reader.files(part), chosen[name], place)
            ]
            mine = np.concatenate(own, 1)
        files = [each for part in self._parts.values() for each in reader.files(part)]
        sizes, shares, names = [file.size for file, _ in files], list[Array](), list[Bytes32]()
        for first in range(0, sum(sizes), AT_ONCE):
            context = reader.context + subject + first.to_bytes(8, "big")
            hander = HandingOn(index, source, target, FIELD, context, system_rng)
            some = None if mine is None else mine[:, first : first + AT_ONCE]
            share, name = yield from hander.run(some, min(AT_ONCE, sum(sizes) - first))
            shares += [] if share is None else [share]
            names.append(name)
        name = fingerprint(*names)
        if shares:
            by_file = np.split(np.concatenate(shares, 1), np.cumsum(sizes)[:-1], axis=1)
            self._keep(name, dict(zip((uri for _, uri in files), by_file, strict=True)))
        yield Sent()
        self._settle(dict.fromkeys(self._parts, name))

    def _keep(self, name: Bytes32, shares: Mapping[Uri, Array]) -> None:
        self.hander.handed.keep(self.after[-1], name, shares)

    def _settle(self, chosen: Mapping[str, Bytes32]) -> None:
        """Destroys all shares but the chosen; all of them, if this member is not of the new committee."""
        for name, part in self._parts.items():
            files, proof = share_uris(part), part.proof
            others = [] if proof is None else [parse_cid(proof)]
            if self.hander.runs.address in self.new.addresses:
                self.hander.handed.settle(chosen[name], files, others)
            else:
                self.hander.handed.drop([*files, *others])

    @cached_property
    def _parts(self) -> dict[str, SharedPart]:
        """The parts that current versions name, of the models asked for.  Raises RefusedError."""
        models = self.hander.sources.record.catalogue.read().models
        found = {name: models[name].node.shared for name in sorted({*self.asked.names}) if name in models}
        parts = {name: part for name, part in found.items() if part is not None and part.classes}
        require(
            bool(parts) and parts.keys() == {*self.asked.names},
            "models whose shares are to be handed on are named that have none",
        )
        for name, part in parts.items():
            require(part.epoch < self.after[0], f"the part of {name} was dealt to the current members")
        return parts

    @cached_property
    def _reader(self) -> ShareReader:
        features = initial_weights(self.hander.sources.setup.federation)[HEAD].shape[0]
        return ShareReader(self.hander.sources, self.hander.handed, self.hander.runs.secret, features)
