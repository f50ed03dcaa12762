# SPDX-License-Identifier: Apache-2.0
"""Keeps the work of a participant to a number of processor cores."""

from __future__ import annotations

import os
import random

from blockful_py.errors import SettingsError


class Cores:
    """The cores that this process may use."""

    def __init__(self) -> None:
        self._all = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def limit(self, count: int | None) -> None:
        """Keeps this thread, and the processes that it starts from now on, to `count` of them; None: to all.

        Raises SettingsError on a system that cannot.
        """
        if self._all:
            os.sched_setaffinity(0, random.sample(self._all, min(count or len(self._all), len(self._all))))
        elif count is not None:
            raise SettingsError("limits.toml: only Linux keeps work to a number of cores: leave `cores` out.")
