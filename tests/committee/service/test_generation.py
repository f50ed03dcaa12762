# SPDX-License-Identifier: Apache-2.0
"""Key generation over HTTP among members of this process: failing ones are left out, liars are caught."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from blockful_py.committee import codec, wire
from blockful_py.committee.service.generation import Charter, Generation
from blockful_py.committee.service.key_leader import Generated, generate_among, settle
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.member_client import MemberClient, identify
from blockful_py.committee.service.messages import Complaints, Empty, HeldShare, RelayedAnswers
from blockful_py.crypto import chameleon, curve
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.threshold.keys import CommitteeKey, KeyShare
from blockful_py.crypto.threshold.messages import Complaint, Confirmation, Task
from blockful_py.crypto.threshold.signing import ThresholdSigner
from blockful_py.errors import CheaterError, MessageError, QuorumError, RefusedError
from tests.committee.service.dealers import CROOKED, DOMAIN, IDENTITY, LEADER, Hand, Party, party
from tests.crypto.committee import collide_together


def opens(generated: Generated, shares: Sequence[KeyShare]) -> bool:
    """Whether t of the shares make a collision under the key."""
    key = generated.key
    h, _ = chameleon.hash_message(key.group_key, bytes(32), bytes(32))
    task = Task(bytes(32), bytes([1]) * 32, h)
    signers = [ThresholdSigner(share) for share in shares[: key.threshold]]
    (opening,) = collide_together(key, signers, b"session", [task])
    return chameleon.verify(key.group_key, task.label, task.message, h, opening)


@pytest.mark.parametrize("size", [1, 4, 7])
def test_all_hold_shares_of_the_key_that_all_confirm(size: int) -> None:
    with party(size) as gathered:
        generated = gathered.generate(minimum=size)
        shares = [shelf.kept[0] for shelf in gathered.shelves]
        assert [share.index for share in shares] == list(range(1, size + 1))
        assert {share.public for share in shares} == {generated.key}
        assert generated.excluded == ()
        assert opens(generated, shares)


def test_a_dead_member_is_left_out() -> None:
    with party(4) as gathered:
        gathered.servers[1].close()
        generated = gathered.generate()
        (reason,) = generated.excluded
        assert gathered.clients[1].url in reason
        assert generated.key.size == 3
        assert opens(generated, [gathered.shelves[place].kept[0] for place in (0, 2, 3)])


@pytest.mark.parametrize("place", [1, 2, 4])
def test_an_elected_member_that_is_dead_keeps_its_seat_and_the_others_their_indices(place: int) -> None:
    with party(4) as gathered:
        gathered.servers[place - 1].close()
        generated = generate_among(gathered.clients, gathered.elected_charter, 3)
        alive = [index for index in range(1, 5) if index != place]
        shares = [gathered.shelves[index - 1].kept[0] for index in alive]
        assert [share.index for share in shares] == alive == list(generated.charter.dealers)
        assert (generated.key.size, generated.key.threshold) == (4, 3)
        assert opens(generated, shares)


def test_an_elected_member_that_cheats_has_no_share_of_the_key() -> None:
    with party(4, {2: CROOKED["proves no possession"]}) as gathered:
        generated = generate_among(gathered.clients, gathered.elected_charter, 3)
        assert generated.charter.dealers == (1, 3, 4)
        assert not gathered.shelves[1].kept
        assert opens(generated, [gathered.shelves[index].kept[0] for index in (0, 2, 3)])


def test_members_settle_on_a_key_that_a_quorum_holds() -> None:
    with party(4) as gathered:
        gathered.servers[2].close()
        generated = generate_among(gathered.clients, gathered.elected_charter, 3)
        assert settle(gathered.clients, 2, generated.key.key_id, 3) == 3
        assert [len(shelf.settled) for shelf in gathered.shelves] == [1, 1, 0, 1]
        gathered.servers[0].close()
        assert settle(gathered.clients, 2, generated.key.key_id, 3) == 2
        assert sum(len(shelf.settled) for shelf in gathered.shelves) == 3


def test_nobody_settles_on_a_key_that_is_shown_to_be_held_by_too_few() -> None:
    with party(4) as gathered:
        generated = gathered.generate()
        key_id, client = generated.key.key_id, gathered.clients[0]
        held = [
            each.ask(MessageKind.KEY_HELD, 2, key_id, Empty()).envelope.decode() for each in gathered.clients
        ]
        for shown in (held[:2], [held[0]] * 4):
            with pytest.raises(RefusedError, match="of 4 members are shown to hold shares"):
                client.ask(MessageKind.KEY_SETTLE, 2, key_id, RelayedAnswers(tuple(shown)))
        with pytest.raises(RefusedError, match="no share of the group key"):
            client.ask(MessageKind.KEY_SETTLE, 2, bytes(32), RelayedAnswers(tuple(held)))
        other = gathered.elected_charter(tuple(each.address for each in gathered.clients[1:]))
        forged = codec.encode(HeldShare(other.digest()))
        signers = [
            wire.MessageSigner(curve.random_scalar(SeededRng(b"member", index)), DOMAIN) for index in (3, 4)
        ]
        lies = []
        for signer in signers:
            question = LEADER.question(
                MessageKind.KEY_HELD.label, 2, key_id, MessageKind.KEY_HELD.round, signer.address, b"{}"
            )
            lies.append(signer.answer(question, wire.ANSWERED, forged).envelope.decode())
        with pytest.raises(RefusedError, match="2 of 4 members"):
            client.ask(MessageKind.KEY_SETTLE, 2, key_id, RelayedAnswers((*held[:2], *lies)))
        assert not any(shelf.settled for shelf in gathered.shelves)
        client.ask(MessageKind.KEY_SETTLE, 2, key_id, RelayedAnswers(tuple(held[:3])))
        assert gathered.shelves[0].settled == [key_id]


def test_members_tell_the_public_half_of_a_key() -> None:
    with party(4) as gathered:
        generated = gathered.generate()
        for client in gathered.clients:
            answer = client.ask(MessageKind.TELL_KEY, 2, generated.key.key_id, Empty())
            assert codec.decode(CommitteeKey, answer.message.body) == generated.key
        with pytest.raises(RefusedError, match="no share of the group key"):
            gathered.clients[0].ask(MessageKind.TELL_KEY, 2, bytes(32), Empty())


def test_too_few_are_left_and_nothing_is_made() -> None:
    with party(4) as gathered:
        gathered.servers[1].close()
        gathered.servers[3].close()
        with pytest.raises(QuorumError, match=r"2 members remain .* 3 are needed; no key was made"):
            gathered.generate()
        assert all(not shelf.kept for shelf in gathered.shelves)


@pytest.mark.parametrize("hand", CROOKED.values(), ids=CROOKED.keys())
@pytest.mark.parametrize("place", [1, 4])
def test_a_crooked_member_is_named_and_left_out(hand: Hand, place: int) -> None:
    with party(4, {place: hand}) as gathered:
        generated = gathered.generate()
        (reason,) = generated.excluded
        assert "0x" + gathered.clients[place - 1].address.hex() in reason
        honest = [shelf for index, shelf in enumerate(gathered.shelves, start=1) if index != place]
        assert opens(generated, [shelf.kept[-1] for shelf in honest])


def test_one_false_complaint_is_answered_in_public() -> None:
    def complain(kind: MessageKind, message: wire.Message, honest: Any) -> Any:
        return Complaints((Complaint(2, 1),)) if isinstance(honest, Complaints) else honest

    with party(4, {2: complain}) as gathered:
        generated = gathered.generate()
        assert generated.excluded == ()
        assert opens(generated, [shelf.kept[0] for shelf in gathered.shelves])


def test_members_that_were_shown_different_broadcasts_make_no_key() -> None:
    """A colluding leader and member show two versions of the member's reveal."""
    with party(4) as gathered:
        traitor = curve.random_scalar(SeededRng(b"member", 4))
        address = gathered.clients[3].address
        signer = wire.MessageSigner(traitor, DOMAIN)
        charter = gathered.charter(tuple(client.address for client in gathered.clients))
        subject = charter.digest()
        sides = [
            Generation(charter, address, LEADER.address, DOMAIN, SeededRng(b"a side", n)) for n in (0, 1)
        ]
        sides[1]._sealing_secret = sides[0]._sealing_secret
        honest = gathered.clients[:3]

        def sent(client: MemberClient, kind: MessageKind, body: Any) -> wire.Received:
            return client.ask(kind, 2, subject, body)

        def forged(kind: MessageKind, body: Any) -> wire.Received:
            question = LEADER.question(kind.label, 2, subject, kind.round, address, b"{}")
            return signer.answer(question, wire.ANSWERED, codec.encode(body))

        def relayed(answers: Sequence[wire.Received]) -> RelayedAnswers:
            return RelayedAnswers(tuple(each.envelope.decode() for each in answers))

        views = [[sent(client, MessageKind.KEY_COMMIT, charter) for client in honest]] * 2
        views = [
            [*view, forged(MessageKind.KEY_COMMIT, side.open())]
            for view, side in zip(views, sides, strict=True)
        ]
        shown = [0, 0, 1]
        steps: dict[MessageKind, Callable[[Generation, wire.Message, RelayedAnswers], Any]] = {
            MessageKind.KEY_REVEAL: Generation.reveal,
            MessageKind.KEY_DEAL: Generation.deal,
            MessageKind.KEY_RECEIVE: Generation.receive,
            MessageKind.KEY_ANSWER: Generation.answer,
            MessageKind.KEY_CONFIRM: Generation.confirm,
        }
        for kind, step in steps.items():
            answers = [
                sent(client, kind, relayed(views[side])) for client, side in zip(honest, shown, strict=True)
            ]
            views = [
                [*answers, forged(kind, step(part, _asked(kind, subject, relayed(view)), relayed(view)))]
                for view, part in zip(views, sides, strict=True)
            ]
        for client, side in zip(honest, shown, strict=True):
            with pytest.raises(RefusedError, match="saw other broadcasts"):
                sent(client, MessageKind.KEY_FINISH, relayed(views[side]))
        assert all(not shelf.kept for shelf in gathered.shelves)


