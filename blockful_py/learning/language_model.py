# SPDX-License-Identifier: Apache-2.0
"""Causal language models in folders as `transformers` saves them; no code of theirs runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from blockful_py.errors import FormatError, LearningError
from blockful_py.extras import needed_by
from blockful_py.learning.model_folder import PICKLES, SUFFIX
from blockful_py.learning.plugins import failing_as

WIDEST = 16
"""Maximum ratio of a network's bytes in memory to its files' bytes; 4 bits become float64."""
LEAST_TOKENS = 2
"""Minimum number of tokens of a text: one to predict, and one before it."""


@dataclass(frozen=True, slots=True)
class TokenisedText:
    """A text as token ids.

    Attributes:
        ids: at least 2.
        secret: positions in `ids` of the tokens after the prompt; empty without a prompt.
    """

    ids: tuple[int, ...]
    secret: range = range(0)


@dataclass(frozen=True, slots=True, eq=False)
class LanguageModel:
    """A causal language model, in evaluation mode, with its tokenizer.

    Attributes:
        folder: its name in messages.
        vocabulary: number of token ids that the network reads.
        context: maximum number of tokens of a text; None if the network states none.
    """

    folder: Path
    module: nn.Module
    tokenizer: Any
    vocabulary: int
    context: int | None

    def tokenised(self, texts: Sequence[str], prompts: Sequence[str] = ()) -> tuple[TokenisedText, ...]:
        """The texts as token ids, whole, with the special tokens that the tokenizer adds.

        Args:
            prompts: beginning of each text, if any; the tokens that end after it are the secret.

        Raises LearningError: a text of fewer than 2 tokens, longer than the context, or with ids that the
            network does not read; two texts with the same ids; a prompt that is no beginning of its text.
        """
        if prompts and len(prompts) != len(texts):
            raise LearningError(f"{len(texts)} texts have {len(prompts)} prompts: give one for each text.")
        found = tuple(self._tokenised(i, text, prompts) for i, text in enumerate(texts))
        first: dict[tuple[int, ...], str] = {}
        for text, each in zip(texts, found, strict=True):
            if first.setdefault(each.ids, text) != text:
                raise LearningError(
                    f"the tokenizer in {self.folder} gives different texts the same tokens, such as "
                    f"{text[:40]!r}: put the model's own tokenizer there."
                )
        return found

    def _tokenised(self, number: int, text: str, prompts: Sequence[str]) -> TokenisedText:
        said = self.tokenizer(text, return_offsets_mapping=True)
        ids, ends = tuple(said["input_ids"]), [end for _, end in said["offset_mapping"]]
        if len(ids) < LEAST_TOKENS:
            raise LearningError(f"text {number} has {len(ids)} tokens: leave it out, a prediction needs two.")
        if self.context is not None and len(ids) > self.context:
            raise LearningError(
                f"text {number} has {len(ids)} tokens, and {self.folder} reads {self.context}: cut it."
            )
        if not 0 <= min(ids) <= max(ids) < self.vocabulary:
            raise LearningError(
                f"text {number} has token {max(ids)}, and the network in {self.folder} reads ids below "
                f"{self.vocabulary}: put the model's own tokenizer there."
            )
        if not prompts:
            return TokenisedText(ids)
        after = [place for place, end in enumerate(ends) if end > len(prompts[number])]
        if not text.startswith(prompts[number]) or not after or not after[0]:
            raise LearningError(f"prompt {number} is no beginning of text {number}, with tokens after it.")
        return TokenisedText(ids, range(after[0], after[-1] + 1))

    def logits(self, ids: Sequence[int]) -> Tensor:
        """Logits (T - 1, vocabulary) of the tokens after the first, each from those before it."""
        with torch.inference_mode():
            said: Tensor = self.module(input_ids=torch.tensor([ids[:-1]])).logits
        return said[0]


def read_language_model(folder: Path) -> LanguageModel:
    """The model and the tokenizer in a folder, on the CPU.

    Raises FormatError: no folder of a causal language model with safetensors and a fast tokenizer, code of
        its own, an adapter, tensors that are missing or of another shape, or a network too large for them.
    """
    files = _weights_in(folder)
    with needed_by("reading a language model"):
        import transformers
    with failing_as(FormatError, f"reading a causal language model from {folder}"):
        config = transformers.AutoConfig.from_pretrained(folder, **LOCAL)
        _require_size(transformers, folder, config, sum(path.stat().st_size for path in files))
        module, loaded = transformers.AutoModelForCausalLM.from_pretrained(
            folder, use_safetensors=True, output_loading_info=True, **LOCAL
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **LOCAL)
    odd = sorted({*loaded["missing_keys"], *loaded["unexpected_keys"], *map(str, loaded["mismatched_keys"])})
    if odd:
        raise FormatError(f"{folder} has other tensors than its configuration says, such as {odd[0][:80]}.")
    if not getattr(tokenizer, "is_fast", False):
        raise FormatError(
            f"{folder} has no tokenizer.json: save its tokenizer by transformers as a fast one."
        )
    rows = module.get_input_embeddings().weight.shape[0]
    context = getattr(config, "max_position_embeddings", None)
    return LanguageModel(folder, module.eval(), tokenizer, rows, context)


LOCAL = {"local_files_only": True, "trust_remote_code": False}


def _weights_in(folder: Path) -> list[Path]:
    try:
        files = sorted(folder.iterdir())
    except OSError as error:
        raise FormatError(f"the model in {folder} cannot be read: {error.strerror}.") from None
    found = [path for path in files if path.suffix == SUFFIX]
    if any(path.name == "adapter_config.json" for path in files):
        raise FormatError(
            f"{folder} has an adapter: apply it to its base by peft, as PeftModel.from_pretrained(base, "
            "adapter).merge_and_unload(), and save that, with the tokenizer."
        )
    if not found:
        pickled = next((path.name for path in files if path.suffix in PICKLES), None)
        reason = f"{pickled} may be a pickle, which could run code" if pickled else "there are none"
        raise FormatError(f"{folder} has no weights as safetensors ({reason}): save them as safetensors.")
    if not any(path.name == "tokenizer.json" for path in files):
        raise FormatError(f"{folder} has no tokenizer.json: save the model's tokenizer there.")
    return found


def _require_size(transformers: Any, folder: Path, config: Any, stored: int) -> None:
    """Refuses a configuration whose network would take far more memory than its files."""
    with torch.device("meta"):
        empty = transformers.AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    needed = sum(each.numel() * each.element_size() for each in empty.parameters())
    if needed > WIDEST * stored:
        raise FormatError(
            f"{folder} has {stored:,} bytes of weights, and its configuration asks for {needed:,}: "
            "put the model's own configuration there."
        )
