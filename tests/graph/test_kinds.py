# SPDX-License-Identifier: Apache-2.0
"""How forgetting goes down each kind of edge."""

from __future__ import annotations

import pytest

from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.kinds import EdgeKind, Remedy, remedies

REFERENCES = {
    "base": (),
    "other": (),
    "adapter": ("base",),
    "tuned": ("base",),
    "merge": ("adapter", "other"),
    "small": ("merge",),
    "distilled": ("adapter",),
    "alone": ("adapter",),
}
KINDS = {
    "adapter": (EdgeKind.ADAPTER,),
    "tuned": (EdgeKind.FINE_TUNE,),
    "merge": (EdgeKind.MERGE, EdgeKind.MERGE),
    "small": (EdgeKind.QUANTISE,),
    "distilled": (EdgeKind.DISTILL,),
    "alone": (EdgeKind.MERGE,),
}
GRAPH = InheritanceGraph.from_references(REFERENCES)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (
            "base",
            {
                "base": Remedy.MADE_AGAIN,
                "adapter": Remedy.MADE_AGAIN,
                "tuned": Remedy.MADE_AGAIN,
                "merge": Remedy.RECOMPUTED,
                "small": Remedy.RECOMPUTED,
                "distilled": Remedy.MADE_AGAIN,
                "alone": Remedy.RECOMPUTED,
            },
        ),
        (
            "adapter",
            {
                "adapter": Remedy.WITHDRAWN,
                "merge": Remedy.RECOMPUTED,
                "small": Remedy.RECOMPUTED,
                "distilled": Remedy.WITHDRAWN,
                "alone": Remedy.WITHDRAWN,
            },
        ),
        ("merge", {"merge": Remedy.MADE_AGAIN, "small": Remedy.RECOMPUTED}),
        ("other", {"other": Remedy.MADE_AGAIN, "merge": Remedy.RECOMPUTED, "small": Remedy.RECOMPUTED}),
    ],
)
def test_each_kind_has_its_remedy(start: str, expected: dict[str, Remedy]) -> None:
    assert remedies(GRAPH, KINDS, [start]) == expected


def test_models_that_are_not_reached_need_nothing() -> None:
    assert not {"base", "tuned", "other"} & remedies(GRAPH, KINDS, ["adapter"]).keys()


def test_a_merge_without_a_parent_that_it_needs_is_withdrawn() -> None:
    kept = {"merge": ["other"]}
    assert remedies(GRAPH, KINDS, ["adapter"], kept)["merge"] is Remedy.RECOMPUTED
    found = remedies(GRAPH, KINDS, ["adapter"], {"merge": ["adapter", "other"]})
    assert (found["merge"], found["small"]) == (Remedy.WITHDRAWN, Remedy.WITHDRAWN)
    again = remedies(GRAPH, KINDS, ["base"], {"merge": ["adapter"]})
    assert again["merge"] is Remedy.RECOMPUTED, "its parent is made again"
