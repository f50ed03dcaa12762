# SPDX-License-Identifier: Apache-2.0
"""Signs in from a keystore: requests a message from an explorer, signs it, and puts it into a link.

The signature is in the link's fragment, which browsers never send; the page reads it and signs in.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from blockful_py.bounded_json import parse_json
from blockful_py.crypto import signature
from blockful_py.errors import UnreachableError
from blockful_py.explorer.sign_in import NONCE
from blockful_py.explorer.sign_in_message import SignInMessage
from blockful_py.types import Address

MAX_ANSWER = 4096
SECONDS = 20.0


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def asked_message(origin: str, account: Address) -> SignInMessage:
    """The message that an explorer makes for an account; composed here, so always for `origin`.

    `origin` is as `require_origin` returns it.  Raises UnreachableError without a valid answer.
    """
    address = f"{origin}/api/sign-in/message?address=0x{account.hex()}"
    try:
        with build_opener(_NoRedirects).open(address, timeout=SECONDS) as answer:
            told = parse_json(answer.read(MAX_ANSWER))
        parts = urlsplit(origin)
        return SignInMessage(
            parts.scheme,
            parts.netloc,
            account,
            _number(told["chain"]),
            bytes.fromhex(_matched(told["registry"], "0x([0-9a-f]{40})")),
            _matched(told["nonce"], f"([0-9a-f]{{{NONCE}}})"),
            _number(told["issued"]),
        )
    except (URLError, OSError) as error:
        raise UnreachableError(f"{origin} gives no message to sign ({error}): is it an explorer?") from None
    except (ValueError, TypeError, KeyError):
        raise UnreachableError(f"{origin} gives no message to sign: is it an explorer?") from None


def signed_link(message: SignInMessage, secret: int) -> str:
    """The address of the page that signs in with this message."""
    signed = signature.sign(secret, message.digest).hex()
    account = message.address.hex()
    return (
        f"{message.scheme}://{message.domain}/sign-in#0x{account}.{message.issued}.{message.nonce}.0x{signed}"
    )


def _matched(value: Any, pattern: str) -> str:
    found = re.fullmatch(pattern, value)
    if found is None:
        raise ValueError(f"{value!r:.100} does not match")
    return found[1]


def _number(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 2**53:
        raise ValueError(f"{value!r:.100} is not a number")
    return value
