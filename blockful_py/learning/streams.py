# SPDX-License-Identifier: Apache-2.0
"""Random streams by label.  Nothing here moves torch's or numpy's global generators."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["generator"]


def generator(seed: int, *labels: str | int) -> torch.Generator:
    """A CPU generator for one purpose, e.g. `generator(seed, "train", user, round)`.

    Its seed is the first 8 bytes of SHA-256 over the decimal seed and the labels, each preceded by its
    length, so that different label lists never meet in one text.
    """
    text = "".join(f"{len(part)}:{part}" for part in map(str, (seed, *labels)))
    digest = hashlib.sha256(text.encode()).digest()
    return torch.Generator(device="cpu").manual_seed(int.from_bytes(digest[:8], "big"))


@contextmanager
def drawing_from(stream: torch.Generator, device: torch.device) -> Iterator[None]:
    """Has what draws from torch's global generators within the block, as dropout does, depend on the state of
    a CPU stream, which stays as it is, as do the global generators."""
    state = hashlib.sha256(stream.get_state().numpy().tobytes()).digest()
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(int.from_bytes(state[:8], "big"))
        yield
