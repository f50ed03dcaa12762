# SPDX-License-Identifier: Apache-2.0
"""The audit of a folder of models that anybody made, without a federation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from blockful_py.errors import UnlearningError
from blockful_py.forget import Forget
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.copies import digests
from blockful_py.learning.data import Dataset, Samples, UserData, pooled, require_finite_inputs
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.intervals import weights_digest
from blockful_py.learning.model_folder import read_models
from blockful_py.learning.models import Architecture
from blockful_py.learning.plugins import failing_as
from blockful_py.learning.weights import Weights
from blockful_py.settings import TrainingSettings
from blockful_py.unlearning.audit.auditing import audit
from blockful_py.unlearning.audit.bench import Bench, beside, drawn
from blockful_py.unlearning.audit.folder_figures import FOLDERS, FORGOTTEN, UNLEARNED, FolderAudit
from blockful_py.unlearning.audit.kinds import (
    attacked,
    kinds_in,
    require_made_separately,
    require_same_names,
)
from blockful_py.unlearning.audit.klom import Klom
from blockful_py.unlearning.audit.margins import LEAST_MODELS, margins_of
from blockful_py.unlearning.audit.network import Floats
from blockful_py.unlearning.audit.samples import audit_samples
from blockful_py.unlearning.audit.ulira import ULira
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.outcome import AuditOutcome
from blockful_py.verdicts.references import GOLD, GOLD2, HEAD_MASK, ORIGINAL

Models = Mapping[str, Weights]


def audit_folder(
    folder: Path | str,
    architecture: Architecture,
    forget: Samples,
    retain: Samples,
    held_out: Samples,
    beacon: bytes = b"",
) -> FolderAudit:
    """Audits the models in `unlearned`, beside `original`, `gold` and `gold2` if these folders exist.

    Every kind is a folder in `folder` of `NAME.safetensors`, with the same names in each.  `original` was
    trained on `forget` and `retain`; `gold` and `gold2` only on `retain`, from other seeds.  A class is
    forgotten as a whole if no retained sample has it; otherwise these are samples among others.

    Args:
        architecture: the network, with an import path as its name if it is the caller's own.
        held_out: samples that no model was trained on, of forgotten and other classes.
        beacon: random bytes of an auditor who got the folder from others; without them its maker could try
            weights until the batches of relearning suit them.

    Raises:
        FormatError, LearningError: as `read_models`, or samples that do not fit the network.
        UnlearningError: models of sums, folders with other names, models that are there twice, samples of
            `held_out` that are also trained on, no samples where some are needed, gold that knows the class
            to forget, or a network that fails.
    """
    if architecture.is_sums:
        raise UnlearningError(
            "the audit of a folder compares trainings from many seeds, and models of sums have none: compare "
            "the SHA-256 of the unlearned files with gold's."
        )
    data = _data(architecture, forget, retain, held_out)
    kinds = _kinds(Path(folder), architecture)
    task = _task(architecture, kinds.get(ORIGINAL, kinds[UNLEARNED]), forget, retain, held_out)
    draw = drawn(task, kinds, beacon)
    task = replace(task, seed=draw.seed)
    with failing_as(UnlearningError, f"the network {architecture.name!r} on these samples"):
        gold = kinds.get(GOLD, kinds[UNLEARNED])
        bench = replace(beside(task, audit_samples(task, data), gold, Meter().cost()), draw=draw)
        rows = {kind: _row(bench, kind, kinds) for kind in kinds}
        _require_ignorant(bench, rows)
        splits = {FORGOTTEN: forget, "retain": retain, "held_out": held_out}
        return FolderAudit(
            len(gold),
            tuple(rows.values()),
            _outcome(bench, kinds, rows),
            *_attacked(architecture, kinds, splits),
        )


def _data(architecture: Architecture, forget: Samples, retain: Samples, held_out: Samples) -> Dataset:
    parts = {"forget": forget, "retain": retain, "held_out": held_out}
    for name, part in parts.items():
        if not len(part):
            raise UnlearningError(f"an audit needs samples in {name}; it has none.")
        if tuple(part.x.shape[1:]) != architecture.input_shape:
            raise UnlearningError(
                f"the samples in {name} have shape {tuple(part.x.shape[1:])}; {architecture.name!r} takes "
                f"{architecture.input_shape}."
            )
        require_finite_inputs(name, part)
    trained = pooled([forget, retain])
    known = set(digests(trained))
    shared = sum(each in known for each in digests(held_out))
    if shared:
        raise UnlearningError(
            f"{shared} of {len(held_out)} samples in held_out are also in forget or retain: leave them out, "
            "or models seem to recognise what they were never shown."
        )
    nothing = held_out.at(held_out.y < 0)
    data = Dataset(
        "the audit's", architecture.class_count, trained, held_out, nothing, architecture.vocabulary
    )
    if not len(held_out.only(forget.classes())) or not len(held_out.only(retain.classes())):
        raise UnlearningError(
            f"held_out has samples of {held_out.classes()}: an audit compares with samples like those in "
            f"forget, of {forget.classes()}, and in retain."
        )
    return data


def _kinds(folder: Path, architecture: Architecture) -> dict[str, Models]:
    kinds: dict[str, Models] = {kind: read_models(folder / kind, architecture) for kind in kinds_in(folder)}
    require_same_names(folder, kinds)
    require_made_separately(
        {
            kind: {name: weights_digest(weights) for name, weights in models.items()}
            for kind, models in kinds.items()
        }
    )
    return kinds


def _task(
    architecture: Architecture,
    published: Models,
    forget: Samples,
    retain: Samples,
    held_out: Samples,
) -> UnlearningTask:
    """The models as roots of one owner, who holds all samples, or only those to forget among others."""
    classes = () if set(forget.classes()) & set(retain.classes()) else forget.classes()
    held = [pooled([forget, retain])] if classes else [forget, retain]
    training = TrainingSettings()
    return UnlearningTask(
        graph=InheritanceGraph.from_references(dict.fromkeys(published, ())),
        models={
            name: TrainedModel(name, 1, 1, (), weights, 0.0, training) for name, weights in published.items()
        },
        users={index: UserData(index, each, held_out) for index, each in enumerate(held, 1)},
        architecture=architecture,
        initial=next(iter(published.values())),
        starts=tuple(published),
        forget=Forget.of_classes(classes) if classes else Forget.of_clients([1]),
        seed=0,
    )


def _row(bench: Bench, kind: str, kinds: Mapping[str, Models]) -> Row:
    """Figures of a kind; figures that need missing models are NaN or None."""
    row = bench.measure(kind, kinds[kind])
    if GOLD not in kinds:
        row = _changed(row, divergence=math.nan, distance=math.nan, relearn=None)
    elif ORIGINAL not in kinds and not bench.samples.classes:
        row = _changed(row, relearn=None)
    return row


def _require_ignorant(bench: Bench, rows: Mapping[str, Row]) -> None:
    """Refuses gold models that recognise a class, beyond guessing, on which they were not to be trained."""
    if not bench.samples.classes:
        return
    guessing = 1 / bench.task.architecture.class_count
    for kind in {GOLD, GOLD2} & rows.keys():
        for model in rows[kind].models:
            if max(model.ad_f_train, model.ad_f_test) > guessing:
                raise UnlearningError(
                    f"{kind}/{model.model} recognises {model.ad_f_test:.0%} of held-out samples of "
                    f"{bench.task.forget}: train it without them."
                )


def _changed(row: Row, **figures: Any) -> Row:
    return replace(row, models=tuple(replace(model, **figures) for model in row.models))


def _outcome(bench: Bench, kinds: Mapping[str, Models], rows: Mapping[str, Row]) -> AuditOutcome | None:
    if len(kinds) < len(FOLDERS) or len(kinds[UNLEARNED]) < LEAST_MODELS:
        return None
    references = [rows[name] for name in (ORIGINAL, GOLD, GOLD2)]
    if bench.samples.classes:
        references.append(bench.measure(HEAD_MASK, bench.reference(HEAD_MASK)))
    return audit(bench, UNLEARNED, kinds[UNLEARNED], references)


def _attacked(
    architecture: Architecture, kinds: Mapping[str, Models], splits: Mapping[str, Samples]
) -> tuple[dict[str, dict[str, Klom]], dict[str, ULira]]:
    return attacked(
        {
            kind: {name: _margins(architecture, models, samples) for name, samples in splits.items()}
            for kind, models in kinds.items()
        }
    )


def _margins(architecture: Architecture, models: Models, samples: Samples) -> Floats:
    """Margins by model and sample, (S, n)."""
    return np.stack([margins_of(architecture, weights, samples) for weights in models.values()])
