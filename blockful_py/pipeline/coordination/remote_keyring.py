# SPDX-License-Identifier: Apache-2.0
"""Keyrings over the vaults of members in other processes, for their leader or a peer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from blockful_py.committee import codec, wire
from blockful_py.committee.polling import Refusal, at_once
from blockful_py.committee.service.key_custody import MAX_KEYS, delivery_context
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.member_client import MemberClient
from blockful_py.committee.service.messages import DeliveredKey, Empty, KeyDelivery, KeyRequest, Versions
from blockful_py.committee.vault import Vault
from blockful_py.crypto import curve, envelope
from blockful_py.crypto.envelope import MAX_SEALED_BYTES
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import BlockfulError, MessageError, QuorumError, UnreachableError
from blockful_py.keys.sealing import ERASED, Destruction, FoundKeys, Keyring, require_key
from blockful_py.pipeline.coordination.remote_committee import ReachableMember, RemoteCommittee, members_at
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.storage.interface import FileStore
from blockful_py.types import Point, Uri

Answer = TypeVar("Answer")
NO_SUBJECT = bytes(32)


@dataclass(frozen=True, slots=True)
class AskedMember:
    """A responsive member of the current epoch."""

    epoch: int
    index: int
    client: MemberClient
    encryption_key: Point


class PeerKeyring:
    """A member's vault that fetches missing keys from the other members and stores them."""

    def __init__(self, vault: Vault, peers: Keyring, store: FileStore) -> None:
        self._vault = vault
        self._peers = peers
        self._store = store

    def find(self, uris: Collection[Uri]) -> FoundKeys:
        """The keys of the files, borrowed from peers and stored if missing here.

        Raises FormatError for a borrowed key that does not decrypt its file, after storing the other keys.
        """
        own = self._vault.find([uri.digest for uri in uris])
        found = {uri: own[uri.digest] for uri in uris if uri.digest in own}
        missing = [uri for uri in uris if uri not in found]
        if not missing:
            return FoundKeys(found)
        lent = self._peers.find(missing)
        problem = None
        for uri, key in lent.keys.items():
            try:
                require_key(key, self._store.stream(uri, MAX_SEALED_BYTES), uri)
                found[uri] = key
            except BlockfulError as error:
                problem = error
        self._vault.put({uri.digest: found[uri] for uri in missing if uri in found})
        if problem is not None:
            raise problem
        return FoundKeys(found, lent.reason)

    def holds(self, uri: Uri) -> bool:
        return uri.digest in self._vault.versions()


