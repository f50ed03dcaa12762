# SPDX-License-Identifier: Apache-2.0
"""Pages of the Python library: its main classes, and the rooms for other programs."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "blockful_py"
FACE = ("pipeline.federation", "pipeline.operated", "types", "forget", "errors", "costs")
ROOMS = (
    "graph",
    "learning",
    "unlearning",
    "verdicts",
    "record",
    "storage",
    "crypto",
    "chain",
    "committee",
    "engine",
)


def module_pages() -> dict[str, str]:
    """Markdown for mkdocstrings by path on the site."""
    pages = {"reference/python/blockful_py.md": _page("blockful_py", FACE)}
    for room in ROOMS:
        modules = sorted(
            _dotted(path) for path in (PACKAGE / room).rglob("*.py") if path.name != "__init__.py"
        )
        pages[f"reference/python/{room}.md"] = _page(f"blockful_py.{room}", modules)
    return pages


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def _page(title: str, modules: tuple[str, ...] | list[str]) -> str:
    parts = [f"# {title}"]
    for module in modules:
        parts += [f"## {module}", f"::: blockful_py.{module}"]
    return "\n\n".join(parts)
