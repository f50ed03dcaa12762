# SPDX-License-Identifier: Apache-2.0
"""Fetches data keys from members in other processes, for registered readers and participants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from blockful_py.committee import codec
from blockful_py.committee.polling import Refusal, at_once
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.member_client import IndexedClient, MemberClient
from blockful_py.committee.service.messages import ReadRequest, WrappedKey
from blockful_py.crypto import envelope
from blockful_py.errors import BlockfulError, KeyDestroyedError, RefusedError
from blockful_py.keys.access import Access
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.keys.sealing import FoundKeys
from blockful_py.pipeline.coordination.remote_committee import RemoteCommittee
from blockful_py.pipeline.coordination.remote_keyring import AskedMember, RemoteKeyring
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.record.model_node import MAX_NODE_BYTES, parse_node
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Uri


def ask_members(
    contracts: Contracts, remote: RemoteCommittee, access: Access, keys: ReaderKeys, wanted: ReadRequest
) -> bytes:
    """The data key of a current version: the majority's answer among the members that give one.

    Raises RefusedError with the members' reasons, KeyDestroyedError when no member answers.
    """
    epoch = contracts.committee.current_epoch()

    def ask(member: IndexedClient) -> bytes:
        return _given(member.client, epoch, access, keys, wanted)

    return _of_most(at_once(remote.seated(1), ask, 1).values())


class ReaderKeyring(RemoteKeyring):
    """The members' keyring for a participant, which gets the keys of current versions as a reader."""

    def __init__(self, opened: OpenedRun, remote: Callable[[], RemoteCommittee], keys: ReaderKeys) -> None:
        super().__init__(opened.contracts, remote)
        self._opened = opened
        self._keys = keys

    def find(self, uris: Collection[Uri]) -> FoundKeys:
        """The keys of current versions' files and of parts that own parts start from, one by one.

        Raises RefusedError with the members' reasons, KeyDestroyedError when no member answers.
        """
        current = self._opened.catalogue().with_weights.values()
        places = {placed.node.weights: [ReadRequest(placed.position, placed.version)] for placed in current}
        places |= {
            parse_cid(each.weights): [ReadRequest(placed.position, placed.version, increment=number)]
            for placed in current
            for number, each in enumerate(placed.node.increments, start=1)
        }
        if not places.keys() >= set(uris):
            for uri, parts in self._handed_in().items():
                places.setdefault(uri, []).extend(parts)
        return FoundKeys({uri: self._read_any(places[uri]) for uri in uris if uri in places})

    def _handed_in(self) -> dict[Uri, list[ReadRequest]]:
        """By weights, the parts that this participant's own parts start from; others may name the same."""
        store, places = self._opened.stores.live, dict[Uri, list[ReadRequest]]()
        for status in self._opened.docket.admitted():
            for position, uri in status.parts_above(self._keys.account).items():
                with suppress(BlockfulError):  # an unreadable part is missing when its weights are read
                    node = parse_node(store.read(uri, MAX_NODE_BYTES))
                    version = 0 if node.redaction is None else node.redaction.version
                    wanted = ReadRequest(position, version, status.number)
                    places.setdefault(node.weights, []).append(wanted)
        return places

    def _read_any(self, places: Sequence[ReadRequest]) -> bytes:
        """The key for the first of some places for which members give one; errors as for the last."""
        for wanted in places[:-1]:
            with suppress(RefusedError):
                return self._read(wanted)
        return self._read(places[-1])

    def _read(self, wanted: ReadRequest) -> bytes:
        def ask(seat: AskedMember) -> bytes:
            return _given(seat.client, seat.epoch, self._opened.access, self._keys, wanted)

        return _of_most(self.ask_all(ask, 1).values())


def _given(member: MemberClient, epoch: int, access: Access, keys: ReaderKeys, wanted: ReadRequest) -> bytes:
    """The key that a member gives.  Raises EnvelopeError if it cannot be unwrapped, otherwise as `ask`."""
    answer = member.ask(MessageKind.READ_KEY, epoch, bytes(32), wanted)
    wrapped = codec.decode(WrappedKey, answer.message.body).wrapped
    return envelope.unwrap(wrapped, keys.encryption_secret, access.context(keys.account, wanted))


def _of_most(answers: Collection[bytes | Refusal]) -> bytes:
    """The most frequent key among the answers; errors as `ask_members`."""
    given = Counter(each for each in answers if not isinstance(each, Refusal))
    if given:
        return given.most_common(1)[0][0]
    reasons = {str(each.reason) for each in answers if isinstance(each, Refusal)}
    if not reasons:
        raise KeyDestroyedError(
            "no member of the committee answers: nobody can give the key. Ask again later."
        )
    raise RefusedError("; ".join(sorted(reasons)))
