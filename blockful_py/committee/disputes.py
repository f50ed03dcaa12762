# SPDX-License-Identifier: Apache-2.0
"""Finds and notes the members that may be at fault when some refuse to attest nonces and accuse others.

A signer can show a generation of its nonces to one member in advance.  Only that member then accuses it, and
no third member can tell which of the two lies.  A leader therefore retries without either.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, islice

from blockful_py.committee.polling import Refusal, refuted
from blockful_py.errors import CheaterError, DisputedError, QuorumError

MAX_SETS = 1 << 14
"""Maximum number of sets of members examined in one dispute; small committees have fewer."""
MAX_TRIALS = 64
"""Maximum number of sets that are left out, one after the other."""


class Trials:
    """Sets of signers to leave out of later attempts, each once."""

    def __init__(self) -> None:
        self._waiting: deque[frozenset[int]] = deque()
        self._known: set[frozenset[int]] = set()

    def after(self, error: QuorumError) -> frozenset[int]:
        """The next set.  Raises `error` after the last one."""
        if isinstance(error, DisputedError):
            fresh = [each for each in error.suspects if each not in self._known]
            fresh = fresh[: MAX_TRIALS - len(self._known)]
            self._known.update(fresh)
            self._waiting.extend(fresh)
        if not self._waiting:
            raise error
        return self._waiting.popleft()


def settle(replies: Mapping[int, object], signers: Sequence[int], faulty: int, shortage: str) -> QuorumError:
    """The error to raise when too few members attest the nonces of `signers`.

    Its suspects are the signers in each set of at most `faulty` liars that explains all refusals.  Raises
    CheaterError with the signers that more than `faulty` members accuse.
    """
    reasons = {index: each.reason for index, each in replies.items() if isinstance(each, Refusal)}
    accused = {
        index: {*reason.members} & {*signers} if isinstance(reason, CheaterError) else set()
        for index, reason in reasons.items()
    }
    times = Counter(signer for each in accused.values() for signer in each)
    blamed = [index for index in signers if times[index] > faulty]
    if blamed:
        raise CheaterError(blamed, "the generation of nonces, which was pledged before,")
    silent = {index for index, each in accused.items() if not each}
    involved = sorted({*times, *accused})
    sets = chain.from_iterable(combinations(involved, size) for size in range(1, faulty + 1))
    suspects = dict.fromkeys(
        frozenset(chosen) & {*signers}
        for chosen in islice(sets, MAX_SETS)
        if {*chosen} & {*signers}
        and len({*chosen} | silent) <= faulty
        and all(index in chosen or each & {*chosen} for index, each in accused.items() if each)
    )
    message = shortage + "; ".join(f"member {index}: {reason}" for index, reason in reasons.items())
    return DisputedError(message, (*suspects,))


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Members that cheated or failed in a round they had agreed to; keeps the first reason for each.

    Attributes:
        addresses: voting addresses by 1-based index.
    """

    addresses: Mapping[int, bytes]
    reasons: dict[int, str] = field(default_factory=dict)

    def note(self, members: Iterable[int], reason: str) -> None:
        for member in members:
            self.reasons.setdefault(member, reason)

    def note_cheats(self, replies: Mapping[int, object]) -> None:
        """Notes the members whose own replies were refuted."""
        for member, reason in refuted(replies):
            self.note([member], reason)

    def told(self) -> tuple[str, ...]:
        """One description for each excluded member, by index."""
        return tuple(
            f"member {member} (0x{self.addresses[member].hex()}): {reason}"
            for member, reason in sorted(self.reasons.items())
        )
