# SPDX-License-Identifier: Apache-2.0
"""A class name exists once in the packages."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (ROOT / "blockful_py", ROOT / "lab" / "blockful_lab")


def test_a_class_name_exists_once() -> None:
    assert shared_class_names(*PACKAGES) == {}


def test_a_second_class_of_one_name_is_reported(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text("class Share:\n    class _Part: ...\n\nclass Proof: ...\n")
    (tmp_path / "inner" / "b.py").write_text("def make():\n    class _Part: ...\n\nclass Share: ...\n")
    assert shared_class_names(tmp_path) == {
        "Share": ["a.py:1", "inner/b.py:4"],
        "_Part": ["a.py:2", "inner/b.py:2"],
    }


def shared_class_names(*roots: Path) -> dict[str, list[str]]:
    """Names that two or more classes under `roots` share, with the file and line of each."""
    places: dict[str, list[str]] = defaultdict(list)
    for root in roots:
        for path in sorted(root.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(f"{path.relative_to(root).as_posix()}:{node.lineno}")
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}
