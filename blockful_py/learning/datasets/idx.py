# SPDX-License-Identifier: Apache-2.0
"""Images and labels in idx files, plain or gzipped: the format of MNIST and its successors.

A file is a header and bytes (http://yann.lecun.com/exdb/mnist, as in Debian's `dataset-fashion-mnist`):

    0 0 8 D    two zeros, the type (8: unsigned bytes), the number of dimensions
    D x 4      the length of each dimension, big-endian
    ...        the values, the last dimension first
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from gzip import GzipFile
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockful_py.errors import LearningError

UNSIGNED_BYTES = 8
LARGEST = 2**30
"""Maximum bytes of values in a file; MNIST's training images take 47 million."""

IMAGES, LABELS = "images-idx3-ubyte", "labels-idx1-ubyte"
PREFIXES = {"train": "train", "test": "t10k"}
"""Prefix of the file names, by split."""
ENDINGS = ("", ".gz")


@dataclass(frozen=True, slots=True)
class IdxFiles:
    """A data set's idx files.

    Attributes:
        side: height and width of the images, in pixels.
        package: Debian package with the files.
        installed: folder of the package's files.
    """

    side: int
    package: str
    installed: Path

    def pair_in(self, folder: Path, split: str) -> tuple[Path, Path] | None:
        """The image and label files of a split, at any depth; None unless both exist."""
        found = [_first(folder, f"{PREFIXES[split]}-{kind}") for kind in (IMAGES, LABELS)]
        return (found[0], found[1]) if found[0] and found[1] else None

    def are_in(self, folder: Path) -> bool:
        """Whether a folder has the files of all splits."""
        return all(self.pair_in(folder, split) for split in PREFIXES)


def read_table(files: IdxFiles, pair: tuple[Path, Path], column: str, label: str) -> Any:
    """An Arrow table of n rows: an image's pixels row by row, as side * side bytes, and its label, int64.

    Args:
        pair: the files of n images and of their n labels.
        column, label: names of the table's columns.

    Raises LearningError: a file is damaged, or the images have an unexpected size or number.
    """
    import pyarrow as pa

    images, labels = read_idx(pair[0], 3), read_idx(pair[1], 1)
    if images.shape[1:] != (files.side, files.side):
        raise LearningError(
            f"{pair[0]} has images of {images.shape[2]}x{images.shape[1]} pixels, not of "
            f"{files.side}x{files.side}: name the files' own data set."
        )
    if len(images) != len(labels):
        raise LearningError(
            f"{pair[0]} has {len(images)} images and {pair[1].name} {len(labels)} labels: "
            "fetch both again from one place."
        )
    width = files.side * files.side
    pixels = pa.Array.from_buffers(pa.binary(width), len(images), [None, pa.py_buffer(images.reshape(-1))])
    return pa.table({column: pixels, label: pa.array(labels.astype(np.int64))})


def read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """Reads an idx file of unsigned bytes: uint8, in the shape of its header.

    Reads no more than the header states, at most `LARGEST` bytes.

    Raises:
        LearningError: the file cannot be read, is not an idx file of bytes, has another number of dimensions,
            or more or fewer values than its header states.
    """
    try:
        with _opened(path) as file:
            shape = _header(path, file, dimensions)
            size = math.prod(shape)
            values = file.read(size + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise LearningError(f"{path} cannot be read ({error}): fetch it again.") from None
    if len(values) != size:
        raise LearningError(
            f"{path} has {'more' if len(values) > size else len(values)} bytes of values, its header states "
            f"{' x '.join(map(str, shape))} = {size}: fetch it again."
        )
    return np.frombuffer(values, np.uint8).reshape(shape)


def _opened(path: Path) -> GzipFile | BufferedReader:
    return GzipFile(path) if path.suffix == ".gz" else path.open("rb")


def _header(path: Path, file: GzipFile | BufferedReader, dimensions: int) -> tuple[int, ...]:
    magic = file.read(4)
    expected = bytes([0, 0, UNSIGNED_BYTES, dimensions])
    if magic != expected:
        raise LearningError(
            f"{path} begins with {magic.hex() or 'nothing'}, an idx file of bytes in {dimensions} dimensions "
            f"with {expected.hex()}: give one of the data set's own files."
        )
    lengths = file.read(4 * dimensions)
    if len(lengths) < 4 * dimensions:
        raise LearningError(f"{path} ends within its header: fetch it again.")
    shape = tuple(int(length) for length in np.frombuffer(lengths, ">u4"))
    if math.prod(shape) > LARGEST:
        raise LearningError(
            f"{path} states {' x '.join(map(str, shape))} values, more than the {LARGEST} that are read: "
            "fetch it again, or give a smaller one."
        )
    return shape


def _first(folder: Path, name: str) -> Path | None:
    paths = (path for ending in ENDINGS for path in sorted(folder.rglob(name + ending)))
    return next((path for path in paths if path.is_file()), None)
