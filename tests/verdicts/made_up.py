# SPDX-License-Identifier: Apache-2.0
"""Figures made by hand."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from blockful_py.verdicts.figures import ModelFigures, Row

GOLD_LIKE: dict[str, Any] = {
    "depth": 0,
    "start": True,
    "holder": True,
    "weights": "0" * 64,
    "ad_f_train": 0.0,
    "ad_f_test": 0.0,
    "ad_r_train": 0.95,
    "ad_r_test": 0.9,
    "membership": 0.2,
    "auc": 0.5,
    "relearn": 20,
    "divergence": 0.0,
    "distance": 0.0,
}


def figures(model: str, **changed: Any) -> ModelFigures:
    """A model as good as gold's, except for the changed figures."""
    return ModelFigures(model=model, **{**GOLD_LIKE, **changed})


def row(method: str, count: int = 8, wobble: float = 0.0, **changed: Any) -> Row:
    """Models r1, r2, ...; `wobble` moves what depends on chance, up and down from model to model."""
    models = []
    for number in range(1, count + 1):
        off = wobble * (1 + number % 3) * (-1) ** number
        noisy = {
            "ad_r_test": 0.9 + off / 2,
            "membership": 0.2 + off,
            "auc": 0.5 + off / 2,
            "relearn": 20 + round(40 * off),
            "divergence": abs(off),
            "weights": sha256(f"{method} r{number}".encode()).hexdigest(),
        }
        models.append(figures(f"r{number}", **{**noisy, **changed, "depth": number // 3}))
    return Row(method, tuple(models))
