# SPDX-License-Identifier: Apache-2.0
"""Weights that are read by ranges: the same bytes and bits as whole ones, in little memory, or an error."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import torch as safetensors_torch

from blockful_py.crypto import envelope
from blockful_py.errors import BlockfulError, UnusableWeightsError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.path_weights import path_weights
from blockful_py.keys.sealing import FoundKeys, SealedWeights, is_sealed, opened, plain_file, seal_weights
from blockful_py.learning.fingerprint import fingerprint
from blockful_py.learning.form import InMemory, WeightsForm, form_of, read_weights
from blockful_py.learning.model_folder import FileRanges
from blockful_py.learning.models import Architecture
from blockful_py.learning.tensor_parts import (
    DTYPES,
    GROUP,
    StreamedWeights,
    TensorForm,
    depth_of,
    forms_of,
    grouped,
    made_when_read,
    parts_of,
)
from blockful_py.learning.weights import (
    Weights,
    aggregate,
    digest_of,
    equal,
    pieces_of,
    require_finite,
    to_bytes,
)
from blockful_py.storage import ContentStore, segments
from blockful_py.types import Uri
from blockful_py.unlearning.propagation import delta, length, propagate
from tests.learning.memory import counting

MIB = 2**20
KEY = bytes(range(32))
BOUND = 80 * MIB
"""For segments and parts, the blocks of a fingerprint, and those that threads write, for any model."""
GRAPH = InheritanceGraph.from_references({"s": [], "y": ["s"]})


class Keys:
    """A keyring with one key."""

    def find(self, uris: object) -> FoundKeys:
        return FoundKeys(dict.fromkeys(uris, KEY))  # type: ignore[attr-defined]

    def holds(self, uri: Uri) -> bool:
        return True


def drawn(forms: Mapping[str, TensorForm], seed: int) -> StreamedWeights:
    """Weights of these forms that are drawn where they are read."""

    def parts(name: str, count: int) -> Iterator[torch.Tensor]:
        form, tile = forms[name], torch.arange(count) % 251 + seed
        for first in range(0, form.count, count):
            yield tile[: form.count - first].to(DTYPES[form.kind])

    return StreamedWeights(forms, parts)


def large(mebibytes: int) -> dict[str, TensorForm]:
    """The form of a model of this size, most of it in one tensor."""
    return {
        "embedding": TensorForm("F32", (mebibytes - 8, 2**18)),
        "layer": TensorForm("F32", (2**20, 2)),
        "running_var": TensorForm("F32", (100,)),
        "counter": TensorForm("I64", ()),
    }


@pytest.fixture
def store(tmp_path: Path) -> ContentStore:
    return ContentStore(tmp_path / "store")


def stored(store: ContentStore, weights: Weights) -> Uri:
    return store.add_each([seal_weights(weights, lambda _: KEY).pieces()])[0]


def test_no_step_holds_a_model_or_its_largest_tensor(store: ContentStore) -> None:
    forms = large(100)
    form = WeightsForm(forms)
    with counting() as sealing:
        uris = [stored(store, drawn(forms, seed)) for seed in range(3)]
    with counting() as reading:
        old, start, new = SealedWeights(store, Keys(), form).read_each(uris)
        form.require(old, "a model")
    with counting() as checking:
        fingerprint(old)
        assert is_sealed(uris[0], old, KEY)
        assert not equal(old, new)
    with counting() as passing:
        change = {"s": delta(start, new)}
        assert length(change["s"]) > 0
        paths = path_weights(GRAPH, ["s"])
        passed = propagate({"s": start, "y": old}, paths, change, 1.0, 1e-3).weights["y"]
        assert stored(store, passed)
        require_finite(passed, "the passed model")
    for name, each in (("seal", sealing), ("read", reading), ("check", checking), ("pass", passing)):
        assert each.peak < BOUND, name


def test_the_count_shows_a_whole_model() -> None:
    with counting() as counted:
        weights = {name: tensor + 1 for name, tensor in drawn(large(16), 0).items()}
    assert counted.tensors > 16 * MIB
    with counting() as counted:
        to_bytes(weights)
    assert counted.objects > 16 * MIB


forms = st.dictionaries(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=4),
    st.builds(
        TensorForm,
        st.sampled_from(["F32", "F16", "BF16", "I64", "U8", "F64", "BOOL"]),
        st.lists(st.integers(0, 5), max_size=3).map(tuple),
    ),
    max_size=6,
)


@given(forms=forms, count=st.integers(1, 7), seed=st.integers(0, 3))
def test_bytes_hashes_and_parts_are_those_of_the_whole_tensors(
    forms: dict[str, TensorForm], count: int, seed: int
) -> None:
    streamed = drawn(forms, seed)
    whole = dict(streamed)
    data = to_bytes(streamed)
    assert data == to_bytes(whole) == safetensors_torch.save(whole)
    assert digest_of(streamed) == digest_of(whole)
    read = read_weights(InMemory(data), "a file")
    assert {**forms_of(read)} == {**forms_of(whole)}
    assert equal(read, whole)
    for name, tensor in whole.items():
        for weights in (read, whole):
            parts = [*parts_of(weights, name, count)]
            assert all(len(part) == count for part in parts[:-1])
            assert torch.equal(torch.cat([tensor.reshape(-1)[:0], *parts]), tensor.reshape(-1))


@given(
    sizes=st.lists(st.integers(1, 70), min_size=2, max_size=4),
    epsilon=st.sampled_from([0.0, 1e-3]),
    seed=st.integers(0, 2**31),
)
def test_passed_weights_are_those_computed_on_whole_vectors(
    sizes: list[int], epsilon: float, seed: int
) -> None:
    """Equation 8 on concatenated float32 vectors, with every operation of its own."""
    rng = np.random.default_rng(seed)
    vectors = {name: rng.normal(size=sum(sizes)).astype(np.float32) for name in ("s", "new", "y")}

    def weights(vector: np.ndarray[tuple[int], np.dtype[np.float32]]) -> Weights:
        cuts = np.cumsum(sizes)[:-1]
        parts = (torch.from_numpy(part.copy()) for part in np.split(vector, cuts))
        return read_weights(InMemory(to_bytes({f"w{i}": part for i, part in enumerate(parts)})), "a file")

    old = {name: weights(vector) for name, vector in vectors.items()}
    change = {"s": delta(old["s"], old["new"])}
    found = propagate(old, path_weights(GRAPH, ["s"]), change, 0.7, epsilon).weights["y"]
    expected = vectors["y"] + (vectors["new"] - vectors["s"]) * np.float32(0.7)
    assert equal(found, weights(expected))


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_files_that_end_near_a_segments_end_are_read_whole(more: int, store: ContentStore) -> None:
    head = len(to_bytes({"w": torch.zeros(2 * MIB, dtype=torch.uint8)})) - 2 * MIB
    weights = {"w": torch.arange(2 * MIB - head + more, dtype=torch.int64).to(torch.uint8)}
    assert len(to_bytes(weights)) == 2 * MIB + more
    assert equal(opened(store, stored(store, weights), KEY), weights)


HEADERS: dict[str, Callable[[dict[str, dict[str, object]]], object]] = {
    "huge": lambda at: {**at, "a": {**at["a"], "shape": [2**60], "data_offsets": [0, 2**62]}},
    "beyond the file": lambda at: {**at, "b": {**at["b"], "shape": [4], "data_offsets": [16, 32]}},
    "negative": lambda at: {**at, "a": {**at["a"], "shape": [-4], "data_offsets": [0, -16]}},
    "two negative": lambda at: {**at, "a": {**at["a"], "shape": [-2, -2]}},
    "overlapping": lambda at: {**at, "b": {**at["b"], "data_offsets": [8, 16]}},
    "a gap": lambda at: {**at, "b": {**at["b"], "data_offsets": [20, 28]}},
    "a lie on a length": lambda at: {**at, "a": {**at["a"], "data_offsets": [0, 12]}},
    "no type": lambda at: {**at, "a": {**at["a"], "dtype": "F33"}},
    "a number for a truth": lambda at: {**at, "a": {**at["a"], "shape": [True, 4]}},
    "metadata": lambda at: {**at, "__metadata__": {"more": "of it"}},
    "a list": lambda at: [*at],
}


@pytest.mark.parametrize("form", ["known", "unknown"])
@pytest.mark.parametrize("lie", HEADERS)
def test_a_header_that_lies_is_refused(lie: str, form: str) -> None:
    with pytest.raises(UnusableWeightsError, match="the model"):
        _read(_with_header(json.dumps(HEADERS[lie](_entries())).encode()), form)


@pytest.mark.parametrize("form", ["known", "unknown"])
def test_a_name_in_a_header_twice_is_refused(form: str) -> None:
    said = json.dumps(_entries())
    with pytest.raises(UnusableWeightsError, match="it names 'a' twice"):
        _read(_with_header(f'{{"a": {{}}, {said[1:]}'.encode()), form)


@pytest.mark.parametrize("size", [MIB, 2**40, 2**64 - 1])
def test_a_header_of_an_absurd_length_is_refused_in_little_memory(size: int) -> None:
    data = size.to_bytes(8, "little") + to_bytes(_small())[8:]
    with counting() as counted:
        for form in ("known", "unknown"):
            with pytest.raises(UnusableWeightsError, match="the model"):
                _read(data, form)
    assert counted.peak < MIB


def _small() -> Weights:
    return {"a": torch.arange(4.0), "b": torch.arange(2.0)}


def _entries() -> dict[str, dict[str, object]]:
    data = to_bytes(_small())
    entries: dict[str, dict[str, object]] = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return entries


def _with_header(header: bytes) -> bytes:
    data = to_bytes(_small())
    return len(header).to_bytes(8, "little") + header + data[8 + int.from_bytes(data[:8], "little") :]


def _read(data: bytes, form: str) -> Weights:
    if form == "known":
        return WeightsForm({**forms_of(_small())}).read(InMemory(data), "the model")
    return read_weights(InMemory(data), "the model")


@pytest.mark.parametrize("damage", ["missing", "cut", "flipped"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_damaged_piece_is_an_error_also_after_the_check(
    damage: str, when: str, store: ContentStore
) -> None:
    forms = large(16)
    uri = stored(store, drawn(forms, 1))
    leaves = sorted(store.directory.glob("blocks/*/*"), key=lambda path: path.stat().st_size)
    weights = opened(store, uri, KEY) if when == "after" else None
    for leaf in leaves[2:]:  # the root and the last leaf are shorter
        _damage(leaf, damage)
    with pytest.raises(BlockfulError, match=r"damaged|not in the store|hash"):
        digest_of(opened(store, uri, KEY) if weights is None else weights)


def _damage(path: Path, damage: str) -> None:
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(data[:-1] if damage == "cut" else data[:-1] + bytes([data[-1] ^ 1]))


def test_a_file_that_its_owner_extended_is_refused(store: ContentStore) -> None:
    data = to_bytes(drawn(large(16), 1))
    for more in (b"x", bytes(MIB)):
        pieces = envelope.seal(KEY, BytesIO(data + more))
        with pytest.raises(UnusableWeightsError, match="goes on after byte"):
            opened(store, store.add_pieces(pieces), KEY)


def test_a_longer_file_is_refused_before_its_content_is_read(store: ContentStore) -> None:
    uri = stored(store, drawn(large(16), 1))
    for leaf in store.directory.glob("blocks/*/*"):
        if leaf.stat().st_size > MIB // 2:
            leaf.unlink()
    with pytest.raises(BlockfulError, match=r"more than|longer|bytes"):
        plain_file(store, uri, KEY, 2 * MIB).read(0, 1)


def test_a_part_can_be_changed_and_the_weights_stay(store: ContentStore) -> None:
    weights = opened(store, stored(store, _small()), KEY)
    next(parts_of(weights, "a")).zero_()
    weights["a"].zero_()
    assert equal(weights, _small())
    with pytest.raises(KeyError):
        _ = weights["c"]


def test_a_file_with_another_programs_metadata_is_read_by_ranges(tmp_path: Path) -> None:
    weights = {"w": torch.arange(3 * MIB, dtype=torch.int64).to(torch.float32), "x": torch.ones(3)}
    path = tmp_path / "model.safetensors"
    safetensors_torch.save_file(weights, path, metadata={"format": "pt"})
    assert equal(read_weights(FileRanges(path), "the model"), weights)
    with counting() as counted:
        for _ in pieces_of(read_weights(FileRanges(path), "the model")):
            pass
    assert counted.peak < 8 * MIB


@given(
    vectors=st.integers(1, 4).flatmap(
        lambda models: st.lists(
            st.lists(st.floats(-(2.0**90), 2.0**90, width=32), min_size=3, max_size=3),
            min_size=models,
            max_size=models,
        )
    )
)
def test_a_mean_is_summed_in_order_and_then_divided(vectors: list[list[float]]) -> None:
    models = [
        {"w": torch.tensor(each), "counter": torch.tensor(number)} for number, each in enumerate(vectors)
    ]
    total = models[0]["w"].clone()
    for each in models[1:]:
        total += each["w"]
    files = [read_weights(InMemory(to_bytes(each)), "a file") for each in models]
    for given_models in (models, files):
        found = aggregate(given_models)
        assert torch.equal(found["w"], total / len(models))
        assert found["counter"].item() == 0
        assert all(
            torch.equal(each["w"], torch.tensor(own)) for each, own in zip(models, vectors, strict=True)
        )


def test_a_mean_of_means_is_in_memory_since_each_access_would_compute_them_all() -> None:
    model: Weights = read_weights(InMemory(to_bytes(_small())), "a file")
    assert isinstance(aggregate([model, model]), StreamedWeights)
    for _ in range(30):
        model = aggregate([model, model])
    assert depth_of(model) <= 1
    assert equal(model, _small())


def test_a_network_is_loaded_a_few_tensors_at_a_time() -> None:
    architecture = Architecture("resnet18", (3, 32, 32), 10)
    weights = read_weights(InMemory(to_bytes(architecture.initial(torch.Generator()))), "a file")
    module = architecture.module(weights, torch.device("cpu"))
    assert equal(dict(sorted(module.state_dict().items())), weights)
    groups = [*grouped(large(20))]
    assert groups == [["embedding"], ["layer", "running_var", "counter"]]
    with counting() as counted:
        architecture.load(module, weights)
    assert counted.tensors < 1.5 * GROUP < form_of(architecture).size


def test_weights_made_when_read_are_made_once() -> None:
    made = list[int]()

    def make() -> Weights:
        made.append(1)
        return _small()

    weights = made_when_read(forms_of(_small()), make)
    assert weights.forms == {**forms_of(_small())}
    assert made == []
    assert equal(weights, _small())
    assert made == [1]


def test_segments_of_files_are_those_of_sealed_ones() -> None:
    assert segments.SEGMENT == envelope.SEGMENT


def test_another_process_gets_whole_tensors(store: ContentStore) -> None:
    """It may not have the files, nor the code that computes a mean of them."""
    forms = {"layer": TensorForm("F32", (3, 5)), "counter": TensorForm("I64", ())}
    (read,) = SealedWeights(store, Keys(), WeightsForm(forms)).read_each([stored(store, drawn(forms, 1))])
    for weights in (read, aggregate([read, drawn(forms, 2)])):
        there = pickle.loads(pickle.dumps(weights))  # noqa: S301
        assert type(there) is dict
        assert equal(there, weights)
