# SPDX-License-Identifier: Apache-2.0
"""Real failures of the operating system: a limit on file sizes, a killed writer, a file in the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from blockful_py.errors import StorageError
from blockful_py.storage import ContentStore
from blockful_py.storage.blockstore import BlockStore
from blockful_py.types import Uri
from tests.limits import ANY_SIZE
from tests.storage.conftest import PATTERN, Pattern

NO_ROOM = """
import io, resource, sys
from blockful_py.errors import StorageError
from blockful_py.storage import ContentStore
store = ContentStore(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
try:
    store.add_stream(io.BytesIO(b"a" * 500_000 + bytes(2_000_000)))
except StorageError as error:
    print(error)
"""

ADD_AND_DELETE = """
import sys
from blockful_py.storage import ContentStore
store = ContentStore(sys.argv[1])
shared, own = bytes(range(256)) * 4096, sys.argv[2].encode()
for i in range(20):
    uri = store.add(shared + own + bytes([i]))
    assert store.read(uri, 2**24) == shared + own + bytes([i])
    if i != 19:
        store.delete(uri)
"""

ADD_FOR_EVER = """
import itertools, sys
from blockful_py.storage import ContentStore
store = ContentStore(sys.argv[1])
print("ready", flush=True)
for i in itertools.count():
    store.add(i.to_bytes(8, "big") * 300_000)
"""


def test_no_room_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    done = _python(NO_ROOM, str(tmp_path / "store"))
    assert "no room is left" in done
    assert "free some space" in done
    store = ContentStore(tmp_path / "store")
    assert list(store) == []
    assert _files(store) == []


def test_processes_that_add_and_delete_at_once_keep_what_they_pinned(tmp_path: Path) -> None:
    directory = str(tmp_path / "store")
    writers = [
        subprocess.Popen([sys.executable, "-c", ADD_AND_DELETE, directory, f"writer {i}"]) for i in range(3)
    ]
    assert [writer.wait(timeout=6000) for writer in writers] == [0, 0, 0]
    store = ContentStore(directory)
    assert len(list(store)) == 3
    for uri in store:
        assert store.read(uri, ANY_SIZE).startswith(bytes(range(256)) * 4096)
    assert store.collect_garbage() == 0


def test_a_killed_writer_leaves_only_whole_files_and_garbage(tmp_path: Path) -> None:
    directory = str(tmp_path / "store")
    with subprocess.Popen([sys.executable, "-c", ADD_FOR_EVER, directory], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        store = ContentStore(directory)
        while len(list(store)) < 3:
            assert writer.poll() is None
        writer.kill()
    for uri in store:
        assert len(store.read(uri, ANY_SIZE)) == 2_400_000
    store.collect_garbage()
    assert list((store.directory / "tmp").iterdir()) == []


def test_a_deletion_that_fails_halfway_is_finished_by_the_next(
    store: ContentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = store.add(b"".join(bytes([number]) * 2**20 for number in range(4)))
    removed, remove = list[Uri](), BlockStore.remove

    def failing(blocks: BlockStore, block: Uri) -> bool:
        removed.append(block)
        if len(removed) == 3:
            raise StorageError("the disk is gone")
        return remove(blocks, block)

    with monkeypatch.context() as patch, pytest.raises(StorageError, match="the disk is gone"):
        patch.setattr(BlockStore, "remove", failing)
        store.delete(uri)
    assert uri not in removed
    assert len(_files(store)) == 3
    store.delete(uri)
    assert _files(store) == []


def test_a_stream_that_fails_leaves_nothing(store: ContentStore) -> None:
    class Failing(Pattern):
        def read(self, count: int) -> bytes:
            if self.left == 0:
                raise ConnectionError("the peer went away")
            return super().read(count)

    with pytest.raises(ConnectionError):
        store.add_stream(Failing(2 * len(PATTERN)))
    assert _files(store) == []


def test_a_file_is_kept_only_once_the_folders_of_its_blocks_are_durable(
    store: ContentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_store: BlockStore) -> None:
        raise StorageError("the disk does not sync")

    with monkeypatch.context() as patch:
        patch.setattr(BlockStore, "sync", failing)
        with pytest.raises(StorageError, match="does not sync"):
            store.add(PATTERN * 2)
    assert list(store) == []
    assert _files(store) == []
    assert store.read(store.add(PATTERN * 2), ANY_SIZE) == PATTERN * 2


def test_a_file_in_place_of_the_directory_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(b"")
    with pytest.raises(StorageError, match="check that the path is a directory"):
        ContentStore(tmp_path / "store")


def _python(code: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True, timeout=600
    ).stdout


def _files(store: ContentStore) -> list[Path]:
    return [path for path in store.directory.rglob("*") if path.is_file() and path.name != "lock"]
