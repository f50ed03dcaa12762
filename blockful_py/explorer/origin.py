# SPDX-License-Identifier: Apache-2.0
"""Origins: addresses at which browsers see a page."""

from __future__ import annotations

from urllib.parse import urlsplit

from blockful_py.errors import SettingsError


def require_origin(text: str) -> str:
    """Normalises an origin (scheme, name and port).  Raises SettingsError if it is malformed."""
    try:
        parts = urlsplit(text.lower().removesuffix("/"))
        plain = parts.scheme in ("http", "https") and parts.netloc == parts.geturl().partition("://")[2]
        if plain and parts.hostname and "@" not in parts.netloc and (parts.port is None or parts.port > 0):
            return parts.geturl()
    except ValueError:
        pass
    raise SettingsError(f"{text!r} is not an address such as https://explorer.example.")
