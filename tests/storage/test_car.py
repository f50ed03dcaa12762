# SPDX-License-Identifier: Apache-2.0
"""CARs: written files are read back, in any pieces; anything else than CAR version 1 is refused."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multiformats import CID, varint

from blockful_py.errors import FormatError, IntegrityError
from blockful_py.storage import car, cid_string, uri_of
from blockful_py.storage.bounds import MAX_BLOCK_SIZE
from blockful_py.storage.cid import cid_bytes
from blockful_py.types import Codec, Uri

blocks = st.lists(
    st.builds(
        lambda data, codec: (uri_of(data, codec), data), st.binary(max_size=300), st.sampled_from(Codec)
    ),
    max_size=8,
)
ROOT = uri_of(b"root", Codec.RAW)
HEADER = next(car.write(ROOT, ()))


def written(found: Sequence[car.Block], root: Uri = ROOT) -> bytes:
    return b"".join(car.write(root, found))


def section(body: bytes) -> bytes:
    return bytes(varint.encode(len(body))) + body


@given(blocks, st.data())
def test_what_is_written_is_read_in_any_pieces(found: list[car.Block], data: st.DataObject) -> None:
    whole = written(found)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    reader, read = car.CarReader(), []
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        read += reader.feed(whole[start:end])
    reader.end()
    assert read == found


@given(blocks, st.data())
def test_a_car_that_breaks_off_is_refused_unless_it_is_a_whole_one(
    found: list[car.Block], data: st.DataObject
) -> None:
    whole = written(found)
    part = whole[: data.draw(st.integers(0, len(whole) - 1))]
    reader = car.CarReader()
    read = list(reader.feed(part))
    assert read == found[: len(read)]
    try:
        reader.end()
    except FormatError:
        return
    assert written(read) == part


@given(blocks, st.data())
def test_a_changed_byte_is_refused_or_names_another_block(
    found: list[car.Block], data: st.DataObject
) -> None:
    whole = bytearray(written(found))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    try:
        read = list(car.read(bytes(whole)))
    except (FormatError, IntegrityError):
        return
    assert all(uri_of(block, uri.codec) == uri for uri, block in read)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """No other error ends the reading."""
    for prefix in (b"", HEADER):
        with suppress(FormatError, IntegrityError):
            list(car.read(prefix + data))


def test_the_format_is_that_of_the_specification() -> None:
    """Taken apart by another implementation of varints and CIDs, and a header spelled out by hand."""
    whole = written([(ROOT, b"root")])
    size = varint.decode_raw(whole)[0]
    header, rest = whole[1 : 1 + size], whole[1 + size :]
    tag = b"\xd8\x2a\x58\x25\x00" + bytes(CID.decode(cid_string(ROOT)))
    assert header == b"\xa2\x65roots\x81" + tag + b"\x67version\x01"
    size, count, _ = varint.decode_raw(rest)
    assert size == len(rest) - count
    assert bytes(CID.decode(rest[count : count + 36])) == cid_bytes(ROOT)
    assert rest[count + 36 :] == b"root"


def test_blocks_of_the_older_cids_are_read() -> None:
    uri = uri_of(b"node", Codec.DAG_PB)
    old = b"\x12\x20" + uri.digest + b"node"
    assert list(car.read(HEADER + section(old))) == [(uri, b"node")]


def test_a_block_of_2_mib_is_read_and_a_larger_one_refused_before_it_came() -> None:
    block = bytes(MAX_BLOCK_SIZE)
    uri = uri_of(block, Codec.RAW)
    assert list(car.read(written([(uri, block)]))) == [(uri, block)]
    with pytest.raises(FormatError, match="over the maximum of 2097188"):
        list(car.CarReader().feed(HEADER + bytes(varint.encode(MAX_BLOCK_SIZE + 37))))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        HEADER[:-1],
        b"\xff" * 11,
        b"\xff" * 9 + b"\x01",
        b"\x80" * 12,
        section(b""),
        section(HEADER[1:].replace(b"version\x01", b"version\x02")),
        section(b"\xa2\x65roots\x80\x67version\x01"),
        section(b"\xa1\x67version\x01"),
        section(HEADER[1:].replace(b"\x12\x20", b"\x13\x20")),
        HEADER + section(b""),
        HEADER + section(cid_bytes(ROOT)[:-1]),
        HEADER + section(b"\x01\x71\x12\x20" + bytes(32) + b"a"),
        HEADER + section(b"\x01\x55\x00\x02ab"),
        HEADER + section(cid_bytes(ROOT) + b"root")[:-1],
        HEADER + b"\xff" * 5,
    ],
)
def test_what_is_no_car_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        list(car.read(data))


def test_a_block_that_does_not_hash_to_its_cid_is_refused() -> None:
    with pytest.raises(IntegrityError, match=cid_string(ROOT)):
        list(car.read(written([(ROOT, b"toor")])))