class RemoteKeyring:
    """The keyring of the current epoch's members, all asked at once."""

    def __init__(self, contracts: Contracts, remote: Callable[[], RemoteCommittee]) -> None:
        """Asks `remote` for the members only when needed, since only a leader has the secret to sign
        questions.
        """
        committee = contracts.committee
        self._committee = committee
        self._remote = remote
        self._domain = wire.domain(committee.chain_id, committee.address)
        self._known: tuple[int, tuple[AskedMember, ...]] = (-1, ())
        self._absent: tuple[str, ...] = ()

    def find(self, uris: Collection[Uri]) -> FoundKeys:
        """The keys that any members have, MAX_KEYS a message, and the members' reason for missing ones."""
        wanted = tuple(dict.fromkeys(uris))
        found: dict[Uri, bytes] = {}
        reasons: set[str] = set()
        for start in range(0, len(wanted), MAX_KEYS):
            self._borrow(wanted[start : start + MAX_KEYS], found, reasons)
        if found.keys() >= {*wanted}:
            return FoundKeys(found)
        return FoundKeys(found, f"{ERASED} ({'; '.join(sorted(reasons)) or 'no member answers'})")

    def _borrow(self, wanted: Collection[Uri], found: dict[Uri, bytes], reasons: set[str]) -> None:
        """Adds the keys that members lend to `found`.

        Each member lends all its keys, so missing keys are then asked of members that have not lent yet.  If
        members lend different keys for a file, the majority's counts.
        """
        secret = curve.random_scalar(system_rng)
        lenders: set[int] = set()
        while missing := tuple(uri for uri in wanted if uri not in found):
            borrow = KeyRequest(missing, curve.multiply_base(secret))
            answers = self.ask_all(partial(self._lent, borrow=borrow, secret=secret), 1, lenders)
            reasons |= {str(each.reason) for each in answers.values() if isinstance(each, Refusal)}
            lent = {index: each for index, each in answers.items() if not isinstance(each, Refusal)}
            if not lent:
                return
            lenders |= lent.keys()
            for uri in missing:
                keys = Counter(each[uri] for each in lent.values() if uri in each)
                if keys:
                    found[uri] = keys.most_common(1)[0][0]

    def _lent(self, seat: AskedMember, borrow: KeyRequest, secret: int) -> dict[Uri, bytes]:
        """The requested keys that a member lends.  Raises MessageError if it lends none."""
        answer = seat.client.ask(MessageKind.LEND_KEYS, seat.epoch, NO_SUBJECT, borrow)
        delivery, wanted = codec.decode(KeyDelivery, answer.message.body), {*borrow.versions}
        lent = {each.version: each.wrapped for each in delivery.keys if each.version in wanted}
        if not lent:
            raise MessageError("a member lends none of the keys that it was asked for.")
        return {
            uri: envelope.unwrap(wrapped, secret, delivery_context(self._domain, uri))
            for uri, wrapped in lent.items()
        }

    def holds(self, uri: Uri) -> bool:
        """Always False, since the leader holds no keys."""
        return False

    def deliver(self, keys: Mapping[Uri, bytes]) -> None:
        """Delivers keys to a quorum, or raises QuorumError; absent members get them from peers later."""

        def keep(seat: AskedMember) -> None:
            wrapped = tuple(
                DeliveredKey(
                    uri, envelope.wrap(key, seat.encryption_key, delivery_context(self._domain, uri))
                )
                for uri, key in keys.items()
            )
            answer = seat.client.ask(MessageKind.KEEP_KEYS, seat.epoch, NO_SUBJECT, KeyDelivery(wrapped))
            codec.decode(Empty, answer.message.body)

        roster, quorum = self._committee.roster(self._epoch())
        answers = self.ask_all(keep, quorum)
        taken = sum(not isinstance(answer, Refusal) for answer in answers.values())
        if taken < quorum:
            reasons = [str(each.reason) for each in answers.values() if isinstance(each, Refusal)]
            raise QuorumError(
                f"{taken} of {len(roster.members)} members took the models' keys, {quorum} are needed; "
                f"nothing was changed. {'; '.join([*reasons, *self._absent])}"
            )

    def withdraw(self, uris: Collection[Uri]) -> None:
        """Does nothing: members destroy only keys of replaced versions, since a leader could lie."""

    def destroy(self, uris: Collection[Uri]) -> Destruction:
        versions = Versions(tuple(sorted(set(uris), key=lambda uri: uri.digest)))

        def destroyed(seat: AskedMember) -> Versions:
            answer = seat.client.ask(MessageKind.DESTROY_KEYS, seat.epoch, NO_SUBJECT, versions)
            return codec.decode(Versions, answer.message.body)

        roster, quorum = self._committee.roster(self._epoch())
        answers = self.ask_all(destroyed, quorum)
        done, silent = [], {}
        for index, address in enumerate(roster.members, start=1):
            answer = answers.get(index)
            if isinstance(answer, Versions) and answer == versions:
                done.append(address)
            else:
                silent[address] = str(answer.reason) if isinstance(answer, Refusal) else "does not answer"
        return Destruction(tuple(done), silent)

    def ask_all(
        self, question: Callable[[AskedMember], Answer], needed: int, but: Collection[int] = ()
    ) -> dict[int, Answer | Refusal]:
        """Answers by roster index, of all members except `but`; looks up unreachable members again."""
        answers = at_once(self._seats(but), question, needed)
        refusals = [answer for answer in answers.values() if isinstance(answer, Refusal)]
        gone = self._absent or any(isinstance(each.reason, UnreachableError) for each in refusals)
        if len(answers) - len(refusals) >= needed or not gone:
            return answers
        self._known = (-1, ())
        return at_once(self._seats(but), question, needed)

    def _seats(self, but: Collection[int]) -> tuple[AskedMember, ...]:
        epoch = self._epoch()
        if self._known[0] != epoch:
            roster, quorum = self._committee.roster(epoch)
            reachable = self._remote().reachable(quorum)
            seats = tuple(
                AskedMember(
                    epoch,
                    roster.members.index(each.client.address) + 1,
                    each.client,
                    each.identity.encryption_key,
                )
                for each in members_at(reachable)
                if each.client.address in roster.members
            )
            self._known = (epoch, seats)
            errors = (each for each in reachable.values() if not isinstance(each, ReachableMember))
            self._absent = tuple(map(str, errors))
        return tuple(seat for seat in self._known[1] if seat.index not in but)

    def _epoch(self) -> int:
        return self._committee.current_epoch()
