# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from blockful_py.errors import UnknownClassError, UnknownModelError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from tests.unlearning.conftest import UnlearningCase

DESCENDANTS = {"r6", "r8", "r9", "r10", "r11", "r12", "r14"}


def test_the_affected_models_are_the_starts_and_their_descendants_in_order(few: UnlearningCase) -> None:
    affected = few.task.affected()
    assert set(affected) == {"r5", "r7"} | DESCENDANTS
    place = {name: i for i, name in enumerate(few.task.graph.topological_order())}
    assert sorted(affected, key=place.__getitem__) == list(affected)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"starts": ("r99",)}, UnknownModelError, "no model 'r99'"),
        ({"starts": ()}, UnlearningError, "needs starts"),
        ({"starts": ("r5", "r5")}, UnlearningError, "each once"),
        ({"forget": Forget.of_classes((12,))}, UnknownClassError, "no class 12; it has 0, 1, 2, 3"),
        ({"forget": Forget.of_classes(range(10))}, UnlearningError, "forgets every class"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    few: UnlearningCase, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        replace(few.task, **changes)


def test_a_class_that_the_data_set_has_but_nobody_holds_is_refused(few: UnlearningCase) -> None:
    users = {i: replace(user, train=user.train.without((4,))) for i, user in few.task.users.items()}
    with pytest.raises(UnknownClassError, match="no class 4; it has 0, 1, 2, 3, 5, 6, 7, 8, 9"):
        replace(few.task, users=users, forget=Forget.of_classes((4,)))


def test_weights_that_are_not_finite_are_refused(few: UnlearningCase) -> None:
    model = few.task.models["r6"]
    broken = replace(model, weights={**model.weights, "head.bias": torch.full((10,), torch.nan)})
    with pytest.raises(UnlearningError, match=r"model 'r6' has NaN.*head\.bias"):
        replace(few.task, models={**few.task.models, "r6": broken})


def test_weights_of_another_architecture_are_refused(few: UnlearningCase) -> None:
    other = replace(few.task.models["r6"], weights=Architecture("cnn", (1, 8, 8), 20).initial(generator(0)))
    with pytest.raises(UnlearningError, match="'r6' have different architectures"):
        replace(few.task, models={**few.task.models, "r6": other})


def test_models_and_data_that_a_method_needs_must_be_there(few: UnlearningCase) -> None:
    without = {name: model for name, model in few.task.models.items() if name != "r3"}
    with pytest.raises(UnlearningError, match="the weights of r3 are missing"):
        replace(few.task, models=without)
    with pytest.raises(UnlearningError, match="the data of user 6"):
        replace(few.task, users={i: user for i, user in few.task.users.items() if i != 6})


def test_a_user_with_nothing_left_is_refused(few: UnlearningCase) -> None:
    user = few.task.users[5]
    users = {**few.task.users, 5: replace(user, train=user.train.only((3,)))}
    with pytest.raises(UnlearningError, match="user 5, who owns 'r5', holds the forgotten classes only"):
        replace(few.task, users=users)


def test_models_that_no_method_touches_need_no_weights(few: UnlearningCase) -> None:
    without = {name: model for name, model in few.task.models.items() if name not in {"r13"}}
    narrow = replace(few.task, starts=("r11",), models=without | {"r13": few.task.models["r13"]})
    assert narrow.affected() == ("r11", "r14")
