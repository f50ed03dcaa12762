# SPDX-License-Identifier: Apache-2.0
"""Values survive encoding and decoding; invalid bytes are refused with one error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.committee import codec
from blockful_py.committee.certificates import Cosigning
from blockful_py.committee.keystore import MemberKeys
from blockful_py.committee.proposals import ArchiveChunk
from blockful_py.committee.service import messages
from blockful_py.committee.service.generation import Charter, Origin
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.outbox import Evidence
from blockful_py.committee.succession import Acknowledgement, Succession
from blockful_py.committee.wire import FirstLine
from blockful_py.crypto.threshold.keys import CommitteeKey, KeyShare
from blockful_py.crypto.threshold.messages import Confirmation, Reveal, SignatureShares
from blockful_py.errors import MessageError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.types import ArchiveReason, ArchiveRecord, Codec, Length, Position, Uri

Short = Annotated[bytes, Length(0, 40)]


@dataclass(frozen=True)
class Sample:
    number: int
    data: Short
    text: str
    flag: bool
    pairs: tuple[tuple[int, Short], ...]


@dataclass(frozen=True)
class Careless:
    data: bytes


DECODED = (
    *(value for value in vars(messages).values() if is_dataclass(value)),
    *dict.fromkeys(kind.row.body for kind in MessageKind if kind.row.body),
    *dict.fromkeys(kind.row.answer for kind in MessageKind),
    *(Acknowledgement, Charter, CommitteeKey, Confirmation, Cosigning, Evidence, FirstLine, KeyShare),
    *(MemberKeys, Origin, ReaderKeys, Reveal, SignatureShares, Succession),
)
"""All types that are decoded from others' bytes and from the own files."""


def leaves(kind: Any, where: str) -> Iterator[tuple[str, Any]]:
    """The types of the values in a value, each with its place."""
    if get_origin(kind) is tuple:
        for each in get_args(kind):
            yield from leaves(each, f"{where}[]")
    elif is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            yield from leaves(hints[field.name], f"{where}.{field.name}")
    else:
        yield where, kind


SAMPLES = st.builds(
    Sample,
    st.integers(0, 2**256 - 1),
    st.binary(max_size=40),
    st.text(max_size=20),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 2**64), st.binary(max_size=3)), max_size=3).map(tuple),
)
SAMPLE = Sample(1, b"\xab", "x", True, ((2, b""),))
WRITTEN = codec.encode(SAMPLE)


@given(SAMPLES)
def test_values_survive(sample: Sample) -> None:
    assert codec.decode(Sample, codec.encode(sample)) == sample


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_one_error(data: bytes) -> None:
    with pytest.raises(MessageError):
        codec.decode(Sample, data)


@given(st.integers(0, len(WRITTEN) - 1), st.binary(min_size=1, max_size=3))
def test_altered_bytes_are_another_value_or_one_error(place: int, other: bytes) -> None:
    altered = WRITTEN[:place] + other + WRITTEN[place + 1 :]
    try:
        found = codec.decode(Sample, altered)
    except MessageError:
        return
    assert codec.encode(found) == altered


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[" + b"[]," * 100_000 + b"[]]", "200002 values in 300004 bytes"),
        (b"\xff", "not valid JSON"),
        (b"null", "a dict was expected"),
        (WRITTEN[:-1], "not valid JSON"),
        (WRITTEN + b" ", "canonical encoding"),
        (WRITTEN.replace(b'"number":"0x1"', b'"number":"0x01"'), "hexadecimal"),
        (WRITTEN.replace(b'"number":"0x1"', b'"number":1'), "a str was expected"),
        (WRITTEN.replace(b'"number":"0x1"', b'"number":1.5'), "not valid JSON"),
        (WRITTEN.replace(b'"number":"0x1"', b'"number":NaN'), "not valid JSON"),
        (WRITTEN.replace(b'"number":"0x1"', b'"number":"-0x1"'), "hexadecimal"),
        (WRITTEN.replace(b'"number":"0x1"', b'"number":"0x1' + b"0" * 64 + b'"'), "hexadecimal"),
        (WRITTEN.replace(b'"0xab"', b'"0xAB"'), "hexadecimal"),
        (WRITTEN.replace(b'"0xab"', b'"0xa"'), "hexadecimal"),
        (WRITTEN.replace(b'"flag":"0x1"', b'"flag":"0x2"'), "no bool"),
        (WRITTEN.replace(b'"text":"x"', b'"text":"x","text":"x"'), "occurs twice"),
        (WRITTEN.replace(b'"text":"x"', b'"text":"x","more":"x"'), "missing or unknown fields"),
        (WRITTEN.replace(b',"text":"x"', b""), "missing or unknown fields.*text"),
        (WRITTEN.replace(b'["0x2","0x"]', b'["0x2"]'), "1 items, 2 were expected"),
    ],
)
def test_what_is_no_value_is_refused(data: bytes, reason: str) -> None:
    assert data != WRITTEN
    with pytest.raises(MessageError, match=reason):
        codec.decode(Sample, data)


def test_bytes_without_a_length_are_no_field_of_a_message() -> None:
    with pytest.raises(TypeError, match=r"Careless\.data has no length"):
        codec.decode(Careless, b'{"data":"0x"}')


@pytest.mark.parametrize("kind", DECODED, ids=lambda kind: kind.__name__)
def test_every_message_says_how_long_its_bytes_are(kind: type) -> None:
    assert [where for where, hint in leaves(kind, kind.__name__) if hint is bytes] == []


def test_fields_have_their_lengths_and_ranges() -> None:
    record = ArchiveRecord(Position(1, 0), 0, ArchiveReason.PUBLISHED, Uri(bytes(32), Codec.RAW))
    written = codec.encode(ArchiveChunk(bytes(32), 5, (record,)))
    assert codec.decode(ArchiveChunk, written).records == (record,)
    for old, new, reason in (
        (b"00" * 32 + b'"', b"00" * 31 + b'"', "31 bytes, 32 were expected"),
        (b'"height":"0x1"', b'"height":"0x100000000"', "height and index must be"),
        (b'"codec":"0x55"', b'"codec":"0x56"', "no Codec"),
    ):
        with pytest.raises(MessageError, match=reason):
            codec.decode(ArchiveChunk, written.replace(old, new))
