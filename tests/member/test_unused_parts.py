# SPDX-License-Identifier: Apache-2.0
"""Keys of parts of requests that are over are destroyed, unless an open request needs the same file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from blockful_py.member.duties import _unused
from blockful_py.record.request_state import RequestStage
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.unixfs import file_uri
from tests.record.test_request_state import WEIGHTS, node_of

OWN, FOREIGN = node_of("a").to_bytes(), node_of("b").to_bytes()
"""Two owners' parts that name the same sealed weights."""
FILES = {file_uri(data): data for data in (OWN, FOREIGN)}


def unused(*requests: tuple[RequestStage, bytes]) -> set[bytes]:
    statuses = [SimpleNamespace(stage=stage, parts={"x": file_uri(data)}) for stage, data in requests]
    store = SimpleNamespace(has=FILES.__contains__, read=lambda uri, limit: FILES[uri])
    docket = SimpleNamespace(admitted=lambda: statuses)
    return _unused(cast(Any, SimpleNamespace(docket=docket, stores=SimpleNamespace(live=store))))


@pytest.mark.parametrize("over", [RequestStage.CARRIED_OUT, RequestStage.LAPSED])
def test_parts_of_a_request_that_is_over_are_no_longer_used(over: RequestStage) -> None:
    assert unused((over, OWN)) == {parse_cid(WEIGHTS).digest}


@pytest.mark.parametrize("stage", [RequestStage.OPEN, RequestStage.PARTLY])
def test_nobody_has_the_key_of_anothers_part_destroyed_by_naming_its_file(stage: RequestStage) -> None:
    assert unused((RequestStage.CARRIED_OUT, FOREIGN), (stage, OWN)) == set()
