# SPDX-License-Identifier: Apache-2.0
"""Passphrase-encrypted account files in geth's format: Web3 Secret Storage, version 3."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from blockful_py.bounded_json import parse_json
from blockful_py.chain.ethereum import Account
from blockful_py.crypto import curve
from blockful_py.crypto.passphrase import require_length
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.secret_file import read_own
from blockful_py.errors import KeystoreError
from blockful_py.types import Rng
from blockful_py.whole_file import write_secret

MAX_SIZE = 1 << 16
"""Maximum size of a file in bytes."""
WORK = 1 << 17
"""Parameter n of scrypt; with r = 8 it takes 128 MiB."""
_BOUNDS = {"n": 1 << 20, "r": 8, "p": 8, "c": 10_000_000, "dklen": 64}
"""Maximum key derivation parameters accepted in a file: 1 GiB of memory and a few seconds."""


def create(path: Path, words: str, work: int = WORK, rng: Rng = system_rng) -> bytes:
    """Creates an account in a new file that only its user can read; returns its 20-byte address.

    Raises KeystoreError if the file exists or cannot be written, or if the passphrase is too short.
    """
    require_length(words)
    secret = curve.random_scalar(rng)
    document = Account.encrypt(secret.to_bytes(32, "big"), words, kdf="scrypt", iterations=work)
    write_secret(path, json.dumps(document, sort_keys=True) + "\n", KeystoreError)
    return curve.address(curve.multiply_base(secret))


def address_in(path: Path) -> bytes:
    """The 20-byte address that the file names.  Raises KeystoreError."""
    return _address(path, _document(path))


def secret_in(path: Path, words: str) -> int:
    """Decrypts the secret key of the account in the file.

    Raises KeystoreError if the file cannot be read or is not a keystore, its key derivation is too costly,
    its key does not match its address, or the passphrase is wrong.
    """
    document = _document(path)
    address = _address(path, document)
    _require_bounded(path, document)
    try:
        secret = int.from_bytes(Account.decrypt(document, words), "big")
    except ValueError:
        raise KeystoreError(f"the passphrase does not open {path}, or the file is damaged.") from None
    except (KeyError, TypeError) as error:
        raise KeystoreError(f"{path} is not a keystore of an Ethereum account: {error!r:.100}.") from None
    if not 0 < secret < curve.N or curve.address(curve.multiply_base(secret)) != address:
        raise KeystoreError(f"{path} names account 0x{address.hex()} but holds another one.")
    return secret


def _document(path: Path) -> dict[str, Any]:
    data = read_own(path, MAX_SIZE, "make one with `blockful account create`.")
    try:
        document = parse_json(data)
    except ValueError:
        document = None
    if len(data) > MAX_SIZE or not isinstance(document, dict) or document.get("version") != 3:
        raise KeystoreError(
            f"{path} is not a keystore of an Ethereum account (Web3 Secret Storage, version 3, at most "
            f"{MAX_SIZE} bytes)."
        )
    return document


def _address(path: Path, document: dict[str, Any]) -> bytes:
    try:
        address = bytes.fromhex(str(document.get("address", "")).removeprefix("0x"))
    except ValueError:
        address = b""
    if len(address) != 20:
        raise KeystoreError(f"{path} is not a keystore of an Ethereum account: its `address` is missing.")
    return address


def _require_bounded(path: Path, document: dict[str, Any]) -> None:
    crypto = document.get("crypto", document.get("Crypto"))
    parameters = crypto.get("kdfparams") if isinstance(crypto, dict) else None
    if not isinstance(parameters, dict):
        raise KeystoreError(f"{path} is not a keystore of an Ethereum account: it has no `crypto.kdfparams`.")
    for name, bound in _BOUNDS.items():
        value = parameters.get(name, 1)
        if type(value) is not int or not 0 < value <= bound:
            raise KeystoreError(
                f"{path} asks for {name} = {value!s:.20} in its key derivation (maximum {bound}): do not "
                "trust its sender."
            )
