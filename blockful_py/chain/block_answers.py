# SPDX-License-Identifier: Apache-2.0
"""A contract's answers as of one settled block, each asked for once.

A block's hash covers the state of every contract after it: while the node's newest settled block has the hash
that it had when an answer was given, the answer is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from blockful_py.chain.node import Node

KEPT = 20_000
"""Maximum number of answers that are remembered, about 1 KB each."""

Argument = TypeVar("Argument", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block as JSON-RPC writes its hash, and answers as of it by function and argument."""

    hash: str
    answers: dict[tuple[str, Hashable], Any] = field(default_factory=dict)


class BlockAnswers:
    """Answers as of the newest settled block, which each question asks the node for.

    Threads may share it: answers stay with the block that they are of.
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
        """The answer of `function` for each argument.

        `ask` returns the answers for some arguments, none twice, as of the block with a number.  Raises as
        `ask`, and NodeError.
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
