# SPDX-License-Identifier: Apache-2.0
"""Gold and gold2: the affected models retrained without the forgotten samples, from two seeds.

Gold of resampled data is the floor for models of sums, which no other seed moves: sums over samples have
none, and the parts of merged models keep the one of their publication.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from blockful_py.forget import Forget
from blockful_py.learning.data import UserData
from blockful_py.learning.federation import TRAIN
from blockful_py.learning.forget_sets import rows_after
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.retraining import RETRAIN, passes_of, retrain_wave
from blockful_py.unlearning.task import UnlearningTask

GOLD_SHIFT, GOLD2_SHIFT, OTHERS_SHIFT = 1_000_000, 2_000_000, 3_000_000
"""Offsets to the task's seed: gold, gold2, other worlds and the methods never share a draw."""


def retrained_graph(task: UnlearningTask, shift: int, meter: Meter | None = None) -> dict[str, Weights]:
    """Retrains, in topological order, every model that forgotten samples have reached, without these samples.

    These are the models of all owners with forgotten samples, and their descendants.  If everyone holds the
    class, that is the whole graph: ancestors that know the class would teach it again.

    Merged models are trained as at publication, so these are the models of a federation of the same graph and
    seed that never had the samples.

    Args:
        shift: offset to the task's seed, unless models are merged.
        meter: counts the sample passes.

    Returns the state dicts of the affected models only.
    """
    is_merged = task.architecture.is_merged
    updated = _retrained(task, TRAIN, meter) if is_merged else retrained_reached(task, shift, meter)
    return {name: updated[name] for name in task.affected()}


def resampled_graph(task: UnlearningTask) -> dict[str, Weights]:
    """Gold, had each owner drawn its retained samples again, as many, with replacement.

    The bootstrap of the data (Efron 1979): how far a model moves with its owners' samples.  Models that
    `retrained_graph` leaves as they are, stay so.
    """
    stream = generator(task.seed, "resampled")
    users = {index: _resampled(user, task.all_forgets, stream) for index, user in task.users.items()}
    return retrained_graph(replace(task, users=users), GOLD2_SHIFT)


def _resampled(user: UserData, forgets: Sequence[Forget], stream: torch.Generator) -> UserData:
    """The user with its retained samples drawn again, and its forgotten ones in their rows."""
    kept = rows_after(user, forgets)
    rows = torch.arange(len(user.train), device=kept.device)
    drawn = torch.randint(max(1, len(kept)), (len(kept),), generator=stream)
    rows[kept] = kept[drawn.to(kept.device)]
    return replace(user, train=user.train.at(rows))


def retrained_reached(task: UnlearningTask, shift: int, meter: Meter | None = None) -> dict[str, Weights]:
    """As `retrained_graph`, with the state dicts of all retrained models, always of another seed."""
    return _retrained(replace(task, seed=task.seed + shift), RETRAIN, meter)


def _retrained(task: UnlearningTask, purpose: str, meter: Meter | None) -> dict[str, Weights]:
    meter = meter or Meter()
    updated: dict[str, Weights] = {}
    for wave in task.graph.waves(task.reached()):
        updated.update(retrain_wave(task, wave, updated, purpose))
        for name in wave:
            with meter.job(name, after=task.references(name)) as work:
                work.trained(passes_of(task, name))
    return updated
