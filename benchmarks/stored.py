# SPDX-License-Identifier: Apache-2.0
"""Stores figures as a JSON document, or as a line of `results/figures.jsonl`, which benchmarks share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).with_name("results") / "figures.jsonl"
LINES = ".jsonl"


def keep(path: Path, name: str, figures: Any, page: str = "") -> None:
    """Writes the figures of the benchmark `name`, and its page of tables beside them.

    In a file of lines, they replace the benchmark's earlier ones.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == LINES:
        lines = _lines(path) | {name: figures}
        text = "".join(
            json.dumps({"benchmark": each, "figures": lines[each]}) + "\n" for each in sorted(lines)
        )
    else:
        text = json.dumps(figures, indent=1) + "\n"
    path.write_text(text, encoding="utf-8")
    if page:
        page_path = path.with_name(f"{name}.md") if path.suffix == LINES else path.with_suffix(".md")
        page_path.write_text(page, encoding="utf-8")


def load(path: Path, name: str) -> Any:
    """The figures that `keep` wrote."""
    return _lines(path)[name] if path.suffix == LINES else json.loads(path.read_text(encoding="utf-8"))


def _lines(path: Path) -> dict[str, Any]:
    texts = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {each["benchmark"]: each["figures"] for each in map(json.loads, texts)}