def _asked(kind: MessageKind, subject: bytes, body: RelayedAnswers) -> wire.Message:
    return LEADER.question(kind.label, 2, subject, kind.round, bytes(20), codec.encode(body)).message


def test_relayed_messages_are_of_this_generation_and_whole() -> None:
    with party(4) as gathered:
        charter = gathered.charter(tuple(client.address for client in gathered.clients))
        other = replace(charter, salt=bytes(32))
        first = [
            client.ask(MessageKind.KEY_COMMIT, 2, charter.digest(), charter) for client in gathered.clients
        ]
        stale = [client.ask(MessageKind.KEY_COMMIT, 2, other.digest(), other) for client in gathered.clients]
        client, subject = gathered.clients[0], charter.digest()

        def reveal(answers: Sequence[wire.Received]) -> None:
            client.ask(
                MessageKind.KEY_REVEAL,
                2,
                subject,
                RelayedAnswers(tuple(each.envelope.decode() for each in answers)),
            )

        for answers, reason in (
            ([stale[0], *first[1:]], "is not the answer of"),
            ([*first, first[0]], "two messages of member 1"),
            (first[:3], "the answer in round 1"),
        ):
            with pytest.raises((RefusedError, CheaterError), match=reason):
                reveal(answers)
        reveal(first)


