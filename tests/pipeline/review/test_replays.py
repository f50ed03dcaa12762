# SPDX-License-Identifier: Apache-2.0
"""Members accept a replay by the drawn auditor alone, with all disputes shown, and none passed over."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from blockful_py.crypto import curve
from blockful_py.crypto.eip712 import Domain
from blockful_py.crypto.spot_check import drawn_order
from blockful_py.errors import RefusedError
from blockful_py.ledger.replay import ReplayFinding, ReplayWord, SignedWord
from blockful_py.pipeline.review import replays
from blockful_py.pipeline.review.replays import Replays, ReplayStanding
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.record.commitments import commitment_to
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.statement_parts import SignedReplay, SpotCheck
from blockful_py.storage.cid import cid_string
from blockful_py.types import Address
from tests.hand_ins import COMMITTED, PLACE, Handed

SECRETS = {curve.address(curve.multiply_base(secret)): secret for secret in (7, 8, 9)}
BEACON, BLOCKS = bytes(32), 60
INTERVALS = 9
SAME, DIFFERS, UNUSABLE = ReplayFinding.SAME, ReplayFinding.DIFFERS, ReplayFinding.UNUSABLE

ORDER = drawn_order(BEACON, COMMITTED.uri.digest, SECRETS)
FIRST, SECOND, THIRD = ORDER
TURN = BLOCKS // 6


@dataclass
class Registry:
    """Registered auditors, and the live chain."""

    registered: set[bytes] = field(default_factory=lambda: {*SECRETS})

    def auditor_key(self, account: Address) -> tuple[int, int]:
        key = curve.multiply_base(SECRETS.get(account, 1))
        return (key.x, key.y) if account in self.registered else (0, 0)


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def own(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> Replays:
    monkeypatch.setattr(replays, "request_key", lambda request: request)
    live = SimpleNamespace(chain_id=1, address=bytes(20), node=SimpleNamespace(block_hash=lambda _: BEACON))
    return Replays(cast(Contracts, SimpleNamespace(live=live, archive=registry)))


def status(turns: int, now: int | None = None) -> RequestStanding:
    """A request in which so many turns of the training have begun, each right after the one before."""
    shown = [Handed(101 + TURN * i, commitment_to(b"file %d" % i)) for i in range(turns)]
    statement = SimpleNamespace(auditors=tuple("0x" + each.hex() for each in sorted(SECRETS)))
    placed = SimpleNamespace(node=SimpleNamespace(statement=statement), position=PLACE)
    newest = shown[-1].block_number if shown else COMMITTED.block_number
    made = SimpleNamespace(
        record={"t": placed},
        request=bytes(32),
        handed_in=(COMMITTED, *shown),
        now=newest if now is None else now,
        rules=SimpleNamespace(blocks=BLOCKS),
    )
    return cast(RequestStanding, made)


def word(auditor: Address, finding: ReplayFinding, interval: int = 0, **changes: Any) -> SignedWord:
    about = {"request": bytes(32), "position": PLACE.packed, "commitment": COMMITTED.uri.digest} | changes
    said = ReplayWord(**about, outcome=finding, interval=interval)
    return said.signed(SECRETS[auditor], Domain(1, bytes(20)))


def said(auditor: Address, disputed: tuple[int, ...] = (), by: Address | None = None) -> SpotCheck:
    replay = SignedReplay(
        auditor="0x" + auditor.hex(),
        commitment=COMMITTED.uri.digest.hex(),
        signature="0x" + word(by or auditor, SAME).signature.hex(),
        disputed=disputed,
    )
    cid = cid_string(COMMITTED.uri)
    return SpotCheck(disclosure=cid, intervals=INTERVALS, challenged=INTERVALS, replay=replay)


def passes(own: Replays, turns: int, check: SpotCheck, *words: SignedWord) -> None:
    own.require_passed(status(turns), "t", COMMITTED, check, words)


def refused(own: Replays, turns: int, check: SpotCheck, reason: str, *words: SignedWord) -> None:
    with pytest.raises(RefusedError, match=reason):
        passes(own, turns, check, *words)


def test_the_first_drawn_auditor_counts_and_no_other_before_its_turn(own: Replays) -> None:
    passes(own, 1, said(FIRST))
    refused(own, 0, said(FIRST), "no auditor whose turn it is")
    refused(own, 1, said(SECOND), "no auditor whose turn it is")
    passes(own, 2, said(SECOND))
    passes(own, 2, said(FIRST))


def test_a_signature_of_another_and_of_another_training_are_refused(own: Replays) -> None:
    refused(own, 1, said(FIRST, by=SECOND), "no auditor whose turn it is")
    check = said(FIRST)
    assert check.replay is not None
    other = check.replay.model_copy(update={"commitment": "ab" * 32})
    refused(own, 1, check.model_copy(update={"replay": other}), "is of another training")


def test_an_auditor_that_was_removed_is_passed_over_and_its_word_does_not_count(
    own: Replays, registry: Registry
) -> None:
    registry.registered.remove(FIRST)
    refused(own, 1, said(FIRST), "no auditor whose turn it is")
    passes(own, 1, said(SECOND))


def test_nobody_is_passed_over_that_was_shown_nothing_usable(own: Replays) -> None:
    """An owner that withholds the training from honest auditors would else reach an accomplice."""
    refused(own, 2, said(SECOND), "was shown nothing of t that it could use", word(FIRST, UNUSABLE))
    passes(own, 2, said(SECOND), word(THIRD, UNUSABLE))
    passes(own, 1, said(FIRST), word(FIRST, UNUSABLE))


def test_each_dispute_that_a_member_heard_is_shown(own: Replays) -> None:
    dispute = word(FIRST, DIFFERS, 3)
    refused(own, 2, said(SECOND), "which its owner leaves open", dispute)
    refused(own, 2, said(SECOND, (4,)), "which its owner leaves open", dispute)
    passes(own, 2, said(SECOND, (3,)), dispute)
    passes(own, 2, said(SECOND, (3,)))
    passes(own, 2, said(SECOND), word(FIRST, DIFFERS, INTERVALS))
    refused(own, 1, said(FIRST), "which its owner leaves open", dispute)


@pytest.mark.parametrize(
    "changes", [{"request": b"other".ljust(32)}, {"position": 5}, {"commitment": b"other".ljust(32)}]
)
def test_words_about_something_else_change_nothing(own: Replays, changes: dict[str, Any]) -> None:
    passes(own, 2, said(SECOND), word(FIRST, UNUSABLE, **changes), word(FIRST, DIFFERS, 3, **changes))


def standing(own: Replays, turns: int, now: int | None, *words: SignedWord) -> ReplayStanding:
    return own.standing(status(turns, now), "t", COMMITTED, words)


def test_an_owner_shows_its_training_to_one_auditor_at_a_time(own: Replays) -> None:
    assert standing(own, 0, None).following == FIRST
    assert standing(own, 1, 100 + TURN).following is None
    assert standing(own, 1, 101 + TURN).following == SECOND
    assert standing(own, 3, 101 + 3 * TURN).following is None


def test_a_replay_is_given_up_when_nobody_will_say_more_and_nobody_disputes(own: Replays) -> None:
    assert not standing(own, 1, None).is_given_up
    assert standing(own, 1, None, word(FIRST, UNUSABLE)).is_given_up
    assert not standing(own, 3, 100 + 3 * TURN).is_given_up
    assert standing(own, 3, 101 + 3 * TURN).is_given_up
    assert not standing(own, 3, 101 + 3 * TURN, word(SECOND, DIFFERS, 2)).is_given_up
