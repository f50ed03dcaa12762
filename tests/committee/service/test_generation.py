# SPDX-License-Identifier: Apache-2.0
"""Key generation over HTTP among members of this process: who fails is left out, who lies is caught."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from blockful_py.committee import codec, wire
from blockful_py.committee.service.generation import Charter, Generation
from blockful_py.committee.service.key_leader import Generated, generate_among, settle
from blockful_py.committee.service.member_client import Line, identify
from blockful_py.committee.service.messages import (
    Ask,
    Complaints,
    Holding,
    Identity,
    Nothing,
    Relayed,
)
from blockful_py.crypto import chameleon, curve
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.threshold.keys import CommitteeKey, KeyShare
from blockful_py.crypto.threshold.local import collide_together
from blockful_py.crypto.threshold.messages import Complaint, Confirmation, Task
from blockful_py.crypto.threshold.signing import Signer
from blockful_py.errors import CheaterError, MessageError, QuorumError, RefusedError
from tests.committee.service.dealers import CROOKED, DOMAIN, LEADER, LEADER_KEY, Hand, Party, party


def opens(generated: Generated, shares: Sequence[KeyShare]) -> bool:
    """Whether t of the shares make a collision under the key."""
    key = generated.key
    h, _ = chameleon.hash_message(key.group_key, bytes(32), bytes(32), SeededRng(b"h"))
    task = Task(bytes(32), bytes([1]) * 32, h)
    signers = [Signer(share) for share in shares[: key.threshold]]
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
        assert gathered.lines[1].url in reason
        assert generated.key.size == 3
        assert opens(generated, [gathered.shelves[place].kept[0] for place in (0, 2, 3)])


@pytest.mark.parametrize("place", [1, 2, 4])
def test_an_elected_member_that_is_dead_keeps_its_seat_and_the_others_their_indices(place: int) -> None:
    with party(4) as gathered:
        gathered.servers[place - 1].close()
        generated = generate_among(gathered.lines, gathered.elected_charter, 3)
        alive = [index for index in range(1, 5) if index != place]
        shares = [gathered.shelves[index - 1].kept[0] for index in alive]
        assert [share.index for share in shares] == alive == list(generated.charter.dealers)
        assert (generated.key.size, generated.key.threshold) == (4, 3)
        assert opens(generated, shares)


def test_an_elected_member_that_cheats_has_no_share_of_the_key() -> None:
    with party(4, {2: CROOKED["proves no possession"]}) as gathered:
        generated = generate_among(gathered.lines, gathered.elected_charter, 3)
        assert generated.charter.dealers == (1, 3, 4)
        assert not gathered.shelves[1].kept
        assert opens(generated, [gathered.shelves[index].kept[0] for index in (0, 2, 3)])


def test_members_settle_on_a_key_that_a_quorum_holds() -> None:
    with party(4) as gathered:
        gathered.servers[2].close()
        generated = generate_among(gathered.lines, gathered.elected_charter, 3)
        assert settle(gathered.lines, 2, generated.key.key_id, 3) == 3
        assert [len(shelf.settled) for shelf in gathered.shelves] == [1, 1, 0, 1]
        gathered.servers[0].close()
        assert settle(gathered.lines, 2, generated.key.key_id, 3) == 2
        assert sum(len(shelf.settled) for shelf in gathered.shelves) == 3


def test_nobody_settles_on_a_key_that_is_shown_to_be_held_by_too_few() -> None:
    with party(4) as gathered:
        generated = gathered.generate()
        key_id, line = generated.key.key_id, gathered.lines[0]
        held = [each.ask(Ask.KEY_HELD, 2, key_id, Nothing()).envelope.decode() for each in gathered.lines]
        for shown in (held[:2], [held[0]] * 4):
            with pytest.raises(RefusedError, match="of 4 members are shown to hold shares"):
                line.ask(Ask.KEY_SETTLE, 2, key_id, Relayed(tuple(shown)))
        with pytest.raises(RefusedError, match="no share of the group key"):
            line.ask(Ask.KEY_SETTLE, 2, bytes(32), Relayed(tuple(held)))
        other = gathered.elected_charter(tuple(each.address for each in gathered.lines[1:]))
        forged = codec.encode(Holding(other.digest()))
        pens = [wire.Pen(curve.random_scalar(SeededRng(b"member", index)), DOMAIN) for index in (3, 4)]
        lies = []
        for pen in pens:
            question = LEADER.question(Ask.KEY_HELD.kind, 2, key_id, Ask.KEY_HELD.round, pen.address, b"{}")
            lies.append(pen.answer(question, wire.ANSWERED, forged).envelope.decode())
        with pytest.raises(RefusedError, match="2 of 4 members"):
            line.ask(Ask.KEY_SETTLE, 2, key_id, Relayed((*held[:2], *lies)))
        assert not any(shelf.settled for shelf in gathered.shelves)
        line.ask(Ask.KEY_SETTLE, 2, key_id, Relayed(tuple(held[:3])))
        assert gathered.shelves[0].settled == [key_id]


def test_members_tell_the_public_half_of_a_key() -> None:
    with party(4) as gathered:
        generated = gathered.generate()
        for line in gathered.lines:
            answer = line.ask(Ask.TELL_KEY, 2, generated.key.key_id, Nothing())
            assert codec.decode(CommitteeKey, answer.message.body) == generated.key
        with pytest.raises(RefusedError, match="no share of the group key"):
            gathered.lines[0].ask(Ask.TELL_KEY, 2, bytes(32), Nothing())


def test_too_few_are_left_and_nothing_is_made() -> None:
    with party(4) as gathered:
        gathered.servers[1].close()
        gathered.servers[3].close()
        with pytest.raises(QuorumError, match=r"2 members are left .* 3 are needed; no key was made"):
            gathered.generate()
        assert all(not shelf.kept for shelf in gathered.shelves)


@pytest.mark.parametrize("hand", CROOKED.values(), ids=CROOKED.keys())
@pytest.mark.parametrize("place", [1, 4])
def test_a_crooked_member_is_named_and_left_out(hand: Hand, place: int) -> None:
    with party(4, {place: hand}) as gathered:
        generated = gathered.generate()
        (reason,) = generated.excluded
        assert "0x" + gathered.lines[place - 1].address.hex() in reason
        honest = [shelf for index, shelf in enumerate(gathered.shelves, start=1) if index != place]
        assert opens(generated, [shelf.kept[-1] for shelf in honest])


def test_one_false_complaint_is_answered_in_public() -> None:
    def complain(ask: Ask, message: wire.Message, honest: Any) -> Any:
        return Complaints((Complaint(2, 1),)) if isinstance(honest, Complaints) else honest

    with party(4, {2: complain}) as gathered:
        generated = gathered.generate()
        assert generated.excluded == ()
        assert opens(generated, [shelf.kept[0] for shelf in gathered.shelves])


def test_members_that_were_shown_different_broadcasts_make_no_key() -> None:
    """A leader and a member in league show two versions of the member's reveal."""
    with party(4) as gathered:
        traitor = curve.random_scalar(SeededRng(b"member", 4))
        address = gathered.lines[3].address
        pen = wire.Pen(traitor, DOMAIN)
        charter = gathered.charter(tuple(line.address for line in gathered.lines))
        subject = charter.digest()
        sides = [
            Generation(charter, address, LEADER.address, DOMAIN, SeededRng(b"a side", n)) for n in (0, 1)
        ]
        sides[1]._sealing_secret = sides[0]._sealing_secret
        honest = gathered.lines[:3]

        def sent(line: Line, ask: Ask, body: Any) -> wire.Received:
            return line.ask(ask, 2, subject, body)

        def forged(ask: Ask, body: Any) -> wire.Received:
            question = LEADER.question(ask.kind, 2, subject, ask.round, address, b"{}")
            return pen.answer(question, wire.ANSWERED, codec.encode(body))

        def relayed(answers: Sequence[wire.Received]) -> Relayed:
            return Relayed(tuple(each.envelope.decode() for each in answers))

        views = [[sent(line, Ask.KEY_COMMIT, charter) for line in honest]] * 2
        views = [
            [*view, forged(Ask.KEY_COMMIT, side.open())] for view, side in zip(views, sides, strict=True)
        ]
        shown = [0, 0, 1]
        for ask in (Ask.KEY_REVEAL, Ask.KEY_DEAL, Ask.KEY_RECEIVE, Ask.KEY_ANSWER, Ask.KEY_CONFIRM):
            answers = [
                sent(line, ask, relayed(views[side])) for line, side in zip(honest, shown, strict=True)
            ]
            views = [
                [*answers, forged(ask, part.step(ask, _asked(ask, subject, relayed(view))))]
                for view, part in zip(views, sides, strict=True)
            ]
        for line, side in zip(honest, shown, strict=True):
            with pytest.raises(RefusedError, match="saw other broadcasts"):
                sent(line, Ask.KEY_FINISH, relayed(views[side]))
        assert all(not shelf.kept for shelf in gathered.shelves)


