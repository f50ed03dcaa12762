# SPDX-License-Identifier: Apache-2.0
"""Folders in the formats of the hub, PEFT and mergekit, and bad ones."""

from __future__ import annotations

import json
import os
import pickle
import struct
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from blockful_py.adopt.folders import read_folder
from blockful_py.adopt.tensor_files import MAX_HEADER_BYTES, tensor_digests
from blockful_py.errors import FormatError
from blockful_py.graph.kinds import EdgeKind
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from tests.adopt.gguf_files import U32, entry, header
from tests.adopt.model_folders import (
    tensors,
    write_adapter,
    write_card,
    write_family,
    write_merge,
    write_model,
    write_sharded,
)


def _edges(root: Path) -> dict[str, list[tuple[str, str, float | None]]]:
    found = read_folder(root)
    assert not found.refused, found.refused
    return {
        model.source: [(each.parent, each.kind, each.weight) for each in model.edges]
        for model in found.models
    }


def _refusal(root: Path) -> str:
    found = read_folder(root)
    assert not found.models
    (reason,) = found.refused.values()
    return reason


def test_reads_a_family_with_the_kind_of_each_edge(tmp_path: Path) -> None:
    assert _edges(write_family(tmp_path)) == {
        "ann/law": [("lab/base", "adapter", None)],
        "bob/chat": [("lab/base", "adapter", None)],
        "eve/mix": [("lab/base", "merge", 0.5), ("ann/law", "merge", 0.5), ("lab/other", "merge", 0.5)],
        "eve/mix-4bit": [("eve/mix", "quantise", None)],
        "lab/base": [],
        "lab/other": [],
        "zoe/story": [("far/away", "fine_tune", None)],
    }


def test_reads_data_sets_licence_and_merge_method(tmp_path: Path) -> None:
    models = {model.source: model for model in read_folder(write_family(tmp_path)).models}
    assert models["lab/base"].datasets == ("letters", "wiki")
    assert models["lab/base"].licence == "apache-2.0"
    assert models["eve/mix"].merge_method == "linear"
    assert models["ann/law"].speaks_for == "ann"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "gptq, 4 bits"),
        (
            {"quant_method": "bitsandbytes", "load_in_8bit": True, "load_in_4bit": False},
            "bitsandbytes, 8 bits",
        ),
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "awq", "bits": "four"}, "awq"),
        ({"quant_method": "awq", "bits": True}, "awq"),
        ({"quant_method": ["gptq"], "bits": 4}, "unnamed"),
        ({"quant_method": "x" * 65}, "unnamed"),
        ({"quant_method": "a\nb"}, "unnamed"),
        ("gptq", "unnamed"),
        ({}, None),
        (None, None),
    ],
)
def test_names_how_weights_were_quantised(tmp_path: Path, form: object, expected: str | None) -> None:
    write_model(tmp_path / "small", 1, {"quantization_config": form}, base_model="lab/base")
    (model,) = read_folder(tmp_path).models
    assert model.quantisation == expected
    kind = EdgeKind.FINE_TUNE if expected is None else EdgeKind.QUANTISE
    assert [each.kind for each in model.edges] == [kind]


def test_names_the_types_of_gguf_files_which_it_hashes_whole(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    write_card(folder, base_model="lab/base")
    for name, number in (("a.Q8_0.gguf", 7), ("b.Q4_K_M.gguf", 15)):
        (folder / name).write_bytes(header(entry("general.file_type", U32, struct.pack("<I", number))))
    (model,) = read_folder(tmp_path).models
    assert model.quantisation == "GGUF Q4_K_M, GGUF Q8_0"
    assert [(each.kind, each.parent) for each in model.edges] == [(EdgeKind.QUANTISE, "lab/base")]
    assert [*model.digests] == ["a.Q8_0.gguf", "b.Q4_K_M.gguf"]
    (folder / "b.Q4_K_M.gguf").write_bytes(b"a page that says: not found")
    assert "b.Q4_K_M.gguf is no GGUF file" in read_folder(tmp_path).refused["small"]


def test_hashes_tensors_and_files_where_they_are(tmp_path: Path) -> None:
    (model,) = read_folder(write_sharded(tmp_path / "one", 1)).models
    assert [each.path for each in model.files] == [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ]
    for each in model.files:
        with (tmp_path / "one" / each.path).open("rb") as stream:
            assert each.cid == cid_string(file_uri(stream))
    whole = tmp_path / "whole.safetensors"
    save_file(tensors(1), whole)
    assert model.digests == tensor_digests(whole), "the same tensors have the same digests in any shards"


def test_one_bit_changes_one_digest(tmp_path: Path) -> None:
    one, other = tensors(1), tensors(1)
    other["head.weight"].view(np.uint32)[0, 0] ^= 1
    save_file(one, tmp_path / "one.safetensors")
    save_file(other, tmp_path / "other.safetensors")
    before, after = (tensor_digests(tmp_path / f"{name}.safetensors") for name in ("one", "other"))
    assert [name for name in before if before[name] != after[name]] == ["head.weight"]


@pytest.mark.parametrize(("kind", "width"), [("BF16", 2), ("F8_E4M3", 1), ("X9_NEW", 3)])
def test_hashes_types_that_nothing_here_reads(tmp_path: Path, kind: str, width: int) -> None:
    _write_raw(
        tmp_path / "m.safetensors", {"w": {"dtype": kind, "shape": [4], "data_offsets": [0, 4 * width]}}
    )
    (model,) = read_folder(tmp_path).models
    assert [*model.digests] == ["w"]


@pytest.mark.parametrize(
    ("entries", "size"),
    [
        ({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 12]}}, 12),
        ({"w": {"dtype": "F32", "shape": [4], "data_offsets": [4, 20]}}, 20),
        ({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, 8),
        ({"w": {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]}}, 16),
        ({"w": {"dtype": "F32", "shape": [4], "data_offsets": [16, 0]}}, 16),
        ({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0]}}, 16),
        ({"w": 3}, 0),
    ],
    ids=["bytes-of-shape", "gap", "truncated", "negative", "backwards", "one-offset", "no-entry"],
)
def test_refuses_headers_that_do_not_fit_their_file(
    tmp_path: Path, entries: dict[str, object], size: int
) -> None:
    _write_raw(tmp_path / "m.safetensors", entries, size)
    assert "m.safetensors" in _refusal(tmp_path)


