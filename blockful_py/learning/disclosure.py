# SPDX-License-Identifier: Apache-2.0
"""Disclosure of a training: states and samples of some intervals, and commitments to all samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from blockful_py.crypto.spot_check import leaf
from blockful_py.errors import FormatError
from blockful_py.learning.data import Samples
from blockful_py.learning.intervals import Recorder, State, shown_states
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights

STATE = "state/"
PARTS = frozenset({"trace", "leaves", "rows", "salts", "x", "y"})


@dataclass(frozen=True, slots=True, eq=False)
class Disclosure:
    """A disclosure, which travels as a sealed file like weights.

    Attributes:
        trace: the trace that the owner committed to (`record.training_trace`), as bytes.
        leaves: leaves of all n samples of the owner, uint8 (n, 32).
        rows: positions of the u disclosed samples among the samples trained on; int64 (u,), ascending.
        salts: salts of the disclosed samples, uint8 (u, 32).
        samples: the disclosed samples, (u, ...), on the CPU.
        states: states at the beginning of intervals, by interval; none of an interval whose beginning is the
            end of a disclosed one.  Of a merged model's training also the state after the last interval.
    """

    trace: bytes
    leaves: Tensor
    rows: Tensor
    salts: Tensor
    samples: Samples
    states: Mapping[int, State]

    def tensors(self) -> Weights:
        parts = {
            "trace": torch.frombuffer(bytearray(self.trace), dtype=torch.uint8),
            "leaves": self.leaves,
            "rows": self.rows,
            "salts": self.salts,
            "x": self.samples.x,
            "y": self.samples.y,
        }
        for i, state in self.states.items():
            parts |= {f"{STATE}{i}/{name}": tensor for name, tensor in state.tensors().items()}
        return parts

    @classmethod
    def of(cls, tensors: Weights) -> Disclosure:
        """Inverse of `tensors`.  Raises FormatError for tensors that are not a disclosure."""
        parts = {name: each for name, each in tensors.items() if not name.startswith(STATE)}
        if parts.keys() != PARTS:
            raise FormatError(f"a disclosure has {', '.join(sorted(PARTS))}, not {', '.join(parts)[:200]}")
        trace, leaves, rows, salts, x, y = (
            parts[name] for name in ("trace", "leaves", "rows", "salts", "x", "y")
        )
        u = len(y) if y.dim() else -1
        whole = (
            _is(trace, torch.uint8, (trace.numel(),))
            and _is(leaves, torch.uint8, (leaves.numel() // 32, 32))
            and _is(rows, torch.int64, (u,))
            and _is(salts, torch.uint8, (u, 32))
            and _is(y, torch.int64, (u,))
            and x.dtype == torch.float32
            and x.dim() > 1
            and len(x) == u
        )
        if not whole or bool((rows.diff() <= 0).any()):
            raise FormatError("a part of a disclosure has another type, shape or order than it should")
        states: dict[int, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            if key.startswith(STATE):
                number, _, name = key.removeprefix(STATE).partition("/")
                if not (number.isascii() and number.isdigit() and len(number) < 6):
                    raise FormatError(f"{key[:80]!r} is not a tensor of a disclosure")
                states.setdefault(int(number), {})[name] = tensor
        return cls(
            trace.numpy().tobytes(),
            leaves,
            rows,
            salts,
            Samples(x, y),
            {i: State.of(each) for i, each in states.items()},
        )


def disclosed_training(
    architecture: Architecture,
    recorder: Recorder,
    samples: Samples,
    kept: Sequence[int],
    salts: Sequence[bytes],
    trace: bytes,
    intervals: Sequence[int],
) -> Disclosure:
    """Discloses some intervals of a recorded training.

    Args:
        samples: all n samples of the owner.
        kept: rows of the samples trained on, ascending.
        salts: n salts.
        intervals: ascending; without any, only the leaves and the trace are disclosed.
    """
    rows = recorder.rows(intervals)
    boundaries = shown_states(architecture, intervals, len(recorder.states) - 1)
    shown = torch.tensor(kept)[rows]
    return Disclosure(
        trace,
        _packed(leaves_of(samples, salts)),
        rows,
        _packed([salts[row] for row in shown.tolist()]),
        samples.at(shown),
        recorder.states_at(architecture.trained, boundaries),
    )


def leaves_of(samples: Samples, salts: Sequence[bytes]) -> tuple[bytes, ...]:
    """Leaves of an owner's samples, in order."""
    return tuple(leaf(salt, sample_bytes(samples, row)) for row, salt in enumerate(salts))


def _packed(listed: Sequence[bytes]) -> Tensor:
    """Packs n values of 32 bytes: uint8 (n, 32)."""
    if not listed:
        return torch.empty(0, 32, dtype=torch.uint8)
    return torch.frombuffer(bytearray(b"".join(listed)), dtype=torch.uint8).view(-1, 32)


def sample_bytes(samples: Samples, row: int) -> bytes:
    """A sample as its leaf hashes it: its input's numbers, then its label, little-endian."""
    return samples.x[row].cpu().numpy().tobytes() + samples.y[row].cpu().numpy().tobytes()


def _is(tensor: Tensor, kind: torch.dtype, shape: tuple[int, ...]) -> bool:
    return tensor.dtype == kind and tuple(tensor.shape) == shape
