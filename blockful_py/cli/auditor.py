# SPDX-License-Identifier: Apache-2.0
"""Adds, removes and signs in auditors, and destroys their keys after the retention time."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import (
    Account,
    AllowedCode,
    ArchiveUrl,
    AsJson,
    LiveUrl,
    PassphraseFile,
    Run,
    address,
    located_run,
)
from blockful_py.cli.parties import nodes_of, own_code
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.committee.service.duties import Duties
from blockful_py.errors import SettingsError
from blockful_py.explorer.sign_in_message import require_origin
from blockful_py.types import Address, Point


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

    who = address(account)
    try:
        point = curve.decompress(bytes.fromhex(key.removeprefix("0x")))
    except ValueError:
        raise SettingsError(f"{key!r} is not a compressed key of 33 bytes such as 0x02....") from None
    _set_auditor(who, point, run, as_json)


def remove(account: Account, run: Run, as_json: AsJson = False) -> None:
    """Have the committee remove an auditor, who keeps any data already read or copied.

    Example: blockful auditor remove 0x1234567890123456789012345678901234567890
    """
    run = located_run(run)
    _set_auditor(address(account), None, run, as_json)


def _set_auditor(account: Address, key: Point | None, run: Path, as_json: bool) -> None:
    from blockful_py.pipeline.federation import Federation

    out = Output(as_json)
    with Federation.open(run) as federation:
        federation.administration().set_auditor(account, key)
    out.result({"account": "0x" + account.hex()})
    out.say(f"0x{account.hex()} is {'no longer ' if key is None else ''}an auditor")


def sign_in(
    key_file: Annotated[
        Path, typer.Argument(metavar="KEYFILE", help="The auditor's secrets, as `reader keygen` makes them.")
    ],
    url: Annotated[str, typer.Argument(metavar="URL", help="The explorer's address in the browser.")],
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Sign in to an explorer as an auditor: prints a link that works once in a browser, within five minutes.

    The signature is valid for this explorer only.  Anybody with the link can use the session: keep it secret.

    Example: blockful auditor sign-in auditor.json http://127.0.0.1:8000/
    """
    from blockful_py.explorer.sign_in_link import asked_message, signed_link
    from blockful_py.keys.reader_keys import ReaderKeys

    out, origin = Output(as_json), require_origin(url)
    keys = ReaderKeys.load(key_file, passphrase_from(passphrase_file))
    message = asked_message(origin, keys.account)
    link = signed_link(message, keys.account_secret)
    out.result({"link": link, "account": "0x" + keys.account.hex(), "expires": message.expires})
    out.say(f"open this link within five minutes:\n{link}")


def replay(
    key_file: Annotated[
        Path, typer.Argument(metavar="KEYFILE", help="The auditor's secrets, as `reader keygen` makes them.")
    ],
    federation: Annotated[
        Path, typer.Option("--federation", metavar="FILE", help="The federation file (federation.toml).")
    ],
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Folder of fetched public files.")] = Path(
        ".blockful/auditor"
    ),
    live_url: LiveUrl = None,
    archive_url: ArchiveUrl = None,
    allow: AllowedCode = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Replay the trainings that owners show to this auditor, and tell the members, until stopped.

    An owner names auditors that it agrees to (`participant join --replay-by`); a block's hash draws one of
    them for each training.  Samples are held in memory alone.

    Example: blockful auditor replay auditor.json --federation federation.toml --live-url URL --archive-url
    URL
    """
    from blockful_py.keys.reader_keys import ReaderKeys
    from blockful_py.pipeline.replaying import AuditorWork
    from blockful_py.pipeline.run.directory import RunDirectory
    from blockful_py.pipeline.run.entering import RUN, enter, is_outdated
    from blockful_py.record.federation_file import FederationFile, read_federation_file

    out, keys = Output(as_json), ReaderKeys.load(key_file, passphrase_from(passphrase_file))
    stopping = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    data, own = read_federation_file(federation), folder / RUN
    with nodes_of(FederationFile.parse(data).chain, live_url, archive_url, keys.account_secret) as nodes:
        if is_outdated(own, data, nodes):
            run = RunDirectory.open(own)
        else:
            run = enter(own, data, nodes, own={"run": own_code(allow=allow)})
        auditor = AuditorWork(run, nodes, keys)
        account = "0x" + keys.account.hex()
        out.line({"auditor": account})
        out.say(f"auditor {account} waits for trainings to replay (stop it with Ctrl-C)")
        with Duties([auditor]):
            signal.sigwait(stopping)


def expire(run: Run, as_json: AsJson = False) -> None:
    """Destroy the auditors' keys of versions that were replaced more than archive.retention_days ago.

    Example: blockful expire --run runs/mine
    """
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation

    out = Output(as_json)
    with Federation.open(run) as federation:
        expired = federation.expire()
    out.result(
        {
            "expired": [
                {"model": each.name, "position": str(each.position), "version": each.version}
                for each in expired
            ]
        }
    )
    out.say(f"the auditors' keys of {len(expired)} replaced version(s) were destroyed here")
