# SPDX-License-Identifier: Apache-2.0
"""Labelled random streams, independent of the global generators of torch and numpy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["generator"]


def generator(seed: int, *labels: str | int) -> torch.Generator:
    """A CPU generator for one purpose, e.g. `generator(seed, "train", user, round)`.

    Its seed is the first 8 bytes of SHA-256 over the decimal seed and the labels, each preceded by its
    length, so that different lists of labels give different texts.
    """
    text = "".join(f"{len(part)}:{part}" for part in map(str, (seed, *labels)))
    digest = hashlib.sha256(text.encode()).digest()
    return torch.Generator(device="cpu").manual_seed(int.from_bytes(digest[:8], "big"))


@contextmanager
def drawing_from(stream: torch.Generator, device: torch.device) -> Iterator[None]:
    """Seeds torch's global generators, used by dropout, from the state of a CPU stream within the block.

    Leaves the stream unchanged, and restores the global generators afterwards.
    """
    state = hashlib.sha256(stream.get_state().numpy().tobytes()).digest()
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(int.from_bytes(state[:8], "big"))
        yield
