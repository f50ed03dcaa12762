# SPDX-License-Identifier: Apache-2.0
"""Encryption under a passphrase: scrypt (RFC 7914) and AES-256-GCM, as one JSON document.

    key        = scrypt(NFKC(passphrase), salt, n, r, p, 32 bytes)
    ciphertext = AES-256-GCM(key, nonce, plain, associated data = JSON of format, label, kdf and cipher)
    checksum   = SHA-256 of the JSON of everything else

The checksum, which anybody can compute, distinguishes damage from a wrong passphrase; the tag authenticates.
The JSON is canonical: sorted keys, no spaces, lower-case hexadecimal, and a line feed at the end.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import asdict, dataclass
from typing import Any

from Crypto.Cipher import AES
from Crypto.Protocol.KDF import scrypt

from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import KeystoreError
from blockful_py.types import Rng

FORMAT = "blockful-keystore/1"
MIN_PASSPHRASE = 8
"""Minimum length in characters."""
MAX_SIZE = 1 << 20
"""Maximum size of a document in bytes."""
_ROUNDS = (1 << 15, 1 << 16, 1 << 17, 1 << 18)
_FIELDS = {"format", "label", "kdf", "cipher", "ciphertext", "tag", "checksum"}
_HEX = re.compile(r"([0-9a-f]{2})*\Z")
_LABEL = re.compile(r"[0-9A-Za-z_.-]{0,100}\Z")


@dataclass(frozen=True, slots=True)
class KdfCost:
    """Parameters of scrypt: 128 * n * r bytes of memory, time proportional to n * r * p.

    The default takes 128 MiB.  Files may ask for 32 to 256 MiB and at most 4 passes: less would make guessing
    too easy, and more would let a hostile file exhaust the machine.  Raises KeystoreError outside these
    bounds.
    """

    n: int = 1 << 17
    r: int = 8
    p: int = 1

    def __post_init__(self) -> None:
        whole = {type(self.n), type(self.r), type(self.p)} == {int}
        if not (whole and self.n in _ROUNDS and self.r == 8 and 1 <= self.p <= 4):
            raise KeystoreError(
                f"scrypt with n={self.n!s:.20}, r={self.r!s:.20}, p={self.p!s:.20} is not allowed: n is a "
                "power of two from 2^15 to 2^18, r is 8 and p 1 to 4. Do not trust its sender."
            )


def require_length(passphrase: str) -> None:
    """Checks a passphrase's length.  Raises KeystoreError below MIN_PASSPHRASE characters."""
    if len(passphrase) < MIN_PASSPHRASE:
        raise KeystoreError(
            f"the passphrase has {len(passphrase)} characters: take {MIN_PASSPHRASE} or more, "
            "better five words."
        )


def lock(
    plain: bytes, passphrase: str, label: str, cost: KdfCost | None = None, rng: Rng = system_rng
) -> bytes:
    """Encrypts `plain` under `passphrase`; `label` stays readable and is authenticated.

    Raises KeystoreError if the passphrase is shorter than MIN_PASSPHRASE.  Raises ValueError for a label of
    more than 100 characters, or with characters other than letters, digits, `_`, `.` and `-`.
    """
    if not _LABEL.match(label):
        raise ValueError(f"{label!r} cannot be the label of a keystore")
    require_length(passphrase)
    salt, nonce = rng(32), rng(12)
    header = {
        "format": FORMAT,
        "label": label,
        "kdf": {"name": "scrypt", **asdict(cost or KdfCost()), "salt": salt.hex()},
        "cipher": {"name": "aes-256-gcm", "nonce": nonce.hex()},
    }
    cipher = _cipher(passphrase, salt, cost or KdfCost(), nonce, header)
    ciphertext, tag = cipher.encrypt_and_digest(plain)
    body = {**header, "ciphertext": ciphertext.hex(), "tag": tag.hex()}
    return _spelt({**body, "checksum": _checksum(body)})


def unlock(data: bytes, passphrase: str) -> bytes:
    """Decrypts a document.  Raises KeystoreError, which tells a damaged file from a wrong passphrase."""
    document = _read(data)
    header = {name: document[name] for name in ("format", "label", "kdf", "cipher")}
    salt, nonce = bytes.fromhex(header["kdf"]["salt"]), bytes.fromhex(header["cipher"]["nonce"])
    cipher = _cipher(passphrase, salt, _cost(document), nonce, header)
    try:
        return bytes(
            cipher.decrypt_and_verify(bytes.fromhex(document["ciphertext"]), bytes.fromhex(document["tag"]))
        )
    except ValueError:
        raise KeystoreError(
            "the passphrase is wrong, or the keystore was altered on purpose. Try the passphrase again; if "
            "you are sure of it, restore the file from a backup."
        ) from None


def _cost(document: dict[str, Any]) -> KdfCost:
    kdf = document["kdf"]
    return KdfCost(kdf["n"], kdf["r"], kdf["p"])


def _read(data: bytes) -> dict[str, Any]:
    """Parses a document and checks that it is complete and undamaged, but does not authenticate it."""
    if len(data) > MAX_SIZE:
        raise _damaged(f"it has {len(data)} bytes, more than {MAX_SIZE}")
    # The format has three objects and no array; checking this first bounds the recursion of the parser.
    if b"[" in data or data.count(b"{") != 3:
        raise _damaged("it is not a JSON document of the format; is it complete?")
    try:
        document = json.loads(data.decode())
    except ValueError:
        raise _damaged("it is not a JSON document; is it complete?") from None
    if not isinstance(document, dict) or document.keys() != _FIELDS or _spelt(document) != data:
        raise _damaged("its fields do not match the format")
    if document["checksum"] != _checksum({name: document[name] for name in _FIELDS - {"checksum"}}):
        raise _damaged("its checksum does not match")
    if document["format"] != FORMAT:
        raise KeystoreError(
            f"the keystore is of format {document['format']!s:.40}, this program reads {FORMAT}: use the "
            "version that wrote it."
        )
    if not _well_formed(document):
        raise _damaged("a field is not as the format says")
    return document


def _well_formed(document: dict[str, Any]) -> bool:
    kdf, cipher = document["kdf"], document["cipher"]
    return (
        isinstance(kdf, dict)
        and kdf.keys() == {"name", "n", "r", "p", "salt"}
        and kdf["name"] == "scrypt"
        and _is_hex(kdf["salt"], 32)
        and isinstance(cipher, dict)
        and cipher.keys() == {"name", "nonce"}
        and cipher["name"] == "aes-256-gcm"
        and _is_hex(cipher["nonce"], 12)
        and _is_hex(document["tag"], 16)
        and _is_hex(document["ciphertext"])
        and isinstance(document["label"], str)
        and bool(_LABEL.match(document["label"]))
    )


def _cipher(passphrase: str, salt: bytes, cost: KdfCost, nonce: bytes, header: dict[str, Any]) -> Any:
    words = unicodedata.normalize("NFKC", passphrase).encode()
    key: Any = scrypt(words, salt, 32, cost.n, cost.r, cost.p)  # type: ignore[arg-type]
    cipher = AES.new(key, AES.MODE_GCM, nonce=nonce)
    cipher.update(_spelt(header))
    return cipher


def _spelt(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _checksum(body: dict[str, Any]) -> str:
    return hashlib.sha256(_spelt(body)).hexdigest()


def _is_hex(value: object, size: int | None = None) -> bool:
    return isinstance(value, str) and bool(_HEX.match(value)) and size in (None, len(value) // 2)


def _damaged(what: str) -> KeystoreError:
    return KeystoreError(f"the keystore is damaged: {what}. Restore it from a backup.")
