# SPDX-License-Identifier: Apache-2.0
"""Stored weights have the form of the architecture, which their header shows before they are read."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import torch
from safetensors import torch as safetensors_torch
from torch import Tensor

from blockful_py.errors import LearningError, UnusableWeightsError
from blockful_py.learning.form import HEADER_SLACK, InMemory, WeightsForm, form_of
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights, equal, to_bytes
from tests.learning.poison import POISONS, Poison

CNN = Architecture("cnn", (1, 8, 8), 10)
ARCHITECTURES = (
    CNN,
    Architecture("resnet18", (3, 32, 32), 10),
    Architecture("mobilenet_v2", (3, 32, 32), 7),
)
FORM = form_of(CNN)


def initial() -> Weights:
    return CNN.initial(torch.Generator())


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda each: each.name)
def test_the_size_is_that_of_the_file(architecture: Architecture) -> None:
    weights, form = architecture.initial(torch.Generator()), form_of(architecture)
    assert form.size == len(to_bytes(weights))
    form.require(weights, "a model")
    assert equal(form.read(InMemory(to_bytes(weights)), "a file"), weights)


@pytest.mark.parametrize("poison", POISONS, ids=lambda each: each.name)
def test_another_form_is_refused_with_what_was_expected_and_found(
    poison: Poison,
) -> None:
    weights = poison.made_of(initial())
    with pytest.raises(UnusableWeightsError, match=poison.said):
        FORM.require(weights, "model x")
    data = to_bytes(weights)
    with pytest.raises(UnusableWeightsError, match=poison.said):
        FORM.read(HeaderAlone(data) if poison.in_header else InMemory(data), "a file")


class HeaderAlone(InMemory):
    """A file whose tensors must not be read."""

    def read(self, begin: int, end: int) -> bytearray:
        assert begin == 0 and end < len(self) / 4, "the tensors were read"
        return super().read(begin, end)


def _metadata(data: bytes) -> bytes:
    return safetensors_torch.save(dict(initial()), metadata={"more": "of it"})


def _long_header(data: bytes) -> bytes:
    """Spaces at the end of the header, which safetensors allows."""
    size = int.from_bytes(data[:8], "little")
    spaces = 8 << 20
    return (size + spaces).to_bytes(8, "little") + data[8 : 8 + size] + b" " * spaces + data[8 + size :]


def _nothing(data: bytes) -> bytes:
    return b""


def _cut(data: bytes) -> bytes:
    return data[:-1]


def _more(data: bytes) -> bytes:
    return data + bytes(8)


def _nested(data: bytes) -> bytes:
    return _with_header(data, "[" * 2000 + "]" * 2000)


def _list(data: bytes) -> bytes:
    return _with_header(data, "[]")


def _endless_numbers(data: bytes) -> bytes:
    entries = {name: {"dtype": "F32", "shape": [1e400], "data_offsets": [0, 4]} for name in initial()}
    return _with_header(data, json.dumps(entries))


def _with_header(data: bytes, header: str) -> bytes:
    return len(header).to_bytes(8, "little") + header.encode() + data


@pytest.mark.parametrize(
    "spoil",
    [_metadata, _long_header, _nothing, _cut, _more, _nested, _list, _endless_numbers],
)
def test_what_is_no_file_of_weights_is_refused(spoil: Callable[[bytes], bytes]) -> None:
    with pytest.raises(UnusableWeightsError, match="a file "):
        FORM.read(InMemory(spoil(to_bytes(initial()))), "a file")


def test_a_header_of_another_order_or_with_some_spaces_is_read() -> None:
    data = to_bytes(initial())
    size = int.from_bytes(data[:8], "little")
    entries = json.loads(data[8 : 8 + size])
    header = json.dumps(dict(reversed(entries.items())), indent=1).encode()
    assert size < len(header) < size + HEADER_SLACK
    spelt = len(header).to_bytes(8, "little") + header + data[8 + size :]
    assert len(spelt) <= FORM.most_bytes
    assert equal(FORM.read(InMemory(spelt), "a file"), initial())


def test_a_network_of_numbers_that_are_not_stored_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Tensor] = {"phase": torch.empty(2, dtype=torch.complex64, device="meta")}
    monkeypatch.setattr(Architecture, "state", lambda architecture: state)
    with pytest.raises(LearningError, match="'phase' of model 'alexnet' is torch"):
        form_of.__wrapped__(Architecture("alexnet", (3, 32, 32), 10))


def test_an_error_names_a_few_tensors_only() -> None:
    with pytest.raises(UnusableWeightsError, match=r"expected F32 .*; and more") as error:
        FORM.require({f"{n:0100}": torch.zeros(1) for n in range(1000)}, "a file")
    assert len(str(error.value)) < 1000


def test_forms_are_equal_where_their_tensors_are() -> None:
    assert WeightsForm(dict(reversed(FORM.tensors.items()))) == FORM
