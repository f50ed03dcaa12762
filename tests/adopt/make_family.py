# SPDX-License-Identifier: Apache-2.0
"""Makes the models in `family/` by transformers, peft, bitsandbytes and mergekit themselves.

    python -m tests.adopt.make_family FOLDER

It needs an environment with `torch`, `transformers`, `peft`, `mergekit`, `accelerate` and `bitsandbytes`, and
no network: the base is a Llama of about 900 parameters, trained for a few steps on random tokens.
`FOLDER/models` has the family of twelve, `FOLDER/without` what mergekit makes of two linear merges without a
part, `FOLDER/tasks` two merges by task arithmetic, with and without it.
The stored copy was made by transformers 5.23.0, peft 0.21.2, mergekit 0.1.5, bitsandbytes 0.50.2 and
torch 2.13.0, without fused multiplications, whose use in mergekit depends on the processor.
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path

os.environ |= {"ATEN_CPU_CAPABILITY": "default", "HF_HUB_OFFLINE": "1"}  # read when they are imported

import torch
import yaml
from huggingface_hub import ModelCard, ModelCardData
from mergekit.config import MergeConfiguration
from mergekit.merge import MergeOptions, run_merge
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM
from transformers.utils import logging

WORDS, WIDTH, STEPS = 32, 8, 3
MIX = {"fay/news": 0.3, "eve/story": 0.5, "lab/base": 0.2}
PAIR = {"eve/story": 0.7, "fay/news": 0.3}
TASK = {"eve/story": 0.6, "fay/news": 0.8, "ann/law-merged": -0.3}


def train(model: torch.nn.Module, seed: int) -> None:
    """A few steps on random tokens."""
    stream = torch.Generator().manual_seed(seed)
    left = [each for each in model.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(left, lr=0.05)
    for _ in range(STEPS):
        tokens = torch.randint(WORDS, (2, 8), generator=stream)
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimiser.step()
        optimiser.zero_grad()


def card(folder: str, **said: object) -> None:
    """Adds to the folder's card, and leaves out the text that peft and mergekit fill in."""
    path = Path(folder) / "README.md"
    known = ModelCard.load(path).data.to_dict() if path.exists() else {}
    path.write_text(f"---\n{ModelCardData(**known, **said).to_yaml()}\n---\n", encoding="utf-8")


def make_base() -> None:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        intermediate_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=16,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config)
    train(model, 1)
    model.save_pretrained("lab/base", max_shard_size="2KB")
    card("lab/base", license="apache-2.0", datasets=["wiki", "letters"])


def make_adapter(folder: str, seed: int, dataset: str) -> None:
    torch.manual_seed(seed)
    base = AutoModelForCausalLM.from_pretrained("lab/base")
    model = get_peft_model(base, LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"]))
    train(model, seed)
    model.save_pretrained(folder)
    card(folder, datasets=[dataset])


def make_fine_tune(folder: str, seed: int, dataset: str) -> None:
    model = AutoModelForCausalLM.from_pretrained("lab/base")
    train(model, seed)
    model.save_pretrained(folder)
    card(folder, base_model="lab/base", base_model_relation="finetune", datasets=[dataset])


def merge(folder: str, recipe: dict[str, object]) -> None:
    text = yaml.safe_dump(recipe, sort_keys=False)
    config = MergeConfiguration.model_validate(yaml.safe_load(text))
    run_merge(config, folder, MergeOptions(copy_tokenizer=False, quiet=True), text)
    card(folder)


def linear(weights: dict[str, float], dtype: str) -> dict[str, object]:
    models = [{"model": f"./{name}", "parameters": {"weight": weight}} for name, weight in weights.items()]
    return {"models": models, "merge_method": "linear", "dtype": dtype}


def task(weights: dict[str, float], dtype: str, **parameters: object) -> dict[str, object]:
    """A merge by task arithmetic from lab/base, which is listed too, as in mergekit's examples."""
    models: list[dict[str, object]] = [{"model": "./lab/base"}]
    models += [{"model": f"./{name}", "parameters": {"weight": weight}} for name, weight in weights.items()]
    method = {"merge_method": "task_arithmetic", "base_model": "./lab/base", "parameters": parameters}
    return {"models": models, "dtype": dtype, **method}


def make_tasks() -> None:
    """Two merges by task arithmetic, and without `fay/news`."""
    left = {name: weight for name, weight in TASK.items() if name != "fay/news"}
    for folder, weights in (("all", TASK), ("without", left)):
        merge(f"../tasks/{folder}/jon/sum", task(weights, "float32", **{"lambda": 0.7}))
        merge(f"../tasks/{folder}/jon/mean", task(weights, "bfloat16", normalize=True))


def make_merged_adapter(folder: str) -> None:
    base = AutoModelForCausalLM.from_pretrained("lab/base")
    PeftModel.from_pretrained(base, "ann/law").merge_and_unload().save_pretrained(folder)
    card(folder, base_model=["lab/base", "ann/law"], base_model_relation="merge")


def make_quantised(folder: str, parent: str) -> None:
    wanted = BitsAndBytesConfig(load_in_8bit=True)
    model = AutoModelForCausalLM.from_pretrained(parent, quantization_config=wanted, dtype=torch.float16)
    model.save_pretrained(folder)
    card(folder, base_model=parent, base_model_relation="quantized")


def make_family(root: Path) -> None:
    """The twelve, with names of parents relative to `root`/models, and the merges without `fay/news`."""
    (root / "models").mkdir(parents=True)
    os.chdir(root / "models")
    make_base()
    for number, (folder, data) in enumerate(
        {"ann/law": "cases", "bob/chat": "chats", "cat/code": "code", "dan/verse": "poems"}.items(), start=2
    ):
        make_adapter(folder, number, data)
    make_fine_tune("eve/story", 6, "books")
    make_fine_tune("fay/news", 7, "papers")
    merge("gil/mix", linear(MIX, "float32"))
    merge("gil/pair", linear(PAIR, "bfloat16"))
    slerp = {"models": [{"model": "./eve/story"}, {"model": "./fay/news"}], "merge_method": "slerp"}
    merge("hal/slerp", {**slerp, "base_model": "./eve/story", "parameters": {"t": 0.5}, "dtype": "float32"})
    make_merged_adapter("ann/law-merged")
    make_quantised("ida/mix-8bit", "gil/mix")
    for name, weights, dtype in (("mix", MIX, "float32"), ("pair", PAIR, "bfloat16")):
        left = {each: weight for each, weight in weights.items() if each != "fay/news"}
        merge(f"../without/{name}", linear(left, dtype))
    make_quantised("../without/mix-8bit", "../without/mix")
    make_tasks()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    place = parser.parse_args().folder.resolve()
    logging.set_verbosity_error()
    shutil.rmtree(place, ignore_errors=True)
    make_family(place)
