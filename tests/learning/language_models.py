# SPDX-License-Identifier: Apache-2.0
"""Tiny language models in folders, made by `transformers` without a download."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WORDS = [*"abcdefghij0123456789"]
CONTEXT = 12


def tokenizer_of(words: Sequence[str] = WORDS) -> PreTrainedTokenizerFast:
    """A token for each word, `<s>` before a text and `</s>` after it; `?` for other words."""
    ids = {word: number for number, word in enumerate(("<s>", "</s>", "?", *words))}
    inner = Tokenizer(models.WordLevel(ids, unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="?")


def language_model(seed: int, width: int = 16) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=len(WORDS) + 3,
        hidden_size=width,
        intermediate_size=width,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def fitted(seed: int, texts: Sequence[str], steps: int) -> LlamaForCausalLM:
    """A model after some steps on texts of one length."""
    model, ids = language_model(seed), torch.tensor(tokenizer_of()([*texts])["input_ids"])
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.0)
    for _ in range(steps):
        optimiser.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
    return model


def saved(folder: Path, model: LlamaForCausalLM) -> Path:
    model.save_pretrained(folder)
    tokenizer_of().save_pretrained(folder)
    return folder
