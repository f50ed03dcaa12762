# SPDX-License-Identifier: Apache-2.0
"""Limits set by a participant's owner: working hours, amount of work, and refused requests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path
from typing import Annotated, Literal

from blockful_py.errors import SettingsError
from blockful_py.settings.section import Count, Range, Section
from blockful_py.settings.text import listed, read_document

HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True)
class OwnerLimits(Section):
    """The limits of a participant; none without a file.

    Attributes:
        hours: times of day (machine clock) in which work may begin, such as "20:00-06:00"; begun work is
            finished.
        models_a_day, models: maximum number of models trained per calendar day, and in all; parts of requests
            do not count.
        cores: processor cores that a piece of work may use.
        refused_levels, refused_methods: requests that it refuses.
        turn: a lock file shared by several participants of one machine, so that only one of them works at a
            time.
    """

    hours: tuple[str, ...] = ()
    models_a_day: Annotated[int, Range(ge=0)] | None = None
    models: Annotated[int, Range(ge=0)] | None = None
    cores: Count | None = None
    refused_levels: tuple[Literal["class", "client", "sample"], ...] = ()
    refused_methods: tuple[str, ...] = ()
    turn: str | None = None

    @classmethod
    def load(cls, path: Path) -> OwnerLimits:
        """Reads the limits from a TOML file; a missing file means no limits.

        Raises SettingsError, which lists every wrong key and value.
        """
        from blockful_py.settings.validation import validated

        if not path.exists():
            return cls()
        try:
            limits = validated(cls, read_document(path))
            wrong = [
                f'hours has {each!r}: write a span of the day as "20:00-06:00".'
                for each in limits.hours
                if not HOURS.fullmatch(each)
            ]
            if wrong:
                raise SettingsError(listed(wrong))
        except SettingsError as error:
            raise SettingsError(f"{path}: {error}") from None
        return limits

    def withheld(self, now: datetime) -> str | None:
        """The reason why no work may begin at a time; None if it may."""
        if not self.hours or any(_is_within(now.time(), each) for each in self.hours):
            return None
        return f"work begins in {', '.join(self.hours)} only"

    def enough(self, models: int, today: int) -> str | None:
        """The reason why no further model may be trained; None if it may.

        `models` is the number of models so far, `today` the number trained today.
        """
        if self.models is not None and models >= self.models:
            return f"it has trained {models} models, of {self.models} at most"
        if self.models_a_day is not None and today >= self.models_a_day:
            return f"it has trained {today} models today, of {self.models_a_day} a day at most"
        return None

    def refused(self, level: str, method: str) -> str | None:
        """The reason why the participant refuses a request; None if it does not."""
        if level in self.refused_levels:
            return f"the owner refuses requests of level {level}"
        if method in self.refused_methods:
            return f"the owner refuses method {method}"
        return None


def _is_within(moment: time, hours: str) -> bool:
    """Whether a time is in a span of the day, which may extend past midnight."""
    first, last = (time.fromisoformat(each) for each in hours.split("-"))
    if first <= last:
        return first <= moment < last
    return moment >= first or moment < last