def _asked(ask: Ask, subject: bytes, body: Relayed) -> wire.Message:
    return wire.Message(
        ask.kind, 2, subject, ask.round, LEADER.address, bytes(20), bytes(32), codec.encode(body)
    )


def test_relayed_messages_are_of_this_generation_and_whole() -> None:
    with party(4) as gathered:
        charter = gathered.charter(tuple(line.address for line in gathered.lines))
        other = replace(charter, salt=bytes(32))
        first = [line.ask(Ask.KEY_COMMIT, 2, charter.digest(), charter) for line in gathered.lines]
        stale = [line.ask(Ask.KEY_COMMIT, 2, other.digest(), other) for line in gathered.lines]
        line, subject = gathered.lines[0], charter.digest()

        def reveal(answers: Sequence[wire.Received]) -> None:
            line.ask(Ask.KEY_REVEAL, 2, subject, Relayed(tuple(each.envelope.decode() for each in answers)))

        for answers, reason in (
            ([stale[0], *first[1:]], "is not what"),
            ([*first, first[0]], "two messages of member 1"),
            (first[:3], "the answer to keygen-commit"),
        ):
            with pytest.raises((RefusedError, CheaterError), match=reason):
                reveal(answers)
        reveal(first)


def test_who_may_not_lead_is_refused() -> None:
    with party(4) as gathered:
        stranger = wire.Pen(curve.random_scalar(SeededRng(b"stranger")), DOMAIN)
        charter = gathered.charter(tuple(line.address for line in gathered.lines))
        line = replace(gathered.lines[0], pen=stranger)
        with pytest.raises(MessageError, match="neither a member of this committee nor a leader"):
            line.ask(Ask.KEY_COMMIT, 2, charter.digest(), charter)


