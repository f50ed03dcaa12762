# SPDX-License-Identifier: Apache-2.0
"""Parallel unlearning that passes the starts' changes through the graph (paper, algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import numpy as np
from torch.nn import functional

from blockful_py.errors import SettingsError, UnlearningError
from blockful_py.forget import LEVELS, Level
from blockful_py.graph.path_weights import PathWeights, depth_bound, path_weights, single_reference_models
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights
from blockful_py.on_demand import OnDemand
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Meter, Work
from blockful_py.unlearning.descent import Descent, batches_of, weights_of
from blockful_py.unlearning.method import AllAtOnce, Need, Outcome, Review, require_level
from blockful_py.unlearning.propagation import Change, delta, length, passed, propagate, terms_of
from blockful_py.unlearning.retraining import retrain_model
from blockful_py.unlearning.task import UnlearningTask

STARTS = ("retrained", "ascended")
ASCENT_BATCH = 32


@dataclass(frozen=True, slots=True)
class GradientAscent(AllAtOnce):
    """Retrains the starts without the forgotten samples, and passes their changes to descendants.

    In parallel, every descendant y changes by `alpha sum_k C[y, k] delta_k` (paper, eq. 7 and 8), a vector
    float32 (D,), unless its L2 norm is at most epsilon.  The paper calls the passed difference of weights an
    ascending gradient, hence the name.
    With `start="ascended"` the starts do climb: `w'_s = w_s + rate grad min(L(w_s, forget set), ln classes)`,
    step by step, until the loss equals a random guess's (after Halimi et al., arXiv 2207.05521, who
    bound the distance instead).

    Attributes:
        alpha: discount factor of eq. 7, above 0.
        epsilon: threshold on the L2 norm of an update, at least 0.
        start: "retrained" (as in the paper) or "ascended".
        ascent_steps, ascent_rate: settings of an ascended start; a step takes 32 samples.

    The constructor raises SettingsError for a setting out of range.
    """

    alpha: float = 1.0
    epsilon: float = 0.0
    start: str = "retrained"
    ascent_steps: int = 50
    ascent_rate: float = 0.02
    name: ClassVar[str] = "gradient_ascent"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL, Paradigm.SEQUENTIAL})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.START_DATA})
    levels: ClassVar[frozenset[Level]] = frozenset(LEVELS)
    review: ClassVar[Review] = Review.RECOMPUTED

    def __post_init__(self) -> None:
        if not (np.isfinite(self.alpha) and self.alpha > 0):
            raise SettingsError(f"alpha must be positive, not {self.alpha}.")
        if not (np.isfinite(self.epsilon) and self.epsilon >= 0):
            raise SettingsError(f"epsilon must be at least 0, not {self.epsilon}.")
        if self.start not in STARTS:
            raise SettingsError(f"start must be {' or '.join(STARTS)}, not {self.start!r}.")
        if self.ascent_steps < 1 or not (np.isfinite(self.ascent_rate) and self.ascent_rate > 0):
            raise SettingsError(
                "ascent_steps must be at least 1 and ascent_rate positive, "
                f"not {self.ascent_steps} and {self.ascent_rate}."
            )

    def unlearn(self, task: UnlearningTask) -> Outcome:
        require_level(self, task)
        return self.run(task, Meter())

    def run(self, task: UnlearningTask, meter: Meter) -> Outcome:
        """Runs `unlearn` without its check of the level, counted by a meter shared with other steps.

        Raises UnlearningError: the owner of an ascended start holds none of the forgotten samples.
        """
        began = perf_counter()
        trained_from = task.trained_from()
        paths = path_weights(trained_from, task.starts)
        no_longer = sorted({*task.affected()}.difference(paths.names)) if task.used else ()
        weighed = perf_counter()
        starts, deltas = self._updated_starts(task, paths, meter)
        started = perf_counter()
        descendants = propagate(task.weights(paths.descendants), paths, deltas, self.alpha, self.epsilon)
        ended = perf_counter()
        depth = task.graph.depth(task.starts)
        changed = starts.keys() | descendants.weights.keys()
        longest_change = max(map(length, deltas.values()))
        return Outcome(
            weights=OnDemand(
                (name for name in task.affected() if name in changed),
                lambda name: starts[name] if name in starts else descendants.weights[name],
            ),
            skipped={**dict.fromkeys(no_longer, 0.0), **descendants.skipped},
            path_weights=paths,
            depth_bound=depth_bound(
                self.alpha * longest_change, self.epsilon, single_reference_models(trained_from, task.starts)
            ),
            depth_observed=max(depth[name].longest for name in changed),
            seconds={
                "path_weights": weighed - began,
                "starts": started - weighed,
                "propagate": ended - started,
            },
            cost=meter.cost(),
        )

    def _updated_starts(
        self, task: UnlearningTask, paths: PathWeights, meter: Meter
    ) -> tuple[dict[str, Weights], dict[str, Change]]:
        """New weights and change of every start, in topological order.

        If a start inherits from another, the earlier starts' changes are first passed to its references, so
        that its own change is its total change.
        """
        row = dict(zip(paths.names, paths.matrix, strict=True))
        starts: dict[str, Weights] = {}
        deltas: dict[str, Change] = {}
        for name in task.affected():
            if name not in task.starts:
                continue
            moved = {
                reference: passed(
                    task.models[reference].weights,
                    terms_of(row[reference], paths.starts, deltas, self.alpha),
                )
                for reference in task.references(name)
                if reference in row and reference not in starts
            }
            with meter.job(name, after=starts.keys() & set(task.graph.ancestors([name]))) as work:
                starts[name] = (
                    retrain_model(task, name, {**starts, **moved}, work)
                    if self.start == "retrained"
                    else self._ascended(task, name, work)
                )
            deltas[name] = delta(task.models[name].weights, starts[name])
        return starts, deltas

    def _ascended(self, task: UnlearningTask, name: str, work: Work) -> Weights:
        model, forgotten = task.models[name], task.forgotten(name)
        if not len(forgotten):
            raise UnlearningError(
                f"user {model.user}, who owns {name!r}, holds no data of {task.forget}: there is no loss to "
                'climb; use start = "retrained".'
            )
        guess = math.log(task.architecture.class_count)
        stream = generator(task.seed, "ascent", model.user, model.round)
        module = work.watch(task.architecture.module(model.weights, forgotten.x.device).train())
        Descent(self.ascent_rate, momentum=0.0, final_share=1.0).run(
            module,
            lambda network, batch: -functional.cross_entropy(network(batch.x), batch.y).clamp(max=guess),
            batches_of(forgotten, ASCENT_BATCH, self.ascent_steps, stream),
            stream,
        )
        return weights_of(module, f"the ascended model {name!r}")
