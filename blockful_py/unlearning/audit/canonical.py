# SPDX-License-Identifier: Apache-2.0
"""One set of weights for all networks that differ only in the scales of their hidden units.

A ReLU is positively homogeneous: `relu(c x) = c relu(x)` for c > 0.  If the weights into a unit are
multiplied by c and those out of it divided by c, the function stays the same, but every gradient changes.
Whoever owns a model could thus choose how fast it relearns.  Canonical weights take this choice away: every
hidden unit gets the same largest activation, on the same samples, in every model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from blockful_py.learning.data import Samples
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights

HOMOGENEOUS = frozenset(
    {"relu", "relu_", "leaky_relu", "leaky_relu_", "max_pool1d", "max_pool2d", "_max_pool2d", "avg_pool1d",
     "avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "dropout", "contiguous", "clone"}
)  # fmt: skip
"""Functions with `f(c x) = c f(x)` for every channel and c > 0, in evaluation mode."""
REDUCTIONS = frozenset({"mean", "amax"})
FLATTENS = frozenset({"flatten", "view", "reshape"})
SUMS = frozenset({"add", "add_", "__add__", "__iadd__"})
CONVOLUTIONS = frozenset({"conv1d", "conv2d", "conv3d"})


@dataclass(eq=False)
class _Units:
    """Hidden units that must have their scales together: channels of one or several tensors.

    Attributes:
        peaks: largest absolute activation of each unit, float64 (units,).
        free: whether every function that reads or writes them lets their scales move.
        outer: whether they are the network's inputs or outputs.
    """

    peaks: Tensor
    free: bool = True
    outer: bool = False
    joined: _Units | None = None

    def root(self) -> _Units:
        return self if self.joined is None else self.joined.root()

    @property
    def is_settled(self) -> bool:
        """Whether nobody can choose their scales."""
        return self.free or self.outer


@dataclass(frozen=True, eq=False)
class _Channels:
    """The unit behind each entry of a tensor's second dimension: int64 (entries,)."""

    units: _Units
    index: Tensor


@dataclass(frozen=True, eq=False)
class _Layer:
    """A layer's tensors by name, with its units; `reads` is None for the network's inputs."""

    weight: str
    bias: str | None
    reads: _Channels | None
    writes: _Channels
    groups: int = 1
    moments: tuple[str, str] | None = None
    eps: float = 0.0

    def sides(self) -> list[_Channels]:
        return [each for each in (self.reads, self.writes) if each]


