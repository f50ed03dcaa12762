# SPDX-License-Identifier: Apache-2.0
"""Code that settings name by import path, and whether this machine's owner has allowed it.

A federation file is written by others, so what it names is imported only where `run.allow`, which no such
file has, names it too.
"""

from __future__ import annotations

import shlex
from dataclasses import replace

from blockful_py.errors import SettingsError
from blockful_py.settings.sections import RunSettings
from blockful_py.settings.settings import Settings


def named_code(settings: Settings) -> dict[str, str]:
    """Import paths that all sections but `run` name, each by the key that names it."""
    learning, unlearning = settings.learning, settings.unlearning
    named = {
        "learning.dataset": learning.dataset,
        "learning.model": learning.model,
        **{f"learning.options.{name}": value for name, value in learning.options.items()},
        "learning.trainer": learning.trainer,
        "unlearning.parallel": unlearning.parallel,
        "unlearning.sequential": unlearning.sequential,
    }
    return {key: name for key, name in named.items() if isinstance(name, str) and ":" in name}


def code_of(settings: Settings) -> RunSettings:
    """The section `run` of whoever wrote all of these settings, and so allows what they name."""
    return replace(settings.run, allow=tuple(sorted({*settings.run.allow, *named_code(settings).values()})))


def require_allowed(settings: Settings) -> None:
    """Raises SettingsError, with the options to add, for code that `run.allow` does not name.

    For settings that come of a federation file.  Imports nothing.
    """
    allowed = settings.run.allow
    foreign = {key: name for key, name in named_code(settings).items() if name not in allowed}
    if foreign:
        listed = ", ".join(f"{key} = {name!r}" for key, name in foreign.items())
        options = (f"--allow {shlex.quote(each)}" for each in dict.fromkeys((*allowed, *foreign.values())))
        raise SettingsError(
            f"the federation file names code that you have not allowed on this machine: {listed}. None of it "
            "was imported. If you know it and trust it, repeat `blockful participant join` or `blockful "
            f"committee enter` with {' '.join(options)}"
        )
