# SPDX-License-Identifier: Apache-2.0
"""Settings of learning: data, training, privacy."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

from blockful_py.settings.section import Count, NonNegative, Positive, Range, Section

WORDS = "words"
"""The tokenizer without files: words hashed to ids."""


REVEALED = "members and readers can read samples off its models (learning.reveals_samples)"
"""What `reveals_samples` lets happen, in words."""


@dataclass(frozen=True)
class PrivacySettings(Section):
    """Differential privacy of training (DP-SGD), by the extra `privacy`.

    Attributes:
        noise: standard deviation of the noise over `clip`.
        clip: maximum L2 norm of a sample's gradient.
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
        batch_size: samples per step.
        learning_rate: rate of the first step.
        final_rate_share: share of `learning_rate` left at the last step.
        momentum: share of the last step's direction that the next one keeps.
        weight_decay: SGD's weight decay: this times the weights is added to their gradient.
        privacy: noise that makes the training differentially private.
        together: "stacked", "loop", or "auto", which takes the faster for the network, its input size and the
            kind of device (docs/reference/learning.md, "Speed").
        precision: "float32"; "tf32", in which a GPU multiplies, and a CPU in float32; or "bfloat16" for the
            layers that torch.autocast runs in it.
        trainer: package.module:object that trains the participants' models on its own data, with its own
            recipe (docs/how-to/use-flower.md); it ignores the other settings here.
        channels_last, compiled: batches in that memory format; the network through torch.compile, which needs
            a C++ compiler on a CPU.  Both may be faster, and both change bits.
    """

    epochs: Count = 20
    learning_rate: Positive = 0.1
    final_rate_share: Annotated[float, Range(ge=0, le=1)] = 0.1
    momentum: Annotated[float, Range(ge=0, lt=1)] = 0.9
    weight_decay: NonNegative = 1e-4
    batch_size: Count = 32
    privacy: PrivacySettings | None = None
    together: Literal["auto", "stacked", "loop"] = "auto"
    precision: Literal["float32", "tf32", "bfloat16"] = "float32"
    channels_last: bool = False
    compiled: bool = False
    trainer: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the network runs unmodified in float32, without noise."""
        return (
            self.precision == "float32"
            and not self.channels_last
            and not self.compiled
            and self.privacy is None
        )

    def rate_at(self, step: int, steps: int) -> float:
        """Learning rate: linear from `learning_rate` to its share `final_rate_share` at the last step."""
        return self.learning_rate * (1 - (1 - self.final_rate_share) * step / max(1, steps - 1))


@dataclass(frozen=True)
class DataOptions(Section):
    """Place of a data set, and the share of it to use.

    Attributes:
        data_files: folder with the data set's parquet or CSV files, named after their splits, or another hub
            id; None means the usual hub id.
        label: label column in parties' files; guessed by default.
        data_limit: maximum samples of each split, drawn by seed.
        text_length: tokens of a text; longer texts are cut, shorter ones padded with id 0.
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
        dataset, model: names (listed in docs/reference/learning.md), or package.module:object for custom
            ones.  Models "analytic" and "merged" forget exactly, but single samples can be read off the
            published sums of "analytic".
        shares_sums: owners share the sums of model "analytic" among the members, who open heads alone; among
            machines.
        reveals_samples: members and readers can read samples off the models, and the owners agree to that;
            model "analytic" needs it among machines, unless it shares_sums.
        options: the model's own options, such as {norm = "group"}.
        root_factor: factor by which a model without references trains longer.
        increments: classes, or "all".  Each owner that holds such a class trains its models once more without
            it and stores the result for requests by `clean_increments`; not together with `privacy`.
        clean_references: increments start from the references' own clean models, for requests by
            `retrain_ahead`, and are stored for all models that the classes have reached.
        device: torch device, such as "cpu" or "cuda:1"; "auto" takes a GPU if there is one, except for
            networks that train in stacks on a CPU.
        threads: torch's CPU threads; the bits of a run depend on them, and small models gain nothing from
            more.
    """

    dataset: str = "digits"
    model: str = "cnn"
    shares_sums: bool = False
    reveals_samples: bool = False
    options: dict[str, bool | int | float | str] = field(default_factory=dict)
    root_factor: Count = 3
    increments: tuple[Annotated[int, Range(ge=0)], ...] | Literal["all"] = ()
    clean_references: bool = False
    device: str = "auto"
    threads: Annotated[int, Range(ge=1, le=1024)] = 1

    @property
    def training(self) -> TrainingSettings:
        """phi of eq. 3 alone, as recorded in a published model's statement."""
        return TrainingSettings(**{phi.name: getattr(self, phi.name) for phi in fields(TrainingSettings)})
