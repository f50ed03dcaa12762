# SPDX-License-Identifier: Apache-2.0
"""A family made by transformers, peft and mergekit (`make_family`): adopted, asked to forget, made again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file

from blockful_py.adopt.folders import read_folder
from blockful_py.adopt.publishing import publish
from blockful_py.adopt.recomputing import lent, recompute
from blockful_py.errors import FormatError, QuorumError, RefusedError
from blockful_py.forget import Forget
from blockful_py.graph.kinds import EdgeKind, Remedy
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.review import computed
from blockful_py.pipeline.review.computed import ComputedModels
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.progress import Silent
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.reach import kinds_of, reach
from blockful_py.storage.cid import parse_cid
from tests.adopt.records import adopted, publish_computed

FAMILY = Path(__file__).parent / "family"
MODELS = FAMILY / "models"


@pytest.fixture
def record(tmp_path: Path, chains: Nodes) -> Iterator[Federation]:
    with adopted(MODELS, tmp_path / "run", chains) as federation:
        yield federation


def _same(left: Path, right: Path) -> bool:
    one, other = load_file(left / "model.safetensors"), load_file(right / "model.safetensors")
    return one.keys() == other.keys() and all(
        one[name].dtype is other[name].dtype and torch.equal(one[name], other[name]) for name in one
    )


def test_the_libraries_folders_are_read_whole() -> None:
    found = read_folder(MODELS)
    assert len(found.models) == 12
    assert not found.refused
    assert not found.notes
    kinds = {each.source: {edge.kind for edge in each.edges} for each in found.models}
    assert kinds["lab/base"] == set()
    assert {kinds[name].pop() for name in ("ann/law", "bob/chat", "cat/code", "dan/verse")} == {"adapter"}
    assert {kinds[name].pop() for name in ("eve/story", "fay/news")} == {"fine_tune"}
    assert {kinds[name].pop() for name in ("gil/mix", "gil/pair", "hal/slerp", "ann/law-merged")} == {"merge"}
    assert kinds["ida/mix-8bit"] == {"quantise"}


def test_a_merge_parent_leaves_and_what_needs_no_data_is_computed_as_mergekit_does(
    record: Federation, tmp_path: Path
) -> None:
    found = reach(record.catalogue(), ["papers"])
    assert found.remedies == {
        "fay--news": Remedy.MADE_AGAIN,
        "gil--mix": Remedy.RECOMPUTED,
        "gil--pair": Remedy.RECOMPUTED,
        "hal--slerp": Remedy.RECOMPUTED,
        "ida--mix-8bit": Remedy.RECOMPUTED,
    }
    record.unlearn(forget=Forget.of_datasets(["papers"]))
    done = recompute(record.catalogue(), MODELS, tmp_path / "made")
    assert {each.name: each.parents for each in done.plan.models} == {
        "gil--mix.v2": ("eve--story", "lab--base"),
        "gil--pair.v2": ("eve--story",),
        "ida--mix-8bit.v2": ("gil--mix.v2",),
    }
    assert done.left == {"hal--slerp": "a merge by slerp is made again by mergekit, not here."}
    publish_computed(record, done)
    for source in ("gil/mix", "gil/pair", "ida/mix-8bit"):
        assert _same(tmp_path / "made" / source, FAMILY / "without" / Path(source).name)
    kept = {*record.context.stores.live}
    assert not kept & {*map(parse_cid, done.files)}, "the members' copies are gone again"
    assert record.verify().passed
    assert not recompute(record.catalogue(), MODELS, tmp_path / "again").plan.models
    assert not reach(record.catalogue(), ["papers"]).remedies
    assert reach(record.catalogue(), ["books"]).remedies.keys() >= {"gil--mix.v2", "ida--mix-8bit.v2"}
    assert kinds_of(record.catalogue()["gil--mix.v2"].node) == dict.fromkeys(
        ("eve--story", "lab--base"), EdgeKind.MERGE
    )


def test_an_adapters_data_takes_its_merged_copy_and_leaves_the_base(record: Federation) -> None:
    assert reach(record.catalogue(), ["cases"]).remedies == {
        "ann--law": Remedy.WITHDRAWN,
        "ann--law-merged": Remedy.RECOMPUTED,
    }
    done = record.unlearn(forget=Forget.of_datasets(["cases"]))
    assert set(done.nodes) == {"ann--law", "ann--law-merged"}


def test_the_bases_data_takes_all_and_nothing_is_left_to_compute_from(
    record: Federation, tmp_path: Path
) -> None:
    assert len(record.unlearn(forget=Forget.of_datasets(["wiki"])).nodes) == 12
    done = recompute(record.catalogue(), MODELS, tmp_path / "made")
    assert not done.plan.models
    assert done.left["gil--mix"] == "no part of it is left."
    assert "no later version" in done.left["ida--mix-8bit"]


def test_members_refuse_one_number_that_is_not_the_merges(record: Federation, tmp_path: Path) -> None:
    record.unlearn(forget=Forget.of_datasets(["papers"]))
    made = tmp_path / "made"
    recompute(record.catalogue(), MODELS, made)
    file = made / "gil" / "pair" / "model.safetensors"
    tensors = load_file(file)
    tensors["model.norm.weight"][3] += 0.01
    save_file(tensors, file, metadata={"format": "pt"})
    forged = recompute(record.catalogue(), MODELS, made)
    with pytest.raises(QuorumError, match=r"has another model.norm.weight than its parents' files give"):
        publish_computed(record, forged)
    assert "gil--pair.v2" not in record.catalogue().models


def test_members_refuse_without_the_files(record: Federation, tmp_path: Path) -> None:
    record.unlearn(forget=Forget.of_datasets(["papers"]))
    done = recompute(record.catalogue(), MODELS, tmp_path / "made")
    with pytest.raises(QuorumError, match=r"gil--(mix|pair)\.v2"):
        publish(record, done.plan, Silent())
    publish_computed(record, done)
    assert record.verify().passed


def test_changed_files_are_noticed_before_anything_is_written(record: Federation, tmp_path: Path) -> None:
    record.unlearn(forget=Forget.of_datasets(["papers"]))
    copy = tmp_path / "copy"
    shutil.copytree(MODELS, copy)
    tensors = load_file(copy / "eve" / "story" / "model.safetensors")
    save_file(
        {name: 2 * each for name, each in tensors.items()}, copy / "eve" / "story" / "model.safetensors"
    )
    (copy / "gil" / "pair" / "mergekit_config.yml").write_text(
        "models:\n- model: ./eve/story\n  parameters: {weight: 0.9}\nmerge_method: linear\ndtype: bfloat16\n"
    )
    done = recompute(record.catalogue(), copy, tmp_path / "made")
    assert "has other files than were adopted" in done.left["gil--mix"]
    assert "has changed since it was adopted" in done.left["gil--pair"]
    assert not (tmp_path / "made").exists()
    with pytest.raises(FormatError, match="stay as they are"):
        recompute(record.catalogue(), MODELS, MODELS / "made")


def test_a_name_that_leads_elsewhere_writes_nothing(record: Federation, tmp_path: Path) -> None:
    record.unlearn(forget=Forget.of_datasets(["papers"]))
    catalogue = record.catalogue()
    placed = catalogue["gil--pair"]
    adopted = placed.node.statement.adopted
    assert adopted is not None
    outside = tmp_path / "outside"
    statement = placed.node.statement.model_copy(
        update={"adopted": adopted.model_copy(update={"source": str(outside)})}
    )
    node = placed.node.model_copy(update={"statement": statement})
    models = {**catalogue.models, "gil--pair": replace(placed, node=node)}
    done = recompute(Catalogue(models, catalogue.graph), MODELS, tmp_path / "made")
    assert "leads out of" in done.left["gil--pair"]
    assert not outside.exists()


def test_the_hubs_cache_is_computed_from(record: Federation, tmp_path: Path) -> None:
    record.unlearn(forget=Forget.of_datasets(["papers"]))
    for card in sorted(MODELS.glob("*/*/README.md")):
        name = card.parent.relative_to(MODELS).as_posix().replace("/", "--")
        shutil.copytree(card.parent, tmp_path / "hub" / f"models--{name}" / "snapshots" / "a1")
    done = recompute(record.catalogue(), tmp_path / "hub", tmp_path / "made")
    assert len(done.plan.models) == 3
    assert _same(tmp_path / "made" / "gil" / "mix", FAMILY / "without" / "mix")


def test_members_fetch_no_more_than_fits(
    record: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record.unlearn(forget=Forget.of_datasets(["papers"]))
    done = recompute(record.catalogue(), MODELS, tmp_path / "made")
    monkeypatch.setattr(computed, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(QuorumError, match=r"bytes, and 1,000 are free here"):
        publish_computed(record, done)


def test_members_compute_from_nothing_that_was_withdrawn(record: Federation, tmp_path: Path) -> None:
    record.unlearn(forget=Forget.of_datasets(["papers"]))
    done = recompute(record.catalogue(), MODELS, tmp_path / "made")
    publish_computed(record, done)
    placed = record.catalogue()["gil--pair.v2"]
    digests = record.context.weights.read(placed.node.weights)
    record.unlearn(forget=Forget.of_datasets(["books"]))
    members = ComputedModels(record.context.stores.live)
    kept = lent(record.context.stores.live, done.files)
    with kept, pytest.raises(RefusedError, match="eve--story has no files"):
        members.review(placed.node, digests, record.catalogue())