def test_who_may_not_lead_is_refused() -> None:
    with party(4) as gathered:
        stranger = wire.MessageSigner(curve.random_scalar(SeededRng(b"stranger")), DOMAIN)
        charter = gathered.charter(tuple(client.address for client in gathered.clients))
        client = replace(gathered.clients[0], signer=stranger)
        with pytest.raises(MessageError, match="neither a member of this committee nor a leader"):
            client.ask(MessageKind.KEY_COMMIT, 2, charter.digest(), charter)


def test_charters_are_checked() -> None:
    with party(4) as gathered:
        members = tuple(client.address for client in gathered.clients)
        charter, client = gathered.charter(members), gathered.clients[0]
        with pytest.raises(RefusedError, match="another epoch"):
            client.ask(MessageKind.KEY_COMMIT, 3, (wrong := gathered.charter(members, 3)).digest(), wrong)
        with pytest.raises(RefusedError, match="names another epoch or subject than its envelope"):
            client.ask(MessageKind.KEY_COMMIT, 2, bytes(32), charter)
        without = gathered.charter(members[1:])
        with pytest.raises(RefusedError, match="is not a dealer of this key generation"):
            client.ask(MessageKind.KEY_COMMIT, 2, without.digest(), without)
        client.ask(MessageKind.KEY_COMMIT, 2, charter.digest(), charter)
        with pytest.raises(RefusedError, match="has begun"):
            client.ask(MessageKind.KEY_COMMIT, 2, charter.digest(), charter)
        with pytest.raises(RefusedError, match="run once, in order"):
            client.ask(MessageKind.KEY_FINISH, 2, charter.digest(), _confirmations(gathered, charter))


def _confirmations(gathered: Party, charter: Charter) -> RelayedAnswers:
    answers = []
    for index, client in enumerate(gathered.clients, start=1):
        signer = wire.MessageSigner(curve.random_scalar(SeededRng(b"member", index)), DOMAIN)
        kind = MessageKind.KEY_CONFIRM
        question = LEADER.question(kind.label, 2, charter.digest(), kind.round, client.address, b"{}")
        body = codec.encode(Confirmation(index, bytes(32)))
        answers.append(signer.answer(question, wire.ANSWERED, body).envelope.decode())
    return RelayedAnswers(tuple(answers))


def test_a_member_says_who_it_is() -> None:
    with party(1) as gathered:
        address, identity = identify(gathered.servers[0].url, LEADER, 20)
        assert address == gathered.clients[0].address
        assert identity == IDENTITY


def test_shares_show_nowhere() -> None:
    with party(4) as gathered:
        gathered.generate()
        share = gathered.shelves[0].kept[0]
        assert not re.search(rf"{share.secret}|{share.secret:x}", repr(gathered))
