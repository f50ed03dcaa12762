# SPDX-License-Identifier: Apache-2.0
"""Tiny files with the schemas of the data sets on the hub."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image
from pyarrow import csv, parquet

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
WORDS = ("why", "does", "my", "cat", "sleep", "all", "day", "what", "is", "the", "capital", "of", "spain")


def picture(rng: np.random.Generator, side: int, mode: str, label: int, form: str) -> dict[str, Any]:
    """An image file whose brightness tells its label."""
    shape = (side, side) if mode == "L" else (side, side, 3)
    values = rng.integers(0, 60, shape) + 20 * (label % 10)
    out = io.BytesIO()
    Image.fromarray(values.astype(np.uint8)).save(out, form)
    return {"bytes": out.getvalue(), "path": f"{label}.{form.lower()}"}


def image_table(
    column: str, label: str, side: int, mode: str, labels: list[int], form: str = "PNG"
) -> pa.Table:
    rng = np.random.default_rng(len(labels))
    images = [picture(rng, side, mode, each, form) for each in labels]
    return pa.table({column: pa.array(images, IMAGE), label: pa.array(labels, pa.int64())})


def text_table(labels: list[int]) -> pa.Table:
    rng = np.random.default_rng(len(labels))
    texts = [" ".join(rng.choice(WORDS, 5)) for _ in labels]
    return pa.table(
        {
            "id": pa.array(range(len(labels)), pa.int32()),
            "topic": pa.array(labels, pa.int64()),
            "question_title": [f"topic{label} {text}?" for label, text in zip(labels, texts, strict=True)],
            "question_content": pa.array(
                [None if i % 2 else "and, well?\nplease" for i in range(len(labels))]
            ),
            "best_answer": [f"answer{label}" for label in labels],
        }
    )


def each_class(classes: int, count: int) -> list[int]:
    """Labels in turn, `count` in all."""
    return [i % classes for i in range(count)]


def _images(
    column: str, label: str, side: int, mode: str, form: str = "PNG"
) -> Callable[[list[int]], pa.Table]:
    return lambda labels: image_table(column, label, side, mode, labels, form)


TABLES: Mapping[str, tuple[int, Callable[[list[int]], pa.Table]]] = {
    "cifar10": (10, _images("img", "label", 32, "RGB")),
    "cifar100": (100, _images("img", "fine_label", 32, "RGB")),
    "cifar10_small": (10, _images("img", "label", 32, "RGB")),
    "fashion_mnist": (10, _images("image", "label", 28, "L")),
    "fashion_mnist_small": (10, _images("image", "label", 28, "L")),
    "tiny_imagenet": (200, _images("image", "label", 64, "RGB", "JPEG")),
    "yahoo_answers": (10, text_table),
}
"""Number of classes and a maker of tables, by data set."""


def write(folder: Path, name: str, train: int = 40, test: int = 20) -> Path:
    """The folder, with parquet files of a data set as the hub lays them out, test data in few classes."""
    classes, table = TABLES[name]
    held_out = "valid" if name == "tiny_imagenet" else "test"
    inside = folder / "data"
    inside.mkdir(parents=True, exist_ok=True)
    used = min(classes, 10)
    half = each_class(used, train // 2)
    parquet.write_table(table(half), inside / "train-00000-of-00002.parquet")
    parquet.write_table(table(half), inside / "train-00001-of-00002.parquet")
    parquet.write_table(table(each_class(used, test)), inside / f"{held_out}-00000-of-00001.parquet")
    return folder


def write_idx(folder: Path, train: int = 40, test: int = 20, ending: str = ".gz") -> Path:
    """The folder, with idx files as Debian's package of Fashion-MNIST has them."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for split, count in (("train", train), ("t10k", test)):
        labels = np.array(each_class(10, count), np.uint8)
        images = (rng.integers(0, 60, (count, 28, 28)) + 20 * labels[:, None, None]).astype(np.uint8)
        for name, values in (("images-idx3", images), ("labels-idx1", labels)):
            write_bytes(folder / f"{split}-{name}-ubyte{ending}", idx_bytes(values))
    return folder


def idx_bytes(values: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    """An idx file of unsigned bytes."""
    lengths = np.array(values.shape, ">u4").tobytes()
    return bytes([0, 0, 8, values.ndim]) + lengths + values.tobytes()


def write_bytes(path: Path, data: bytes) -> None:
    """Gzipped where the name says so."""
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def write_csv(folder: Path, train: int = 40, test: int = 20) -> Path:
    """Yahoo! Answers as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    csv.write_csv(text_table(each_class(10, train)), folder / "train.csv")
    csv.write_csv(text_table(each_class(10, test)), folder / "test.csv")
    return folder


def tokenizer(folder: Path) -> Path:
    """A folder with a BERT tokenizer of a few words."""
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    topics = [f"topic{i}" for i in range(10)]
    vocabulary = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "?", *WORDS, *topics)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    transformers.BertTokenizerFast(
        {word: i for i, word in enumerate(vocabulary)}, do_lower_case=False
    ).save_pretrained(folder)
    return folder
