# SPDX-License-Identifier: Apache-2.0
"""HTML tables for notebook display: no script, style sheet or link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with all text escaped; `heads` are the column headings, or () for no heading row."""
    head = f"<thead><tr>{_cells('th', heads)}</tr></thead>" if heads else ""
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    style = "caption-side:top;text-align:left;font-weight:bold"
    return f'<table><caption style="{style}">{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>'


def _cells(tag: str, values: Iterable[object]) -> str:
    return "".join(f'<{tag} style="text-align:left">{escape(str(value))}</{tag}>' for value in values)
