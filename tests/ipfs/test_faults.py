# SPDX-License-Identifier: Apache-2.0
"""A node that is not there, or that is killed midway."""

from __future__ import annotations

import pytest

from blockful_py.chain.processes import take_port
from blockful_py.errors import StorageError
from blockful_py.storage import file_uri
from blockful_py.storage.ipfs import IpfsStore
from blockful_py.storage.ipfs_api import IpfsApi
from tests.ipfs.conftest import SECONDS
from tests.ipfs.nodes import IpfsNode
from tests.limits import ANY_SIZE
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
    for attempt in (lambda: store.read(kept, ANY_SIZE), lambda: store.has(kept), lambda: store.delete(kept)):
        with pytest.raises(StorageError, match="start it"):
            attempt()
    mortal.start()
    assert list(store) == [kept]
    assert store.read(kept, ANY_SIZE) == b"kept" + PATTERN
    assert store.read(store.add_stream(Pattern(3 * MIB)), ANY_SIZE) == PATTERN * 3


def test_a_block_that_went_missing_before_the_pin_is_said(
    mortal: IpfsNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, hasty = IpfsStore(mortal.api, SECONDS), IpfsApi(mortal.api, 0.5)
    leaf = file_uri(PATTERN)

    class Collected(Pattern):
        def read(self, count: int) -> bytes:
            if self.left == 0:
                hasty.remove_blocks([leaf])
            return super().read(count)

    with monkeypatch.context() as patch, pytest.raises(StorageError, match="add the file again"):
        patch.setattr(store._api, "pin", hasty.pin)  # a node without the block waits for it in vain
        store.add_stream(Collected(2 * MIB))
    assert store.read(store.add(PATTERN * 2), ANY_SIZE) == PATTERN * 2


def test_nothing_at_the_address_is_a_storage_error() -> None:
    with take_port() as port, pytest.raises(StorageError, match=r"cannot be reached.*start it"):
        IpfsStore(f"/ip4/127.0.0.1/tcp/{port.number}", SECONDS)
