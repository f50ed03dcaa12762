# SPDX-License-Identifier: Apache-2.0
"""The recomputation by which a committee member checks a result without users' data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.path_weights import path_weights
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.method import Method, Review
from blockful_py.unlearning.propagation import delta, propagate


def is_recomputable(method: Method) -> bool:
    """Whether the new weights of the descendants follow from those of the starts alone."""
    return method.review is Review.RECOMPUTED


def recompute(
    method: Method,
    graph: InheritanceGraph,
    starts: Sequence[str],
    old: Mapping[str, Weights],
    announced: Mapping[str, Weights],
) -> dict[str, Weights]:
    """New weights of all models that change, bit for bit those of `method.unlearn`.

    Args:
        old: weights as they stand; those of descendants under epsilon are not looked at.
        announced: the starts' new weights, from their owners.

    Raises:
        ValueError: the method uses data (`is_recomputable` is false).
    """
    if not isinstance(method, GradientAscent):
        raise ValueError(f"{method.name} cannot be recomputed without data")
    paths = path_weights(graph, starts)
    deltas = {name: delta(old[name], announced[name]) for name in starts}
    passed = propagate(old, paths, deltas, method.alpha, method.epsilon)
    return {**{name: announced[name] for name in starts}, **passed.weights}
