# SPDX-License-Identifier: Apache-2.0
"""Limits that the owner of a participant sets: when it works, how much, and what it takes no part in."""

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
    """The limits of a participant; without a file, none.

    Attributes:
        hours: times of day (of the machine's clock) in which work begins, such as "20:00-06:00"; work that
            has begun is finished.
        models_a_day, models: most models that it trains in a calendar day, and in all; parts of requests do
            not count.
        cores: processor cores that a piece of work may use.
        refused_levels, refused_methods: requests that it does no part of.
        turn: a file that several participants of one machine name, so that one of them works at a time.
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
        """The limits in a TOML file; none where there is no file.

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
        """The reason why no work begins at a time; None when it may."""
        if not self.hours or any(_is_within(now.time(), each) for each in self.hours):
            return None
        return f"work begins in {', '.join(self.hours)} only"

    def enough(self, models: int, today: int) -> str | None:
        """The reason why no model is trained beside those there are, of which `today` were trained today."""
        if self.models is not None and models >= self.models:
            return f"it has trained {models} models, of {self.models} at most"
        if self.models_a_day is not None and today >= self.models_a_day:
            return f"it has trained {today} models today, of {self.models_a_day} a day at most"
        return None

    def refused(self, level: str, method: str) -> str | None:
        """The reason why it does no part of a request; None when it does."""
        if level in self.refused_levels:
            return f"the owner refuses requests of level {level}"
        if method in self.refused_methods:
            return f"the owner refuses method {method}"
        return None


def _is_within(moment: time, hours: str) -> bool:
    """Whether a time is in a span of the day, which may go on after midnight."""
    first, last = (time.fromisoformat(each) for each in hours.split("-"))
    if first <= last:
        return first <= moment < last
    return moment >= first or moment < last
