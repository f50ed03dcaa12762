# SPDX-License-Identifier: Apache-2.0
"""Code named in settings by import path, and its permission on this machine.

Others write the federation file, so its code is imported only if `run.allow` names it too; no federation file
has that section.
"""

from __future__ import annotations

import shlex
from dataclasses import replace

from blockful_py.errors import SettingsError
from blockful_py.settings.sections import RunSettings
from blockful_py.settings.settings import Settings


def named_code(settings: Settings) -> dict[str, str]:
    """Import paths in all sections except `run`, by the key that names them."""
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
    """The section `run`, extended to allow all code that the settings name: their author is the owner."""
    return replace(settings.run, allow=tuple(sorted({*settings.run.allow, *named_code(settings).values()})))


def require_allowed(settings: Settings) -> None:
    """Checks that `run.allow` names all code of settings that came with a federation file; imports nothing.

    Raises SettingsError with the options to add.
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
