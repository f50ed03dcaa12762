# SPDX-License-Identifier: Apache-2.0
"""Keys of parts of requests that are over are destroyed, unless an open request needs the same file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from blockful_py.keys.erasure import ReplacedVersion
from blockful_py.member.duties import CustodyDuty
from blockful_py.member.view import MemberView
from blockful_py.record.request_state import RequestStage
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Position, Uri
from tests.record.test_request_state import WEIGHTS, node_of

SEALED = parse_cid(WEIGHTS)
OWN, FOREIGN, NO_NODE = node_of("a").to_bytes(), node_of("b").to_bytes(), b"no node"
"""Two owners' parts that name the same sealed weights, and a file that is no node."""
FILES = {file_uri(data): data for data in (OWN, FOREIGN, NO_NODE)}
Part = tuple[RequestStage, bytes]
OVER = (RequestStage.CARRIED_OUT, RequestStage.LAPSED)
OPEN = (RequestStage.OPEN, RequestStage.PARTLY)


def view_of(*requests: Part, replaced: Iterable[Uri] = (), late: Iterable[Uri] = ()) -> MemberView:
    """A member's view of requests with one part each, and of a replaced version that sealed some files.

    `late`: parts of each request that do not count.
    """
    versions = [ReplacedVersion("c", Position(1, 0), 0, uri, 0) for uri in replaced]
    view = SimpleNamespace(
        run=SimpleNamespace(party="party", journal=Path("no journal")),
        stores=SimpleNamespace(live=SimpleNamespace(has=FILES.__contains__, read=lambda uri, _: FILES[uri])),
        docket=SimpleNamespace(
            admitted=lambda: [
                SimpleNamespace(stage=stage, parts={"x": file_uri(data)}, unused_parts=late)
                for stage, data in requests
            ]
        ),
        versions=SimpleNamespace(all=lambda: versions, require_another_look=lambda _: None),
    )
    view.files_of_parts = lambda are_open: MemberView.files_of_parts(cast(Any, view), are_open)
    return cast(MemberView, view)


def destroyed(view: MemberView, current: Iterable[Uri] = ()) -> set[bytes]:
    """Names of the keys that a member destroys of the one in its vault."""
    gone = set[bytes]()
    vault = SimpleNamespace(versions=lambda: frozenset({SEALED.digest}), destroy=gone.update)
    CustodyDuty(cast(Any, None), cast(Any, SimpleNamespace(vault=vault)))._destroy(view, frozenset(current))
    return gone


@pytest.mark.parametrize("over", OVER)
def test_parts_of_a_request_that_is_over_are_no_longer_used(over: RequestStage) -> None:
    assert destroyed(view_of((over, OWN), (over, NO_NODE))) == {SEALED.digest}


@pytest.mark.parametrize("over", OVER)
def test_a_part_that_came_late_is_no_longer_used_either(over: RequestStage) -> None:
    """Its owner may have disclosed samples with it."""
    assert destroyed(view_of((over, NO_NODE), late=[file_uri(OWN)])) == {SEALED.digest}
    assert destroyed(view_of((RequestStage.OPEN, NO_NODE), late=[file_uri(OWN)])) == set()


@pytest.mark.parametrize("stage", OPEN)
def test_nobody_has_the_key_of_anothers_part_destroyed_by_naming_its_file(stage: RequestStage) -> None:
    assert destroyed(view_of((RequestStage.CARRIED_OUT, FOREIGN), (stage, OWN))) == set()


@pytest.mark.parametrize("over", OVER)
def test_nobody_has_the_key_of_anothers_stored_model_destroyed_by_a_part_that_names_it(
    over: RequestStage,
) -> None:
    assert destroyed(view_of((over, FOREIGN)), current=[SEALED]) == set()


@pytest.mark.parametrize("stage", OPEN)
def test_nobody_has_the_key_of_anothers_part_destroyed_by_a_replaced_version(stage: RequestStage) -> None:
    assert destroyed(view_of(replaced=[SEALED])) == {SEALED.digest}
    view = view_of((stage, OWN), replaced=[SEALED])
    assert destroyed(view) == set()
    assert MemberView.replaced(view, [SEALED]) == frozenset()
    assert MemberView.replaced(view_of(replaced=[SEALED]), [SEALED]) == {SEALED}
