# SPDX-License-Identifier: Apache-2.0
"""Notices of recall for recipients who have yet to answer, and a feed for everybody (JSON Feed 1.1)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.fields import of_octets
from blockful_py.record.model_node import MAX_NODE_BYTES, PlacedNode
from blockful_py.record.recall.notice import Notice
from blockful_py.record.recall.recipients import Delivered
from blockful_py.storage.cid import cid_string

EVERYBODY = of_octets(bytes(32))
"""The recipient of a notice in a feed."""
JSON_FEED = "https://jsonfeed.org/version/1.1"

SecretOf = Callable[[PlacedNode], int]
"""The secret of a model's owner, which signs notices."""


def notice_for(
    opened: OpenedRun, placed: PlacedNode, version: int, recipient: str, secret: int, at: int
) -> Notice:
    """The signed notice that a version was replaced by the current one; `at` in seconds."""
    live = opened.contracts.live
    return Notice(
        chain_id=live.chain_id,
        contract=of_octets(live.address),
        position=str(placed.position),
        version=version,
        recipient=recipient,
        stands=placed.version,
        replacement=cid_string(placed.uri),
        node=opened.stores.live.read(placed.uri, MAX_NODE_BYTES).decode(),
        at=at,
    ).signed(secret)


def notices(
    opened: OpenedRun, catalogue: Catalogue, unanswered: Iterable[Delivered], secret_of: SecretOf, at: int
) -> Mapping[Delivered, Notice]:
    """A notice for each delivery of a recalled version."""
    found = {}
    for each in unanswered:
        placed = catalogue[each.model]
        found[each] = notice_for(opened, placed, each.version, each.recipient, secret_of(placed), at)
    return found


def feed(opened: OpenedRun, catalogue: Catalogue, secret_of: SecretOf, at: int) -> bytes:
    """A JSON feed of all recalled versions of the run's models, each with a notice to everybody."""
    items = [
        _item(notice_for(opened, placed, version, EVERYBODY, secret_of(placed), at), placed)
        for placed in catalogue.models.values()
        for version in range(placed.version)
    ]
    document = {"version": JSON_FEED, "title": "Recalled model versions", "items": items}
    return json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"


def _item(notice: Notice, placed: PlacedNode) -> dict[str, Any]:
    redaction = placed.node.redaction
    since = notice.at if redaction is None else redaction.request.created
    return {
        "id": f"urn:blockful:{notice.chain_id}:{notice.contract}:{notice.position}:{notice.version}",
        "title": f"{placed.node.name}, version {notice.version}, is recalled",
        "content_text": standing(placed),
        "date_published": datetime.fromtimestamp(since, UTC).isoformat(),
        "_blockful": json.loads(notice.to_bytes()),
    }


def standing(placed: PlacedNode) -> str:
    """The standing of a model, in words."""
    name, version = placed.node.name, placed.version
    if placed.node.is_withdrawn:
        return f"{name} is withdrawn: no version of it has weights."
    return f"version {version} of {name} stands, with the weights {cid_string(placed.node.weights)}."