@dataclass(eq=False)
class _Follower(TorchFunctionMode):
    """Follows units through the functions that a network calls."""

    names: dict[int, str]
    layers: list[_Layer] = field(default_factory=list)
    all_units: list[_Units] = field(default_factory=list)
    elsewhere: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self._known: dict[int, tuple[Tensor, _Channels]] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        out = func(*args, **given)
        if isinstance(out, Tensor | tuple | list):
            self._follow(getattr(func, "__name__", ""), out, args, given)
        return out

    def hidden(self) -> list[_Units]:
        """Units whose scales move, each once, in the order in which the network writes them."""
        roots = {id(units.root()): units.root() for units in self.all_units}
        return [units for units in roots.values() if units.free]

    def channels(self, tensor: Any) -> _Channels | None:
        found = self._known.get(id(tensor))
        return found[1] if found else None

    def fix(self, values: Any) -> None:
        """Fixes the scales of the units in tensors, and names weights that are used in an unknown way."""
        for value in values:
            if isinstance(value, tuple | list):
                self.fix(value)
            elif isinstance(value, Tensor):
                if id(value) in self.names:
                    self.elsewhere.add(self.names[id(value)])
                found = self.channels(value)
                if found:
                    found.units.root().free = False

    def _follow(self, name: str, out: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        source = self.channels(args[0]) if args else None
        if name in CONVOLUTIONS and len(args) >= 2:
            groups = args[6] if len(args) > 6 else kwargs.get("groups", 1)
            self._layer(out, args[0], args[1], _third(args, kwargs), groups)
        elif name == "linear" and len(args) >= 2 and args[0].dim() == 2:
            self._layer(out, args[0], args[1], _third(args, kwargs))
        elif name == "batch_norm" and _is_settled(args, kwargs) and source:
            self._layer(out, args[0], kwargs["weight"], kwargs["bias"], moments=args[1:3], eps=kwargs["eps"])
        elif source and (
            name in HOMOGENEOUS
            or (name == "pad" and not kwargs.get("value") and kwargs.get("mode", "constant") == "constant")
            or (name in REDUCTIONS and _keeps_channels(args, kwargs))
        ):
            self.keep(out, source)
        elif source and name in FLATTENS and out.dim() == 2 and len(out) == len(args[0]):
            self.keep(out, _Channels(source.units, source.index.repeat_interleave(args[0][0, 0].numel())))
        elif name in SUMS and source and self._joined(args):
            self.keep(out, source)
        else:
            self.fix((*args, *kwargs.values()))

    def _layer(
        self,
        out: Tensor,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        groups: int = 1,
        moments: Sequence[Tensor] = (),
        eps: float = 0.0,
    ) -> None:
        tensors = [weight, *([] if bias is None else [bias]), *moments]
        if any(id(each) not in self.names for each in tensors):
            self.fix((x, *tensors))
            return
        names = [self.names[id(each)] for each in tensors]
        reads = self.channels(x)
        if reads:
            peaks = x.detach().abs().double().transpose(0, 1).flatten(1).amax(1).cpu()
            reads.units.root().peaks.scatter_reduce_(0, reads.index, peaks, "amax")
        units = _Units(torch.zeros(out.shape[1], dtype=torch.float64))
        self.all_units.append(units)
        writes = _Channels(units, torch.arange(out.shape[1]))
        pair = (names[-2], names[-1]) if moments else None
        self.layers.append(
            _Layer(names[0], None if bias is None else names[1], reads, writes, groups, pair, eps)
        )
        self.keep(out, writes)

    def keep(self, out: Tensor, channels: _Channels) -> None:
        self._known[id(out)] = (out, channels)

    def _joined(self, args: Sequence[Any]) -> bool:
        """Joins the units of two summands, channel by channel; False if they do not match."""
        left, right = (self.channels(each) for each in args[:2])
        if not (left and right) or args[0].shape != args[1].shape or len(args) > 2:
            return False
        first, second = left.units.root(), right.units.root()
        if first is second:
            return torch.equal(left.index, right.index)
        if len(first.peaks) != len(second.peaks) or not torch.equal(left.index, right.index):
            return False
        first.free, first.outer = first.free and second.free, first.outer or second.outer
        first.peaks = torch.maximum(first.peaks, second.peaks)
        second.joined = first
        return True


def _third(args: Sequence[Any], kwargs: dict[str, Any]) -> Tensor | None:
    """The bias of a convolution or a dense layer."""
    found: Tensor | None = args[2] if len(args) > 2 else kwargs.get("bias")
    return found


def _is_settled(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a batch normalisation uses running statistics and has weights of its own."""
    tensors = (*args, kwargs.get("weight"), kwargs.get("bias"))
    return len(args) == 3 and not kwargs.get("training") and all(each is not None for each in tensors)


def _keeps_channels(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    dims = args[1] if len(args) > 1 else kwargs.get("dim")
    dims = [dims] if isinstance(dims, int) else dims
    rank = args[0].dim()
    return dims is not None and all(each % rank > 1 for each in dims)


def _followed(architecture: Architecture, weights: Weights, samples: Samples) -> _Follower:
    """Runs the network once over the samples."""
    module = architecture.module(weights, samples.x.device).eval()
    follower = _Follower(
        {id(each): name for name, each in [*module.named_parameters(), *module.named_buffers()]}
    )
    inputs = _Units(torch.zeros(samples.x.shape[1], dtype=torch.float64), free=False, outer=True)
    follower.keep(samples.x, _Channels(inputs, torch.arange(samples.x.shape[1])))
    with torch.no_grad(), follower:
        out = module(samples.x)
    follower.fix([out])
    outputs = follower.channels(out)
    if outputs:
        outputs.units.root().outer = True
    used = [layer.weight for layer in follower.layers]
    for layer in follower.layers:
        own = {layer.weight, layer.bias, *(layer.moments or ())}
        if used.count(layer.weight) > 1 or own & follower.elsewhere:
            follower.elsewhere.add(layer.weight)
            for each in layer.sides():
                each.units.root().free = False
    return follower


def peaks(architecture: Architecture, weights: Weights, samples: Samples) -> tuple[float, ...]:
    """Mean largest activation of the units of each hidden layer, on the samples."""
    return tuple(float(units.peaks.mean()) for units in _followed(architecture, weights, samples).hidden())


def canonical(
    architecture: Architecture, weights: Weights, samples: Samples, peaks: Sequence[float]
) -> Weights:
    """The weights, with a largest activation of `peaks[l]` on the samples in every unit of hidden layer l.

    The function on these samples is the same up to rounding.  Running statistics of batch normalisation
    become 0 and 1, and its weights absorb them.  Units that no sample activates keep their scale.

    Args:
        peaks: of another model of this architecture (see `peaks`).

    Raises LearningError: weights of another architecture.
    """
    follower = _followed(architecture, weights, samples)
    scales = {
        id(units): torch.where((units.peaks > 0) & (peak > 0), peak / units.peaks, 1.0)
        for units, peak in zip(follower.hidden(), peaks, strict=True)
    }
    changed = dict(weights)

    def scale(channels: _Channels) -> Tensor:
        units = channels.units.root()
        return scales.get(id(units), torch.ones_like(units.peaks))[channels.index]

    def put(name: str, value: Tensor) -> None:
        changed[name] = value.to(weights[name])

    for layer in follower.layers:
        ahead, after = scale(layer.reads) if layer.reads else None, scale(layer.writes)
        weight = weights[layer.weight].double().cpu()
        bias = None if layer.bias is None else weights[layer.bias].double().cpu()
        if layer.moments:
            mean, variance = (weights[name].double().cpu() for name in layer.moments)
            weight = weight / (variance + layer.eps).sqrt()
            bias = (0 if bias is None else bias) - weight * mean
            put(layer.moments[0], torch.zeros_like(mean))
            put(layer.moments[1], torch.full_like(variance, 1 - layer.eps))
        if layer.moments or ahead is None:
            factor = after if ahead is None else after / ahead
        else:
            rows = ahead.view(layer.groups, -1).repeat_interleave(len(after) // layer.groups, 0)
            factor = after[:, None] / rows
        put(layer.weight, weight * factor.view(*factor.shape, *[1] * (weight.dim() - factor.dim())))
        if bias is not None and layer.bias is not None:
            put(layer.bias, bias * after)
    return changed


def uneven(architecture: Architecture, weights: Weights, samples: Samples) -> tuple[str, ...]:
    """Names of the trainable weights whose scale no rule evens out; empty for ReLU networks.

    Their owner can move the figures `relearn` and `distance` without changing the outputs.
    """
    follower = _followed(architecture, weights, samples)
    found = {
        name
        for layer in follower.layers
        for name in (layer.weight, layer.bias)
        if name and not (layer.reads and all(each.units.root().is_settled for each in layer.sides()))
    }
    seen = {name for layer in follower.layers for name in (layer.weight, layer.bias)}
    return tuple(sorted(found | (architecture.trained_names - seen)))
