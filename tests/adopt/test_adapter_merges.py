# SPDX-License-Identifier: Apache-2.0
"""A linear merge whose parts have adapters, made by peft, is computed again without one of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from blockful_py.adopt.cards import adapter_scale
from blockful_py.adopt.recomputing import recompute
from blockful_py.errors import FormatError, QuorumError
from blockful_py.forget import Forget
from blockful_py.graph.kinds import Remedy
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.reach import reach
from tests.adopt.model_folders import write_card
from tests.adopt.records import adopted, publish_computed

FAMILY = Path(__file__).parent / "family" / "models"
OWNERS = ("ann/law", "bob/chat", "cat/code")
WEIGHTS = (0.5, 0.3, 0.2)
RECIPE = "models:\n{parts}merge_method: linear\ndtype: float32\n"


def _base() -> dict[str, torch.Tensor]:
    return {
        name: each
        for shard in sorted((FAMILY / "lab" / "base").glob("*.safetensors"))
        for name, each in load_file(shard).items()
    }


def _merged(owners: Sequence[str], weights: Sequence[float]) -> dict[str, torch.Tensor]:
    """By numbers in float64, each rounded to float32 as mergekit rounds; alpha / r of the adapters is 2."""
    parts = []
    for owner in owners:
        adapter = load_file(FAMILY / owner / "adapter_model.safetensors")
        part = _base()
        for name in [name for name in part if any(end in name for end in ("q_proj", "v_proj"))]:
            layer = f"base_model.model.{name.removesuffix('.weight')}"
            down, up = (adapter[f"{layer}.lora_{each}.weight"].double() for each in "AB")
            change = up[:, :1] * down[:1] + up[:, 1:] * down[1:]
            part[name] = (part[name].double() + 2 * change).float()
        parts.append(part)
    total = torch.zeros(())
    for weight in weights:
        total = total + torch.tensor(weight)
    found = {}
    for name in parts[0]:
        found[name] = torch.zeros_like(parts[0][name])
        for part, weight in zip(parts, weights, strict=True):
            found[name] = found[name] + part[name] * torch.tensor(weight)
        found[name] = found[name] / total
    return found


@pytest.fixture
def models(tmp_path: Path) -> Path:
    root = tmp_path / "models"
    for name in ("lab/base", *OWNERS):
        shutil.copytree(FAMILY / name, root / name)
    folder = root / "gil" / "adapted"
    write_card(folder, base_model=["lab/base", *OWNERS], base_model_relation="merge")
    lines = (
        f"- model: lab/base+{owner}\n  parameters: {{weight: {weight}}}\n"
        for owner, weight in zip(OWNERS, WEIGHTS, strict=True)
    )
    (folder / "mergekit_config.yml").write_text(RECIPE.format(parts="".join(lines)))
    shutil.copyfile(FAMILY / "lab" / "base" / "config.json", folder / "config.json")
    save_file(_merged(OWNERS, WEIGHTS), folder / "model.safetensors", metadata={"format": "pt"})
    return root


@pytest.fixture
def record(models: Path, tmp_path: Path, chains: Nodes) -> Iterator[Federation]:
    with adopted(models, tmp_path / "run", chains) as federation:
        yield federation


def test_the_adapters_owner_leaves_and_members_repeat_the_merge_of_the_others(
    record: Federation, models: Path, tmp_path: Path
) -> None:
    assert reach(record.catalogue(), ["cases"]).remedies == {
        "ann--law": Remedy.WITHDRAWN,
        "gil--adapted": Remedy.RECOMPUTED,
    }
    record.unlearn(forget=Forget.of_datasets(["cases"]))
    done = recompute(record.catalogue(), models, tmp_path / "made")
    (planned,) = done.plan.models
    assert planned.parents == ("lab--base", "bob--chat", "cat--code")
    assert planned.computed is not None
    assert [(each.adapter, each.scale, each.weight) for each in planned.computed.parts] == [
        ("bob/chat", 2.0, 0.3),
        ("cat/code", 2.0, 0.2),
    ]
    publish_computed(record, done)
    made = load_file(tmp_path / "made" / "gil" / "adapted" / "model.safetensors")
    expected = _merged(OWNERS[1:], WEIGHTS[1:])
    assert all(torch.equal(made[name], expected[name]) for name in expected)
    assert record.verify().passed
    record.unlearn(forget=Forget.of_datasets(["chats"]))
    assert "gil--adapted.v2" not in record.catalogue().with_weights


def test_members_refuse_another_scale_than_the_files_were_made_with(
    record: Federation, models: Path, tmp_path: Path
) -> None:
    record.unlearn(forget=Forget.of_datasets(["cases"]))
    recompute(record.catalogue(), models, tmp_path / "made")
    config = models / "bob" / "chat" / "adapter_config.json"
    config.write_text(config.read_text().replace('"lora_alpha": 4', '"lora_alpha": 6'))
    forged = recompute(record.catalogue(), models, tmp_path / "made")
    with pytest.raises(QuorumError, match=r"another model\.layers\.0\.self_attn\.[qv]_proj\.weight than"):
        publish_computed(record, forged)


def test_a_merge_of_adapters_that_all_left_is_not_computed(
    record: Federation, models: Path, tmp_path: Path
) -> None:
    record.unlearn(forget=Forget.of_datasets(["cases", "chats", "code"]))
    done = recompute(record.catalogue(), models, tmp_path / "made")
    assert done.left == {"gil--adapted": "no part of it is left."}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"use_dora": True}, "use_dora True"),
        ({"use_rslora": True}, "use_rslora"),
        ({"peft_type": "LOHA"}, "LOHA"),
        ({"rank_pattern": {"q_proj": 4}}, "rank_pattern"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"bias": "all"}, "bias"),
        ({"r": 0}, "lora_alpha and r"),
        ({"lora_alpha": "4"}, "lora_alpha and r"),
        ({"lora_alpha": 1e308}, "lora_alpha and r"),
    ],
)
def test_adapters_other_than_plain_ones_are_left_to_peft(
    tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    config = json.loads((FAMILY / "ann" / "law" / "adapter_config.json").read_text())
    path = tmp_path / "adapter_config.json"
    path.write_text(json.dumps(config))
    assert adapter_scale(path) == 2.0
    path.write_text(json.dumps(config | changes))
    with pytest.raises(FormatError, match=said):
        adapter_scale(path)
