# SPDX-License-Identifier: Apache-2.0
"""Settings of learning: data, training, privacy."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

from blockful_py.settings.section import Count, NonNegative, Positive, Range, Section

WORDS = "words"
"""The tokenizer that needs no files: words hashed to ids."""


@dataclass(frozen=True)
class PrivacySettings(Section):
    """Differential privacy of training (DP-SGD), by the extra `privacy`.

    Attributes:
        noise: standard deviation of the noise over `clip`.
        clip: longest gradient (L2) that a sample may have.
        delta: probability that epsilon, which is computed, does not hold.
    """

    noise: Positive
    clip: Positive = 1.0
    delta: Annotated[float, Range(gt=0, lt=1)] = 1e-5


@dataclass(frozen=True)
class TrainingSettings(Section):
    """phi of eq. 3: SGD with momentum; the rate falls linearly to `final_rate_share` of itself.

    Attributes:
        epochs: passes over the samples.
        batch_size: samples of a step.
        learning_rate: at the first step.
        final_rate_share: share of `learning_rate` that is left at the last step.
        momentum: share of the last step's direction that the next one keeps.
        weight_decay: of SGD: this times the weights is added to their gradient.
        privacy: noise that makes the training differentially private.
        together: "stacked", "loop", or "auto", which takes the faster for the network, the size of its inputs
            and the kind of device (docs/reference/learning.md, "Speed").
        precision: "float32", or "bfloat16" for the layers that torch.autocast runs in it.
        trainer: package.module:object that trains the participants' models on data of its own, as they train
            theirs (docs/how-to/use-flower.md); it takes none of the settings beside it.
        channels_last, compiled: batches in that memory format; the network through torch.compile, which
            needs a C++ compiler on a CPU.  Both may be faster, and both change bits.
    """

    epochs: Count = 20
    learning_rate: Positive = 0.1
    final_rate_share: Annotated[float, Range(ge=0, le=1)] = 0.1
    momentum: Annotated[float, Range(ge=0, lt=1)] = 0.9
    weight_decay: NonNegative = 1e-4
    batch_size: Count = 32
    privacy: PrivacySettings | None = None
    together: Literal["auto", "stacked", "loop"] = "auto"
    precision: Literal["float32", "bfloat16"] = "float32"
    channels_last: bool = False
    compiled: bool = False
    trainer: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the network runs in float32 as it is written, without noise."""
        return (
            self.precision == "float32"
            and not self.channels_last
            and not self.compiled
            and self.privacy is None
        )

    def rate_at(self, step: int, steps: int) -> float:
        """Linear from `learning_rate` at the first step to `learning_rate * final_rate_share` at the last."""
        return self.learning_rate * (1 - (1 - self.final_rate_share) * step / max(1, steps - 1))


@dataclass(frozen=True)
class DataOptions(Section):
    """Place of a data set, and the share of it to use.

    Attributes:
        data_files: folder with the parquet or CSV files of the data set, named after their splits, or a hub
            id in the place of the usual one; None: the usual hub id.
        label: column of the labels in parties' files; guessed unless set.
        data_limit: at most so many samples of each split, drawn by seed.
        text_length: tokens of a text; longer ones are cut, shorter ones filled with id 0.
        tokenizer: "words", or the hub id or folder of a tokenizer of `transformers`.
    """

    data_files: str | None = None
    label: str | None = None
    data_limit: Count | None = None
    text_length: Annotated[int, Range(ge=1, le=512)] = 64
    tokenizer: str = WORDS


@dataclass(frozen=True)
class LearningSettings(TrainingSettings, DataOptions):
    """Data, model and training recipe.

    Attributes:
        dataset, model: names (docs/reference/learning.md lists them), or package.module:object for one's own.
        options: the model's own, such as {norm = "group"}.
        root_factor: how many times as long a model without references trains.
        increments: classes, or "all", without which each owner that holds them trains its models once more,
            and stores what comes of it for requests by `clean_increments`; not together with `privacy`.
        clean_references: this starts from the references' own clean models, for requests by `retrain_ahead`,
            and is done for all models that the classes have reached.
        device: of torch, such as "cpu" or "cuda:1"; "auto" takes a GPU where there is one, but for networks
            that train in stacks on a CPU.
        threads: CPU threads of torch; the bits of a run depend on it, and small models gain nothing from
            more.
    """

    dataset: str = "digits"
    model: str = "cnn"
    options: dict[str, bool | int | float | str] = field(default_factory=dict)
    root_factor: Count = 3
    increments: tuple[Annotated[int, Range(ge=0)], ...] | Literal["all"] = ()
    clean_references: bool = False
    device: str = "auto"
    threads: Annotated[int, Range(ge=1, le=1024)] = 1

    @property
    def training(self) -> TrainingSettings:
        """phi of eq. 3 alone, as a published model's statement records it."""
        return TrainingSettings(**{phi.name: getattr(self, phi.name) for phi in fields(TrainingSettings)})
