# SPDX-License-Identifier: Apache-2.0
"""What a member need not keep any longer, once an epoch is over."""

from __future__ import annotations

from blockful_py.committee.service.outbox import Clerk
from blockful_py.errors import RunError
from blockful_py.member.office import MemberOffice


class TidyingDuty:
    """Clears the notes of epochs that are over: no contract takes what they are about any more."""

    name = "notes"

    def __init__(self, office: MemberOffice, clerk: Clerk) -> None:
        self._office = office
        self._clerk = clerk
        self._tidied: tuple[int, bytes, int] | None = None

    def step(self) -> None:
        """Raises MemoryLostError when the notes cannot be changed."""
        try:
            committee = self._office.world().contracts.committee
        except RunError:
            return  # the run may come after the member
        present = (committee.chain_id, committee.address, committee.current_epoch())
        if present != self._tidied:
            self._clerk.forget_before(*present)
            self._tidied = present
