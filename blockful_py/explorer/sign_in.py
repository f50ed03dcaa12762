# SPDX-License-Identifier: Apache-2.0
"""Signs auditors in: messages to sign, and the checks of what comes back.

Nothing is kept for anybody who is no auditor.  A nonce carries a code of this process over all that a message
says, so that it is known again without a list; the list of used ones grows with auditors' sign-ins alone.
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

SALT, CODE = 16, 32
"""Characters of a nonce: those that are drawn, and those of the code."""
NONCE = SALT + CODE


class SignInError(BlockfulError):
    """Somebody is not signed in, and is told why."""


class Auditors(Protocol):
    """The archive registry, which knows the auditors."""

    @property
    def chain_id(self) -> int: ...

    @property
    def address(self) -> bytes: ...

    def auditor_key(self, auditor: bytes) -> tuple[int, int]:
        """(0, 0) for an account that is no auditor.  Raises NodeError."""


class SignIn:
    """For several threads."""

    def __init__(self, auditors: Callable[[], Auditors], clock: Callable[[], float] = time.time) -> None:
        """`auditors` raises RunError before the archive has a registry."""
        self._auditors = auditors
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._using = threading.Lock()
        self._used: dict[str, int] = {}

    def message(self, scheme: str, domain: str, address: bytes) -> SignInMessage:
        """A message for an account to sign, for a page at `domain`."""
        salt, issued = secrets.token_hex(SALT // 2), int(self._clock())
        return self._made(scheme, domain, address, issued, salt)

    def is_auditor(self, address: bytes) -> bool:
        """Whether the archive's registry has the account now.  Raises NodeError."""
        return self._auditors().auditor_key(address) != (0, 0)

    def require_signed(
        self, scheme: str, domain: str, address: bytes, issued: int, nonce: str, signed: bytes
    ) -> None:
        """Uses a message up that an auditor has signed.

        Raises SignInError for a message that this process did not make for this page and account, that has
        expired or was used; for another signature than the account's; for an account that is no auditor.
        Raises NodeError.
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
            raise SignInError("another key than this account's signed the message.")
        if not self.is_auditor(address):
            raise SignInError("this account is no auditor: a quorum of the committee names auditors.")
        self._use_up(message)

    def _use_up(self, message: SignInMessage) -> None:
        """Raises SignInError for a message that was used before."""
        with self._using:
            now = self._clock()
            self._used = {nonce: expires for nonce, expires in self._used.items() if expires > now}
            if message.nonce in self._used:
                raise SignInError("this message was used already: ask for a new one.")
            self._used[message.nonce] = message.expires

    def _made(self, scheme: str, domain: str, address: bytes, issued: int, salt: str) -> SignInMessage:
        covered = "\n".join((scheme, domain, address.hex(), str(issued), salt)).encode()
        code = hmac.new(self._secret, covered, hashlib.sha256).hexdigest()[:CODE]
        registry = self._auditors()
        return SignInMessage(
            scheme, domain, address, registry.chain_id, registry.address, salt + code, issued
        )
