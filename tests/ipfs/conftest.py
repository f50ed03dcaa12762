# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from blockful_py.storage.ipfs import IpfsStore
from tests.ipfs.nodes import INSTALLED, KUBO, IpfsNode

SECONDS = 120.0
"""For a block that is there, on a machine however busy."""


@pytest.fixture(scope="session", autouse=True)
def _installed() -> None:
    if not KUBO and not (INSTALLED / "node_modules").is_dir():
        pytest.exit("there is no IPFS node to test with: run `make test-ipfs`, which installs one", 2)


@contextmanager
def running(folder: Path) -> Iterator[IpfsNode]:
    made = IpfsNode(folder)
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IpfsNode]:
    """A running node, for tests that leave it running."""
    with running(tmp_path_factory.mktemp("ipfs")) as made:
        yield made


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IpfsNode]:
    """Another one."""
    with running(tmp_path_factory.mktemp("second")) as made:
        yield made


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[IpfsNode]:
    """A running node of one test, which may kill it."""
    with running(tmp_path / "ipfs") as made:
        yield made


@pytest.fixture
def store(node: IpfsNode) -> IpfsStore:
    return IpfsStore(node.api, SECONDS)
