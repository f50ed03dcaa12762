# SPDX-License-Identifier: Apache-2.0
"""Records in events of the archive, and bytes that are none."""

from __future__ import annotations

import pytest

from blockful_py.chain.abi import logged_records
from blockful_py.errors import ChainError
from blockful_py.types import ArchiveReason, ArchiveRecord, Codec, Position, StoredArchiveRecord, Uri
from tests.packed_records import SIZE, packed

RECORDS = [
    ArchiveRecord(Position(1, 0), 0, ArchiveReason.PUBLISHED, Uri(b"\x01" * 32, Codec.RAW)),
    ArchiveRecord(
        Position(2**32 - 1, 7), 2**32 - 1, ArchiveReason.SUPERSEDED, Uri(b"\xff" * 32, Codec.DAG_PB)
    ),
]


def event(data: bytes, first: int = 5) -> dict[str, object]:
    return {"first": first, "timestamp": 1_700_000_000, "head": bytes(32), "records": data}


def test_records_come_back_with_their_indices() -> None:
    found = logged_records(event(b"".join(map(packed, RECORDS))))
    assert found == tuple(
        StoredArchiveRecord(5 + i, record, 1_700_000_000) for i, record in enumerate(RECORDS)
    )


@pytest.mark.parametrize("size", [0, 1, SIZE - 1, SIZE + 1])
def test_bytes_that_are_no_whole_records_are_refused(size: int) -> None:
    with pytest.raises(ChainError, match=f"from 5 on has {size} bytes"):
        logged_records(event((packed(RECORDS[0]) * 2)[:size]))


@pytest.mark.parametrize("place", [12, 13])
def test_a_reason_or_codec_that_no_contract_stores_is_refused(place: int) -> None:
    data = bytearray(packed(RECORDS[0]))
    data[place] = 9
    with pytest.raises(ChainError, match="record 5 of the archive has reason"):
        logged_records(event(bytes(data)))
