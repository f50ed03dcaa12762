# SPDX-License-Identifier: Apache-2.0
"""The exception tree in the docstring of `errors` is the tree of its classes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from blockful_py import errors
from blockful_py.errors import BlockfulError


def children(parent: type) -> list[type]:
    """Direct subclasses in `errors`, in the order of their definition."""
    return [each for each in vars(errors).values() if isinstance(each, type) and parent in each.__bases__]


def drawn(parent: type, indent: str = "") -> Iterator[str]:
    """The subclasses, one a line, below the lines that lead to their parent."""
    below = children(parent)
    for child in below:
        is_last = child is below[-1]
        yield f"{indent}{'`--' if is_last else '|--'} {child.__name__}"
        yield from drawn(child, indent + ("    " if is_last else "|   "))


def test_the_docstring_shows_the_classes() -> None:
    shown = re.findall(r"^    (BlockfulError|[|` -]+-- \w+)", errors.__doc__ or "", re.MULTILINE)
    assert shown == ["BlockfulError", *drawn(BlockfulError)]


def test_every_class_is_in_the_tree_and_exported() -> None:
    names = {line.rpartition(" ")[2] for line in drawn(BlockfulError)} | {"BlockfulError"}
    assert names == set(errors.__all__)
