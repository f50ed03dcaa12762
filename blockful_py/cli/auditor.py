# SPDX-License-Identifier: Apache-2.0
"""Adds and removes auditors, who may read the archive (`blockful auditor`)."""

from __future__ import annotations

from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import Account, AsJson, Run, address, located_run
from blockful_py.errors import SettingsError


def add(
    account: Account,
    run: Run,
    key: Annotated[
        str, typer.Option("--key", metavar="HEX", help="Encryption key, as `reader keygen` prints it.")
    ],
    as_json: AsJson = False,
) -> None:
    """Have the committee register an auditor, who then gets the keys of all current versions.

    Members that run as processes vote after their operators have agreed.  The command says how to agree.

    Example: blockful auditor add 0x1234567890123456789012345678901234567890 --key
    0x0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798
    """
    run = located_run(run)
    from blockful_py.crypto import curve
    from blockful_py.pipeline.federation import Federation

    out, account_bytes = Output(as_json), address(account)
    try:
        point = curve.decompress(bytes.fromhex(key.removeprefix("0x")))
    except ValueError:
        raise SettingsError(f"{key!r} is not a compressed key of 33 bytes such as 0x02....") from None
    with Federation.open(run) as federation:
        federation.administration().set_auditor(account_bytes, point)
    out.result({"account": "0x" + account_bytes.hex()})
    out.say(f"0x{account_bytes.hex()} is an auditor")


def remove(account: Account, run: Run, as_json: AsJson = False) -> None:
    """Have the committee remove an auditor, who keeps any data already read or copied.

    Example: blockful auditor remove 0x1234567890123456789012345678901234567890
    """
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation

    out, account_bytes = Output(as_json), address(account)
    with Federation.open(run) as federation:
        federation.administration().set_auditor(account_bytes, None)
    out.result({"account": "0x" + account_bytes.hex()})
    out.say(f"0x{account_bytes.hex()} is no longer an auditor")
