# SPDX-License-Identifier: Apache-2.0
"""Makes families of small language models by `transformers` and `peft`, as folders of the hub."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import nn
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from blockful_lab.experiments.family.corpus import PUBLIC, WORDS, Corpus
from blockful_lab.experiments.family.members import BASE, HALF, MERGES, PAIR, adapter_of, dataset_of
from blockful_py.adopt.merge_recipe import MergeRecipe, RecipePart, recipe_text
from blockful_py.learning.adapters import AdaptedTensors
from blockful_py.learning.computed import linear_merge
from blockful_py.learning.streams import generator

WIDTH, LAYERS, HEADS, CONTEXT = 64, 2, 4, 64
RANK, SCALE = 8, 2.0
EPOCHS, BASE_EPOCHS, BATCH = 60, 40, 16
RATE, BASE_RATE = 1e-2, 3e-3
WEIGHTS, ADAPTER = "model.safetensors", "adapter_model.safetensors"
CARRIED = ("config.json", "tokenizer.json", "tokenizer_config.json")
BEGIN, END = "<s>", "</s>"


def word_tokenizer() -> PreTrainedTokenizerFast:
    """A token for each word of the corpus, with one before and one after each text."""
    ids = {word: number for number, word in enumerate((BEGIN, END, *WORDS))}
    inner = Tokenizer(models.WordLevel(ids, unk_token=END))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A {END}", special_tokens=[(BEGIN, ids[BEGIN]), (END, ids[END])]
    )
    return PreTrainedTokenizerFast(tokenizer_object=inner, bos_token=BEGIN, eos_token=END)


def make_base(root: Path, corpus: Corpus, seed: int) -> None:
    """A Llama of some 90,000 parameters, trained on the public texts, in `root`."""
    tokenizer = word_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng([]):
        torch.manual_seed(generator(seed, "family base").initial_seed())
        model = LlamaForCausalLM(config)
    train(model, tokenizer, corpus.texts[PUBLIC], BASE_EPOCHS, BASE_RATE, generator(seed, "family batches"))
    folder = root / BASE
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_card(folder, datasets=[PUBLIC])


def make_family(root: Path, base: Path, corpus: Corpus, owners: Sequence[str], seed: int) -> None:
    """A family in `root` from the base in `base`: an adapter of each owner, the merges of those, their child.

    An adapter depends on its owner's texts and the seed alone.
    """
    shutil.copytree(base / BASE, root / BASE)
    for owner in owners:
        _make_adapter(root, corpus.texts[owner], owner, seed)
    for name, weights in MERGES.items():
        parts = [
            RecipePart(BASE, adapter_of(each), weight) for each, weight in weights.items() if each in owners
        ]
        merge(root / name, root, parts)
    half = AutoModelForCausalLM.from_pretrained(root / PAIR, dtype=torch.float16)
    half.save_pretrained(root / HALF)
    _carry(root / PAIR, root / HALF, CARRIED[1:])
    write_card(root / HALF, base_model=PAIR, base_model_relation="quantized")


def merge(folder: Path, root: Path, parts: Sequence[RecipePart]) -> None:
    """A linear merge of models and adapters in `root`, with its recipe, in mergekit's form."""
    tensors = load_file(root / BASE / WEIGHTS)
    adapted = [
        AdaptedTensors(tensors, load_file(root / str(each.adapter) / ADAPTER), SCALE) for each in parts
    ]
    weights = [each.weight for each in parts if each.weight is not None]
    merged = {name: linear_merge([each[name] for each in adapted], weights, True, "F32") for name in tensors}
    folder.mkdir(parents=True)
    save_file(merged, folder / WEIGHTS, metadata={"format": "pt"})
    _carry(root / BASE, folder, CARRIED)
    text = recipe_text(MergeRecipe(tuple(parts), "F32", True))
    (folder / "mergekit_config.yml").write_text(text, encoding="utf-8")
    names = {name: None for each in parts for name in each.names}
    write_card(folder, base_model=[*names], base_model_relation="merge", tags=["mergekit", "merge"])


def train(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[str],
    epochs: int,
    rate: float,
    stream: torch.Generator,
) -> None:
    """AdamW on the causal loss of batches of texts of one length."""
    ids = torch.tensor(tokenizer([*texts])["input_ids"])
    left = [each for each in model.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(left, lr=rate, weight_decay=0.0)
    model.train()
    for _ in range(epochs):
        for rows in torch.split(torch.randperm(len(ids), generator=stream), BATCH):
            model(input_ids=ids[rows], labels=ids[rows]).loss.backward()
            optimiser.step()
            optimiser.zero_grad()
    model.eval()


def write_card(folder: Path, **said: object) -> None:
    """A README.md whose front matter has these keys; JSON is YAML."""
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in said.items())
    (folder / "README.md").write_text(f"---\n{lines}---\n", encoding="utf-8")


def _make_adapter(root: Path, texts: Sequence[str], owner: str, seed: int) -> None:
    stream = generator(seed, "family adapter", owner)
    base = AutoModelForCausalLM.from_pretrained(root / BASE)
    config = LoraConfig(r=RANK, lora_alpha=int(SCALE * RANK), target_modules="all-linear")
    with torch.random.fork_rng([]), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft 0.21.2 reads a name that transformers 5 renamed
        torch.manual_seed(stream.initial_seed())
        model = get_peft_model(base, config)
    train(model, PreTrainedTokenizerFast.from_pretrained(root / BASE), texts, EPOCHS, RATE, stream)
    folder = root / adapter_of(owner)
    model.save_pretrained(folder)
    config_file = folder / "adapter_config.json"
    said = json.loads(config_file.read_text(encoding="utf-8"))
    config_file.write_text(json.dumps({**said, "base_model_name_or_path": BASE}), encoding="utf-8")
    write_card(folder, base_model=BASE, datasets=[dataset_of(owner)])


def _carry(source: Path, folder: Path, names: Sequence[str]) -> None:
    for name in names:
        shutil.copyfile(source / name, folder / name)
