# SPDX-License-Identifier: Apache-2.0
"""Yahoo! Answers (Zhang et al. 2015): questions and their best answers in ten topics, as token ids."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from blockful_py.errors import LearningError, SettingsError
from blockful_py.extras import needed_by
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.datasets.options import carve_proxy
from blockful_py.learning.datasets.shards import Schema
from blockful_py.learning.datasets.tables import Split, read_splits
from blockful_py.learning.streams import generator
from blockful_py.settings import DataOptions
from blockful_py.settings.learning import WORDS

YAHOO_ANSWERS = Schema(
    name="yahoo_answers",
    hub="community-datasets/yahoo_answers_topics",
    columns=("question_title", "question_content", "best_answer"),
    label="topic",
    class_count=10,
)

BUCKETS = 30_000
"""Number of token ids of the word tokenizer; id 0 is padding."""

WORD = re.compile(r"[a-z0-9]+")

Tokenize = Callable[[Sequence[str]], Tensor]
"""Maps n texts to ids, int64 (n, text_length)."""


def load_yahoo_answers(seed: int, options: DataOptions) -> Dataset:
    """Title, question and best answer of each entry, cut to `text_length` tokens: int64 (n, text_length).

    Labels are int64 (n,); all tensors are on the CPU.
    Raises as `read_splits` and `tokenizer`, and LearningError for columns without texts.
    """
    tokenize, vocabulary = tokenizer(options)
    train, test = (
        Samples(tokenize(_joined(split)), split.labels) for split in read_splits(YAHOO_ANSWERS, options, seed)
    )
    train, proxy = carve_proxy(train, generator(seed, YAHOO_ANSWERS.name, "proxy"))
    return Dataset(YAHOO_ANSWERS.name, YAHOO_ANSWERS.class_count, train, test, proxy, vocabulary)


def tokenizer(options: DataOptions) -> tuple[Tokenize, int]:
    """The configured tokenizer and the number of its ids.

    Raises SettingsError: `transformers` or the tokenizer is missing, or its padding id is not 0.
    """
    if options.tokenizer == WORDS:
        return (lambda texts: word_ids(texts, options.text_length)), BUCKETS
    with needed_by(f"tokenizer {options.tokenizer!r} (not {WORDS!r})"):
        import transformers
    try:
        loaded: Any = transformers.AutoTokenizer.from_pretrained(options.tokenizer, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the tokenizer {options.tokenizer!r} is neither {WORDS!r} nor a folder with a tokenizer nor "
            f"available on the hub: {str(error).splitlines()[0]} Download it elsewhere and give its folder."
        ) from None
    if loaded.pad_token_id != 0:
        raise SettingsError(
            f"the tokenizer {options.tokenizer!r} pads with id {loaded.pad_token_id}, 0 is expected: "
            "take one of BERT's."
        )

    def tokenize(texts: Sequence[str]) -> Tensor:
        encoded = loaded(list(texts), truncation=True, padding="max_length", max_length=options.text_length)
        return torch.tensor(encoded["input_ids"], dtype=torch.int64).reshape(len(texts), options.text_length)

    return tokenize, len(loaded)


def word_ids(texts: Sequence[str], length: int) -> Tensor:
    """Token ids, int64 (n, length), of n texts: 1 + CRC-32 of a word modulo 29,999, and 0 for padding.

    Two words may share an id; in return, no vocabulary has to be stored.
    """
    ids = torch.zeros(len(texts), length, dtype=torch.int64)
    for row, text in enumerate(texts):
        words = WORD.findall(text.lower())[:length]
        numbers = [zlib.crc32(word.encode()) % (BUCKETS - 1) + 1 for word in words]
        ids[row, : len(numbers)] = torch.tensor(numbers, dtype=torch.int64)
    return ids


def _joined(split: Split) -> list[str]:
    """Joins the texts of each row.  Raises LearningError for a column of another type."""
    import pyarrow as pa

    for name in YAHOO_ANSWERS.columns:
        kind = split.table[name].type
        if not (pa.types.is_large_string(kind) or pa.types.is_null(kind)):
            raise LearningError(
                f"{split.source}: column {name!r} must hold texts, not {kind}: save it as strings, in UTF-8."
            )
    columns = (split.table[name].to_pylist() for name in YAHOO_ANSWERS.columns)
    return [" ".join(part for part in row if part) for row in zip(*columns, strict=True)]
