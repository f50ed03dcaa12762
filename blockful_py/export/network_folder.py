# SPDX-License-Identifier: Apache-2.0
"""A folder with one network: `config.json` has its architecture, `model.safetensors` its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field, ValidationError
from torch import nn

from blockful_py.errors import FormatError, LearningError
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import from_bytes
from blockful_py.record.fields import Part, first_error

__all__ = ["read_network"]

CONFIG, WEIGHTS = "config.json", "model.safetensors"
MAX_CONFIG_BYTES = 1 << 20
Size = Annotated[int, Field(ge=1)]


class NetworkConfig(Part):
    """The architecture of a folder's network, with the fields of `Architecture`."""

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
        """Converts to an Architecture.

        Raises LearningError for a name that would import code, and SettingsError as `Architecture`.
        """
        foreign = [each for each in (self.architecture, *self.options.values()) if ":" in str(each)]
        if foreign:
            raise LearningError(
                f"this network needs the external code {foreign[0]!r}: review it, then "
                "pass an Architecture that uses it."
            )
        options = tuple(sorted(self.options.items()))
        return Architecture(self.architecture, self.input_shape, self.class_count, self.vocabulary, options)


def read_network(folder: Path | str, architecture: Architecture | None = None) -> nn.Module:
    """The network in a folder written by `blockful export`, on the CPU, in evaluation mode.

    `architecture` replaces the one in `config.json`, and is required if that names external code.  Raises
    FormatError for missing or damaged files, and LearningError for weights of another architecture.
    """
    folder = Path(folder)
    data = _read(folder / WEIGHTS)
    if architecture is None:
        architecture = parse_config(_read(folder / CONFIG)).to_architecture()
    return network_of(data, architecture)


def network_of(data: bytes, architecture: Architecture) -> nn.Module:
    """The network of an architecture with weights in safetensors.  Raises as `read_network`."""
    return architecture.module(from_bytes(data), torch.device("cpu")).eval()


def parse_config(data: bytes) -> NetworkConfig:
    """Parses config.json.  Raises FormatError, which names the invalid field."""
    if len(data) > MAX_CONFIG_BYTES:
        raise FormatError(f"a {CONFIG} has at most {MAX_CONFIG_BYTES} bytes, but this one has {len(data)}.")
    try:
        return NetworkConfig.model_validate_json(data)
    except ValidationError as error:
        raise FormatError(f"this {CONFIG} is not a valid blockful network: {first_error(error)}.") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}; fetch the folder again.") from None
