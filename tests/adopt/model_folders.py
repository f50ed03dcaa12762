# SPDX-License-Identifier: Apache-2.0
"""Writes folders of models in the formats of the Hugging Face hub, PEFT and mergekit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

SIZE = 8


def tensors(seed: int, names: Sequence[str] = ("embed.weight", "head.weight")) -> dict[str, np.ndarray]:
    stream = np.random.default_rng(seed)
    return {name: stream.normal(size=(SIZE, SIZE)).astype(np.float32) for name in names}


def write_card(folder: Path, **said: object) -> None:
    """A README.md whose front matter has these keys; JSON is YAML."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "\n".join(f"{key}: {json.dumps(value)}" for key, value in said.items())
    (folder / "README.md").write_text(f"---\n{lines}\n---\n\n# A model\n")


def write_model(folder: Path, seed: int, config: Mapping[str, object] | None = None, **said: object) -> Path:
    """A model in one file, with its configuration and card."""
    write_card(folder, **said)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", **(config or {})}))
    save_file(tensors(seed), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def write_sharded(folder: Path, seed: int, **said: object) -> Path:
    """A model in two shards, with their index."""
    write_card(folder, **said)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    placed = {}
    for number, (name, tensor) in enumerate(tensors(seed).items(), start=1):
        shard = f"model-0000{number}-of-00002.safetensors"
        save_file({name: tensor}, folder / shard, metadata={"format": "pt"})
        placed[name] = shard
    index = {"metadata": {"total_size": 2 * SIZE * SIZE * 4}, "weight_map": placed}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def write_adapter(folder: Path, seed: int, base: str, **said: object) -> Path:
    """A LoRA as PEFT saves it."""
    write_card(folder, library_name="peft", **said)
    config = {"base_model_name_or_path": base, "peft_type": "LORA", "r": 4, "target_modules": ["q_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    save_file(tensors(seed, ("lora_A.weight", "lora_B.weight")), folder / "adapter_model.safetensors")
    return folder


def write_merge(folder: Path, seed: int, models: Mapping[str, float], method: str = "linear") -> Path:
    """A merge as mergekit saves it, with its recipe."""
    write_model(folder, seed, tags=["mergekit", "merge"], base_model=[*models])
    lines = ["models:"]
    for name, weight in models.items():
        lines += [f"  - model: {name}", "    parameters:", f"      weight: {weight}"]
    (folder / "mergekit_config.yml").write_text(
        "\n".join([*lines, f"merge_method: {method}", "dtype: float32"])
    )
    return folder


def write_family(root: Path) -> Path:
    """A base with two data sets, two adapters, a merge with another base, a quantised child, a fine-tune."""
    write_sharded(root / "lab" / "base", 1, license="apache-2.0", datasets=["wiki", "letters"])
    write_adapter(root / "ann" / "law", 2, "lab/base", base_model="lab/base", datasets=["cases"])
    write_adapter(root / "bob" / "chat", 3, "lab/base", base_model="lab/base", datasets=["chats"])
    write_model(root / "lab" / "other", 4, datasets=["books"])
    write_merge(root / "eve" / "mix", 5, {"lab/base+ann/law": 0.5, "lab/other": 0.5})
    write_model(
        root / "eve" / "mix-4bit",
        6,
        {"quantization_config": {"bits": 4}},
        base_model="eve/mix",
        base_model_relation="quantized",
    )
    write_model(root / "zoe" / "story", 7, base_model="far/away", datasets=["books"])
    return root
