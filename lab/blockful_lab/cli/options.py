# SPDX-License-Identifier: Apache-2.0
"""Options that several experiments share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.errors import SettingsError

if TYPE_CHECKING:
    from blockful_py.settings import EngineSettings

EngineOverrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="A setting of the engine, such as engine.kind=processes. Repeatable.",
    ),
]


def engine_settings(overrides: list[str] | None) -> EngineSettings:
    """The engine's settings after `overrides`.

    Raises SettingsError for settings of other sections: an experiment has its own.
    """
    from blockful_py.settings import Settings

    for override in overrides or ():
        if not override.startswith("engine."):
            raise SettingsError(
                f"an experiment takes settings of engine alone, not {override!r}: leave it out."
            )
    return Settings.load(None, overrides or ()).engine
