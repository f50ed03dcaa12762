# SPDX-License-Identifier: Apache-2.0
"""Limits a participant's work to a number of processor cores."""

from __future__ import annotations

import os
import random

from blockful_py.errors import SettingsError


class Cores:
    """The cores that this process may use."""

    def __init__(self) -> None:
        self._all = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def limit(self, count: int | None) -> None:
        """Limits this thread, and processes it starts later, to `count` cores; None lifts the limit.

        Raises SettingsError on systems without CPU affinity.
        """
        if self._all:
            os.sched_setaffinity(0, random.sample(self._all, min(count or len(self._all), len(self._all))))
        elif count is not None:
            raise SettingsError("limits.toml: only Linux keeps work to a number of cores: leave `cores` out.")
