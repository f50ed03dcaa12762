# SPDX-License-Identifier: Apache-2.0
"""Goes by the federation file that the chain names."""

from __future__ import annotations

import time
from collections.abc import Callable

from blockful_py.errors import RunError, SettingsError
from blockful_py.member.office import MemberOffice

RETRY_SECONDS = 30.0
"""Wait after a file could not be had or used."""


class RulesDuty:
    """Fetches the federation file once the committee has changed it, and has the member go by it.

    A member that cannot votes on nothing until it can.
    """

    name = "rules"

    def __init__(self, office: MemberOffice, now: Callable[[], float] = time.monotonic) -> None:
        self._office = office
        self._now = now
        self._problem: tuple[SettingsError, float] | None = None

    def step(self) -> None:
        """Raises SettingsError, as long as the file cannot be had or this member cannot go by it."""
        try:
            view = self._office.view()
        except RunError:
            return  # the run may come after the member
        if view.is_standing():
            self._problem = None
            return
        if self._problem is not None and self._now() < self._problem[1]:
            raise self._problem[0]
        try:
            view.catch_up()
        except SettingsError as error:
            self._problem = (error, self._now() + RETRY_SECONDS)
            raise
