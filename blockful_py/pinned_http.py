# SPDX-License-Identifier: Apache-2.0
"""HTTP requests to other machines of a federation, with TLS certificates pinned to voting keys."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from blockful_py.crypto.tls import client_context, require_voter
from blockful_py.errors import MessageError, SettingsError, UnreachableError
from blockful_py.extras import needed_by
from blockful_py.monitoring import request_id


@asynccontextmanager
async def stream(
    method: str,
    url: str,
    path: str,
    voter: bytes | None,
    headers: dict[str, str],
    content: bytes = b"",
    *,
    inside: bool = True,
) -> AsyncIterator[Any]:
    """Opens a connection of its own to `url` and yields the response, its body still unread.

    The request carries the caller's request id.
    `voter` is the address that a TLS certificate must be bound to; None accepts any.
    `inside` allows URLs of this host or a private network.  Set it to False where strangers choose the URL;
    the check covers the address that the host name resolves to.

    Raises:
        SettingsError: not a URL such as http://127.0.0.1:7001 or https://192.0.2.1:7001.
        UnreachableError: no answer, a connection that breaks off (also while the body is read), or a URL
            that `inside` forbids.
        MessageError: the certificate is malformed or not bound to `voter`.
    """
    _require_url(url)
    if not inside:
        _require_outside(url, urlsplit(url).hostname or "")
    with needed_by("asking members that are processes"):
        import httpx2

    async def trace(event: str, info: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete" and not inside:
            stream = info["return_value"]
            try:
                _require_outside(url, str(stream.get_extra_info("server_addr")[0]))
            except UnreachableError:
                await stream.aclose()
                raise
        if event == "connection.start_tls.complete":
            stream = info["return_value"]
            certificate = stream.get_extra_info("ssl_object").getpeercert(binary_form=True)
            try:
                require_voter(certificate, voter)
            except MessageError:
                await stream.aclose()
                raise

    context = client_context() if url.startswith("https") else False
    sent = headers | request_id.sent() | {"accept-encoding": "identity", "connection": "close"}
    try:
        async with (
            httpx2.AsyncClient(verify=context, trust_env=False, timeout=None) as client,
            client.stream(
                method, url.rstrip("/") + path, content=content, headers=sent, extensions={"trace": trace}
            ) as answer,
        ):
            yield answer
    except httpx2.TransportError as error:
        raise UnreachableError(f"no member answers at {url} ({error or type(error).__name__})") from None


def _require_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        right = parts.hostname and parts.port and parts.path in ("", "/") and not parts.query
        plain = parts.scheme == "http" and _is_loopback(parts.hostname or "")
        if right and (plain or parts.scheme == "https"):
            return
    except ValueError:
        pass
    raise SettingsError(
        f"{url!r} is not a member's URL such as http://127.0.0.1:7001 or, beyond the loopback interface, "
        "https://192.0.2.1:7001."
    )


def _require_outside(url: str, host: str) -> None:
    """Rejects addresses that are not public; host names pass until resolved.  Raises UnreachableError."""
    address = _address(host)
    if host == "localhost" or (address and (not address.is_global or address.is_multicast)):
        raise UnreachableError(
            f"{url} is not asked: it leads to this host or a private network, and only the federation file "
            "may name machines there (committee.members)"
        )


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address, an IPv4-mapped IPv6 address as IPv4; None for a host name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
