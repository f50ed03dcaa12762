# SPDX-License-Identifier: Apache-2.0
"""Auditors' turns follow from the chain alone, and a signature is for one training."""

from __future__ import annotations

from itertools import permutations

import pytest
from pydantic import ValidationError

from blockful_py.crypto import curve
from blockful_py.crypto.eip712 import Domain
from blockful_py.crypto.spot_check import drawn_order
from blockful_py.ledger.replay import ReplayFinding, ReplayWord
from blockful_py.record.commitments import Turn, commitment_to, turn_blocks, turns_of
from blockful_py.record.statement_parts import SignedReplay, SpotCheck
from blockful_py.storage.cid import cid_string, uri_of
from blockful_py.types import Codec, Position, Uri
from tests.hand_ins import COMMITTED, PLACE, Handed

OTHER = b"other".ljust(20)
FIRST, SECOND = b"first".ljust(20), b"second".ljust(20)
DOMAIN = Domain(1, bytes(20))
BLOCKS = 10


def file(number: int) -> Uri:
    return commitment_to(b"file %d" % number)


def turns(*handed: Handed) -> tuple[Turn, ...]:
    return turns_of((FIRST, SECOND), COMMITTED, handed, BLOCKS)


def test_a_turn_begins_with_the_owners_file_and_lasts_its_blocks() -> None:
    assert turns(COMMITTED) == ()
    shown = Handed(103, file(1))
    assert turns(COMMITTED, shown) == (Turn(FIRST, 103, file(1)),)
    again = Handed(112, file(2))
    assert turns(COMMITTED, shown, again) == (Turn(FIRST, 103, file(2)),)
    following = Handed(113, file(3))
    both = turns(COMMITTED, shown, again, following)
    assert both == (Turn(FIRST, 103, file(2)), Turn(SECOND, 113, file(3)))
    assert turns(COMMITTED, shown, again, following, Handed(130, file(4))) == both


@pytest.mark.parametrize(
    "other",
    [
        Handed(103, file(1), by=OTHER),
        Handed(103, file(1), position=Position(1, 1)),
        Handed(103, uri_of(b"a part", Codec.RAW)),
    ],
)
def test_hand_ins_of_others_and_parts_begin_no_turn(other: Handed) -> None:
    assert turns(COMMITTED, other) == ()
    assert turns(Handed(99, file(1)), COMMITTED) == ()


def test_auditors_share_half_of_an_owners_time() -> None:
    assert [turn_blocks(100, count) for count in (1, 2, 5)] == [50, 25, 10]
    assert turn_blocks(3, 16) == 1


def test_each_order_of_auditors_is_drawn_and_leaving_one_out_keeps_the_others() -> None:
    accounts = (FIRST, SECOND, OTHER)
    drawn = [drawn_order(i.to_bytes(32, "big"), bytes(32), accounts) for i in range(120)]
    assert {*drawn} == {*permutations(accounts)}
    for i, order in enumerate(drawn):
        left = [each for each in accounts if each != order[0]]
        assert drawn_order(i.to_bytes(32, "big"), bytes(32), left) == order[1:]


def signed(secret: int, commitment: bytes = bytes(32), request: bytes = bytes(32)) -> SignedReplay:
    word = ReplayWord(request, PLACE.packed, commitment, ReplayFinding.SAME, 0).signed(secret, DOMAIN)
    return SignedReplay(
        auditor="0x" + curve.address(curve.multiply_base(7)).hex(),
        commitment=commitment.hex(),
        signature="0x" + word.signature.hex(),
    )


def test_a_signature_is_its_auditors_for_one_request_model_and_training() -> None:
    replay = signed(7)
    assert replay.is_signed(bytes(32), PLACE.packed, DOMAIN)
    assert not replay.is_signed(b"another request".ljust(32), PLACE.packed, DOMAIN)
    assert not replay.is_signed(bytes(32), PLACE.packed + 1, DOMAIN)
    assert not replay.is_signed(bytes(32), PLACE.packed, Domain(2, bytes(20)))
    other = replay.model_copy(update={"commitment": "ab" * 32})
    assert not other.is_signed(bytes(32), PLACE.packed, DOMAIN)
    assert not signed(8).is_signed(bytes(32), PLACE.packed, DOMAIN)


def test_no_other_finding_counts_as_a_replay() -> None:
    word = ReplayWord(bytes(32), PLACE.packed, bytes(32), ReplayFinding.DIFFERS, 0).signed(7, DOMAIN)
    replay = signed(7).model_copy(update={"signature": "0x" + word.signature.hex()})
    assert not replay.is_signed(bytes(32), PLACE.packed, DOMAIN)


@pytest.mark.parametrize(
    ("challenged", "disputed", "words"),
    [
        (8, (), "a replay is of all intervals"),
        (9, (3, 2), "disputed intervals are named in order"),
        (9, (2, 2), "disputed intervals are named in order"),
        (9, (9,), "disputed intervals are named in order"),
    ],
)
def test_a_replay_is_whole_and_disputes_are_of_its_intervals(
    challenged: int, disputed: tuple[int, ...], words: str
) -> None:
    fields = {"disclosure": cid_string(file(1)), "intervals": 9}
    replay = signed(7).model_copy(update={"disputed": disputed})
    SpotCheck(**fields, challenged=9, replay=signed(7))
    with pytest.raises(ValidationError, match=words):
        SpotCheck(**fields, challenged=challenged, replay=replay)