def test_charters_are_checked() -> None:
    with party(4) as gathered:
        members = tuple(line.address for line in gathered.lines)
        charter, line = gathered.charter(members), gathered.lines[0]
        with pytest.raises(RefusedError, match="another epoch"):
            line.ask(Ask.KEY_COMMIT, 3, (wrong := gathered.charter(members, 3)).digest(), wrong)
        with pytest.raises(RefusedError, match="another key generation than its envelope says"):
            line.ask(Ask.KEY_COMMIT, 2, bytes(32), charter)
        without = gathered.charter(members[1:])
        with pytest.raises(RefusedError, match="is not a member that is to take part"):
            line.ask(Ask.KEY_COMMIT, 2, without.digest(), without)
        line.ask(Ask.KEY_COMMIT, 2, charter.digest(), charter)
        with pytest.raises(RefusedError, match="has begun"):
            line.ask(Ask.KEY_COMMIT, 2, charter.digest(), charter)
        with pytest.raises(RefusedError, match="run once, in order"):
            line.ask(Ask.KEY_FINISH, 2, charter.digest(), _confirmations(gathered, charter))


def _confirmations(gathered: Party, charter: Charter) -> Relayed:
    answers = []
    for index, line in enumerate(gathered.lines, start=1):
        pen = wire.Pen(curve.random_scalar(SeededRng(b"member", index)), DOMAIN)
        ask = Ask.KEY_CONFIRM
        question = LEADER.question(ask.kind, 2, charter.digest(), ask.round, line.address, b"{}")
        body = codec.encode(Confirmation(index, bytes(32)))
        answers.append(pen.answer(question, wire.ANSWERED, body).envelope.decode())
    return Relayed(tuple(answers))


def test_a_member_says_who_it_is() -> None:
    with party(1) as gathered:
        address, identity = identify(gathered.servers[0].url, LEADER, 20)
        assert address == gathered.lines[0].address
        assert identity == Identity((), LEADER_KEY)


def test_shares_show_nowhere() -> None:
    with party(4) as gathered:
        gathered.generate()
        share = gathered.shelves[0].kept[0]
        assert not re.search(rf"{share.secret}|{share.secret:x}", repr(gathered))
