# SPDX-License-Identifier: Apache-2.0
"""Sources of randomness: the system's, a combination of several, and a seeded one for reproducible runs."""

from __future__ import annotations

import hashlib
import os
import time

JITTER = 256
"""Number of clock readings in `gathered_rng`, a microsecond apart."""


def system_rng(size: int) -> bytes:
    """Random bytes from the operating system's generator."""
    return os.urandom(size)


def gathered_rng(size: int) -> bytes:
    """SHAKE-256 over the system's generator, three clocks and the jitter of the processor.

    It is as good as the best of these sources.  A machine restored from a snapshot may repeat the generator's
    output, but not the clocks and the jitter.
    """
    clocks = (time.time_ns(), time.monotonic_ns(), time.process_time_ns(), *_jitter())
    return hashlib.shake_256(os.urandom(32) + b"".join(_tagged(each) for each in clocks)).digest(size)


class SeededRng:
    """A deterministic generator: call number i returns the first bytes of SHAKE-256(key || i).

    The key is SHA3-256 of the seed and the labels, each with its kind and length, so that no two lists of
    labels share a stream.  Two generators with the same seed and labels give the same bytes for the same
    sequence of calls.  Keys drawn from it are as secret as its seed.
    """

    def __init__(self, seed: bytes, *labels: str | int | bytes) -> None:
        self._key = hashlib.sha3_256(b"".join(map(_tagged, (seed, *labels)))).digest()
        self._calls = 0

    def __call__(self, size: int) -> bytes:
        block = self._key + self._calls.to_bytes(8, "big")
        self._calls += 1
        return hashlib.shake_256(block).digest(size)

    def derive(self, *labels: str | int | bytes) -> SeededRng:
        """A separate generator for `labels`, independent of the calls made to this one."""
        return SeededRng(self._key, *labels)


def _jitter() -> list[int]:
    """Readings of the finest clock between steps of a hash chain, in nanoseconds."""
    state, readings = b"", []
    for _ in range(JITTER):
        state = hashlib.sha3_256(state).digest()
        readings.append(time.perf_counter_ns())
    return readings


def _tagged(label: str | int | bytes) -> bytes:
    if isinstance(label, str):
        kind, data = b"s", label.encode()
    elif isinstance(label, int):
        kind, data = b"i", label.to_bytes(label.bit_length() // 8 + 1, "big", signed=True)
    else:
        kind, data = b"b", label
    return kind + len(data).to_bytes(8, "big") + data
