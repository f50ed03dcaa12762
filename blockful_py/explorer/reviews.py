# SPDX-License-Identifier: Apache-2.0
"""The members who reviewed a decision, and how."""

from __future__ import annotations

import json
import sqlite3

from blockful_py.explorer.lists import Document, hexed
from blockful_py.record.model_node import Request
from blockful_py.record.parts import checked_by_members
from blockful_py.types import Bytes32


def reviewers(
    connection: sqlite3.Connection, proposal: Bytes32 | None, request: bytes | None = None
) -> Document | None:
    """Signers of a decision's certificate, among all members of its epoch; None without a certificate."""
    row = connection.execute("SELECT * FROM certificate WHERE proposal = ?", (proposal,)).fetchone()
    if row is None:
        return None
    epoch = connection.execute(
        "SELECT members, quorum FROM epoch WHERE number = ? ORDER BY chain DESC LIMIT 1", (row["epoch"],)
    ).fetchone()
    voters = int(row["voters"], 16)
    members = json.loads(epoch["members"]) if epoch else []
    asked = None
    if request is not None:
        found = connection.execute("SELECT document FROM request WHERE key = ?", (request,)).fetchone()
        asked = Request.model_validate_json(found["document"]) if found else None
    return {
        "proposal": hexed(proposal),
        "epoch": row["epoch"],
        "quorum": epoch["quorum"] if epoch else None,
        "checked": checked_by_members(asked).value if asked else None,
        "members": [
            {"index": index, "address": address, "signed": bool(voters >> index & 1)}
            for index, address in enumerate(members)
        ],
    }
