# SPDX-License-Identifier: Apache-2.0
"""A folder with one network: `config.json` says which architecture, `model.safetensors` has its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import nn

from blockful_py.errors import FormatError, LearningError
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import from_bytes

__all__ = ["read_network"]

CONFIG, WEIGHTS = "config.json", "model.safetensors"
MAX_CONFIG_BYTES = 1 << 20
Size = Annotated[int, Field(ge=1)]


class NetworkConfig(BaseModel):
    """The architecture of a folder's network, as `Architecture` takes it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal["blockful-network/1"] = "blockful-network/1"
    architecture: str
    input_shape: tuple[Size, ...]
    class_count: Size
    vocabulary: Size | None
    options: dict[str, bool | int | float | str]

    @classmethod
    def of(cls, architecture: Architecture) -> NetworkConfig:
        return cls(
            architecture=architecture.name,
            input_shape=architecture.input_shape,
            class_count=architecture.class_count,
            vocabulary=architecture.vocabulary,
            options=dict(architecture.options),
        )

    def to_architecture(self) -> Architecture:
        """Raises LearningError for a name that would import code; SettingsError as `Architecture`."""
        if ":" in self.architecture:
            raise LearningError(
                f"this network is of {self.architecture!r}, code that this folder only names: read it, then "
                "pass the Architecture that you make of it."
            )
        options = tuple(sorted(self.options.items()))
        return Architecture(self.architecture, self.input_shape, self.class_count, self.vocabulary, options)


def read_network(folder: Path | str, architecture: Architecture | None = None) -> nn.Module:
    """The network in a folder that `blockful export` wrote, on the CPU, for evaluation.

    `architecture`: replaces that of `config.json`, and is needed where that names code of others.

    Raises FormatError for files that are missing or damaged, LearningError for weights of another
    architecture.
    """
    folder = Path(folder)
    data = _read(folder / WEIGHTS)
    if architecture is None:
        architecture = parse_config(_read(folder / CONFIG)).to_architecture()
    return network_of(data, architecture)


def network_of(data: bytes, architecture: Architecture) -> nn.Module:
    """The network of an architecture with weights in safetensors; raises as `read_network`."""
    return architecture.module(from_bytes(data), torch.device("cpu")).eval()


def parse_config(data: bytes) -> NetworkConfig:
    """Raises FormatError, which names the field, for bytes that are no such configuration."""
    if len(data) > MAX_CONFIG_BYTES:
        raise FormatError(f"a {CONFIG} has at most {MAX_CONFIG_BYTES} bytes, this has {len(data)}.")
    try:
        return NetworkConfig.model_validate_json(data)
    except ValidationError as error:
        first: Any = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "document"
        raise FormatError(f"this {CONFIG} is of no network of ours: {place}: {first['msg']}.") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}; fetch the folder again.") from None
