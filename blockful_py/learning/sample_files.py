# SPDX-License-Identifier: Apache-2.0
"""Samples in one safetensors file: a federation's public samples, or a participant's own.

The tensors are `train.x`, `train.y`, `test.x`, `test.y`, `proxy.x` and `proxy.y`, shaped as in `Samples`; a
part may be empty.  The header's metadata hold the data set's name, its numbers of classes and token ids, and,
for parties' own files, the rule that turned them into samples.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors_torch

from blockful_py.bounded_json import parse_json
from blockful_py.errors import FormatError, LearningError, SettingsError
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.datasets import load_dataset
from blockful_py.settings import DataOptions

FORMAT = "blockful-samples/1"
SUFFIX = ".safetensors"
PARTS = ("train", "test", "proxy")
MAX_HEADER = 1 << 20


def samples_to_bytes(dataset: Dataset) -> bytes:
    """The file of a data set; equal samples give equal bytes."""
    tensors = {}
    for part in PARTS:
        samples: Samples = getattr(dataset, part)
        tensors[f"{part}.x"] = samples.x.cpu().contiguous()
        tensors[f"{part}.y"] = samples.y.cpu().contiguous()
    about = {
        "format": FORMAT,
        "name": dataset.name,
        "class_count": str(dataset.class_count),
        "vocabulary": "" if dataset.vocabulary is None else str(dataset.vocabulary),
    }
    if dataset.rule is not None:
        about["rule"] = dataset.rule
    return safetensors_torch.save(tensors, metadata=about)


def samples_from_bytes(data: bytes) -> Dataset:
    """Reads the data set in a file, on the CPU.

    Raises:
        FormatError: the bytes are not a file of samples.
        LearningError: labels or token ids out of range, or parts of different shapes.
    """
    try:
        about = _metadata(data)
        tensors = safetensors_torch.load(data)
        parts = {part: Samples(_x(tensors[f"{part}.x"]), _y(tensors[f"{part}.y"])) for part in PARTS}
        vocabulary = about["vocabulary"]
        return Dataset(
            about["name"],
            int(about["class_count"]),
            parts["train"],
            parts["test"],
            parts["proxy"],
            vocabulary=int(vocabulary) if vocabulary else None,
            rule=about.get("rule"),
        )
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise FormatError(
            f"{len(data)} bytes are not a file of samples ({error}): take one "
            "that `blockful data --save` wrote."
        ) from None


def own_data(name: str, seed: int, options: DataOptions) -> Dataset:
    """A participant's data, on the CPU: a file of samples, or a data set by name.

    Raises SettingsError, LearningError, FormatError: it cannot be loaded, or lacks samples.
    """
    if name.endswith(SUFFIX):
        try:
            data = samples_from_bytes(Path(name).read_bytes())
        except OSError as error:
            raise SettingsError(f"the data in {name} cannot be read: {error.strerror}.") from None
        except FormatError as error:
            raise FormatError(f"the data in {name} cannot be used: {error}") from None
    else:
        data = load_dataset(name, seed, torch.device("cpu"), options)
    for part in ("train", "test"):
        if not len(getattr(data, part)):
            raise LearningError(f"the data in {name} has no {part} samples: both are needed.")
    return data


def public_part(dataset: Dataset) -> Dataset:
    """The data set without its training samples."""
    none = torch.zeros(0, dtype=torch.int64)
    return Dataset(
        dataset.name,
        dataset.class_count,
        dataset.train.at(none),
        dataset.test,
        dataset.proxy,
        dataset.vocabulary,
        rule=dataset.rule,
    )


def _metadata(data: bytes) -> dict[str, str]:
    """The header's metadata, which safetensors' loader for bytes drops."""
    size = int.from_bytes(data[:8], "little")
    if not 0 < size <= min(MAX_HEADER, len(data) - 8):
        raise ValueError(f"a header of {size} bytes")
    about = parse_json(data[8 : 8 + size])["__metadata__"]
    if about["format"] != FORMAT:
        raise ValueError(f"format {about['format']!r:.40}")
    return dict(about)


def _x(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype not in (torch.float32, torch.int64):
        raise ValueError(f"inputs of type {tensor.dtype}")
    if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
        raise ValueError("inputs that are not finite")
    return tensor


def _y(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype is not torch.int64:
        raise ValueError(f"labels of type {tensor.dtype}")
    return tensor
