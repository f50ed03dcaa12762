# SPDX-License-Identifier: Apache-2.0
"""Whoever has a number or an account has its own name beside it, in every answer."""

from __future__ import annotations

from blockful_py.explorer.lists import with_parties
from blockful_py.settings.sections import FederationSettings

ACCOUNT = "0x" + "ab" * 20


def test_names_stand_beside_numbers_and_accounts_at_any_depth() -> None:
    federation = FederationSettings(parties={"2": "<b>north", ACCOUNT: "south"})
    document = {
        "models": [{"user": 2, "owner": "0x" + "00" * 20}, {"user": None, "owner": ACCOUNT.upper()}],
        "filing": {"user": None, "account": ACCOUNT, "parts": [{"user": 3}]},
        "name": "north",
    }
    assert with_parties(document, federation) == {
        "models": [
            {"user": 2, "owner": "0x" + "00" * 20, "party": "<b>north"},
            {"user": None, "owner": ACCOUNT.upper(), "party": "south"},
        ],
        "filing": {"user": None, "account": ACCOUNT, "party": "south", "parts": [{"user": 3, "party": None}]},
        "name": "north",
    }
