# SPDX-License-Identifier: Apache-2.0
"""Copies of samples are counted, and a request's remaining copies are named."""

from __future__ import annotations

import torch

from blockful_py.forget import Forget
from blockful_py.learning.copies import Copies, copies_in, copies_left
from blockful_py.learning.data import Samples, UserData


def samples(*values: int, labels: tuple[int, ...] | None = None) -> Samples:
    """One-pixel images of these values."""
    x = torch.tensor(values, dtype=torch.float32).reshape(-1, 1, 1, 1)
    return Samples(x, torch.tensor(labels or [0] * len(values)))


NONE = samples()
USERS = (
    UserData(1, samples(1, 1, 2, 3, labels=(0, 0, 0, 1)), NONE),
    UserData(2, samples(4, 3, 3, labels=(0, 1, 0)), NONE),
    UserData(3, samples(5, 6), NONE),
)
PUBLIC = (samples(6, 9), samples(2))


def test_copies_are_counted_within_and_across_users_and_in_the_test_samples() -> None:
    assert copies_in(USERS, PUBLIC[0]) == Copies(within=2, across=3, tested=1)
    assert "2 of the same user's, 3 of other users', 1 of test samples" in str(Copies(2, 3, 1).said())
    assert copies_in(USERS[2:], NONE) == Copies(0, 0, 0)
    assert Copies(0, 0, 0).said() is None
    assert copies_in([UserData(1, NONE, NONE)], NONE) == Copies(0, 0, 0)


def test_an_equal_input_is_a_copy_in_any_memory_format() -> None:
    x = torch.rand(3, 2, 4, 4)
    y = torch.zeros(3, dtype=torch.int64)
    other = Samples(x.contiguous(memory_format=torch.channels_last), y)
    assert copies_in([UserData(1, Samples(x, y), NONE)], other).tested == 3
    ids = Samples(torch.tensor([[1, 2], [1, 2], [2, 1]]), y)
    assert copies_in([UserData(1, ids, NONE)], ids) == Copies(1, 0, 3)


def test_copies_of_a_sample_are_named() -> None:
    within = copies_left(Forget.of_samples([(1, 0)]), USERS, PUBLIC)
    assert within is not None and "stay, as 1:1 (user:row): " in within and "--sample" in within
    across = copies_left(Forget.of_samples([(1, 3)]), USERS, PUBLIC)
    assert "as 2:1, 2:2 (user:row)" in str(across)
    public = copies_left(Forget.of_samples([(1, 2), (3, 1)]), USERS, PUBLIC)
    assert public == "copies of forgotten samples stay, 2 among the public samples"
    assert copies_left(Forget.of_samples([(3, 0)]), USERS, PUBLIC) is None
    assert copies_left(Forget.of_samples([(1, 0), (1, 1)]), USERS, PUBLIC) is None


def test_copies_of_clients_and_of_classes_under_another_label_are_named() -> None:
    assert "as 2:1, 2:2 (user:row)" in str(copies_left(Forget.of_clients([1]), USERS, ()))
    assert "as 2:2 (user:row)" in str(copies_left(Forget.of_classes([1]), USERS, (samples(3),)))
    assert copies_left(Forget.of_classes([0, 1]), USERS, (samples(3),)) is None


def test_many_copies_are_counted() -> None:
    many = (*USERS, UserData(4, samples(*[1] * 2000), NONE))
    assert "as 1:1, 4:0, 4:1, 4:2, 4:3 and 1,996 more" in str(
        copies_left(Forget.of_samples([(1, 0)]), many, ())
    )


def test_of_a_row_that_is_not_there_nothing_is_said() -> None:
    assert copies_left(Forget.of_samples([(1, 4)]), USERS, PUBLIC) is None
    assert copies_left(Forget.of_samples([(7, 0)]), USERS, PUBLIC) is None
