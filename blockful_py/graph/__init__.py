# SPDX-License-Identifier: Apache-2.0
"""Inheritance graph, affected models, path weights and depth bound.  Needs numpy and scipy only."""

from blockful_py.graph.bounds import depth_bound, single_reference_models
from blockful_py.graph.inheritance import Depth, InheritanceGraph
from blockful_py.graph.path_weights import PathWeights, path_weights

__all__ = [
    "Depth",
    "InheritanceGraph",
    "PathWeights",
    "depth_bound",
    "path_weights",
    "single_reference_models",
]
