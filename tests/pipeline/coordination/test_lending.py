# SPDX-License-Identifier: Apache-2.0
"""Many keys are borrowed in one message a member, each from any member that has it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blockful_py.committee import codec, wire
from blockful_py.committee.service import key_custody
from blockful_py.committee.service.key_custody import KeyCustody
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.messages import DeliveredKey, KeyDelivery, KeyRequest
from blockful_py.committee.vault import Vault
from blockful_py.crypto import curve, envelope
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import FormatError, KeyDestroyedError, MessageError, UnreachableError
from blockful_py.keys.sealing import ERASED
from blockful_py.pipeline.coordination import remote_keyring
from blockful_py.pipeline.coordination.remote_committee import ReachableMember
from blockful_py.pipeline.coordination.remote_keyring import PeerKeyring, RemoteKeyring
from blockful_py.storage import ContentStore
from blockful_py.types import Codec, Uri

CHAIN, COMMITTEE = 1337, bytes(range(20))
DOMAIN = wire.domain(CHAIN, COMMITTEE)
KEYS = {Uri(bytes([number]) * 32, Codec.RAW): bytes([number + 100]) * 32 for number in range(1, 6)}
FIRST, SECOND, THIRD, *REST = KEYS

Answer = Callable[[KeyDelivery, KeyRequest], KeyDelivery]


@dataclass
class Lender:
    """A member with a vault; `answer` changes its answers, `asked` lists the requested versions."""

    address: bytes
    vault: Vault
    answer: Answer = lambda honest, borrow: honest
    is_away: bool = False
    asked: list[tuple[Uri, ...]] = field(default_factory=list)

    def ask(self, kind: MessageKind, epoch: int, subject: bytes, body: KeyRequest) -> Any:
        assert (kind, epoch) == (MessageKind.LEND_KEYS, 1)
        self.asked.append(body.versions)
        if self.is_away:
            raise UnreachableError("it is away")
        records: Any = SimpleNamespace(require_borrower=lambda address: None)
        honest = KeyCustody(self.vault, 7, DOMAIN, records).lend(bytes(20), body)
        answered = SimpleNamespace(body=codec.encode(self.answer(honest, body)))
        return SimpleNamespace(message=answered)


@pytest.fixture
def lenders(tmp_path: Path) -> list[Lender]:
    """Four members without keys."""
    return [Lender(bytes([n]) * 20, Vault(tmp_path / str(n), n)) for n in range(1, 5)]


@pytest.fixture
def keyring(lenders: list[Lender]) -> RemoteKeyring:
    roster = SimpleNamespace(members=tuple(each.address for each in lenders))
    committee = SimpleNamespace(
        chain_id=CHAIN, address=COMMITTEE, current_epoch=lambda: 1, roster=lambda epoch: (roster, 3)
    )
    identity = SimpleNamespace(encryption_key=curve.G)
    reachable = {str(n): ReachableMember(each, identity) for n, each in enumerate(lenders)}  # type: ignore[arg-type]
    remote = SimpleNamespace(reachable=lambda needed: reachable)
    return RemoteKeyring(SimpleNamespace(committee=committee), lambda: remote)  # type: ignore[arg-type,return-value]


def give(lender: Lender, *uris: Uri) -> None:
    lender.vault.put({uri.digest: KEYS[uri] for uri in uris})


def test_all_keys_cost_one_question_a_member(lenders: list[Lender], keyring: RemoteKeyring) -> None:
    for lender in lenders:
        give(lender, *KEYS)
    assert keyring.find(KEYS).keys == KEYS
    assert [lender.asked for lender in lenders] == [[tuple(KEYS)]] * 4


def test_what_one_member_lacks_comes_from_others(lenders: list[Lender], keyring: RemoteKeyring) -> None:
    give(lenders[0], FIRST, SECOND)
    give(lenders[3], SECOND, THIRD)
    found = keyring.find((FIRST, SECOND, THIRD, *REST))
    assert found.keys == {uri: KEYS[uri] for uri in (FIRST, SECOND, THIRD)}
    with pytest.raises(KeyDestroyedError, match="this member has none of the"):
        found[REST[0]]
    with pytest.raises(KeyDestroyedError):
        found.require(KEYS)
    found.require((FIRST, SECOND, THIRD))


def test_members_that_lent_are_not_asked_for_the_rest(lenders: list[Lender], keyring: RemoteKeyring) -> None:
    give(lenders[0], FIRST)
    give(lenders[1], *KEYS)
    lenders[1].is_away = True
    assert keyring.find((FIRST, SECOND)).keys == {FIRST: KEYS[FIRST]}
    assert lenders[0].asked == [(FIRST, SECOND)]
    lenders[1].is_away = False
    assert keyring.find((FIRST, SECOND)).keys == {uri: KEYS[uri] for uri in (FIRST, SECOND)}


def test_without_any_member_the_reason_says_so(lenders: list[Lender], keyring: RemoteKeyring) -> None:
    for lender in lenders:
        lender.is_away = True
    with pytest.raises(KeyDestroyedError, match="it is away"):
        keyring.find((FIRST,))[FIRST]
    lenders.clear()
    assert keyring.find(()).reason == ERASED


def nothing(honest: KeyDelivery, borrow: KeyRequest) -> KeyDelivery:
    return KeyDelivery(())


def not_asked_for(honest: KeyDelivery, borrow: KeyRequest) -> KeyDelivery:
    return KeyDelivery(tuple(DeliveredKey(REST[-1], each.wrapped) for each in honest.keys))


def of_another_version(honest: KeyDelivery, borrow: KeyRequest) -> KeyDelivery:
    first = honest.keys[0]
    return KeyDelivery(tuple(DeliveredKey(each.version, first.wrapped) for each in honest.keys))


def damaged(honest: KeyDelivery, borrow: KeyRequest) -> KeyDelivery:
    return KeyDelivery(tuple(DeliveredKey(each.version, each.wrapped[:-1]) for each in honest.keys))


@pytest.mark.parametrize("lie", [nothing, not_asked_for, of_another_version, damaged])
def test_a_member_that_lends_nothing_of_use_is_passed_over(
    lie: Answer, lenders: list[Lender], keyring: RemoteKeyring
) -> None:
    wanted = (FIRST, SECOND, THIRD)
    for lender in lenders:
        give(lender, *wanted)
    lenders[0].answer = lie
    assert keyring.find(wanted).keys == {uri: KEYS[uri] for uri in wanted}


def test_one_liar_does_not_replace_the_key_that_others_lend(
    lenders: list[Lender], keyring: RemoteKeyring
) -> None:
    lenders[0].vault.put({FIRST.digest: bytes(32)})
    for lender in lenders[1:3]:
        give(lender, FIRST)
    assert keyring.find((FIRST,)).keys == {FIRST: KEYS[FIRST]}


def test_a_question_asks_for_as_many_keys_as_a_member_allows(
    lenders: list[Lender], keyring: RemoteKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_keyring, "MAX_KEYS", 2)
    for lender in lenders:
        give(lender, *KEYS)
    assert keyring.find(KEYS).keys == KEYS
    assert [len(asked) for asked in lenders[0].asked] == [2, 2, 1]


def test_a_member_refuses_a_question_for_more(lenders: list[Lender]) -> None:
    too_many = KeyRequest((FIRST,) * (key_custody.MAX_KEYS + 1), curve.G)
    with pytest.raises(MessageError, match="10001 keys are asked for at once, 10000 are allowed"):
        lenders[0].ask(MessageKind.LEND_KEYS, 1, bytes(32), too_many)


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[tuple[ContentStore, dict[Uri, bytes]]]:
    """Two sealed files in a store, and their keys."""
    store, keys = ContentStore(tmp_path / "store"), {}
    for content in (b"one", b"two"):
        key = system_rng(envelope.KEY_BYTES)
        keys[store.add(b"".join(envelope.seal(key, io.BytesIO(content))))] = key
    yield store, keys


def test_a_member_stores_what_peers_lend_and_notices_a_false_key(
    tmp_path: Path,
    lenders: list[Lender],
    keyring: RemoteKeyring,
    sealed: tuple[ContentStore, dict[Uri, bytes]],
) -> None:
    store, keys = sealed
    true, false = keys
    for lender in lenders:
        lender.vault.put({true.digest: keys[true], false.digest: bytes(32)})
    own = Vault(tmp_path / "own", 9)
    peer = PeerKeyring(own, keyring, store)
    with pytest.raises(FormatError, match="cannot be decrypted"):
        peer.find(keys)
    assert own.versions() == {true.digest}
    before = len(lenders[0].asked)
    assert peer.find((true,)).keys == {true: keys[true]}
    assert len(lenders[0].asked) == before
