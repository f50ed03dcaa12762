# SPDX-License-Identifier: Apache-2.0
"""Names that participants gave themselves, shown with their numbers and accounts."""

from __future__ import annotations

from typing import Any

from blockful_py.settings.sections import FederationSettings


def with_parties(document: Any, federation: FederationSettings) -> Any:
    """Adds the party's own name as `party` to every object with a `user`.

    Changes the document and returns it.
    """
    if isinstance(document, dict):
        if "user" in document:
            account = document.get("owner") or document.get("account") or ""
            document["party"] = federation.party(document["user"] or 0, account)
        for each in document.values():
            with_parties(each, federation)
    elif isinstance(document, list):
        for each in document:
            with_parties(each, federation)
    return document
