# SPDX-License-Identifier: Apache-2.0
"""Members in processes of their own solve a head from shares by sockets, and name those that lie."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from blockful_py.committee.shared_rounds import BROADCAST, NOBODY, LeftOut, SharedRounds
from blockful_py.committee.wire import MessageSigner
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.dealing import Dealing, Numbers
from blockful_py.crypto.sharing.encoding import decoded, encoded
from blockful_py.crypto.sharing.products import shared
from blockful_py.crypto.sharing.rounds import Inbox, Protocol, Sent
from blockful_py.errors import CheaterError, MessageError, SilentError
from blockful_py.learning.models.ridge import head_of
from blockful_py.learning.sums import SHIFT, total_of
from tests.committee.shared_post import PARTIES, SECRETS, run_processes
from tests.learning.test_shared_sums import FIELD, clear, committee, part, require_same, samples

GRAPH: dict[str, tuple[str, ...]] = {"r1": (), "r2": ("r1",)}
HONEST = dict.fromkeys(SECRETS, SharedRounds)
SHOWN, HIDDEN = tuple(range(100, 116)), tuple(range(200, 216))


def greeting(member: int) -> Protocol[Any]:
    """One round: a number to everyone, and another to each."""
    got: Inbox = yield Sent((member,), {j: (10 * member + j,) for j in SECRETS})
    return dict(got.public), dict(got.private)


class TwoFaced(SharedRounds):
    """Sends member 4 another broadcast than the others."""

    def run(self, protocol: Protocol[Any]) -> Any:
        post, signer, true_send = self.post, MessageSigner(self.secret, PARTIES.domain), self.post.send
        other = signer.question(BROADCAST, 1, PARTIES.subject, 1, NOBODY, encoded((99,)))

        def send(j: int, *messages: bytes) -> None:
            for data in messages:
                true_send(j, other.envelope if j == 4 and BROADCAST.encode() in data[:1024] else data)

        post.send = send  # type: ignore[assignment,method-assign]
        return super().run(protocol)


class Garbled(SharedRounds):
    """Broadcasts bytes that encode no message, the same to all."""

    def _question(self, kind: str, recipient: bytes, body: bytes) -> Any:
        return super()._question(kind, recipient, b"?" if kind == BROADCAST else body)


class Stranger(SharedRounds):
    """Also sends everybody broadcasts in its place and of another run, signed by no member."""

    def run(self, protocol: Protocol[Any]) -> Any:
        stranger = MessageSigner(77, PARTIES.domain)
        member = MessageSigner(self.secret, PARTIES.domain)
        for j in self._others:
            for signer, subject in ((stranger, PARTIES.subject), (member, b"o" * 32)):
                self.post.send(j, signer.question(BROADCAST, 1, subject, 1, NOBODY, b"?").envelope)
            self.post.send(j, b"no line")
        return super().run(protocol)


@pytest.mark.slow
def test_head_by_sockets_has_the_bits_of_the_clear_sums() -> None:
    members = committee(GRAPH, {name: samples(name) for name in GRAPH})
    parts = {name: part(name) for name in GRAPH}
    for gone in ([], [1]):
        for member in members.values():
            member.forget_classes(["r1"], gone)
        found = run_processes(lambda j: members[j].head("r2", "by sockets"), HONEST)
        sums = clear(GRAPH, parts, dict.fromkeys(GRAPH, gone))["r2"]
        for head, _ in found.values():
            require_same(head, head_of(total_of(sums), int(sums[SHIFT])))


def test_private_messages_are_sealed_and_delivered() -> None:
    def protocol(member: int) -> Protocol[Any]:
        got: Inbox = yield Sent(SHOWN, dict.fromkeys(SECRETS, HIDDEN))
        return got.public, got.private

    for found, sent in run_processes(protocol, HONEST).values():
        assert found == (dict.fromkeys(SECRETS, SHOWN), dict.fromkeys(SECRETS, HIDDEN))
        assert encoded(SHOWN) in sent
        assert encoded(HIDDEN) not in sent


def test_strangers_and_messages_of_other_runs_are_dropped() -> None:
    found = run_processes(greeting, {**HONEST, 1: Stranger})
    assert found[3][0] == ({j: (j,) for j in SECRETS}, {j: (10 * j + 3,) for j in SECRETS})


@pytest.mark.parametrize(
    ("side", "what"), [(TwoFaced, "two broadcasts of one round"), (Garbled, "a broadcast from")]
)
def test_every_honest_member_names_the_liar(side: type[SharedRounds], what: str) -> None:
    found = run_processes(greeting, {**HONEST, 2: side})
    for j in (1, 3, 4):
        kind, members, message = found[j][0]
        assert (kind, members) == ("CheaterError", (2,))
        assert what in message


def test_an_absent_member_is_named() -> None:
    sides = dict.fromkeys((1, 2, 3), SharedRounds)
    for (kind, members, message), _ in run_processes(greeting, sides, patience=5).values():
        assert (kind, members) == ("SilentError", (4,))
        assert "no message of round 1" in message


class Rolled(SharedRounds):
    """Calls the roll first, and leaves out the members `wanted`."""

    wanted: tuple[int, ...] = ()

    def run(self, protocol: Protocol[Any]) -> Any:
        absent = {*SECRETS} - {*self.call_roll(self.wanted, 1)}
        self.go_on_without(absent, [*SECRETS], 1)
        return sorted(absent), super().run(protocol)


class Accuser(Rolled):
    wanted = (3,)


class HalfSilent(Rolled):
    """Sends member 4 nothing."""

    def run(self, protocol: Protocol[Any]) -> Any:
        true_send = self.post.send

        def send(j: int, *messages: bytes) -> None:
            if j != 4:
                true_send(j, *messages)

        self.post.send = send  # type: ignore[method-assign]
        return super().run(protocol)


def test_a_run_goes_on_without_one_that_is_absent() -> None:
    found = run_processes(greeting, dict.fromkeys((1, 2, 3), Rolled), patience=2)
    for j, ((absent, (public, private)), _) in found.items():
        assert absent == [4]
        assert public == {i: (i,) for i in (1, 2, 3)}
        assert private == {i: (10 * i + j,) for i in (1, 2, 3)}


def test_too_few_members_do_not_go_on() -> None:
    for (kind, _, message), _ in run_processes(greeting, dict.fromkeys((1, 2), Rolled), patience=1).values():
        assert kind == "QuorumError" and "member(s) 3, 4 take no part" in message


@pytest.mark.parametrize(("accusers", "absent"), [((2,), []), ((1, 2), [3]), ((1, 2, 4), [3])])
def test_t_members_leave_one_out_and_fewer_cannot(accusers: tuple[int, ...], absent: list[int]) -> None:
    found = run_processes(greeting, {j: Accuser if j in accusers else Rolled for j in SECRETS})
    if absent:
        (kind, _, message), _ = found.pop(3)
        assert kind == "RefusedError" and "leave this member out" in message
    for (out, (public, _)), _ in found.values():
        assert out == absent and {*public} == {*SECRETS} - {*absent}


def test_a_member_that_answers_some_alone_makes_no_two_sets() -> None:
    found = run_processes(greeting, {**dict.fromkeys(SECRETS, Rolled), 2: HalfSilent}, patience=2)
    for j in (1, 3, 4):
        (kind, _, message), _ = found[j]
        assert kind == "CryptoError" and "disagree whether a broadcast of round 1 was sent" in message
        assert "about 2" in message


def test_liars_of_an_epoch_and_the_last_runs_silent_are_left_out() -> None:
    memory, later = LeftOut(), replace(PARTIES, epoch=2)
    memory.note(PARTIES, CheaterError((2,), "a lie"))
    memory.note(PARTIES, SilentError((3,), "no message"))
    assert memory.among(PARTIES) == {2, 3}
    few = replace(PARTIES, keys={1: PARTIES.keys[3], 2: PARTIES.keys[1]})
    assert memory.among(few) == {1}
    memory.note(PARTIES, None)
    assert memory.among(PARTIES) == {2}
    assert memory.among(later) == frozenset()
    memory.note(later, SilentError((4,), "no message"))
    assert (memory.among(later), memory.among(PARTIES)) == ({4}, frozenset())


def test_a_message_of_a_wrong_kind_is_named() -> None:
    def protocol(member: int) -> Protocol[Any]:
        rules = Dealing(FIELD, 2, 4, b"kinds", (Numbers((2,), None),))
        numbers = [FIELD.of(np.arange(2))]
        honest = shared(committee({"r1": ()}, {})[member].holder, rules, numbers, [1, 2])
        if member != 2:
            return (yield from honest)
        yield Sent((1,))
        return None

    found = run_processes(protocol, {**HONEST})
    for j in (1, 3, 4):
        assert found[j][0][:2] == ("CheaterError", (2,))


def messages() -> list[Any]:
    rules = Dealing(FIELD, 2, 4, b"bytes", (Numbers((2,), None),))
    proof, shares = rules.deal(1, [FIELD.of(np.arange(2))], SeededRng(b"bytes"))
    return [None, (), (1, 3), FIELD.of(np.arange(6).reshape(2, 3)), proof, shares[1], {}, {2: shares[2]}]


@pytest.mark.parametrize("message", messages(), ids=lambda each: type(each).__name__)
def test_messages_have_one_encoding(message: Any) -> None:
    data = encoded(message)
    assert encoded(decoded(data)) == data
    assert type(decoded(data)) is type(message)
    for end in sorted({0, len(data) // 2, len(data) - 1}):
        with pytest.raises(MessageError, match="ends too early"):
            decoded(data[:end])
    with pytest.raises(MessageError, match="not in its canonical encoding"):
        decoded(data + b"0")


def test_bytes_of_no_message_are_refused_before_they_take_memory() -> None:
    with pytest.raises(MessageError, match="unknown kind"):
        decoded(b"?")
    with pytest.raises(MessageError, match="1 to 4 dimensions, this has 9"):
        decoded(b"A" + bytes([9]))
    with pytest.raises(MessageError, match="has no numbers"):
        decoded(b"A" + bytes([1, 0, 0, 0, 0]))
    with pytest.raises(MessageError, match="ends too early"):
        decoded(b"A" + bytes([4]) + b"\xff" * 16)


def test_a_key_of_another_member_is_refused() -> None:
    with pytest.raises(ValueError, match="not that of member 1"):
        SharedRounds(PARTIES, 1, SECRETS[2], None, 1, 1)  # type: ignore[arg-type]
