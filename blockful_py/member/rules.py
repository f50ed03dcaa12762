# SPDX-License-Identifier: Apache-2.0
"""Makes a member comply with the federation file that the chain names."""

from __future__ import annotations

import time
from collections.abc import Callable

from blockful_py.errors import RunError, SettingsError
from blockful_py.member.office import MemberOffice

RETRY_SECONDS = 30.0
"""Wait after a file could not be fetched or used."""


class RulesDuty:
    """Fetches the federation file after the committee has changed it, and makes the member comply with it.

    Until that succeeds, the member does not vote.
    """

    name = "rules"

    def __init__(self, office: MemberOffice, now: Callable[[], float] = time.monotonic) -> None:
        self._office = office
        self._now = now
        self._problem: tuple[SettingsError, float] | None = None

    def step(self) -> None:
        """Fetches and applies a changed file.

        Raises SettingsError while the file cannot be fetched or this member cannot comply with it.
        """
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
