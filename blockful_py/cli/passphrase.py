# SPDX-License-Identifier: Apache-2.0
"""Reads passphrases from a file, the environment or a prompt, never from the command line."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from blockful_py.errors import SettingsError
from blockful_py.pipeline.run.environment import PASSPHRASE


def passphrase_from(
    file: Path | None = None,
    folder: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    ask: Callable[[str], str] | None = None,
    repeat: bool = False,
) -> str:
    """The first line of `file` if given, else $BLOCKFUL_PASSPHRASE, else the user's input.

    For the existing keys of a party in `folder`, FOLDER.words beside it precedes the environment, as
    `blockful up` writes it.  `ask` shows a prompt and returns the answer; by default it reads from a terminal
    without echo.  `repeat` asks twice, to confirm a new passphrase.  Raises SettingsError if there is no
    passphrase, or the two answers differ.
    """
    if file is None and folder is not None and (own := beside(folder)).exists():
        file = own
    if file is not None:
        return _first_line(file)
    if PASSPHRASE in environment:
        return _given(environment[PASSPHRASE], f"${PASSPHRASE}")
    if ask is None:
        if not sys.stdin.isatty():
            raise SettingsError(
                f"a passphrase is needed, but there is no terminal to prompt on: set ${PASSPHRASE}, or name "
                "a file with --passphrase-file."
            )
        ask = getpass.getpass
    words = _given(ask("Passphrase: "), "the answer")
    if repeat and ask("Once more: ") != words:
        raise SettingsError("the two passphrases differ; nothing was written. Try again.")
    return words


def beside(folder: Path) -> Path:
    """The passphrase file beside a party's folder."""
    return folder.absolute().parent / f"{folder.absolute().name}.words"


def _first_line(file: Path) -> str:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the passphrase file {file} cannot be read: {error}.") from None
    return _given(lines[0] if lines else "", str(file))


def _given(words: str, where: str) -> str:
    if not words:
        raise SettingsError(f"{where} has no passphrase.")
    return words
