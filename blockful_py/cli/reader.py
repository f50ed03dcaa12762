# SPDX-License-Identifier: Apache-2.0
"""Makes, registers, bars and readmits readers, and decrypts models for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, Account, AsJson, PassphraseFile, Run, address, located_run
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.errors import SettingsError

if TYPE_CHECKING:
    from blockful_py.pipeline.reader import ReaderSession


KeyFile = Annotated[Path, typer.Argument(metavar="KEYFILE", help="The reader's secrets.")]


def keygen(key_file: KeyFile, passphrase_file: PassphraseFile = None, as_json: AsJson = False) -> None:
    """Make the secrets of a new reader or auditor in a file, encrypted under a passphrase.

    Example: blockful reader keygen reader.json
    """
    from blockful_py.crypto import curve
    from blockful_py.keys.reader_keys import ReaderKeys

    out = Output(as_json)
    keys = ReaderKeys.generate()
    keys.save(key_file, passphrase_from(passphrase_file, repeat=True))
    account, key = "0x" + keys.account.hex(), "0x" + curve.compress(keys.encryption_key).hex()
    out.result({"account": account, "encryption_key": key, "file": str(key_file)})
    out.say(f"reader {account}, encryption key {key}, is in {key_file}")


def register(
    key_file: KeyFile, run: Run, passphrase_file: PassphraseFile = None, as_json: AsJson = False
) -> None:
    """Register a reader on the live chain, or replace its encryption key. The reader's account pays.

    Example: blockful reader register reader.json --run runs/mine
    """
    out = Output(as_json)
    with _session(key_file, run, passphrase_file) as (session, account):
        joined = session.register().joined
    out.result({"account": account, "joined": joined})
    out.say(f"reader {account} is registered; block {joined} is the first after it joined")


def leave(
    key_file: KeyFile, run: Run, passphrase_file: PassphraseFile = None, as_json: AsJson = False
) -> None:
    """Remove a reader from the live chain. If it registers again, it joins as a new reader.

    Example: blockful reader leave reader.json --run runs/mine
    """
    out = Output(as_json)
    with _session(key_file, run, passphrase_file) as (session, account):
        session.leave()
    out.result({"account": account})
    out.say(f"reader {account} has left")


@contextmanager
def _session(key_file: Path, run: Path, passphrase_file: Path | None) -> Iterator[tuple[ReaderSession, str]]:
    run = located_run(run)
    from blockful_py.keys.reader_keys import ReaderKeys
    from blockful_py.pipeline.reader import ReaderSession

    keys = ReaderKeys.load(key_file, passphrase_from(passphrase_file))
    with ReaderSession(run, keys) as session:
        yield session, "0x" + keys.account.hex()


def bar(account: Account, run: Run, as_json: AsJson = False) -> None:
    """Have the committee bar an account from reading.

    Members that run as processes vote after their operators have agreed. The command says how to agree.

    Example: blockful reader bar 0x1234567890123456789012345678901234567890
    """
    _set_barred(account, True, located_run(run), as_json)


def readmit(account: Account, run: Run, as_json: AsJson = False) -> None:
    """Have the committee let a barred account register again. Members vote as on barring.

    Example: blockful reader readmit 0x1234567890123456789012345678901234567890
    """
    _set_barred(account, False, located_run(run), as_json)


def _set_barred(text: str, barred: bool, run: Path, as_json: bool) -> None:
    from blockful_py.pipeline.federation import Federation

    out, account = Output(as_json), address(text)
    with Federation.open(run) as federation:
        federation.administration().set_barred(account, barred)
    out.result({"account": "0x" + account.hex(), "barred": barred})
    out.say(f"reader 0x{account.hex()} is {'barred' if barred else 'readmitted'}")


def read(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The name of the model.")],
    reader: Annotated[Path, typer.Option("--reader", metavar="KEYFILE", help="The reader's secrets.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The new file for the weights.")
    ],
    version: Annotated[
        int | None, typer.Option(min=0, help="Read this version from the archive, as an auditor.")
    ] = None,
    data_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the data key to a new file (for `verify-proof`)."),
    ] = None,
    run: Run = LATEST,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Get the key of a model's current version from the committee, decrypt it, and write safetensors.

    With --version, read that version from the archive, as an auditor.

    Example: blockful read r6 --reader reader.json --output r6.safetensors --run runs/mine
    """
    run = located_run(run)
    from blockful_py.keys.data_key import write_data_key
    from blockful_py.keys.reader_keys import ReaderKeys
    from blockful_py.learning.weights import to_bytes
    from blockful_py.pipeline.reader import ReaderSession
    from blockful_py.whole_file import write_secret

    out = Output(as_json)
    for path in (output, data_key):
        if path is not None and path.exists():
            raise SettingsError(f"{path} exists already: choose another file.")
    keys = ReaderKeys.load(reader, passphrase_from(passphrase_file))
    with ReaderSession(run, keys) as session:
        data = to_bytes(session.read(model) if version is None else session.read_archived(model, version))
        key = None if data_key is None else session.data_key(model, version)
    write_secret(output, data, SettingsError)
    if data_key is not None and key is not None:
        write_data_key(data_key, key)
    out.result({"model": model, "file": str(output), "bytes": len(data)})
    out.say(f"{model} is decrypted in {output} ({len(data)} bytes): keep it secret")
