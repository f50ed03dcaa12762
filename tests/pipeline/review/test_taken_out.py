# SPDX-License-Identifier: Apache-2.0
"""An owner takes the rows out of its shared part that a request names, and no others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from blockful_py.crypto.sharing.residues import Array
from blockful_py.errors import CheaterError, RefutedError
from blockful_py.keys.shared_files import FIELD
from blockful_py.learning.data import Samples
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.pipeline.review.share_reader import ShareReader
from tests.pipeline.review.sharing_committee import Committee, clear_head, sharing_setup

ROWS = (0, 7)


@pytest.fixture(scope="module")
def setup() -> TrainingSetup:
    return sharing_setup()


@pytest.fixture
def committee(setup: TrainingSetup, tmp_path: Path) -> Committee:
    """Its current part has rows 0, 1, 2, ... of the first user."""
    found = Committee(setup, tmp_path)
    found.current = found.part(setup.users[0].train)
    return found


def rest(setup: TrainingSetup) -> tuple[Samples, list[int]]:
    samples = setup.users[0].train
    left = [row for row in range(len(samples)) if row not in ROWS]
    return samples.at(torch.tensor(left)), left


def require_rest(committee: Committee) -> None:
    samples, rows = rest(committee.setup)
    numbers, unit = clear_head(committee.setup, samples)
    there = sorted(committee.rosters[-1])
    for each in committee.open_current(there, committee.part(samples, numbers=rows), ROWS).values():
        assert isinstance(each, list), each
        (head,) = each
        assert head is not None and np.array_equal(head[0], numbers) and head[1] == unit


def test_members_open_the_head_of_the_rest(committee: Committee) -> None:
    require_rest(committee)


@pytest.mark.slow
def test_they_do_with_shares_that_were_handed_on_in_pieces(
    committee: Committee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages are bounded however many samples there are: 500 numbers at a time, across files."""
    monkeypatch.setattr("blockful_py.pipeline.review.handing_on.AT_ONCE", 500)
    committee.rosters.append((1, 2, 3, 4))
    assert not any(isinstance(each, Exception) for each in committee.hand_on(range(5)).values())
    require_rest(committee)


def same(samples: Samples) -> int:
    """A row of the class of row 7."""
    (found,) = (samples.y == samples.y[7]).nonzero(as_tuple=True)
    return next(int(row) for row in found if row not in ROWS)


def keeps_a_named_row(samples: Samples) -> tuple[list[int], list[int]]:
    left = [row for row in range(len(samples)) if row != 0]
    return left, left


def takes_another(samples: Samples) -> tuple[list[int], list[int]]:
    left = [row for row in range(len(samples)) if row not in (0, same(samples))]
    return left, left


def renames_another(samples: Samples) -> tuple[list[int], list[int]]:
    """Row 7 stays, under the number of one of its class, which goes."""
    left = [row for row in range(len(samples)) if row not in (0, same(samples))]
    return left, sorted(same(samples) if row == 7 else row for row in left)


def takes_one_more(samples: Samples) -> tuple[list[int], list[int]]:
    left = [row for row in range(len(samples)) if row not in (*ROWS, 1)]
    return left, left


@pytest.mark.parametrize("lie", [keeps_a_named_row, takes_another, renames_another, takes_one_more])
def test_an_owner_that_takes_out_anything_else_is_named(
    committee: Committee, lie: Callable[[Samples], tuple[list[int], list[int]]]
) -> None:
    samples = committee.setup.users[0].train
    kept, numbers = lie(samples)
    part = committee.part(samples.at(torch.tensor(kept)), numbers=numbers)
    found = committee.open_current(range(4), part, ROWS)
    assert len(found) == 4
    for each in found.values():
        assert isinstance(each, RefutedError), each
        assert "the owner of a dealt a part that is not the rest" in str(each)


def test_a_member_that_shows_another_row_is_named(
    committee: Committee, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = ShareReader.samples

    def lying(self: ShareReader, name: str, part: object, of: bytes, member: int) -> dict[int, Array]:
        found = honest(self, name, part, of, member)  # type: ignore[arg-type]
        if member == 2 and part is committee.current:
            label = min(found)
            found[label] = (found[label] + 1) % FIELD.primes(3)
        return found

    monkeypatch.setattr(ShareReader, "samples", lying)
    samples, rows = rest(committee.setup)
    for each in committee.open_current(range(4), committee.part(samples, numbers=rows), ROWS).values():
        assert isinstance(each, CheaterError) and each.members == (2,), each
