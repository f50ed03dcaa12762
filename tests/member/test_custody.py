# SPDX-License-Identifier: Apache-2.0
"""Members as processes keep data keys, lend them to entitled askers, and destroy them in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from blockful_py.committee import codec, wire
from blockful_py.committee.keystore import MemberKeys
from blockful_py.committee.service.folder import VAULT, keys_in
from blockful_py.committee.service.key_custody import delivery_context
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.messages import (
    DeliveredKey,
    Empty,
    HeadRequest,
    KeyDelivery,
    KeyRequest,
    Versions,
)
from blockful_py.committee.vault import Vault
from blockful_py.crypto import curve, envelope
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import EnvelopeError, MessageError, RefusedError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.weights import equal
from blockful_py.pipeline.coordination.remote_committee import ReachableMember
from blockful_py.pipeline.coordination.remote_keyring import NO_SUBJECT, PeerKeyring, RemoteKeyring
from blockful_py.pipeline.reader import ReaderSession
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.types import Uri
from tests.federations import AFFECTED, GRAPH
from tests.lossy import LossyNode
from tests.member.conftest import Crew, row_of_each_start
from tests.member.leaders import until
from tests.member.processes import WORDS, MemberProcess

READER = ReaderKeys.generate(SeededRng(b"reader"))


@dataclass(frozen=True)
class FirstMember:
    """The first member, and requests to it."""

    crew: Crew
    found: ReachableMember
    epoch: int

    @property
    def domain(self) -> object:
        return self.found.client.signer.domain

    def ask(self, kind: MessageKind, body: object, secret: int | None = None) -> bytes:
        client = self.found.client
        if secret is not None:
            client = replace(client, signer=wire.MessageSigner(secret, client.signer.domain))
        return client.ask(kind, self.epoch, NO_SUBJECT, body).message.body

    def weights(self, name: str) -> Uri:
        return self.crew.federation.catalogue()[name].node.weights


@pytest.fixture(scope="module")
def first(crew: Crew) -> FirstMember:
    found = next(
        each for each in crew.federation.epochs.reachable().values() if isinstance(each, ReachableMember)
    )
    return FirstMember(crew, found, crew.federation.contracts.committee.current_epoch())


@pytest.fixture
def session(crew: Crew) -> Iterator[ReaderSession]:
    with ReaderSession(crew.federation.run.path, READER, crew.federation.nodes) as found:
        yield found


def secrets(member: MemberProcess) -> MemberKeys:
    return keys_in(member.folder, WORDS)


def kept(member: MemberProcess) -> frozenset[bytes]:
    return Vault(member.folder / VAULT, secrets(member).voting_secret).versions()


def test_a_stranger_reads_nothing_and_a_reader_reads(crew: Crew, session: ReaderSession) -> None:
    with pytest.raises(RefusedError, match="is not a registered reader"):
        session.read("a")
    session.register()
    assert equal(session.read("a"), crew.federation.models()["a"].weights)
    session.leave()
    with pytest.raises(RefusedError, match="is not a registered reader"):
        session.read("a")


def test_one_member_that_answers_is_enough_to_read(crew: Crew, session: ReaderSession) -> None:
    session.register()
    for member in crew.members[1:]:
        member.kill()
    try:
        assert session.read("b")
    finally:
        for member in crew.members[1:]:
            member.start()


def test_a_key_that_opens_nothing_keeps_nobody_from_reading(crew: Crew, session: ReaderSession) -> None:
    session.register()
    with crew.members[0].cheating("false keys"):
        assert equal(session.read("b"), crew.federation.models()["b"].weights)


def test_after_an_erasure_no_member_has_the_key(crew: Crew, first: FirstMember) -> None:
    old = {first.weights(name) for name in AFFECTED}
    erasure = crew.federation.unlearn(forget=row_of_each_start(0)).erasure
    assert erasure is not None
    assert {version.weights for version in erasure.versions} >= old
    assert set(erasure.destruction.destroyed) == {member.address for member in crew.members}
    for member in crew.members:
        assert not kept(member) & {uri.digest for uri in old}


def test_a_member_that_was_away_destroys_and_fetches_keys_by_itself(crew: Crew, first: FirstMember) -> None:
    away = crew.members[3]
    old = {first.weights(name).digest for name in AFFECTED}
    with away.dead():
        erasure = crew.federation.unlearn(forget=row_of_each_start(1)).erasure
        assert erasure is not None
        assert set(erasure.destruction.silent) == {away.address}
        assert "Not done yet at" in erasure.account()
        assert old <= kept(away)
    current = {first.weights(name).digest for name in crew.federation.catalogue().models}
    until(lambda: not old & kept(away) and current <= kept(away))


@contextmanager
def reaching(member: MemberProcess, nodes: Sequence[LossyNode], archive: str, log: Path) -> Iterator[None]:
    """Restarts the member with these nodes of the live chain, and as before after the block."""
    arguments = member.arguments
    named = [word for node in nodes for word in ("--live-url", node.url)]
    member.kill()
    member.arguments, member.log = [*named, "--archive-url", archive, *arguments[4:]], log
    member.start()
    try:
        yield
    finally:
        member.kill()
        member.arguments, member.log = arguments, None
        member.start()


def test_a_member_whose_node_leaves_events_out_says_so_and_goes_on(
    crew: Crew, first: FirstMember, chains: Nodes, tmp_path: Path
) -> None:
    """It concludes neither that old versions are current nor that new ones are."""
    away, log = crew.members[3], tmp_path / "log"
    old = {first.weights(name).digest for name in AFFECTED}
    with LossyNode(chains.live.url) as node, reaching(away, [node], chains.archive.url, log):
        live = crew.federation.contracts.live
        until(lambda: old <= kept(away))
        node.losses.leave_out(live.address)
        crew.federation.unlearn(forget=row_of_each_start(3))
        until(lambda: f"the node at {node.url} lists" in away.reported())
        assert old <= kept(away)
        node.losses.mend()
        until(lambda: not old & kept(away))


def test_a_member_keeps_keys_while_two_nodes_disagree(
    crew: Crew, first: FirstMember, chains: Nodes, tmp_path: Path
) -> None:
    away, log = crew.members[3], tmp_path / "log"
    old = {first.weights(name).digest for name in AFFECTED}
    with (
        LossyNode(chains.live.url) as used,
        LossyNode(chains.live.url) as other,
        reaching(away, [used, other], chains.archive.url, log),
    ):
        until(lambda: old <= kept(away))
        other.losses.height = chains.live.block_number()
        crew.federation.unlearn(forget=row_of_each_start(4))
        until(lambda: f"the node at {other.url} does not say how many events LiveChain" in away.reported())
        assert old <= kept(away)
        other.losses.mend()
        until(lambda: not old & kept(away))


def test_keys_are_lent_to_peers_wrapped_for_them(crew: Crew, first: FirstMember) -> None:
    uri, reply = first.weights("a"), curve.random_scalar(SeededRng(b"reply"))
    peer = secrets(crew.members[1]).voting_secret
    unknown = Uri(bytes(32), uri.codec)
    body = first.ask(MessageKind.LEND_KEYS, KeyRequest((unknown, uri), curve.multiply_base(reply)), peer)
    context = delivery_context(first.found.client.signer.domain, uri)
    (lent,) = codec.decode(KeyDelivery, body).keys
    kept = crew.federation.context.keys.keyring.find((uri,))[uri]
    assert (lent.version, envelope.unwrap(lent.wrapped, reply, context)) == (uri, kept)
    with pytest.raises(EnvelopeError):
        envelope.unwrap(lent.wrapped, peer, context)


def test_a_reader_cannot_ask_as_a_peer(first: FirstMember) -> None:
    body = KeyRequest((first.weights("a"),), READER.encryption_key)
    for kind in (MessageKind.LEND_KEYS, MessageKind.DESTROY_KEYS, MessageKind.KEEP_KEYS):
        with pytest.raises(MessageError, match="neither a member of this committee nor a leader it serves"):
            first.ask(kind, body, READER.account_secret)


def test_a_leader_cannot_have_the_key_of_a_current_version_destroyed(crew: Crew, first: FirstMember) -> None:
    with pytest.raises(RefusedError, match="1 of 1 versions were not replaced"):
        first.ask(MessageKind.DESTROY_KEYS, Versions((first.weights("a"),)))
    assert crew.federation.models()


def test_a_key_that_opens_nothing_is_not_kept(first: FirstMember) -> None:
    uri = first.weights("a")
    context = delivery_context(first.found.client.signer.domain, uri)
    wrapped = envelope.wrap(bytes(32), first.found.identity.encryption_key, context)
    with pytest.raises(RefusedError, match="the key does not decrypt this version"):
        first.ask(MessageKind.KEEP_KEYS, KeyDelivery((DeliveredKey(uri, wrapped),)))


def test_a_key_that_is_kept_already_changes_nothing(crew: Crew, first: FirstMember) -> None:
    uri = first.weights("a")
    key = crew.federation.context.keys.keyring.find((uri,))[uri]
    context = delivery_context(first.found.client.signer.domain, uri)
    wrapped = envelope.wrap(key, first.found.identity.encryption_key, context)
    body = first.ask(MessageKind.KEEP_KEYS, KeyDelivery((DeliveredKey(uri, wrapped),)))
    assert codec.decode(Empty, body) == Empty()


def test_no_secret_travels_or_rests_in_the_clear(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    from blockful_py.committee.service import member_client as client

    sent: list[bytes] = []
    real = client.post

    def post(url: str, data: bytes, *more: Any) -> bytes:
        answer = real(url, data, *more)
        sent.extend((data, answer))
        return answer

    monkeypatch.setattr(client, "post", post)
    federation = crew.federation
    uri = federation.catalogue()["a"].node.weights
    keyring = federation.context.keys.keyring
    assert isinstance(keyring, RemoteKeyring)
    key = keyring.find((uri,))[uri]
    keyring.deliver({uri: key})
    assert sent
    assert not any(key in data or key.hex().encode() in data for data in sent)
    for member in crew.members:
        for path in member.folder.rglob("*"):
            assert not (path.is_file() and (key in (data := path.read_bytes()) or key.hex().encode() in data))


def test_reading_all_models_costs_as_many_questions_and_calls_as_reading_one(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One question to each member, for any number of models."""
    from blockful_py.chain.rpc import JsonRpc
    from blockful_py.committee.service import member_client as client

    kinds: list[str] = []
    calls: list[str] = []
    post, batch = client.post, JsonRpc.batch

    def counted_post(url: str, data: bytes, *more: Any) -> bytes:
        line = wire.open_line(keyring._domain, wire.first_line(data))
        kinds.append(line.header.kind)
        return post(url, data, *more)

    def counted_batch(self: JsonRpc, requests: Sequence[Any]) -> list[Any]:
        calls.extend(method for method, _ in requests)
        return batch(self, requests)

    federation = crew.federation
    keyring = federation.context.keys.keyring
    assert isinstance(keyring, RemoteKeyring)
    weights = [placed.node.weights for placed in federation.catalogue().models.values()]
    assert len(weights) == len(GRAPH)
    keyring.find(weights)  # finds the members
    monkeypatch.setattr(client, "post", counted_post)
    monkeypatch.setattr(JsonRpc, "batch", counted_batch)
    counts = []
    for uris in (weights[:1], weights):
        kinds.clear()
        calls.clear()
        assert len([*federation.weights.read_each(uris)]) == len(uris)
        counts.append((sorted(kinds), sorted(calls)))
    assert counts[0] == counts[1]
    assert counts[0][0] == [MessageKind.LEND_KEYS.label] * len(crew.members)


