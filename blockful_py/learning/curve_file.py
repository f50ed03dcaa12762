# SPDX-License-Identifier: Apache-2.0
"""File of a run's learning curves: one line per model, written before the model is published.

It stays on the machine that trained; curves go to no node, store or chain.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from blockful_py.errors import RunError
from blockful_py.learning.curves import Curve
from blockful_py.learning.federation import TrainedModel


def keep_curves(path: Path, models: Iterable[TrainedModel]) -> None:
    """Appends a line for each model that has a curve, after removing a line that a crash left unfinished.

    A model trained again after a crash gets a second line with the same curve.

    Raises RunError: the file cannot be written.
    """
    lines = "".join(
        json.dumps({"name": model.name, "loss": model.curve.loss, "accuracy": model.curve.accuracy}) + "\n"
        for model in models
        if model.curve is not None
    )
    try:
        with path.open("ab+") as file:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            file.write(lines.encode())
    except OSError as error:
        raise RunError(
            f"{path} cannot be written: {error.strerror}; make room, then train again: the training resumes."
        ) from None


def kept_curves(path: Path) -> dict[str, Curve]:
    """Curves by model name; empty if the run has no curve file.  Raises RunError for a damaged file."""
    try:
        whole = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}.") from None
    return dict(_read(path, number, line) for number, line in enumerate(whole, start=1))


def _read(path: Path, number: int, line: bytes) -> tuple[str, Curve]:
    try:
        document = json.loads(line)
        loss, accuracy = (tuple(map(float, document[key])) for key in ("loss", "accuracy"))
        if len(loss) != len(accuracy) or not all(0 <= share <= 1 for share in accuracy):
            raise ValueError("a loss and an accuracy from 0 to 1 were expected of each epoch")
        return str(document["name"]), Curve(loss, accuracy)
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"{path}, line {number}, is not a learning curve ({error}): take the line out; "
            "the report is then drawn without that curve."
        ) from None
