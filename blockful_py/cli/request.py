# SPDX-License-Identifier: Apache-2.0
"""Makes a request that its owners sign on their own machines (`blockful request`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, MethodName, PassphraseFile, Run, located_run
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.cli.unlearn import (
    Classes,
    Clients,
    Datasets,
    ParadigmOption,
    Samples,
    Starts,
    advised,
    show_advice,
)
from blockful_py.errors import FormatError, InvalidSignatureError
from blockful_py.types import Paradigm

if TYPE_CHECKING:
    from blockful_py.record.request_file import RequestFile

File = Annotated[Path, typer.Argument(metavar="FILE", help="The request file.")]


def make(
    file: File,
    run: Run = LATEST,
    starts: Starts = None,
    classes: Classes = None,
    clients: Clients = None,
    samples: Samples = None,
    datasets: Datasets = None,
    paradigm: ParadigmOption = Paradigm.PARALLEL,
    method: MethodName = None,
    as_json: AsJson = False,
) -> None:
    """Write an unsigned request, with the typed data that a wallet shows.

    Example: blockful request make request.json --start r5 --start r7 --class 3
    """

    if file.exists():
        raise FormatError(f"{file} exists already: choose another file.")
    run, out = located_run(run), Output(as_json)
    from blockful_py.cli.work_shown import say_plan
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.review.methods import forget_asked
    from blockful_py.record.reach import reach

    with Federation.open(run) as federation:
        made = federation.draft_request(
            starts, forget_asked(classes, clients, samples, datasets), paradigm, method
        )
        told = advised(made.request.method, advice := federation.advice(made.request))
        if made.request.datasets:
            catalogue = federation.catalogue()
            chunk = federation.settings.chain.chunk_models
            told["plan"] = say_plan(catalogue, reach(catalogue, made.request.datasets), chunk, out)
    made.write(file)
    _show(out, file, made, told)
    show_advice(out, made.request.method, advice)


def sign(
    file: File,
    keystore: Annotated[Path, typer.Option(metavar="FILE", help="The owner's Ethereum keystore.")],
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Add the signature of an owner whose keystore is on this machine. Needs no chain.

    Example: blockful request sign request.json --keystore accounts/user-5.json
    """
    from blockful_py.record.request_file import RequestFile

    request_file = RequestFile.read(file)
    from blockful_py.chain.account_file import secret_in
    from blockful_py.crypto import signature

    secret = secret_in(keystore, passphrase_from(passphrase_file))
    _add(Output(as_json), file, request_file, signature.sign(secret, request_file.digest))


def add(
    file: File,
    signature: Annotated[str, typer.Argument(help="The signature that the wallet returned, 65 bytes, 0x...")],
    as_json: AsJson = False,
) -> None:
    """Add a signature that a wallet made over the file's `typed_data` (eth_signTypedData_v4).

    Example: blockful request add request.json 0x1f2e...
    """
    from blockful_py.record.request_file import RequestFile

    request_file = RequestFile.read(file)
    try:
        signed = bytes.fromhex(signature.removeprefix("0x"))
    except ValueError:
        raise InvalidSignatureError("the signature must be hexadecimal, 0x...") from None
    _add(Output(as_json), file, request_file, signed)


def show(file: File, as_json: AsJson = False) -> None:
    """Show a request, its owners, and the missing signatures.

    Example: blockful request show request.json
    """
    from blockful_py.record.request_file import RequestFile

    _show(Output(as_json), file, RequestFile.read(file), {})


def _add(out: Output, file: Path, request_file: RequestFile, signature: bytes) -> None:
    signed = request_file.with_signature(signature)
    signed.write(file)
    _show(out, file, signed, {})


def _show(out: Output, file: Path, request_file: RequestFile, told: Mapping[str, Any]) -> None:
    """Shows a request; `told`: more for `--json`."""
    out.result({**shown(file, request_file), **told})
    say_file(out, request_file, {})


def shown(file: Path, request_file: RequestFile) -> dict[str, Any]:
    """Document for `--json`."""
    return {
        "file": str(file),
        "request": request_file.request.model_dump(mode="json", exclude={"signatures"}),
        "owners": list(request_file.owners),
        "missing": list(request_file.missing),
        "digest": "0x" + request_file.digest.hex(),
    }


def say_file(out: Output, request_file: RequestFile, names: Mapping[str, str]) -> None:
    """Prints a request and the owners that sign it; `names`: owners in words, by address."""
    request = request_file.request
    starts = ", ".join(f"{start.name} at {start.position}" for start in request.starts)
    out.say(f"from {starts}, forget {request.forget}, {request.paradigm}, by {request.method}")
    for owner in dict.fromkeys(request_file.owners):
        state = "has yet to sign" if owner in request_file.missing else "signed"
        out.say(f"  {names.get(owner, owner)} {state}")
