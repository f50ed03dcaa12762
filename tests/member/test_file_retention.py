# SPDX-License-Identifier: Apache-2.0
"""A member keeps named files, fetches missing ones, and removes others after a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.errors import BlockNotFoundError, FormatError, StorageError, UnreachableError
from blockful_py.member import file_retention
from blockful_py.member.file_retention import UNNAMED_SECONDS, KeepingDuty, Limits
from blockful_py.record.parts import MAX_REQUEST_BYTES
from blockful_py.storage import ContentStore, cid_string, file_uri, uri_of
from blockful_py.storage.arrivals import FETCHED, LEAST, Arrivals
from blockful_py.storage.federated import FederatedStore
from blockful_py.types import Codec, Uri
from tests.limits import ANY_SIZE
from tests.storage.machines import serving, store_at

MINUTE = 60.0
MIB = 1 << 20


class Record:
    """The record's named files, and a clock."""

    def __init__(self, *names: Uri) -> None:
        self.names: frozenset[Uri] | None = frozenset(names)
        self.now = 0.0

    def named(self) -> Limits:
        if self.names is None:
            raise UnreachableError("no node answers")
        return dict.fromkeys(self.names, ANY_SIZE)

    def duty(self, store: FederatedStore) -> KeepingDuty:
        return KeepingDuty(store, self.named, lambda: self.now)


@pytest.fixture
def store(tmp_path: Path) -> FederatedStore:
    return store_at(tmp_path / "store")[0]


def test_named_files_are_fetched_and_kept(tmp_path: Path) -> None:
    source = ContentStore(tmp_path / "source")
    with serving(source) as machine:
        store, _ = store_at(tmp_path / "store", [machine])
        record = Record(source.add(b"one"), source.add(b"two"))
        record.duty(store).step()
    assert set(store) == record.names


def test_a_file_that_nobody_has_holds_up_no_other(tmp_path: Path, store: FederatedStore) -> None:
    for block in (b"here", b"also here"):
        store.arrivals.put("a", uri_of(block, Codec.RAW), block)
    record = Record(file_uri(b"lost"), file_uri(b"here"), file_uri(b"also here"))
    unnamed = store.add(b"unnamed")
    duty = record.duty(store)
    with pytest.raises(BlockNotFoundError, match=cid_string(file_uri(b"lost"))):
        duty.step()
    assert set(store) == {file_uri(b"here"), file_uri(b"also here"), unnamed}
    record.now += UNNAMED_SECONDS
    with pytest.raises(StorageError):
        duty.step()
    assert not store.has(unnamed)


def test_a_file_longer_than_its_kind_may_be_is_not_fetched(tmp_path: Path) -> None:
    source = ContentStore(tmp_path / "source")
    bomb, small = source.add(bytes(3 * MIB)), source.add(b"one")
    with serving(source) as machine:
        store, _ = store_at(tmp_path / "store", [machine])
        with pytest.raises(FormatError, match=f"longer than the {MAX_REQUEST_BYTES} bytes"):
            KeepingDuty(store, lambda: {bomb: MAX_REQUEST_BYTES, small: MAX_REQUEST_BYTES}).step()
    assert list(store) == [small]
    assert store.arrivals.used()[FETCHED] <= 2 * LEAST


def test_an_unnamed_file_goes_after_its_time_and_not_before(store: FederatedStore) -> None:
    stands, replaced = store.add(b"stands"), store.add(b"replaced")
    record = Record(stands)
    duty = record.duty(store)
    for _ in range(60):
        duty.step()
        assert store.has(replaced)
        record.now += MINUTE
    duty.step()
    assert list(store) == [stands]


def test_a_replaced_file_goes_at_once_unless_it_is_named(store: FederatedStore) -> None:
    replaced, named, waits = store.add(b"replaced"), store.add(b"named again"), store.add(b"waits")
    record = Record(named)
    KeepingDuty(store, record.named, lambda: 0.0, lambda: [replaced, named, file_uri(b"never here")]).step()
    assert set(store) == {named, waits}


def test_a_file_that_is_named_again_has_its_whole_time_again(store: FederatedStore) -> None:
    uri = store.add(b"waits")
    record = Record()
    duty = record.duty(store)
    for names in ((), (uri,), ()):
        record.names = frozenset(names)
        duty.step()
        record.now += UNNAMED_SECONDS - MINUTE
        duty.step()
        assert store.has(uri)
    record.now += MINUTE
    duty.step()
    assert not store.has(uri)


def test_nothing_is_removed_while_nobody_knows_what_is_named(store: FederatedStore) -> None:
    uri, record = store.add(b"model"), Record()
    duty = record.duty(store)
    duty.step()
    record.names, record.now = None, 100 * UNNAMED_SECONDS
    with pytest.raises(UnreachableError):
        duty.step()
    assert store.has(uri)


def test_unnamed_files_are_bounded_in_bytes_and_the_newest_stay(
    store: FederatedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_retention, "UNNAMED_BYTES", 250)
    record = Record(store.add(bytes(1000)))
    duty, added = record.duty(store), []
    for number in range(4):
        added.append(store.add(bytes([number]) * 100))
        duty.step()
        record.now += 1
    assert [store.has(uri) for uri in added] == [False, False, True, True]
    assert store.has(*record.names or ())


def test_arrived_blocks_go_with_time_unless_their_file_is_named(tmp_path: Path) -> None:
    clock = [0.0]
    own = ContentStore(tmp_path / "store")
    arrivals = Arrivals(tmp_path / "store" / "arrivals", now=lambda: clock[0])
    store = FederatedStore(own, arrivals, lambda: ())
    for block in (b"named", b"other"):
        arrivals.put("a", uri_of(block, Codec.RAW), block)
    clock[0] = max(path.stat().st_mtime for path in tmp_path.rglob("bafk*"))
    record = Record(file_uri(b"named"))
    duty = record.duty(store)
    duty.step()
    assert arrivals.get(file_uri(b"other")) == b"other"
    clock[0] += UNNAMED_SECONDS + 1
    duty.step()
    assert arrivals.get(file_uri(b"other")) == b"other"
    record.now += file_retention.EXPIRY_SECONDS
    duty.step()
    assert list(store) == [file_uri(b"named")]
    with pytest.raises(BlockNotFoundError):
        arrivals.get(file_uri(b"other"))


def test_a_damaged_root_does_not_stop_the_duty(store: FederatedStore) -> None:
    uri = store.add(b"model")
    (path,) = (store.own.directory / "blocks").rglob(cid_string(uri))
    path.write_bytes(b"damaged")
    record = Record()
    duty = record.duty(store)
    duty.step()
    record.now = UNNAMED_SECONDS
    duty.step()
    assert list(store) == []
