# SPDX-License-Identifier: Apache-2.0
"""A model that is streamed gets the bytes that it gets in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from blockful_py.errors import FormatError, LearningError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.path_weights import path_weights
from blockful_py.learning.weights import Weights, flatten, to_bytes
from blockful_py.unlearning.propagation import BLOCK, passing, propagate
from blockful_py.unlearning.streaming import StoredVector, pass_stream


def model(seed: int) -> Weights:
    drawn = torch.Generator().manual_seed(seed)
    return {
        "conv.weight": torch.randn(BLOCK + 3, 2, generator=drawn),
        "norm.num_batches_tracked": torch.tensor(5),
        "norm.running_var": torch.rand(4, generator=drawn),
        "a": torch.randn(2, 3, generator=drawn),
    }


PATHS = path_weights(InheritanceGraph.from_references({"s": [], "t": [], "y": ["s", "t"]}), ["s", "t"])
OLD = {name: model(i) for i, name in enumerate("sty")}
DELTAS = {"s": flatten(model(3)), "t": -2 * flatten(model(4))}
NEW = propagate(OLD, PATHS, DELTAS, 1.0, 0.0).weights["y"]
TERMS = passing(PATHS, DELTAS, 1.0, 0.0).terms["y"]
BYTES = to_bytes(OLD["y"])


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    for first in range(0, len(data), size):
        yield data[first : first + size]


@pytest.mark.parametrize("size", [1000, 2**20, 2**30])
def test_a_streamed_model_has_the_bytes_of_one_in_memory(size: int) -> None:
    assert b"".join(pass_stream(pieces(BYTES, size), TERMS)) == to_bytes(NEW)


def test_changes_may_lie_in_files(tmp_path: Path) -> None:
    terms = []
    for i, (weight, change) in enumerate(TERMS):
        change.tofile(tmp_path / str(i))
        terms.append((weight, StoredVector(tmp_path / str(i))))
    assert b"".join(pass_stream([BYTES], terms)) == to_bytes(NEW)


def test_no_more_than_a_few_blocks_are_held() -> None:
    lengths = [len(piece) for piece in pass_stream(pieces(BYTES, 1000), TERMS)]
    assert max(lengths) <= 4 * BLOCK
    assert sum(lengths) == len(BYTES)


@pytest.mark.parametrize("kept", [0, 5, 100, len(BYTES) - 1])
def test_a_truncated_model_is_refused(kept: int) -> None:
    with pytest.raises(FormatError, match="early"):
        list(pass_stream([BYTES[:kept]], TERMS))


def test_what_follows_a_model_is_refused() -> None:
    with pytest.raises(FormatError, match="goes on"):
        list(pass_stream([BYTES, b"x"], TERMS))


def test_files_of_another_kind_are_refused() -> None:
    with pytest.raises(FormatError, match="would have"):
        list(pass_stream([b"\xff" * 100], TERMS))
    with pytest.raises(FormatError, match="cannot be read"):
        list(pass_stream([(4).to_bytes(8, "little") + b"{}x]"], TERMS))
    with pytest.raises(FormatError, match="'a' is not float32"):
        list(pass_stream([headed({"a": ("BF16", 0, 2)}), b"ab"], TERMS))
    for gap in ({"a": ("F32", 4, 8)}, {"a": ("F32", 0, 8), "b": ("F32", 4, 8)}, {"a": ("F32", 0, -4)}):
        with pytest.raises(FormatError, match="do not follow"):
            list(pass_stream([headed(gap)], TERMS))


def headed(tensors: dict[str, tuple[str, int, int]]) -> bytes:
    entries = {
        name: {"dtype": kind, "shape": [1], "data_offsets": offsets}
        for name, (kind, *offsets) in tensors.items()
    }
    header = json.dumps(entries).encode()
    return len(header).to_bytes(8, "little") + header


def test_changes_of_another_model_are_refused() -> None:
    with pytest.raises(LearningError, match="expected changes of"):
        list(pass_stream([BYTES], [(np.float32(1), np.zeros(3, np.float32))]))
    endless = np.full_like(TERMS[0][1], np.finfo(np.float32).max)
    with pytest.raises(LearningError, match="NaN or infinite"):
        list(pass_stream([BYTES], [(np.float32(10), endless)]))
