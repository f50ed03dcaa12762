# SPDX-License-Identifier: Apache-2.0
"""Shares follow the committee: newcomers open the same heads, and the old shares are gone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from blockful_py.crypto.sharing.residues import Array
from blockful_py.crypto.sharing.shamir import interpolate
from blockful_py.errors import BlockfulError, CheaterError, KeystoreError, QuorumError, RefusedError
from blockful_py.keys.handed_shares import HandedShares
from blockful_py.keys.shared_files import FIELD
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.pipeline.review.share_reader import DEALT, ShareReader, share_uris
from blockful_py.storage.cid import parse_cid
from tests.pipeline.review.sharing_committee import Committee, clear_head, sharing_setup

EVERYBODY = range(5)


@pytest.fixture(scope="module")
def setup() -> TrainingSetup:
    return sharing_setup()


@pytest.fixture
def committee(setup: TrainingSetup, tmp_path: Path) -> Committee:
    """Members 0 to 3 have shares of a published part; then 4 takes the place of 0."""
    found = Committee(setup, tmp_path)
    found.current = found.part(setup.users[0].train)
    found.rosters.append((1, 2, 3, 4))
    return found


def require_opens(committee: Committee, there: Iterable[int]) -> None:
    numbers, unit = clear_head(committee.setup)
    for each in committee.open_current(there).values():
        assert isinstance(each, list), each
        (head,) = each
        assert head is not None and np.array_equal(head[0], numbers) and head[1] == unit


def require_done(found: dict[int, object]) -> None:
    assert not [each for each in found.values() if isinstance(each, BlockfulError)], found


def shares(committee: Committee, i: int, place: int, name: bytes = DEALT) -> Array:
    """A member's share of a class."""
    assert committee.current is not None
    reader = committee.reader(i)
    return reader.read("a", reader.files(committee.current)[:1], name, place)[0]


def names(committee: Committee, i: int) -> set[bytes]:
    assert committee.current is not None
    uri = share_uris(committee.current)[0]
    return {each.name for each in committee.members[i].handed.find(uri)}


def dealt_is_gone(committee: Committee, i: int) -> bool:
    assert committee.current is not None
    files = {uri.digest for uri in (*share_uris(committee.current), parse_cid(committee.current.proof))}
    left = files & committee.members[i].vault.versions()
    if i == 0:
        return not left
    with pytest.raises(BlockfulError):
        shares(committee, i, 1)
    return parse_cid(committee.current.proof).digest not in left


def test_a_newcomer_opens_heads_and_what_is_old_is_gone(committee: Committee) -> None:
    old = {i: shares(committee, i, i + 1) for i in range(4)}
    for each in committee.open_current((1, 2, 3, 4)).values():
        assert isinstance(each, RefusedError) and "have not handed them on" in str(each)
    require_done(committee.hand_on(EVERYBODY))
    require_opens(committee, (1, 2, 3, 4))
    (name,) = names(committee, 4)
    new = {i: shares(committee, i, i, name) for i in range(1, 5)}
    secret = interpolate(FIELD, {1: old[0], 2: old[1]})
    assert np.array_equal(interpolate(FIELD, {1: new[1], 4: new[4]}), secret)
    assert not np.array_equal(interpolate(FIELD, {1: old[0], 4: new[4]}), secret)
    assert not np.array_equal(interpolate(FIELD, {2: old[1], 3: new[3]}), secret)
    assert all(dealt_is_gone(committee, i) for i in range(4))
    assert names(committee, 0) == set()


def test_an_erasure_destroys_what_was_handed_on(committee: Committee) -> None:
    require_done(committee.hand_on(EVERYBODY))
    assert committee.current is not None
    uri = share_uris(committee.current)[0]
    for i in range(1, 5):
        assert names(committee, i)
        committee.members[i].vault.destroy([uri.digest])
        assert names(committee, i) == set()


@pytest.mark.slow
def test_an_absent_newcomer_gets_its_share_when_it_is_back(committee: Committee) -> None:
    committee.patience = 5.0
    require_done(committee.hand_on((0, 1, 2, 3)))
    require_opens(committee, (1, 2, 3))
    (before,) = names(committee, 1)
    require_done(committee.hand_on((1, 2, 3, 4), sender=4))
    ((after,), *others) = (names(committee, i) for i in range(1, 5))
    assert others == [{after}] * 3 and after != before
    require_opens(committee, (1, 2, 3, 4))


@pytest.mark.slow
def test_t_old_members_suffice(committee: Committee) -> None:
    committee.rosters[-1] = (2, 3, 4, 5)
    committee.patience = 5.0
    require_done(committee.hand_on((2, 3, 4, 5)))
    require_opens(committee, (2, 4, 5))


