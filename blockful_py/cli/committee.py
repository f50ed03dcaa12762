# SPDX-License-Identifier: Apache-2.0
"""`blockful committee`: members that are processes of their own."""

from __future__ import annotations

import typer

from blockful_py.cli import (
    committee_agree,
    committee_init,
    committee_join,
    committee_keygen,
    committee_leave,
    committee_risk,
    committee_rotate,
    committee_serve,
    committee_status,
)


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Committee members as processes: make, serve, look, join, elect, agree, leave, weigh the risk.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    committee_init.register(group)
    committee_serve.register(group)
    committee_status.register(group)
    committee_join.register(group)
    committee_rotate.register(group)
    committee_leave.register(group)
    committee_keygen.register(group)
    committee_agree.register(group)
    committee_risk.register(group)
    app.add_typer(group, name="committee")
