# SPDX-License-Identifier: Apache-2.0
"""Signs auditors in: creates messages to sign, and checks the signed ones.

It stores nothing for anyone but auditors: a nonce contains a MAC by this process over the message's content,
so the message is recognised without a list.  Only auditors' sign-ins lengthen the list of used nonces.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from typing import Protocol

from blockful_py.crypto import signature
from blockful_py.errors import BlockfulError, InvalidSignatureError
from blockful_py.explorer.sign_in_message import SignInMessage
from blockful_py.types import Address

SALT, CODE = 16, 32
"""Characters of a nonce: its random part, and its MAC."""
NONCE = SALT + CODE


class SignInError(BlockfulError):
    """Sign-in failed; the message tells the user why."""


class Auditors(Protocol):
    """The archive registry, which lists the auditors."""

    @property
    def chain_id(self) -> int: ...

    @property
    def address(self) -> Address: ...

    def auditor_key(self, auditor: Address) -> tuple[int, int]:
        """An auditor's encryption key; (0, 0) for other accounts.  Raises NodeError."""


class SignIn:
    """Signs auditors in; thread-safe."""

    def __init__(self, auditors: Callable[[], Auditors], clock: Callable[[], float] = time.time) -> None:
        """Signs in against the registry from `auditors`, which raises RunError before the archive has one."""
        self._auditors = auditors
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._using = threading.Lock()
        self._used: dict[str, int] = {}

    def message(self, scheme: str, domain: str, address: Address) -> SignInMessage:
        """A message for an account to sign, for a page at `domain`."""
        salt, issued = secrets.token_hex(SALT // 2), int(self._clock())
        return self._made(scheme, domain, address, issued, salt)

    def is_auditor(self, address: Address) -> bool:
        """Whether the archive's registry lists the account now.  Raises NodeError."""
        return self._auditors().auditor_key(address) != (0, 0)

    def require_signed(
        self, scheme: str, domain: str, address: Address, issued: int, nonce: str, signed: bytes
    ) -> None:
        """Accepts an auditor's signed message and marks it as used.

        Raises SignInError if this process did not make the message for this page and account, if it expired
        or was used, if the signature is not the account's, or if the account is not an auditor.  Raises
        NodeError.
        """
        message = self._made(scheme, domain, address, issued, nonce[:SALT])
        if not hmac.compare_digest(message.nonce.encode(), nonce.encode()):
            raise SignInError("this message was made for another page or account: ask for a new one.")
        if self._clock() >= message.expires:
            raise SignInError("this message has expired: ask for a new one.")
        try:
            signer = signature.recover(message.digest, signature.compact(signed))
        except InvalidSignatureError as error:
            raise SignInError(str(error)) from None
        if signer != address:
            raise SignInError("the message was signed with the key of another account.")
        if not self.is_auditor(address):
            raise SignInError("this account is not an auditor: a quorum of the committee names auditors.")
        self._use_up(message)

    def _use_up(self, message: SignInMessage) -> None:
        """Marks a message as used.  Raises SignInError if it was used before."""
        with self._using:
            now = self._clock()
            self._used = {nonce: expires for nonce, expires in self._used.items() if expires > now}
            if message.nonce in self._used:
                raise SignInError("this message was used already: ask for a new one.")
            self._used[message.nonce] = message.expires

    def _made(self, scheme: str, domain: str, address: Address, issued: int, salt: str) -> SignInMessage:
        covered = "\n".join((scheme, domain, address.hex(), str(issued), salt)).encode()
        code = hmac.new(self._secret, covered, hashlib.sha256).hexdigest()[:CODE]
        registry = self._auditors()
        return SignInMessage(
            scheme, domain, address, registry.chain_id, registry.address, salt + code, issued
        )
