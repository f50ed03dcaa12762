# SPDX-License-Identifier: Apache-2.0
"""Reads which metrics the package declares, from its source as text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SAMPLES: Mapping[str, tuple[str, ...]] = {
    "Counter": ("_total",),
    "Gauge": ("",),
    "Histogram": ("_bucket", "_sum", "_count"),
    "Info": ("_info",),
}
"""Suffixes of a metric's name in its samples, by kind."""


@dataclass(frozen=True, slots=True)
class DeclaredMetric:
    """A metric, as a call in the source declares it."""

    name: str
    kind: str
    labels: frozenset[str]

    @property
    def samples(self) -> tuple[str, ...]:
        return tuple(self.name + end for end in SAMPLES[self.kind])


def declared(root: Path) -> list[DeclaredMetric]:
    """Every metric of the files below `root`."""
    return [each for path in sorted(root.rglob("*.py")) for each in _in(path)]


def _in(path: Path) -> Iterator[DeclaredMetric]:
    source = path.read_text(encoding="utf-8")
    if "registry=" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SAMPLES):
            continue
        if any(keyword.arg == "registry" for keyword in node.keywords):
            name, *rest = [ast.literal_eval(each) for each in node.args]
            labels = rest[1] if len(rest) > 1 else []
            yield DeclaredMetric(name, node.func.id, frozenset(labels))
