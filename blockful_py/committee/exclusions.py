# SPDX-License-Identifier: Apache-2.0
"""Remembers the members that a coordinator excluded from decisions, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from blockful_py.committee.polling import refuted


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
