# SPDX-License-Identifier: Apache-2.0
"""Figures of the models before a request, saved until its report is complete.

The request destroys the measured versions, so a later report needs the saved figures.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blockful_py.bounded_json import parse_json
from blockful_py.errors import FormatError
from blockful_py.forget import Forget, Level
from blockful_py.learning.data import pooled
from blockful_py.learning.forget_sets import forget_set
from blockful_py.learning.metrics import Bin, Quality, qualities
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.review.claims import measure_all
from blockful_py.record.catalogue import Catalogue
from blockful_py.unlearning.audit import ForgetRetain, ModelAccuracy
from blockful_py.unlearning.audit.recognition import recognition
from blockful_py.whole_file import write_whole

FILE = "figures.json"


@dataclass(frozen=True, slots=True)
class Figures:
    """Accuracy, quality and membership AUC of one version of a model."""

    version: int
    accuracy: ModelAccuracy
    quality: Quality
    membership: float | None


def figures_of(
    setup: TrainingSetup,
    catalogue: Catalogue,
    weights: Mapping[str, Weights],
    forget: Forget,
    left_out: Mapping[str, Collection[int]],
) -> dict[str, Figures]:
    """Figures of the current versions, whose weights are given.  `left_out`: as for `measure`."""
    accuracies = measure_all(setup, weights, forget, left_out)
    measured = qualities(setup.architecture, weights, setup.dataset.test)
    told = membership(setup, weights, forget)
    return {
        name: Figures(catalogue[name].version, accuracies[name], measured[name], told[name])
        for name in weights
    }


def keep_figures(run: Path, forget: Forget, figures: Mapping[str, Figures]) -> None:
    """Saves the figures of a request.  Raises RunError, before any change, if there is no room."""
    models = {name: asdict(each) for name, each in figures.items()}
    text = json.dumps({"forget": str(forget), "models": models}, sort_keys=True)
    write_whole(run / FILE, text, advice="nothing was changed; make room and repeat the request")


def kept_figures(run: Path, forget: Forget) -> dict[str, Figures]:
    """The saved figures of a request to forget `forget`; empty if the file is missing or damaged."""
    try:
        document = parse_json((run / FILE).read_bytes())
        if document["forget"] != str(forget):
            return {}
        return {str(name): _figures(each) for name, each in document["models"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, FormatError):
        return {}


def drop_figures(run: Path) -> None:
    """Deletes the saved figures once the report is complete."""
    (run / FILE).unlink(missing_ok=True)


def _figures(document: dict[str, Any]) -> Figures:
    accuracy, quality = document["accuracy"], document["quality"]
    return Figures(
        int(document["version"]),
        ModelAccuracy(ForgetRetain(**accuracy["train"]), ForgetRetain(**accuracy["test"])),
        Quality(
            **{
                **quality,
                "per_class": tuple(quality["per_class"]),
                "confusion": tuple(map(tuple, quality["confusion"])),
                "reliability": tuple(Bin(**each) for each in quality["reliability"]),
            }
        ),
        None if document["membership"] is None else float(document["membership"]),
    )


def membership(
    setup: TrainingSetup, models: Mapping[str, Weights], forget: Forget
) -> dict[str, float | None]:
    """AUC with which each model tells forgotten training samples from held-out ones of their classes.

    None if whole classes are forgotten: then AD_f shows it, and the held-out samples are to be forgotten too.
    Raises LearningError.
    """
    if forget.level is Level.CLASS:
        return dict.fromkeys(models)
    gone = pooled(forget_set(forget, user) for user in setup.users)
    return recognition(setup.architecture, models, gone, setup.dataset.test.only(gone.classes()))