def test_bounds_a_header_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "m.safetensors").open("wb") as file:
        file.write((MAX_HEADER_BYTES + 1).to_bytes(8, "little"))
        file.truncate(4 * MAX_HEADER_BYTES)
    assert "header" in _refusal(tmp_path)


def test_never_unpickles(tmp_path: Path) -> None:
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
            return os.mkdir, (str(marker),)

    write_card(tmp_path / "m", base_model="a/b")
    (tmp_path / "m" / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb()))
    assert "pickled" in _refusal(tmp_path)
    assert not marker.exists()


def test_leaves_pickles_beside_safetensors_out(tmp_path: Path) -> None:
    (write_model(tmp_path / "m", 1) / "training_args.bin").write_bytes(b"x")
    found = read_folder(tmp_path)
    assert [each.path for each in found.models[0].files] == ["model.safetensors"]
    assert "training_args.bin" in found.notes[0]


def test_refuses_missing_shards(tmp_path: Path) -> None:
    (write_sharded(tmp_path / "m", 1) / "model-00002-of-00002.safetensors").unlink()
    assert "model-00002-of-00002.safetensors" in _refusal(tmp_path)


@pytest.mark.parametrize("shard", ["../m.safetensors", "/etc/passwd", "a/../../x.safetensors", "x.bin"])
def test_refuses_shards_elsewhere(tmp_path: Path, shard: str) -> None:
    index = write_sharded(tmp_path / "m", 1) / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": shard}}))
    assert "which is no safetensors file beside it" in _refusal(tmp_path)


def test_refuses_an_index_of_other_tensors(tmp_path: Path) -> None:
    folder = write_sharded(tmp_path / "m", 1)
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    index["weight_map"]["lost.weight"] = "model-00001-of-00002.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "lost.weight" in _refusal(tmp_path)


def test_refuses_links_out_of_the_folder(tmp_path: Path) -> None:
    outside = write_model(tmp_path / "outside", 1)
    write_card(tmp_path / "in" / "m", base_model="a/b")
    (tmp_path / "in" / "m" / "model.safetensors").symlink_to(outside / "model.safetensors")
    (tmp_path / "in" / "linked").symlink_to(outside)
    found = read_folder(tmp_path / "in")
    assert "leads out of the folder" in found.refused["m"]
    assert "linked" in found.notes[0]


@pytest.mark.parametrize(
    "text",
    [
        "---\nbase_model: [a, {b: c}]\n---\n",
        "---\nbase_model: 3\n---\n",
        "---\nbase_model: !!python/object/apply:os.system ['true']\n---\n",
        "---\na: &a [x]\nbase_model: *a\n---\n",
        "---\nbase_model: 'a\n---\n",
        "---\n- a\n- b\n---\n",
        "---\nbase_model: a/b\nbase_model_relation: cousin\n---\n",
        "---\nbase_model: a/b\n",
        "---\nx: " + "[" * 5000 + "\n---\n",
        '---\nbase_model: "' + "a" * 1000 + '"\n---\n',
        "---\nbase_model: ''\n---\n",
    ],
    ids=[
        *("mapping", "number", "tag", "alias", "quote", "list", "relation", "no-end", "deep", "long"),
        "empty",
    ],
)
def test_refuses_odd_cards_and_keeps_the_others(tmp_path: Path, text: str) -> None:
    (write_model(tmp_path / "odd", 1) / "README.md").write_text(text)
    write_model(tmp_path / "sound", 2)
    found = read_folder(tmp_path)
    assert [model.source for model in found.models] == ["sound"]
    assert [*found.refused] == ["odd"]


