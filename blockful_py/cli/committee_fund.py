# SPDX-License-Identifier: Apache-2.0
"""Gives members gas money on development chains (`blockful committee fund`)."""

from __future__ import annotations

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Run, located_run


def fund(run: Run, as_json: AsJson = False) -> None:
    """Give gas money for both chains to responding members whose accounts are empty.

    A member pays from its own account when it takes over a request, raises an alarm, or submits evidence.
    The command does nothing on chains other than development chains: send ether to the accounts that
    `blockful committee status` shows.

    Example: blockful committee fund --run runs/mine
    """
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation

    out = Output(as_json)
    with Federation.open(run) as federation:
        funded = federation.epochs.fund()
    out.result({"funded": ["0x" + account.hex() for account in funded]})
    for account in funded:
        out.say(f"account 0x{account.hex()} can pay for gas")
    if not funded:
        out.say("no account was empty on a development chain")
