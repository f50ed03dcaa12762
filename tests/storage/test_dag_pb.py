# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.errors import FormatError
from blockful_py.storage.dag_pb import Link, decode, encode
from blockful_py.types import Codec, Uri

links = st.builds(
    Link,
    st.builds(Uri, st.binary(min_size=32, max_size=32), st.sampled_from(Codec)),
    st.integers(0, 2**50),
    st.integers(0, 2**60),
)
LINK = Link(Uri(bytes(range(32)), Codec.RAW), 5, 5)


@given(st.lists(links, max_size=20).map(tuple))
def test_decoding_inverts_encoding(node: tuple[Link, ...]) -> None:
    assert decode(encode(node)).links == node
    assert decode(encode(node)).data == b""


@given(st.binary(max_size=200))
def test_any_bytes_are_a_file_node_or_a_format_error(block: bytes) -> None:
    """No other error ends the reading."""
    with suppress(FormatError):
        decode(block)


@given(st.lists(links, min_size=1, max_size=3).map(tuple), st.data())
def test_a_truncated_node_is_a_format_error(node: tuple[Link, ...], data: st.DataObject) -> None:
    block = encode(node)
    with pytest.raises(FormatError):
        decode(block[: data.draw(st.integers(0, len(block) - 1))])


def test_inline_data_of_other_builders_is_read() -> None:
    unixfs = b"\x08\x02\x12\x03abc\x18\x03"
    assert decode(b"\x0a" + bytes([len(unixfs)]) + unixfs).data == b"abc"


@pytest.mark.parametrize(
    ("defect", "block"),
    [
        ("without UnixFS data", b""),
        ("type 1", b"\x0a\x02\x08\x01"),
        ("truncated", b"\x0a\x02\x08\x80"),
        ("field of 9 bytes, but only 1 are left", b"\x0a\x09\x08"),
        ("beyond 64 bits", b"\x0a\x0c\x18" + b"\xff" * 10 + b"\x01"),
        ("wire type 5", b"\x0d\x00\x00\x00\x00"),
        ("unexpected or repeated field 3", b"\x18\x01"),
        ("unexpected or repeated field 1", b"\x0a\x02\x08\x02\x0a\x02\x08\x02"),
        ("link without a CID", b"\x12\x02\x12\x00\x0a\x02\x08\x02"),
        ("not a CIDv1", b"\x12\x03\x0a\x01\x01\x0a\x02\x08\x02"),
        ("claims 7 bytes and lists 5", encode((LINK,)).replace(b"\x18\x05\x20\x05", b"\x18\x07\x20\x05")),
        ("1 links and 0 block sizes", encode((LINK,))[:-8] + b"\x0a\x04\x08\x02\x18\x00"),
    ],
)
def test_malformed_nodes_say_what_is_wrong(defect: str, block: bytes) -> None:
    with pytest.raises(FormatError, match=defect):
        decode(block)
