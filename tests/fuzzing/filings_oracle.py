# SPDX-License-Identifier: Apache-2.0
"""Invariants of filed requests, derived from the chains alone, without the package's code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.fuzzing.filings_world import BLOCKS, Happened

VERSIONS = ("answered", "withdrawn")
BEGINNINGS = (*VERSIONS, "handed in")


class FilingViolationError(Exception):
    """A filing cost somebody's model, or a request did not end."""


@dataclass(frozen=True)
class Asked:
    """The filer's knowledge of a request.

    Attributes:
        starts: the models it starts from.
        blocks: maximum number of blocks for which it is open.
        admissible: whether members may admit it; None if that depends on the models.
        leaves: whether the owner of the starts asks for all of its data to be forgotten.
    """

    starts: tuple[str, ...]
    sequential: bool
    blocks: int
    admissible: bool | None
    leaves: bool = False


@dataclass(frozen=True)
class FilingsOracle:
    """Checks histories; `owners` and `parents` are of each model, `asked` are the readable requests by
    number."""

    happened: Sequence[Happened]
    owners: Mapping[str, bytes]
    parents: Mapping[str, Sequence[str]]
    asked: Mapping[int, Asked]
    _known: dict[int, set[str]] = field(default_factory=dict)

    def check(self, honest: frozenset[bytes]) -> None:
        """Checks a history; the `honest` accounts do each part within their time.

        Raises FilingViolationError.
        """
        for problem in (*self._admissions(), *self._withdrawals(honest), *self._reaches()):
            raise FilingViolationError(problem)

    def check_decided(self, number: int, block: int) -> None:
        """Checks at the block by which a valid request has to be decided.  Raises FilingViolationError."""
        if self._decision(number) is None:
            raise FilingViolationError(f"request {number} is not decided by block {block}")

    def has_open(self, account: bytes) -> bool:
        """Whether an account has an open request on the chains."""
        own = [each.request for each in self.happened if each.kind == "filed" and each.by == account]
        return any(self._left(number) for number in own)

    def check_done(self, number: int, block: int) -> None:
        """Checks at the block by which an honest request has to be done.  Raises FilingViolationError."""
        self.check_decided(number, block)
        asked, decision = self.asked[number], self._decision(number)
        if decision is not None and decision.kind == "dismissed":
            withdrawn = self._withdrawn(decision)
            gone = self._reached(number) & withdrawn
            if not gone or (asked.sequential and gone != self._reached(number)):
                raise FilingViolationError(f"the honest request {number} was dismissed")
            return
        left = self._left(number) - self._came_back(number)
        if left and (asked.sequential or not self._has_other_work(number)):
            raise FilingViolationError(
                f"the honest request {number} is not done by block {block}: {', '.join(sorted(left))} waits"
            )

    def parts_before(self, number: int) -> int:
        """Parts that owners may do first, of this request and of requests with lower numbers."""
        return sum(len(self._left(each)) for each in self.asked if each <= number)

    def check_held_up(self, name: str, block: int) -> None:
        """Checks a model that nobody may build on.

        Raises FilingViolationError unless a request that reaches the model is open.
        """
        for number, asked in self.asked.items():
            begun = any(each.request == number and each.kind in BEGINNINGS for each in self.happened)
            decision = self._decision(number)
            if not begun or decision is None or name not in self._left(number):
                continue
            if asked.sequential or block <= decision.block + 2 * asked.blocks:
                return
        raise FilingViolationError(f"nobody may build on {name}, and no request is about to replace it")

    def _admissions(self) -> Iterator[str]:
        for each in self.happened:
            if each.kind == "admitted" and self.asked[each.request].admissible is False:
                yield f"request {each.request} was admitted, which nobody may carry out"

    def _withdrawals(self, honest: frozenset[bytes]) -> Iterator[str]:
        for at, each in enumerate(self.happened):
            if each.kind != "withdrawn":
                continue
            number, name = each.request, each.what
            decision = self._decision(number)
            if decision is None or decision.kind != "admitted" or not self.asked[number].sequential:
                yield f"{name} was withdrawn by request {number}, which nobody admitted for that"
                continue
            if name not in self._reached(number):
                yield f"{name} was withdrawn by request {number}, which does not reach it"
            if self._is_emptied(name, number, each):
                continue
            if self.owners[name] in honest:
                yield f"{name} of an honest owner was withdrawn by request {number}"
            ready = max(decision.block, *(self._ready(name, number, at)))
            if each.block <= ready + BLOCKS:
                yield f"{name} was withdrawn {each.block - ready} blocks after its part could be done"

    def _is_emptied(self, name: str, number: int, at: Happened) -> bool:
        """Whether nothing was left of a model: it had no reference with weights, and no training is shown."""
        return self.asked[number].leaves and set(self.parents[name]) <= self._withdrawn(at)

    def _ready(self, name: str, number: int, before: int) -> Iterator[int]:
        """Blocks of the events that a part waits for.

        These are answers of its references, withdrawals that the request waited for, and its owner's answers
        to this request and earlier ones.
        """
        yield 0
        answered = set[str]()
        for each in self.happened[:before]:
            if each.kind not in VERSIONS:
                continue
            reference = each.what in self.parents[name] and each.what not in answered
            if reference and each.kind == "withdrawn" and each.what in self._reached(number):
                yield each.block
            if each.request > number:
                continue
            if each.kind == "answered" and self.owners[each.what] == self.owners[name]:
                yield each.block
            if each.request == number and reference:
                answered.add(each.what)  # one that is withdrawn and comes back gives nobody more time
                yield each.block

    def _reaches(self) -> Iterator[str]:
        for each in self.happened:
            if each.kind in VERSIONS and each.what not in self._reached(each.request):
                yield f"request {each.request} has replaced {each.what}, which it does not reach"

    def _reached(self, number: int) -> set[str]:
        """The starts and their descendants at the time of filing."""
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

    def _left(self, number: int) -> set[str]:
        """The models that a request has still to replace; empty for a dismissed one."""
        decision = self._decision(number)
        if decision is not None and decision.kind == "dismissed":
            return set()
        answers = [each for each in self.happened if each.request == number and each.kind in VERSIONS]
        decided_without = set[str]()
        if answers and not self.asked[number].sequential:  # there is one decision
            decided_without = self._withdrawn(answers[0])
        return self._reached(number) - {each.what for each in answers} - self._withdrawn() - decided_without

    def _came_back(self, number: int) -> set[str]:
        """The models that came back since a request's decision.

        Their owners' time starts anew then, and may end after the bound.
        """
        decision, gone, back = self._decision(number), set[str](), set[str]()
        since = 0 if decision is None else self.happened.index(decision)
        for at, each in enumerate(self.happened):
            if each.kind == "withdrawn":
                gone.add(each.what)
            elif each.kind == "answered" and each.what in gone:
                gone.discard(each.what)
                back |= {each.what} if at > since else set()
        return back

    def _has_other_work(self, number: int) -> bool:
        """Whether requests with lower numbers need parts of this request's filer."""
        by = self._filed(number).by
        return any(
            self.owners[name] == by for each in self.asked if each < number for name in self._reached(each)
        )

    def _filed(self, number: int) -> Happened:
        return next(each for each in self.happened if each.kind == "filed" and each.request == number)

    def _decision(self, number: int) -> Happened | None:
        kinds = ("admitted", "dismissed")
        return next((each for each in self.happened if each.kind in kinds and each.request == number), None)

    def _withdrawn(self, at: Happened | None = None) -> set[str]:
        """The models without weights, now or at an event."""
        before = self.happened if at is None else self.happened[: self.happened.index(at)]
        newest = {each.what: each.kind for each in before if each.kind in VERSIONS}
        return {name for name, kind in newest.items() if kind == "withdrawn"}
