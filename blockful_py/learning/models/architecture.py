# SPDX-License-Identifier: Apache-2.0
"""An architecture: a network, the form of its inputs and a number of classes; everything but the weights."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import nn

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Dataset
from blockful_py.learning.models.initialisation import initialise
from blockful_py.learning.models.registry import GROUP, MODELS, Builder
from blockful_py.learning.plugins import find
from blockful_py.learning.weights import Weights, detached

Option = int | float | bool | str


@dataclass(frozen=True, slots=True)
class Architecture:
    """A network by name.

    Attributes:
        input_shape: (channels, height, width) of images, (length,) of texts.
        vocabulary: number of token ids, where the inputs are texts.
        options: the network's own settings, by ascending name.

    Raises SettingsError for a name that no network has, and for inputs or options that it does not take.
    """

    name: str
    input_shape: tuple[int, ...]
    class_count: int
    vocabulary: int | None = None
    options: tuple[tuple[str, Option], ...] = ()

    def __post_init__(self) -> None:
        self._check_options(self._builder())
        built = self._built()
        kept = built.state_dict().keys()
        lost = [name for name, _ in built.named_buffers() if name not in kept]
        if lost:
            raise SettingsError(
                f"model {self.name!r} keeps {lost[0]} out of its state dict, so a model that is loaded would "
                "lack it: make the buffer persistent, or make the tensor in forward."
            )

    @classmethod
    def of(cls, name: str, dataset: Dataset, options: Mapping[str, Option] | None = None) -> Architecture:
        """The network `name` for a data set.  Raises SettingsError where they do not fit."""
        return cls(
            name,
            dataset.input_shape,
            dataset.class_count,
            dataset.vocabulary,
            tuple(sorted((options or {}).items())),
        )

    @property
    def parameter_count(self) -> int:
        """Number of trainable weights; buffers do not count."""
        return sum(parameter.numel() for parameter in self._built().parameters())

    def module(self, weights: Weights, device: torch.device) -> nn.Module:
        """The network with a copy of these weights, a state dict, on the device.

        Raises:
            LearningError: the weights are those of another architecture.
        """
        module = self._empty(device)
        self.load(module, weights)
        return module

    def load(self, module: nn.Module, weights: Weights) -> None:
        """Copy weights, a state dict, into a module of this architecture.

        Raises:
            LearningError: the weights are those of another architecture.
        """
        expected = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
        shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
        if expected != shapes:
            odd = sorted(expected.items() ^ shapes.items())[0][0]
            raise LearningError(
                f"these weights are not of a {self.name!r} for {self.input_shape} and {self.class_count} "
                f"classes: {odd} should be {expected.get(odd, 'absent')}, is {shapes.get(odd, 'absent')}."
            )
        module.load_state_dict(dict(weights))

    def ordered(self, weights: Weights) -> Weights:
        """Weights of this architecture in the order of the network's state dict."""
        return {name: weights[name] for name in self.state()}

    def initial(self, generator: torch.Generator) -> Weights:
        """State dict of initial weights (see `initialise`), on the CPU.

        Raises:
            SettingsError: the network leaves a tensor without initial values.
        """
        module = self._empty(torch.device("cpu"))
        initialise(module, self.name, generator)
        return detached(module.state_dict())

    def state(self) -> Weights:
        """The state dict on meta: names, shapes and types without numbers."""
        return self._built().state_dict()

    def _empty(self, device: torch.device) -> nn.Module:
        """`Module.to_empty`, which would take a second to import what it needs for tensors on meta."""
        module = self._built()
        state = module.state_dict().items()
        empty = {name: torch.empty(each.shape, dtype=each.dtype, device=device) for name, each in state}
        module.load_state_dict(empty, assign=True)
        return module

    def _built(self) -> nn.Module:
        """The network on meta: the constructors of torch.nn would draw from the global generator."""
        options = dict(self.options)
        if self.vocabulary is not None:
            options["vocabulary"] = self.vocabulary
        try:
            return self._builder()(self.input_shape, self.class_count, torch.device("meta"), **options)
        except (TypeError, ValueError, RuntimeError, ZeroDivisionError) as error:
            raise SettingsError(
                f"model {self.name!r} cannot be built for inputs of shape {self.input_shape}"
                f"{f' with {dict(self.options)}' if self.options else ''}: {error}."
            ) from None

    def _builder(self) -> Builder:
        return find(self.name, "model", MODELS, GROUP)

    def _check_options(self, builder: Builder) -> None:
        takes = dict(list(inspect.signature(builder).parameters.items())[3:])
        reads_tokens = takes.pop("vocabulary", None) is not None
        if reads_tokens != (self.vocabulary is not None):
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
