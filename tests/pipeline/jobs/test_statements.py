# SPDX-License-Identifier: Apache-2.0
"""An owner's statement of the privacy that new weights cost its samples."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from blockful_py.learning.data import Samples, UserData
from blockful_py.learning.privacy import spent
from blockful_py.pipeline.review.methods import method_text
from blockful_py.pipeline.review.statements import (
    recorded_privacy,
    recorded_training,
    retrained_privacy,
    training_of,
)
from blockful_py.record.request import Request, Start
from blockful_py.record.statement import Statement
from blockful_py.settings import PrivacySettings, TrainingSettings

PHI = TrainingSettings(epochs=2, batch_size=8, privacy=PrivacySettings(noise=1.0))
OWNER = UserData(
    5, Samples(torch.zeros(40, 2), torch.arange(40) % 4), Samples(torch.zeros(0, 2), torch.arange(0))
)


def statement(phi: TrainingSettings = PHI) -> Statement:
    return Statement(
        name="r5",
        user=5,
        round=1,
        owner="0x" + "00" * 20,
        weights="weights",
        references=(),
        accuracy=0.9,
        training=recorded_training(phi),
        privacy=recorded_privacy(spent(phi, 40)),
        created=0,
    )


def request(method: str, settings: dict[str, Any] | None = None, **forget: Any) -> Request:
    return Request(
        starts=(Start(name="r5", position="0:0"),),
        paradigm="parallel",
        method=method_text(method, settings or {}),
        created=0,
        **(forget or {"classes": (3,)}),
    )


@pytest.mark.parametrize(
    ("forget", "kept"),
    [({"classes": (3,)}, 30), ({"samples": ("5:0", "5:7")}, 38), ({"clients": (4,)}, 40)],
)
@pytest.mark.parametrize("method", ["retrain", "gradient_ascent"])
def test_retraining_spends_anew_on_what_is_kept(method: str, forget: dict[str, Any], kept: int) -> None:
    now = retrained_privacy(statement(), request(method, **forget), OWNER)
    assert now == recorded_privacy(spent(PHI, kept))
    assert now is not None and now.sample_rate == 8 / kept


def test_a_client_that_keeps_nothing_spends_nothing() -> None:
    assert retrained_privacy(statement(), request("retrain", clients=(5,)), OWNER) is None


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("gradient_ascent", {"start": "ascended"}),
        ("distill", {}),
        ("fine_tune", {}),
        ("salun", {}),
        ("scrub", {}),
        ("clean_increments", {}),
        ("ppnr", {}),
    ],
)
def test_methods_that_descend_without_noise_promise_nothing(method: str, settings: dict[str, Any]) -> None:
    assert retrained_privacy(statement(), request(method, settings), OWNER) is None


def test_where_nothing_was_private_nothing_is_promised() -> None:
    plain = statement(TrainingSettings(epochs=2, batch_size=8))
    assert plain.privacy is None
    assert retrained_privacy(plain, request("retrain"), OWNER) is None


def test_the_recorded_settings_come_back() -> None:
    assert training_of(statement()) == PHI
