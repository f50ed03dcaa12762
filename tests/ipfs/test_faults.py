# SPDX-License-Identifier: Apache-2.0
"""A node that is not there, or that is killed midway."""

from __future__ import annotations

import pytest

from blockful_py.chain.processes import take_port
from blockful_py.errors import StorageError
from blockful_py.storage import file_uri
from blockful_py.storage.ipfs import IpfsStore
from tests.ipfs.conftest import SECONDS
from tests.ipfs.nodes import IpfsNode
from tests.storage.conftest import PATTERN, Pattern

MIB = 2**20


def test_a_node_that_is_killed_midway_loses_nothing_that_was_kept(mortal: IpfsNode) -> None:
    class Deadly(Pattern):
        def read(self, count: int) -> bytes:
            if self.left <= MIB:
                mortal.kill()
            return super().read(count)

    store = IpfsStore(mortal.api, SECONDS)
    kept = store.add(b"kept" + PATTERN)
    with pytest.raises(StorageError, match="start it"):
        store.add_stream(Deadly(3 * MIB))
    for attempt in (lambda: store.read(kept), lambda: store.has(kept), lambda: store.delete(kept)):
        with pytest.raises(StorageError, match="start it"):
            attempt()
    mortal.start()
    assert list(store) == [kept]
    assert store.read(kept) == b"kept" + PATTERN
    assert store.read(store.add_stream(Pattern(3 * MIB))) == PATTERN * 3


def test_a_block_that_went_missing_before_the_pin_is_said(mortal: IpfsNode) -> None:
    store = IpfsStore(mortal.api, 0.5)
    api = store._api
    leaf = file_uri(PATTERN)

    class Collected(Pattern):
        def read(self, count: int) -> bytes:
            if self.left == 0:
                api.remove_blocks([leaf])
            return super().read(count)

    with pytest.raises(StorageError, match="add the file again"):
        store.add_stream(Collected(2 * MIB))
    patient = IpfsStore(mortal.api, SECONDS)
    assert patient.read(patient.add(PATTERN * 2)) == PATTERN * 2


def test_nothing_at_the_address_is_a_storage_error() -> None:
    with take_port() as port, pytest.raises(StorageError, match=r"cannot be reached.*start it"):
        IpfsStore(f"/ip4/127.0.0.1/tcp/{port.number}", SECONDS)