def test_a_member_fetches_all_missing_keys_with_a_question_to_each_other(
    crew: Crew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from blockful_py.committee.service import member_client as client

    federation, asked = crew.federation, list[str]()
    keyring = federation.context.keys.keyring
    post = client.post

    def counted(url: str, data: bytes, *more: Any) -> bytes:
        asked.append(url)
        return post(url, data, *more)

    weights = [placed.node.weights for placed in federation.catalogue().models.values()]
    vault = Vault(tmp_path / "empty", 7)
    peer = PeerKeyring(vault, keyring, federation.stores.live)
    keyring.find(weights[:1])
    monkeypatch.setattr(client, "post", counted)
    assert peer.find(weights).keys.keys() == {*weights}
    assert sorted(asked) == sorted(member.url for member in crew.members)
    assert vault.versions() == {uri.digest for uri in weights}
    assert peer.find(weights).keys.keys() == {*weights}
    assert len(asked) == len(crew.members)


def test_members_run_nothing_on_shares_where_sums_are_not_shared(crew: Crew, first: FirstMember) -> None:
    secret = secrets(crew.members[1]).voting_secret
    with pytest.raises(RefusedError, match="shares no sums"):
        first.ask(MessageKind.CARRY_SHARES, b"", secret)
    with pytest.raises(RefusedError, match="shares no sums"):
        first.ask(MessageKind.OPEN_HEADS, HeadRequest(("a",), 1, (), b""))
