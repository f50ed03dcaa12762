# SPDX-License-Identifier: Apache-2.0
"""An architecture: a network, its input shape and its number of classes; everything except the weights."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MethodType

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parameter import is_lazy

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Dataset
from blockful_py.learning.models.analytic import Analytic
from blockful_py.learning.models.initialisation import initialise
from blockful_py.learning.models.merged import NETWORK, Merged
from blockful_py.learning.models.registry import GROUP, MODELS, Builder
from blockful_py.learning.plugins import find
from blockful_py.learning.tensor_parts import StreamedWeights, forms_of, grouped
from blockful_py.learning.weights import Weights, odd_tensor
from blockful_py.settings.rules import MERGED, SHARED, SUMS

Option = int | float | bool | str


@dataclass(frozen=True, slots=True)
class Architecture:
    """A network by name.

    Attributes:
        input_shape: (channels, height, width) of images, (length,) of texts.
        vocabulary: number of token ids, for texts.
        options: the network's own settings, by ascending name.

    The constructor raises SettingsError for an unknown name, for unsupported inputs or options, and for a
    network whose state dict is incomplete.
    """

    name: str
    input_shape: tuple[int, ...]
    class_count: int
    vocabulary: int | None = None
    options: tuple[tuple[str, Option], ...] = ()

    def __post_init__(self) -> None:
        self._check_options(self._builder())
        self._check_state(self._built())

    @classmethod
    def of(cls, name: str, dataset: Dataset, options: Mapping[str, Option] | None = None) -> Architecture:
        """The network `name` for a data set.  Raises SettingsError if they do not fit."""
        return cls(
            name,
            dataset.input_shape,
            dataset.class_count,
            dataset.vocabulary,
            tuple(sorted((options or {}).items())),
        )

    @property
    def is_sums(self) -> bool:
        """Whether models are sums of owners' parts (`learning.sums`), which no gradient trains."""
        return self.name in SUMS

    @property
    def is_merged(self) -> bool:
        """Whether parts are changes of a network's weights (`models.merged`)."""
        return self.name == MERGED

    @property
    def trained(self) -> Architecture:
        """The architecture that owners train: of a merged model the network of its base, else this one."""
        return _network_of(self) if self.is_merged else self

    @property
    def is_shared(self) -> bool:
        """Whether models are heads of sums that members share, which nobody sees."""
        return self.is_sums and (SHARED, True) in self.options

    @property
    def parameter_count(self) -> int:
        """Number of trainable weights, without buffers and frozen layers."""
        return sum(parameter.numel() for parameter in trainable(self._built()).values())

    @property
    def trained_names(self) -> frozenset[str]:
        """Names of the state dict's tensors that gradient descent changes."""
        return frozenset(trainable(self._built()))

    def module(self, weights: Weights, device: torch.device) -> nn.Module:
        """The network on the device, with a copy of these weights, a state dict.

        In training mode, batch normalisation uses its running statistics for a batch of one sample; torch
        itself would raise, because the batch has no variance.

        Raises LearningError: the weights have another architecture.
        """
        module = self._empty(device)
        self.load(module, weights)
        return module

    def sums(self, weights: Weights) -> Analytic:
        """The model of sums over samples with this state dict, on the CPU.

        Raises LearningError: the weights have another architecture, or this one is of another kind.
        """
        module = self.module(weights, torch.device("cpu"))
        if not isinstance(module, Analytic):
            raise LearningError(f"{self.name!r} is not a model of sums over samples.")
        return module

    def merged(self, weights: Weights) -> Merged:
        """The merged model with this state dict, on the CPU.  Raises LearningError as `sums`."""
        module = self.module(weights, torch.device("cpu"))
        if not isinstance(module, Merged):
            raise LearningError(f"{self.name!r} is not a merged model.")
        return module

    def load(self, module: nn.Module, weights: Weights) -> None:
        """Copies weights, a state dict, into a module of this architecture, a few tensors at a time.

        Raises LearningError: the weights have another architecture.
        """
        odd = odd_tensor(module.state_dict(), weights)
        if odd is not None:
            raise LearningError(
                f"these weights are not of a {self.name!r} for {self.input_shape} and {self.class_count} "
                f"classes: {odd}."
            )
        for names in grouped(forms_of(weights)):
            module.load_state_dict({name: weights[name] for name in names}, strict=False)

    def ordered(self, weights: Weights) -> Weights:
        """Weights of this architecture, in the order of the network's state dict."""
        if isinstance(weights, StreamedWeights):
            return StreamedWeights(
                {name: weights.forms[name] for name in self.state()},
                weights.parts,
                weights.nbytes,
                weights.depth,
            )
        return {name: weights[name] for name in self.state()}

    def initial(self, generator: torch.Generator) -> Weights:
        """State dict of initial weights (see `initialise`), on the CPU.

        Buffers keep the values of the constructor, which draws from a generator with the same seed.

        Raises SettingsError: the network leaves a tensor without initial values.
        """
        module = self._empty(torch.device("cpu"))
        initialise(module, self.name, generator, self._constants(module, generator.initial_seed()))
        return {name: tensor.detach() for name, tensor in sorted(module.state_dict().items())}

    def state(self) -> Weights:
        """The state dict on the meta device: names, shapes and types without numbers."""
        return self._built().state_dict()

    def _empty(self, device: torch.device) -> nn.Module:
        """The network with uninitialised tensors; `Module.to_empty` would spend a second on imports."""
        module = self._built()
        state = module.state_dict().items()
        empty = {name: torch.empty(each.shape, dtype=each.dtype, device=device) for name, each in state}
        module.load_state_dict(empty, assign=True)
        for part in module.modules():
            if isinstance(part, _BatchNorm) and part.track_running_stats:
                part.forward = MethodType(_normalised, part)  # type: ignore[method-assign]
        return module

    def _constants(self, module: nn.Module, seed: int) -> Weights:
        """Constructor values of the buffers outside batch normalisation."""
        of_norms = {
            id(each) for part in module.modules() if isinstance(part, _BatchNorm) for each in part.buffers()
        }
        names = [name for name, buffer in module.named_buffers() if id(buffer) not in of_norms]
        if not names:
            return {}
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)
            made = dict(self._built(torch.device("cpu")).named_buffers())
        return {name: made[name] for name in names}

    def _built(self, device: torch.device = torch.device("meta")) -> nn.Module:  # noqa: B008
        """Builds the network, by default on the meta device, where constructors draw no random numbers."""
        options = dict(self.options)
        if self.vocabulary is not None:
            options["vocabulary"] = self.vocabulary
        try:
            return self._builder()(self.input_shape, self.class_count, device, **options)
        except (TypeError, ValueError, RuntimeError, ZeroDivisionError) as error:
            raise SettingsError(
                f"model {self.name!r} cannot be built for inputs of shape {self.input_shape}"
                f"{f' with {dict(self.options)}' if self.options else ''}: {error}."
            ) from None

    def _builder(self) -> Builder:
        return find(self.name, "model", MODELS, GROUP)

    def _check_state(self, built: nn.Module) -> None:
        """Checks that the state dict holds the whole network.  Raises SettingsError."""
        lazy = [name for name, each in built.named_parameters() if is_lazy(each)]
        if lazy:
            raise SettingsError(
                f"model {self.name!r} leaves the shape of {lazy[0]} open: say how many inputs its layer has, "
                "as nn.Linear(in_features, out_features) does in place of nn.LazyLinear."
            )
        kept = built.state_dict().keys()
        lost = [name for name, _ in built.named_buffers() if name not in kept]
        if lost:
            raise SettingsError(
                f"model {self.name!r} keeps {lost[0]} out of its state dict, so a model that is loaded would "
                "lack it: make the buffer persistent, or make the tensor in forward."
            )
        named = [
            *built.named_parameters(remove_duplicate=False),
            *built.named_buffers(remove_duplicate=False),
        ]
        times = Counter(id(each) for _, each in named)
        tied = [name for name, each in named if times[id(each)] > 1]
        if tied:
            raise SettingsError(
                f"model {self.name!r} has {tied[0]} a second time as {tied[1]}, and forgetting would change "
                f"one without the other: keep it once, and have forward use self.{tied[0]} in both places."
            )
        if not trainable(built) and not self.is_sums:
            raise SettingsError(
                f"model {self.name!r} has no trainable weight: set requires_grad of at least one."
            )

    def _check_options(self, builder: Builder) -> None:
        takes = dict(list(inspect.signature(builder).parameters.items())[3:])
        tokens = takes.pop("vocabulary", None)
        reads_tokens, reads_both = tokens is not None, tokens is not None and tokens.default is None
        if not reads_both and reads_tokens != (self.vocabulary is not None):
            kinds = ("texts", "images") if reads_tokens else ("images", "texts")
            raise SettingsError(
                f"model {self.name!r} reads {kinds[0]}, the data are {kinds[1]}: "
                "choose another model or data set."
            )
        unknown = sorted({name for name, _ in self.options} - takes.keys())
        if unknown:
            raise SettingsError(
                f"model {self.name!r} has no option {', '.join(unknown)}. "
                f"Known: {', '.join(takes) or 'none'}."
            )


@lru_cache(maxsize=16)
def _network_of(merged: Architecture) -> Architecture:
    network = str(dict(merged.options).get("network", NETWORK))
    return Architecture(network, merged.input_shape, merged.class_count, merged.vocabulary)


def trainable(module: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that training changes, by name: all except the frozen ones."""
    return {name: each for name, each in module.named_parameters() if each.requires_grad}


def _normalised(part: _BatchNorm, x: Tensor) -> Tensor:
    """Forward pass of `part`; an input with one value per channel uses the running statistics."""
    if part.training and x.numel() == x.shape[1]:
        return functional.batch_norm(
            x, part.running_mean, part.running_var, part.weight, part.bias, eps=part.eps
        )
    normalised: Tensor = type(part).forward(part, x)
    return normalised
