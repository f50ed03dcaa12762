# SPDX-License-Identifier: Apache-2.0
"""What must hold of filed requests, by what the chains tell alone; nothing of the package is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.fuzzing.filings_world import BLOCKS, Happened


class FilingViolationError(Exception):
    """Somebody's model fell to a filing, or a request did not end."""


@dataclass(frozen=True)
class Asked:
    """What its filer knows of a request: the models it starts from, and whether it is sequential."""

    starts: tuple[str, ...]
    sequential: bool


@dataclass(frozen=True)
class FilingsOracle:
    """`owners`, `parents`: of each model; `asked`: requests that can be read, by number."""

    happened: Sequence[Happened]
    owners: Mapping[str, bytes]
    parents: Mapping[str, Sequence[str]]
    asked: Mapping[int, Asked]
    _known: dict[int, set[str]] = field(default_factory=dict)

    def check(self, honest: frozenset[bytes]) -> None:
        """Raises FilingViolationError.  `honest`: accounts that do each part within their time."""
        for problem in (*self._withdrawals(honest), *self._reaches()):
            raise FilingViolationError(problem)

    def check_end(self) -> None:
        """Once nobody has filed or published for long: every request has ended."""
        for number, asked in self.asked.items():
            kinds = {each.kind for each in self.happened if each.request == number}
            if not kinds & {"admitted", "dismissed"}:
                raise FilingViolationError(f"request {number} was never decided")
            left = self._reached(number) - {
                each.what for each in self.happened if each.request == number and each.what
            }
            left -= {name for name in left if self._is_withdrawn(name)}
            if "admitted" in kinds and asked.sequential and left:
                raise FilingViolationError(f"request {number} still waits for {', '.join(sorted(left))}")

    def _withdrawals(self, honest: frozenset[bytes]) -> Iterator[str]:
        for at, each in enumerate(self.happened):
            if each.kind != "withdrawn":
                continue
            number, name = each.request, each.what
            admitted = self._block(number, "admitted")
            if admitted is None or not self.asked[number].sequential:
                yield f"{name} was withdrawn by request {number}, which nobody admitted for that"
                continue
            if name not in self._reached(number):
                yield f"{name} was withdrawn by request {number}, which does not reach it"
            if self.owners[name] in honest:
                yield f"{name} of an honest owner was withdrawn by request {number}"
            ready = max(admitted, *(self._ready(name, number, at)))
            if each.block <= ready + BLOCKS:
                yield f"{name} was withdrawn {each.block - ready} blocks after its part could be done"

    def _ready(self, name: str, number: int, before: int) -> Iterator[int]:
        """Blocks of the references' answers, and of its owner's parts of this request or an earlier one."""
        yield 0
        answered = set[str]()
        for each in self.happened[:before]:
            if each.kind not in ("answered", "withdrawn") or each.request > number:
                continue
            if each.kind == "answered" and self.owners[each.what] == self.owners[name]:
                yield each.block
            if each.request == number and each.what in self.parents[name] and each.what not in answered:
                answered.add(each.what)  # one that is withdrawn and comes back gives nobody more time
                yield each.block

    def _reaches(self) -> Iterator[str]:
        for each in self.happened:
            if each.kind in ("answered", "withdrawn") and each.what not in self._reached(each.request):
                yield f"request {each.request} has replaced {each.what}, which it does not reach"

    def _reached(self, number: int) -> set[str]:
        """The starts and what had been built on them when the request was filed."""
        if number in self._known:
            return self._known[number]
        filed = self.happened.index(self._filed(number))
        reached = self._known[number] = set[str]()
        for each in self.happened[:filed]:
            starts = self.asked[number].starts
            if each.kind == "published" and (
                each.what in starts or reached.intersection(self.parents[each.what])
            ):
                reached.add(each.what)
        return reached

    def _filed(self, number: int) -> Happened:
        return next(each for each in self.happened if each.kind == "filed" and each.request == number)

    def _block(self, number: int, kind: str) -> int | None:
        return next(
            (each.block for each in self.happened if each.kind == kind and each.request == number), None
        )

    def _is_withdrawn(self, name: str) -> bool:
        versions = [e.kind for e in self.happened if e.what == name and e.kind in ("answered", "withdrawn")]
        return bool(versions) and versions[-1] == "withdrawn"
