# SPDX-License-Identifier: Apache-2.0
"""The navigation, read from the list of pages in docs/README.md."""

from __future__ import annotations

import re
from typing import Any

HEADING = re.compile(r"^## (\w[\w-]*)")
LINK = re.compile(r"\[[^\]]*\]\((?!\.\./)([^)#]+\.md)\)")

Navigation = list[dict[str, Any]]


def navigation(listing: str, generated: dict[str, list[str]]) -> Navigation:
    """The pages of every section of `listing`, titled by themselves, then those `generated` by heading.

    Generated pages stand at the end of the section Reference.
    """
    sections: dict[str, list[Any]] = {}
    for line in listing.splitlines():
        if heading := HEADING.match(line):
            sections[heading[1]] = []
        elif sections:
            sections[[*sections][-1]] += LINK.findall(line)
    sections["Reference"] += [
        {title: pages if len(pages) > 1 else pages[0]} for title, pages in generated.items()
    ]
    return [{"Home": "README.md"}, *({title: pages} for title, pages in sections.items() if pages)]
