# SPDX-License-Identifier: Apache-2.0
"""Models of one network in a folder of safetensors files, which anybody may have written."""

from __future__ import annotations

import json
from pathlib import Path

from blockful_py.bounded_json import parse_json
from blockful_py.errors import FormatError
from blockful_py.learning.form import MOST_HEADER, form_of
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights

SUFFIX = ".safetensors"
PICKLES = frozenset({".bin", ".ckpt", ".pickle", ".pkl", ".pt", ".pth"})
METADATA = "__metadata__"
MOST_MODELS = 4096


def read_models(folder: Path, architecture: Architecture) -> dict[str, Weights]:
    """The models of a folder by file name, without its ending, in ascending order.

    A file's size is checked before it is read, and its header before any tensor.  Other files are ignored,
    except pickles, which could run code.

    Raises:
        FormatError: no folder, no model or too many, a pickle, or a file that cannot be read or is too large.
        LearningError: weights of another form, or not finite.
    """
    try:
        files = sorted(folder.iterdir())
    except OSError as error:
        raise FormatError(f"the models in {folder} cannot be read: {error.strerror}.") from None
    pickles = [path.name for path in files if path.suffix.lower() in PICKLES]
    if pickles:
        raise FormatError(
            f"{folder} holds {pickles[0]}, perhaps a pickle, which could run code: load it in a sandbox, "
            "and save its state dict by safetensors.torch.save_file."
        )
    found = [path for path in files if path.suffix == SUFFIX]
    if not 0 < len(found) <= MOST_MODELS:
        raise FormatError(f"{folder} holds {len(found)} {SUFFIX} files, not 1 to {MOST_MODELS}.")
    return {path.name.removesuffix(SUFFIX): _read(path, architecture) for path in found}


def _read(path: Path, architecture: Architecture) -> Weights:
    form = form_of(architecture)
    if not path.is_file():
        raise FormatError(f"{path} is no file.")
    file = FileRanges(path)
    if file.size > form.most_bytes:
        raise FormatError(
            f"{path} has more than the {form.most_bytes:,} bytes of weights of {architecture.name!r}: "
            "keep nothing else in it."
        )
    return form.read(file, str(path))


class FileRanges:
    """A safetensors file, read by ranges, without the metadata that other programs add to its header.

    Raises FormatError if it cannot be read.
    """

    nbytes = 0

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin, self._head = 0, b""
        length = self._read(0, 8)
        self.size = 8 + int.from_bytes(length, "little")
        if self.size <= MOST_HEADER:
            self._head = _without_metadata(bytes(length + self._read(8, self.size)))
            self._begin = self.size
        try:
            self.size = path.stat().st_size
        except OSError as error:
            raise self._unreadable(error) from None

    def read(self, begin: int, end: int) -> bytearray:
        """Its bytes from `begin` to `end`, fewer where it ends before."""
        head = bytearray(self._head[begin:end])
        begin, end = (max(0, each - len(self._head)) + self._begin for each in (begin + len(head), end))
        return head + self._read(begin, end)

    def _read(self, begin: int, end: int) -> bytearray:
        try:
            with self._path.open("rb") as file:
                file.seek(begin)
                return bytearray(file.read(max(0, end - begin)))
        except OSError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: OSError) -> FormatError:
        return FormatError(f"{self._path} cannot be read: {error.strerror}.")


def _without_metadata(header: bytes) -> bytes:
    """A header, with its length, without metadata; a malformed one is left as it is."""
    try:
        entries = parse_json(header[8:])
        del entries[METADATA]
        kept = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    except (ValueError, KeyError, TypeError):
        return header
    return len(kept).to_bytes(8, "little") + kept
