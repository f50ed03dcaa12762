# SPDX-License-Identifier: Apache-2.0
"""Options for the trust anchors of a proof or certificate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.errors import SettingsError
from blockful_py.types import Bytes32

if TYPE_CHECKING:
    from blockful_py.record.proofs.proof import Sources

BlockHashes = Annotated[
    list[str] | None,
    typer.Option(
        "--block-hash",
        metavar="HASH",
        help="The hash of a block that you trust. Repeatable.",
        show_default=False,
    ),
]
KeyIds = Annotated[
    list[str] | None,
    typer.Option(
        "--key-id", metavar="ID", help="The id of a group key that you trust. Repeatable.", show_default=False
    ),
]
ArchiveHeads = Annotated[
    list[str] | None,
    typer.Option(
        "--archive-head",
        metavar="HEAD",
        help="A head of the archive that you trust. Repeatable.",
        show_default=False,
    ),
]
TrustedRun = Annotated[
    Path | None,
    typer.Option(
        "--run",
        "-r",
        metavar="DIR",
        help="A run whose nodes you trust.",
        show_default=False,
    ),
]
TrustedUrl = Annotated[
    str | None,
    typer.Option("--live-url", help="A node of the live chain that you trust. Needs --contract."),
]
TrustedContract = Annotated[
    str | None,
    typer.Option(
        "--contract", metavar="ADDRESS", help="The address of the LiveChain contract that you trust."
    ),
]


def digests(texts: list[str] | None, option: str) -> frozenset[bytes]:
    """Parses 32-byte hashes.  Raises SettingsError for other text."""
    return frozenset(_octets(text, 32, option) for text in texts or ())


def digest(text: str | None, option: str) -> Bytes32 | None:
    """Parses a 32-byte hash.  Raises SettingsError for other text."""
    return None if text is None else _octets(text, 32, option)


@contextmanager
def sources(
    run: Path | None, url: str | None, contract: str | None, chain_id: int
) -> Iterator[Sources | None]:
    """The chains to compare the document with; None if the options name none.

    Raises SettingsError if the options conflict.
    """
    if (url is None) != (contract is None):
        raise SettingsError("give --live-url and --contract, or neither: a node serves any contract.")
    if run is not None and url is not None:
        raise SettingsError("give --run, or --live-url and --contract.")
    if run is not None:
        from blockful_py.pipeline.proving import opened_run

        with opened_run(run) as chains:
            yield chains
    elif url is not None and contract is not None:
        from blockful_py.pipeline.proving import opened_url

        with opened_url(url, _octets(contract, 20, "--contract"), chain_id) as chains:
            yield chains
    else:
        yield None


def _octets(text: str, size: int, option: str) -> bytes:
    if re.fullmatch(rf"0x[0-9a-fA-F]{{{2 * size}}}", text) is None:
        raise SettingsError(f"{option} takes {size} bytes such as 0x{'ab' * size}, not {text[:80]!r}.")
    return bytes.fromhex(text[2:])
