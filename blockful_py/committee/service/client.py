# SPDX-License-Identifier: Apache-2.0
"""Posts a message to a member's URL and waits no longer than a deadline."""

from __future__ import annotations

import http.client
import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

from blockful_py.committee.service.server import PATH
from blockful_py.committee.wire import MAX_MESSAGE
from blockful_py.errors import MessageError, SettingsError, UnreachableError


def post(url: str, data: bytes, seconds: float) -> bytes:
    """The answer of the member at `url`, received within `seconds`.

    Raises:
        SettingsError: not a URL such as http://127.0.0.1:7001.
        UnreachableError: no answer, or none in time.
        MessageError: the member rejects the message, or its answer is too long.
    """
    host, port = _place(url)
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    expired = threading.Event()
    try:
        connection.connect()
        timer = threading.Timer(seconds, _hang_up, (connection.sock, expired))
        timer.daemon = True
        timer.start()
        try:
            connection.request("POST", PATH, data, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            body = answer.read(MAX_MESSAGE + 1)
        finally:
            timer.cancel()
        if expired.is_set():
            raise TimeoutError
    except (OSError, http.client.HTTPException) as error:
        if expired.is_set() or isinstance(error, TimeoutError):
            raise UnreachableError(f"the member at {url} did not answer within {seconds:g} s") from None
        raise UnreachableError(f"no member answers at {url} ({error or type(error).__name__})") from None
    finally:
        connection.close()
    if len(body) > MAX_MESSAGE:
        raise MessageError(f"the member at {url} answers more than {MAX_MESSAGE} bytes")
    if answer.status != 200:
        raise MessageError(
            f"the member at {url} did not accept a message: {body[:300].decode(errors='replace')}"
        )
    return body


def _hang_up(connected: socket.socket, expired: threading.Event) -> None:
    """Closes a connection that takes too long, even if data still arrives."""
    expired.set()
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


def _place(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        if parts.scheme == "http" and parts.hostname and parts.port and parts.path in ("", "/"):
            return parts.hostname, parts.port
    except ValueError:
        pass
    raise SettingsError(f"{url!r} is not a member's URL such as http://127.0.0.1:7001.")
