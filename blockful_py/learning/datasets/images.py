# SPDX-License-Identifier: Apache-2.0
"""Image data sets of the hub: CIFAR-10, CIFAR-100, Fashion-MNIST, TinyImageNet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from blockful_py.errors import LearningError
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.datasets.decoding import decode
from blockful_py.learning.datasets.idx import IdxFiles
from blockful_py.learning.datasets.options import carve_proxy
from blockful_py.learning.datasets.shards import Schema
from blockful_py.learning.datasets.tables import Split, read_splits
from blockful_py.learning.streams import generator
from blockful_py.settings import DataOptions


@dataclass(frozen=True, slots=True)
class ImageSchema(Schema):
    """Schema of an image data set.

    Attributes:
        side: height and width, in pixels.
        mean, spread: mean and standard deviation of each channel's values in [0, 1], (channels,).
    """

    side: int = 32
    mean: tuple[float, ...] = (0.5,)
    spread: tuple[float, ...] = (0.5,)


CIFAR10 = ImageSchema(
    name="cifar10",
    hub="uoft-cs/cifar10",
    columns=("img",),
    label="label",
    class_count=10,
    side=32,
    mean=(0.4914, 0.4822, 0.4465),
    spread=(0.2470, 0.2435, 0.2616),
)
CIFAR100 = ImageSchema(
    name="cifar100",
    hub="uoft-cs/cifar100",
    columns=("img",),
    label="fine_label",
    class_count=100,
    side=32,
    mean=(0.5071, 0.4865, 0.4409),
    spread=(0.2673, 0.2564, 0.2762),
)
FASHION_MNIST = ImageSchema(
    name="fashion_mnist",
    hub="zalando-datasets/fashion_mnist",
    columns=("image",),
    label="label",
    class_count=10,
    side=28,
    mean=(0.2860,),
    spread=(0.3530,),
    idx=IdxFiles(28, "dataset-fashion-mnist", Path("/usr/share/datasets/fashion-mnist")),
)
TINY_IMAGENET = ImageSchema(
    name="tiny_imagenet",
    hub="zh-plus/tiny-imagenet",
    columns=("image",),
    label="label",
    class_count=200,
    test="valid",
    side=64,
    mean=(0.4802, 0.4481, 0.3975),
    spread=(0.2770, 0.2691, 0.2821),
)


def image_loader(schema: ImageSchema) -> Callable[[int, DataOptions], Dataset]:
    """Builds a loader of the data set, with the proxy drawn from the train split by seed.

    Inputs are float32 (n, channels, side, side), normalised by each channel's mean and standard deviation;
    labels are int64 (n,), on the CPU.  The loader raises as `read_splits`, and LearningError for a damaged
    image or one of another size.
    """

    def load(seed: int, options: DataOptions) -> Dataset:
        train, test = (
            Samples(_images(schema, split), split.labels) for split in read_splits(schema, options, seed)
        )
        train, proxy = carve_proxy(train, generator(seed, schema.name, "proxy"))
        return Dataset(schema.name, schema.class_count, train, test, proxy)

    return load


def _images(schema: ImageSchema, split: Split) -> Tensor:
    """Decoded, normalised images, float32 (n, channels, side, side).  Raises LearningError for a bad row."""
    import pyarrow as pa

    column = split.table[schema.columns[0]]
    raw = column.type == pa.binary(schema.side**2) and len(schema.mean) == 1 and not column.null_count
    x = _as_they_are(schema, column) if raw else _from_image_files(schema, column, split.source)
    mean, spread = (torch.tensor(each).view(1, -1, 1, 1) for each in (schema.mean, schema.spread))
    return x.div_(255).sub_(mean).div_(spread)


def _as_they_are(schema: ImageSchema, column: Any) -> Tensor:
    """Reads a column of side * side raw bytes per row: values from 0 to 255, float32 (n, 1, side, side)."""
    rows = b"".join(column.to_pylist())
    pixels = np.frombuffer(bytearray(rows), np.uint8).reshape(-1, 1, schema.side, schema.side)
    return torch.from_numpy(pixels).float()


def _from_image_files(schema: ImageSchema, column: Any, source: str) -> Tensor:
    """Decodes a column of image files: values from 0 to 255, float32 (n, channels, side, side)."""
    channels = len(schema.mean)
    x = torch.empty(len(column), channels, schema.side, schema.side)
    for row, cell in enumerate(column):
        data = cell.as_py()
        if not isinstance(data, bytes):
            raise LearningError(
                f"{source}: image {row} has no bytes: the column {schema.columns[0]!r} must hold whole image "
                f"files, as on the hub ({schema.hub})."
            )
        try:
            x[row] = torch.from_numpy(decode(data, schema.side, channels)).permute(2, 0, 1)
        except LearningError as error:
            raise LearningError(f"{source}: image {row} {error}") from None
    return x
