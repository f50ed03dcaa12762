# SPDX-License-Identifier: Apache-2.0
"""`blockful experiment`: experiments that can be rerun."""

from __future__ import annotations

import typer

from blockful_py.cli import experiment_audit, experiment_tables


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Rerun the experiments.", no_args_is_help=True, rich_markup_mode=None)
    experiment_audit.register(group)
    experiment_tables.register(group)
    app.add_typer(group, name="experiment")
