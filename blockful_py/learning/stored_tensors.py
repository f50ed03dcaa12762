# SPDX-License-Identifier: Apache-2.0
"""Reads tensors of safetensors files one by one, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from blockful_py.errors import FormatError


class StoredTensors(Mapping[str, Tensor]):
    """The tensors in open files; each is read when it is accessed, and not kept."""

    def __init__(self, files: Mapping[str, Any]) -> None:
        """Reads from `files`, the open file of each tensor."""
        self._files = files

    @property
    def types(self) -> dict[str, str]:
        """Types by tensor, in safetensors' names."""
        return {name: file.get_slice(name).get_dtype() for name, file in self._files.items()}

    def __getitem__(self, name: str) -> Tensor:
        tensor: Tensor = self._files[name].get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


@contextmanager
def opened_tensors(paths: Sequence[Path]) -> Iterator[StoredTensors]:
    """The tensors of a model's files.  Raises FormatError for other files, or a name in two."""
    placed: dict[str, Any] = {}
    with ExitStack() as files:
        for path in paths:
            try:
                file = files.enter_context(safe_open(path, framework="pt"))
            except (SafetensorError, OSError) as error:
                raise FormatError(f"{path.name} is no safetensors file ({str(error)[:80]}).") from None
            names = file.keys()
            if twice := sorted(placed.keys() & set(names)):
                raise FormatError(f"tensor {twice[0][:80]!r} is in two files.")
            placed |= dict.fromkeys(names, file)
        yield StoredTensors(placed)
