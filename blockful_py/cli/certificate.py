# SPDX-License-Identifier: Apache-2.0
"""`blockful certificate`: erasure certificates."""

from __future__ import annotations

import typer

from blockful_py.cli import certificate_issue, certificate_show, certificate_verify


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Erasure certificates: have one signed, look at one, verify one.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    certificate_issue.register(group)
    certificate_show.register(group)
    certificate_verify.register(group)
    app.add_typer(group, name="certificate")
