# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.errors import FormatError
from blockful_py.storage import segments
from blockful_py.storage.segments import KEPT, Segments

SMALL = 8


def of(data: bytes, opened: list[int] | None = None) -> Segments:
    """Segments of SMALL bytes, which a file of whole segments does not end with an empty one."""

    def read_from(index: int) -> Iterator[bytes]:
        if opened is not None:
            opened.append(index)
        yield from (data[at : at + SMALL] for at in range(index * SMALL, len(data), SMALL))

    return Segments(read_from, len(data))


@pytest.fixture(scope="module", autouse=True)
def short_segments() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(segments, "SEGMENT", SMALL)
        yield


@given(
    data=st.binary(max_size=10 * SMALL),
    ranges=st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), max_size=12),
)
def test_ranges_in_any_order_have_the_files_bytes(data: bytes, ranges: list[tuple[int, int]]) -> None:
    file = of(data)
    for begin, end in ranges:
        assert file.read(begin, end) == data[begin:end]


def test_a_reading_in_order_opens_the_file_once() -> None:
    data, opened = bytes(range(100)), list[int]()
    file = of(data, opened)
    assert b"".join(file.read(at, at + 3) for at in range(0, 100, 3)) == data
    assert opened == [0]
    assert file.read(0, 1) == data[:1]  # no longer in memory
    assert opened == [0, 0]


def test_few_segments_are_kept() -> None:
    file = of(bytes(100 * SMALL))
    assert len(file.read(0, 100 * SMALL)) == 100 * SMALL
    assert len(file._kept) == KEPT
    assert file.nbytes == KEPT * SMALL


def test_threads_that_read_at_once_get_their_bytes() -> None:
    data = bytes(range(256))
    file = of(data)

    def read(at: int) -> bool:
        return bytes(file.read(at % 250, at % 250 + 5)) == data[at % 250 : at % 250 + 5]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(0, 7919, 7)))


def test_a_file_is_opened_again_after_an_error() -> None:
    faults = [FormatError("once")]

    def read_from(index: int) -> Iterator[bytes]:
        if index == 1 and faults:
            raise faults.pop()
        yield from (bytes([each]) * SMALL for each in range(index, 3))

    file = Segments(read_from, 3 * SMALL)
    with pytest.raises(FormatError, match="once"):
        file.read(SMALL, 2 * SMALL)
    assert file.read(SMALL, 2 * SMALL) == bytes([1]) * SMALL
