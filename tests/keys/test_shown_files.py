# SPDX-License-Identifier: Apache-2.0
"""A file that shows a training is for one auditor and commitment, and tells little by its size."""

from __future__ import annotations

import pytest
import torch

from blockful_py.crypto import curve, envelope
from blockful_py.errors import FormatError
from blockful_py.keys.shown_files import STEP, context_of, read_shown, seal_for
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Codec

SECRET, OTHER = 7, 8
CONTEXT = context_of(1, bytes(20), bytes(32), bytes(20))


def sealed(count: int = 3) -> bytes:
    return seal_for(curve.multiply_base(SECRET), {"x": torch.arange(count)}, CONTEXT)


def test_its_auditor_reads_it() -> None:
    assert torch.equal(read_shown(sealed(), SECRET, CONTEXT)["x"], torch.arange(3))


@pytest.mark.parametrize(
    "context",
    [
        context_of(2, bytes(20), bytes(32), bytes(20)),
        context_of(1, bytes(20), b"another training".ljust(32), bytes(20)),
        context_of(1, bytes(20), bytes(32), b"another auditor".ljust(20)),
    ],
)
def test_nobody_reads_it_for_something_else(context: bytes) -> None:
    with pytest.raises(FormatError, match="cannot be decrypted"):
        read_shown(sealed(), SECRET, context)


def test_nobody_else_reads_it_nor_a_part_of_it() -> None:
    data = sealed()
    for file, secret in ((data, OTHER), (data[:-1], SECRET), (data[1:], SECRET), (b"", SECRET)):
        with pytest.raises(FormatError, match="cannot be decrypted"):
            read_shown(file, secret, CONTEXT)


def test_its_size_does_not_tell_a_sample_more_and_it_is_no_part_of_a_request() -> None:
    assert len(sealed(3)) == len(sealed(1000)) == envelope.WRAPPED_BYTES + envelope.sealed_size(STEP)
    assert file_uri(sealed()).codec is Codec.DAG_PB
