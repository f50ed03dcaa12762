# SPDX-License-Identifier: Apache-2.0
"""Gold and gold2: the affected models retrained without the forgotten samples, from two seeds."""

from __future__ import annotations

from dataclasses import replace

from blockful_py.learning.weights import Weights
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.retraining import passes_of, retrain_wave
from blockful_py.unlearning.task import UnlearningTask

GOLD_SHIFT, GOLD2_SHIFT, OTHERS_SHIFT = 1_000_000, 2_000_000, 3_000_000
"""Offsets to the task's seed: gold, gold2, other worlds and the methods never share a draw."""


def retrained_graph(task: UnlearningTask, shift: int, meter: Meter | None = None) -> dict[str, Weights]:
    """Retrains, in topological order, every model that forgotten samples have reached, without these samples.

    These are the models of all owners with forgotten samples, and their descendants.  If everyone holds the
    class, that is the whole graph: ancestors that know the class would teach it again.

    Args:
        shift: offset to the task's seed.
        meter: counts the sample passes.

    Returns the state dicts of the affected models only.
    """
    updated = retrained_reached(task, shift, meter)
    return {name: updated[name] for name in task.affected()}


def retrained_reached(task: UnlearningTask, shift: int, meter: Meter | None = None) -> dict[str, Weights]:
    """As `retrained_graph`, with the state dicts of all retrained models."""
    meter = meter or Meter()
    shifted = replace(task, seed=task.seed + shift)
    updated: dict[str, Weights] = {}
    for wave in task.graph.waves(task.reached()):
        updated.update(retrain_wave(shifted, wave, updated))
        for name in wave:
            with meter.job(name, after=task.references(name)) as work:
                work.trained(passes_of(task, name))
    return updated
