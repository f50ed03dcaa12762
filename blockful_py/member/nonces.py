# SPDX-License-Identifier: Apache-2.0
"""Nonce pairs made in idle time, so that a member answers round 1 of a redaction at once."""

from __future__ import annotations

from blockful_py.errors import RefusedError, RunError
from blockful_py.member.office import MemberOffice


class NonceDuty:
    """Keeps `ahead` nonce pairs ready while this member has a seat: one for each model or header to come."""

    name = "nonces"

    def __init__(self, office: MemberOffice, ahead: int) -> None:
        self._office = office
        self._ahead = ahead

    def step(self) -> None:
        """Raises NonceReuseError when the machine's source of randomness repeats itself."""
        try:
            seat = self._office.current_seat()
        except (RunError, RefusedError):
            return  # the run may come after the member, and its seat later still
        seat.member.prepare(self._ahead)
