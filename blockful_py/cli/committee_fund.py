# SPDX-License-Identifier: Apache-2.0
"""`blockful committee fund`: gives members gas money on development chains."""

from __future__ import annotations

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Run


def fund(run: Run, as_json: AsJson = False) -> None:
    """Give the members that answer gas money for both chains, if their accounts are empty.

    A member pays from its own account when it takes a request over, raises an alarm, or shows evidence. On
    chains that are not development chains, the command gives nothing: send ether to the accounts that
    `blockful committee status` shows.

    Example: blockful committee fund --run runs/mine
    """
    from blockful_py.pipeline.federation import Federation

    out = Output(as_json)
    with Federation.open(run) as federation:
        funded = federation.epochs.fund()
    out.result({"funded": ["0x" + account.hex() for account in funded]})
    for account in funded:
        out.say(f"account 0x{account.hex()} can pay for gas")
    if not funded:
        out.say("no account was empty on a development chain")
