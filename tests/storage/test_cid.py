# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multiformats import CID

from blockful_py.errors import FormatError
from blockful_py.storage.cid import cid_bytes, cid_string, parse_cid, uri_from_bytes, uri_of
from blockful_py.types import Codec, Uri

uris = st.builds(Uri, st.binary(min_size=32, max_size=32), st.sampled_from(Codec))
EMPTY = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"


def test_empty_block_has_its_well_known_cid() -> None:
    assert cid_string(uri_of(b"", Codec.RAW)) == EMPTY


@given(uris)
def test_cid_equals_that_of_the_multiformats_library(uri: Uri) -> None:
    codec = {Codec.RAW: "raw", Codec.DAG_PB: "dag-pb"}[uri.codec]
    theirs = CID("base32", 1, codec, ("sha2-256", uri.digest))
    assert cid_string(uri) == str(theirs)
    assert cid_bytes(uri) == bytes(theirs)


@given(uris)
def test_parsing_inverts_printing(uri: Uri) -> None:
    assert parse_cid(cid_string(uri)) == uri
    assert uri_from_bytes(cid_bytes(uri)) == uri


def test_bytes_of_a_version_0_cid_mean_dag_pb() -> None:
    assert uri_from_bytes(b"\x12\x20" + bytes(32)) == Uri(bytes(32), Codec.DAG_PB)


@given(st.text(max_size=80) | st.from_regex(r"b[a-z2-7]{50,60}", fullmatch=True))
def test_any_text_is_a_cid_or_a_format_error(text: str) -> None:
    try:
        uri = parse_cid(text)
    except FormatError:
        return
    assert cid_string(uri) == text


@given(st.binary(max_size=40))
def test_any_bytes_are_a_cid_or_a_format_error(data: bytes) -> None:
    """No other error ends the reading."""
    with suppress(FormatError):
        uri_from_bytes(data)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "b",
        EMPTY[:-1],
        EMPTY + "a",
        EMPTY.upper(),
        EMPTY[:-1] + "v",  # the same bytes with a stray bit in the last character
        "QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n",
        "bafyreigdmqpykrgxyaxtlafqpqhzrb7qy2rh75nldvfd4kok6gbhnzzhrm",  # dag-cbor
        "bafkrgqa" + "a" * 100,  # sha2-512
        "../../etc/passwd",
    ],
)
def test_other_spellings_are_refused(text: str) -> None:
    with pytest.raises(FormatError):
        parse_cid(text)


def test_a_digest_of_another_length_has_no_cid() -> None:
    with pytest.raises(FormatError, match="31"):
        cid_bytes(Uri(bytes(31), Codec.RAW))
