# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from html.parser import HTMLParser

from blockful_py.html_table import html_table


class Tags(HTMLParser):
    """Collects tags and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_a_table_has_its_caption_heads_and_cells() -> None:
    read = Tags()
    read.feed(html_table("Two", ("a", "b"), [(1, "x"), (2, None)]))
    assert read.text == ["Two", "a", "b", "1", "x", "2", "None"]
    assert read.tags.count("tr") == 3 and read.tags.count("th") == 2


def test_text_is_never_markup() -> None:
    evil = '<script>alert("x")</script>'
    shown = html_table(evil, (evil,), [(evil,)])
    read = Tags()
    read.feed(shown)
    assert "script" not in read.tags
    assert "".join(read.text) == evil * 3


def test_nothing_is_fetched() -> None:
    assert not re.search(r"https?:|src=|href=|<script|<style", html_table("c", ("h",), [("x",)]))
