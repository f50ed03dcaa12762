# SPDX-License-Identifier: Apache-2.0
"""Recomputes a result without users' data, for a committee member's check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.path_weights import path_weights
from blockful_py.learning.weights import Weights
from blockful_py.on_demand import OnDemand
from blockful_py.types import Paradigm
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.method import Method, Review
from blockful_py.unlearning.propagation import delta, propagate
from blockful_py.unlearning.subtract import Subtract


def is_recomputable(method: Method, paradigm: Paradigm) -> bool:
    """Whether the new weights of the descendants follow from the starts' new weights alone.

    Changes are passed on in parallel; sums are taken away in both paradigms.
    """
    return method.review is Review.RECOMPUTED and (
        paradigm is Paradigm.PARALLEL or isinstance(method, Subtract)
    )


def recompute(
    method: Method,
    graph: InheritanceGraph,
    starts: Sequence[str],
    old: Mapping[str, Weights],
    announced: Mapping[str, Weights],
) -> Mapping[str, Weights]:
    """New weights of all models that change, bit for bit as in `method.unlearn`.

    Descendants are computed on demand.

    Args:
        old: published state dicts, at least of the starts and descendants.
        announced: the starts' new state dicts, from their owners.

    Raises:
        ValueError: the method is not gradient ascent, so it uses data.
        UnlearningError: the weights of a descendant are missing.
    """
    if not isinstance(method, GradientAscent):
        raise ValueError(f"{method.name} cannot be recomputed without data")
    paths = path_weights(graph, starts)
    deltas = {name: delta(old[name], announced[name]) for name in starts}
    passed = propagate(old, paths, deltas, method.alpha, method.epsilon)
    return OnDemand(
        (*starts, *passed.weights),
        lambda name: announced[name] if name in announced else passed.weights[name],
    )
