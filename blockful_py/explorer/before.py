# SPDX-License-Identifier: Apache-2.0
"""Figures before a request, from claims in the record."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from blockful_py.explorer.lists import Document
from blockful_py.record.request import Request


def claimed_before(
    connection: sqlite3.Connection, key: bytes, request: Request, only: int | None = None
) -> Mapping[int, Document]:
    """Figures of the versions that a request replaced, by position, by their own nodes and the new ones.

    Figures that were not measured for this request are of the request before, AD_f only if that was to forget
    the same; the accuracy is the one that the owner signed.  `only` restricts the result to one position.
    """
    rows = connection.execute(
        "SELECT old.position, old.accuracy, old.ad_f, new.ad_f_before,"
        " coalesce(new.ad_r_before, old.ad_r) AS ad_r, new.logit_auc_before, request.document"
        " FROM version AS new"
        " JOIN version AS old ON old.position = new.position AND old.version = new.version - 1"
        " LEFT JOIN request ON request.key = old.request WHERE new.request = ?"
        " AND new.position = coalesce(?, new.position)",
        (key, only),
    )
    found = {}
    for position, accuracy, earlier, ad_f, ad_r, logit_auc, document in rows:
        same = document is not None and Request.model_validate_json(document).forget == request.forget
        ad_f = earlier if ad_f is None and same else ad_f
        found[position] = {"ad_f": ad_f, "ad_r": ad_r, "logit_auc": logit_auc, "accuracy": accuracy}
    return found


def stated_before(row: sqlite3.Row) -> Document | None:
    """Claims about the replaced version in the new version's node, which everybody may read."""
    if row["ad_r_before"] is None:
        return None
    figures = {name: row[f"{name}_before"] for name in ("ad_f", "ad_r", "logit_auc")}
    return {**figures, "accuracy": None}