def test_refuses_a_card_that_is_no_text_or_too_large(tmp_path: Path) -> None:
    (write_model(tmp_path / "binary", 1) / "README.md").write_bytes(b"---\n\xff\xfe\n---\n")
    (write_model(tmp_path / "large", 2) / "README.md").write_bytes(b"---\n" + b"# x\n" * (1 << 19))
    assert sorted(read_folder(tmp_path).refused) == ["binary", "large"]


def test_refuses_an_adapter_for_another_base_than_its_card_says(tmp_path: Path) -> None:
    write_adapter(tmp_path / "m", 1, "lab/base", base_model="lab/other")
    assert "an adapter has one base" in _refusal(tmp_path)


def test_takes_an_adapters_base_by_its_path(tmp_path: Path) -> None:
    write_model(tmp_path / "base", 1)
    write_adapter(tmp_path / "m", 2, "../base")
    assert _edges(tmp_path)["m"] == [("base", "adapter", None)]


@pytest.mark.parametrize("recipe", ["merge_method: linear\n", "models: 3\n", "models: [a]\n", "[]"])
def test_refuses_recipes_without_models(tmp_path: Path, recipe: str) -> None:
    (write_merge(tmp_path / "m", 1, {"a/b": 1.0}) / "mergekit_config.yml").write_text(recipe)
    assert "mergekit_config.yml" in _refusal(tmp_path)


def test_reads_slices_and_base_of_a_recipe(tmp_path: Path) -> None:
    recipe = (
        "slices:\n- sources:\n  - {model: a/one, layer_range: [0, 8]}\n  - {model: a/two, "
        "layer_range: [0, 8], parameters: {weight: [0.1, 0.9]}}\nmerge_method: slerp\nbase_model: a/one\n"
    )
    (write_merge(tmp_path / "m", 1, {"x/y": 1.0}) / "mergekit_config.yml").write_text(recipe)
    assert _edges(tmp_path)["m"] == [("a/one", "merge", None), ("a/two", "merge", None)]


def test_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is no folder"):
        read_folder(tmp_path / "absent")


def _write_raw(path: Path, entries: dict[str, object], size: int | None = None) -> None:
    """A safetensors file with this header and as many bytes as its last tensor ends at, or `size`."""
    header = json.dumps(entries).encode()
    if size is None:
        size = max(entry["data_offsets"][1] for entry in entries.values() if isinstance(entry, dict))
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\x01" * size)


def _cached(cache: Path, name: str, revision: str, family: Path) -> Path:
    """A model in the layout of the hub's cache: files in blobs, links in the snapshot."""
    repository = cache / f"models--{name.replace('/', '--')}"
    snapshot = repository / "snapshots" / revision
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir(exist_ok=True)
    for file in sorted((family / name).iterdir()):
        blob = repository / "blobs" / sha256(file.read_bytes()).hexdigest()
        blob.write_bytes(file.read_bytes())
        (snapshot / file.name).symlink_to(Path("../../blobs") / blob.name)
    return snapshot


def test_the_hubs_cache_is_read_by_the_hubs_names(tmp_path: Path) -> None:
    family, cache = write_family(tmp_path / "family"), tmp_path / "hub"
    _cached(cache, "lab/base", "a1", family)
    law = _cached(cache, "ann/law", "b1", family)
    (cache / "models--ann--law" / "refs").mkdir()
    (cache / "models--ann--law" / "refs" / "main").write_text("b1\n")
    (law.parent / "b0").mkdir()
    data = cache / "datasets--wiki" / "snapshots" / "c1"
    data.mkdir(parents=True)
    (data / "README.md").write_text("---\nlicense: mit\n---\n")
    (cache / ".locks").mkdir()
    found = read_folder(cache)
    assert {each.source for each in found.models} == {"lab/base", "ann/law"}
    assert not found.refused
    assert not found.notes
    plain = {each.source: each.description for each in read_folder(family).models}
    assert all(each.description == plain[each.source] for each in found.models), "the same as plain folders"
    (alone,) = read_folder(law).models
    assert alone.source == "ann/law"


def test_a_snapshot_that_is_not_main_is_left_out_and_links_stay_in_the_repository(tmp_path: Path) -> None:
    family, cache = write_family(tmp_path / "family"), tmp_path / "hub"
    snapshot = _cached(cache, "lab/other", "a1", family)
    (snapshot.parent / "a2").mkdir()
    found = read_folder(cache)
    assert not found.models
    assert "several snapshots and no main" in found.notes[0]
    (snapshot.parent / "a2").rmdir()
    stranger = _cached(cache, "zoe/story", "z1", family) / "model.safetensors"
    (snapshot / "model.safetensors").unlink()
    (snapshot / "model.safetensors").symlink_to(stranger)
    assert "leads out of the folder" in read_folder(cache).refused["lab/other"]
