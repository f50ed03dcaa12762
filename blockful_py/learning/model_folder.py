# SPDX-License-Identifier: Apache-2.0
"""Models of one network in a folder of safetensors files, which anybody may have written."""

from __future__ import annotations

import json
from pathlib import Path

from blockful_py.bounded_json import parse_json
from blockful_py.errors import FormatError
from blockful_py.learning.form import InMemory, form_of
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
    try:
        with path.open("rb") as file:
            data = file.read(form.most_bytes + 1)
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}.") from None
    if len(data) > form.most_bytes:
        raise FormatError(
            f"{path} has more than the {form.most_bytes:,} bytes of weights of {architecture.name!r}: "
            "keep nothing else in it."
        )
    return form.read(InMemory(_without_metadata(data)), str(path))


def _without_metadata(data: bytes) -> bytes:
    """The file without the metadata that other programs add; anything malformed is left as it is."""
    size = int.from_bytes(data[:8], "little")
    try:
        header = parse_json(data[8 : 8 + size])
        del header[METADATA]
        kept = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    except (ValueError, KeyError, TypeError):
        return data
    return len(kept).to_bytes(8, "little") + kept + data[8 + size :]
