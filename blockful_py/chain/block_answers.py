# SPDX-License-Identifier: Apache-2.0
"""Caches a contract's answers as of the newest settled block.

A block's hash commits to the state of every contract after it, so an answer stays valid as long as the node
reports the same hash for its newest settled block.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from blockful_py.chain.node import Node

KEPT = 20_000
"""Maximum number of cached answers, about 1 KB each."""

Argument = TypeVar("Argument", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block's hash, as JSON-RPC writes it, and the answers as of it by function and argument."""

    hash: str
    answers: dict[tuple[str, Hashable], Any] = field(default_factory=dict)


class BlockAnswers:
    """Answers as of the newest settled block; each lookup asks the node which block that is.

    Thread-safe: answers are stored with their block.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._block = _Block("")

    def each(
        self,
        function: str,
        arguments: Sequence[Argument],
        ask: Callable[[Sequence[Argument], str], Sequence[Any]],
    ) -> list[Any]:
        """Answers `function` for each argument, asking only for answers not cached.

        `ask` takes distinct arguments and a block number and returns the answers as of that block.  Raises
        NodeError and the errors of `ask`.
        """
        if not arguments:
            return []
        newest = self._node.settled_block()
        block = self._block
        if block.hash != newest["hash"]:
            block = self._block = _Block(newest["hash"])
        known = block.answers
        found = {each: known[function, each] for each in arguments if (function, each) in known}
        missing = [each for each in dict.fromkeys(arguments) if each not in found]
        if missing:
            added = dict(zip(missing, ask(missing, newest["number"]), strict=True))
            if len(known) + len(added) <= KEPT:
                known.update({(function, each): answer for each, answer in added.items()})
            found |= added
        return [found[each] for each in arguments]
