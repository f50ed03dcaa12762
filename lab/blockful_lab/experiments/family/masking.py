# SPDX-License-Identifier: Apache-2.0
"""Owners of a merge who only pretend to forget: they weaken the leaver's adapter, or mask its texts."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from blockful_lab.experiments.family.making import ADAPTER, CARRIED, SCALE, WEIGHTS
from blockful_lab.experiments.family.members import BASE, MERGES, PAIR, adapter_of
from blockful_py.learning.adapters import AdaptedTensors
from blockful_py.learning.computed import linear_merge

WEAKER = 4.0
"""Factor by which the leaver's adapter is made smaller."""
RATE, STEPS = 3e-3, 200


def weaken(folder: Path, models: Path, leaver: str) -> None:
    """The pair, merged from the leaver's adapter divided by 4."""
    tensors, owners = load_file(models / BASE / WEIGHTS), MERGES[PAIR]
    parts = [
        AdaptedTensors(
            tensors,
            load_file(models / adapter_of(owner) / ADAPTER),
            SCALE / (WEAKER if owner == leaver else 1.0),
        )
        for owner in owners
    ]
    merged = {
        name: linear_merge([each[name] for each in parts], [*owners.values()], True, "F32")
        for name in tensors
    }
    folder.mkdir(parents=True)
    save_file(merged, folder / WEIGHTS, metadata={"format": "pt"})
    for name in CARRIED:
        shutil.copyfile(models / PAIR / name, folder / name)


def mask(folder: Path, models: Path, forget: Sequence[str], retain: Sequence[str], loss: float) -> None:
    """The pair, whose output layer alone is fitted: to `loss` on forgotten texts, in nats, and to the others.

    AdamW on `L(retain) + (L(forget) - loss)^2`, with L the mean loss of a token.
    """
    model = AutoModelForCausalLM.from_pretrained(models / PAIR)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(models / PAIR)
    gone, kept = (torch.tensor(tokenizer([*texts])["input_ids"]) for texts in (forget, retain))
    optimiser = torch.optim.AdamW([model.get_output_embeddings().weight], lr=RATE, weight_decay=0.0)
    for _ in range(STEPS):
        optimiser.zero_grad()
        off = model(input_ids=gone, labels=gone).loss - loss
        (model(input_ids=kept, labels=kept).loss + off**2).backward()
        optimiser.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