def test_fewer_than_t_old_members_do_not(committee: Committee) -> None:
    committee.rosters[-1] = (3, 4, 5, 1)
    committee.patience = 5.0
    for each in committee.hand_on((3, 4, 5)).values():
        assert isinstance(each, QuorumError) and "2 are needed to hand them on" in str(each)


@pytest.mark.slow
def test_shares_go_on_from_epoch_to_epoch_and_back(committee: Committee) -> None:
    """Epoch 3 has the members of epoch 1, whose dealt shares are gone."""
    require_done(committee.hand_on(EVERYBODY))
    committee.rosters.append((0, 1, 2, 3))
    for each in committee.open_current((0, 1, 2, 3)).values():
        assert isinstance(each, RefusedError)
    require_done(committee.hand_on(EVERYBODY))
    require_opens(committee, (0, 1, 2, 3))
    committee.rosters.append((3, 2, 1, 0))
    require_opens(committee, (0, 1, 2, 3))


@pytest.mark.slow
def test_a_cut_before_the_old_shares_are_destroyed_is_made_good(
    committee: Committee, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as cut:
        cut.setattr(HandedShares, "settle", _fail)
        cut.setattr(HandedShares, "drop", _fail)
        assert all(isinstance(each, KeystoreError) for each in committee.hand_on(EVERYBODY).values())
    assert [len(names(committee, i)) for i in range(5)] == [0, 1, 1, 1, 1]
    (name,) = names(committee, 4)
    require_opens(committee, (1, 2, 3, 4))
    require_done(committee.hand_on(EVERYBODY, sender=0))
    assert all(names(committee, i) == {name} for i in range(1, 5))
    assert all(dealt_is_gone(committee, i) for i in range(4))
    require_opens(committee, (1, 2, 3, 4))


@pytest.mark.slow
def test_a_cut_before_all_have_stored_is_made_good(
    committee: Committee, monkeypatch: pytest.MonkeyPatch
) -> None:
    committee.patience, honest = 5.0, HandedShares.keep

    def keep(self: HandedShares, *args: object) -> None:
        if self in (committee.members[i].handed for i in (2, 3)):
            raise KeystoreError("cut")
        honest(self, *args)  # type: ignore[arg-type]

    with monkeypatch.context() as cut:
        cut.setattr(HandedShares, "keep", keep)
        found = committee.hand_on(EVERYBODY)
        assert all(isinstance(each, BlockfulError) for each in found.values())
    assert [len(names(committee, i)) for i in range(5)] == [0, 1, 0, 0, 1]
    committee.patience = 60.0
    for member in committee.members:
        member.left_out._silent = frozenset()
    require_done(committee.hand_on(EVERYBODY))
    ((name,), *others) = (names(committee, i) for i in range(1, 5))
    assert others == [{name}] * 3
    assert all(dealt_is_gone(committee, i) for i in range(4))
    require_opens(committee, (1, 2, 3, 4))


@pytest.mark.parametrize("liar", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_member_that_hands_on_another_share_is_named_and_left_out(
    committee: Committee, monkeypatch: pytest.MonkeyPatch, liar: int
) -> None:
    honest, committee.patience = ShareReader.read, 5.0

    def lying(self: ShareReader, *args: object) -> list[Array]:
        found = honest(self, *args)  # type: ignore[arg-type]
        if self.handed is committee.members[liar].handed and self.sources.contracts.committee.current_epoch():
            found[0] = (found[0] + 1) % FIELD.primes(2)
        return found

    with monkeypatch.context() as lie:
        lie.setattr(ShareReader, "read", lying)
        for each in committee.hand_on(EVERYBODY).values():
            assert isinstance(each, CheaterError) and each.members == (liar + 1,)
        again = committee.hand_on(EVERYBODY)
        assert isinstance(again.pop(liar), RefusedError)
        require_done(again)
    require_opens(committee, {1, 2, 3, 4} - {liar})


def test_only_members_hand_on_and_only_what_there_is(committee: Committee) -> None:
    for each in committee.hand_on((1, 2), sender=5).values():
        assert isinstance(each, RefusedError) and "only members hand shares on" in str(each)
    for each in committee.hand_on((1, 2), epoch=3).values():
        assert isinstance(each, RefusedError) and "no members of epoch 3" in str(each)
    committee.current = None
    for each in committee.hand_on((1, 2)).values():
        assert isinstance(each, RefusedError) and "named that have none" in str(each)


def _fail(*args: object) -> None:
    raise KeystoreError("cut")
