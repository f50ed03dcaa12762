# SPDX-License-Identifier: Apache-2.0
"""The printed figures of the paper: data, network, forgotten classes, and accuracies by method."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from types import MappingProxyType

from blockful_py.errors import SettingsError
from blockful_py.experiments.protocol import Scale
from blockful_py.settings import Situation

MODELS = ("r5", "r6", "r8")
"""Those that the paper measures, at growing depth: r5 is a start."""


@dataclass(frozen=True, slots=True)
class Printed:
    """As printed: AD_r and AD_f in percent, seconds; by model.  None where the paper prints nothing."""

    ad_r: Mapping[str, float]
    ad_f: Mapping[str, float]
    seconds: Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A row of a table.

    Attributes:
        data, network: as the paper calls them.
        classes: how many are forgotten.
        situation: how the data is shared out; `few_hold` where the paper says nothing of it.
        lacking: classes that users 5 and 7 lack, each others, in `label_non_iid`; of the paper's data.
        methods: printed figures by our name of the method.
        averages: what the text says of rows whose table is empty in the source, percent.
    """

    table: str
    data: str
    network: str
    classes: int
    methods: Mapping[str, Printed]
    averages: Mapping[str, str]
    situation: Situation = "few_hold"
    lacking: int = 0

    @property
    def title(self) -> str:
        """Network, classes and situation."""
        where = "" if self.situation == "few_hold" else f", {self.situation}"
        lacking = f" ({self.lacking} each)" if self.lacking else ""
        network = "network not printed" if self.network == "not printed" else self.network
        return f"{network}, {self.classes} class{'es' * (self.classes > 1)}{where}{lacking}"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a row is rerun with: data set and network by our names, epochs and rate of training, how the data
    is shared out, and how many classes users 5 and 7 lack, each others."""

    data: str
    network: str
    epochs: int
    rate: float
    situation: Situation = "few_hold"
    lacking: int = 0

    @property
    def title(self) -> str:
        where = "" if self.situation == "few_hold" else f", {self.situation}"
        lacking = f" ({self.lacking} each)" if self.lacking else ""
        return f"{self.data}, {self.network}{where}{lacking}"


FULL: Mapping[str, str] = MappingProxyType(
    {
        "CIFAR-10": "cifar10",
        "Fashion-MNIST": "fashion_mnist",
        "CIFAR-100": "cifar100",
        "TinyImageNet": "tiny_imagenet",
        "Yahoo! Answers": "yahoo_answers",
        "AlexNet": "alexnet",
        "ResNet18": "resnet18",
        "Bert-Base-Cased": "bert",
        "GCNN": "gcnn",
        "not printed": "cnn",
    }
)
"""Our names of the paper's data sets and networks; where its source names no network, the small CNN."""

FULL_EPOCHS, FULL_RATE = 100, 0.005
"""As the paper states."""

SMALL: Mapping[str, Setting] = MappingProxyType(
    {
        "CIFAR-10": Setting("digits", "cnn", 20, 0.1),
        "Fashion-MNIST": Setting("digits", "cnn", 20, 0.1),
        "Yahoo! Answers": Setting("digits", "cnn", 20, 0.1),
        "CIFAR-100": Setting("shapes", "cnn", 6, 0.05),
        "TinyImageNet": Setting("shapes", "cnn", 6, 0.05),
    }
)
"""Embedded stand-ins: 10 classes for 10, 20 for 100 and 200."""

SMALL_SHARE: Mapping[str, int] = MappingProxyType({"CIFAR-100": 5})
"""How many of its classes one class of a stand-in with fewer is counted for, where users lack some."""


def setting_of(row: PaperRow, scale: Scale, epochs: int | None = None) -> Setting:
    """What a row is rerun with at a scale; with other epochs than the scale's where some are named."""
    setting = _setting_of(row, scale)
    return setting if epochs is None else replace(setting, epochs=epochs)


def _setting_of(row: PaperRow, scale: Scale) -> Setting:
    if scale is Scale.SMALL:
        lacking = row.lacking // SMALL_SHARE.get(row.data, 1)
        return replace(SMALL[row.data], situation=row.situation, lacking=lacking)
    named = FULL[row.data], FULL[row.network]
    return Setting(*named, FULL_EPOCHS, FULL_RATE, row.situation, row.lacking)


def tables_named(parts: Sequence[str] = ()) -> tuple[str, ...]:
    """Titles of tables that contain one of the parts, in any case; without parts, all.

    Raises SettingsError for a part that no title contains.
    """
    titles = tuple(dict.fromkeys(row.table for row in paper_rows()))
    for part in parts:
        if not any(part.lower() in title.lower() for title in titles):
            raise SettingsError(f"the paper has no table {part!r}. Known: {'; '.join(titles)}.")
    return tuple(
        title for title in titles if not parts or any(part.lower() in title.lower() for part in parts)
    )


def paper_rows() -> tuple[PaperRow, ...]:
    """All rows, table by table."""
    text = files("blockful_py.experiments").joinpath("paper_tables.json").read_text(encoding="utf-8")
    return tuple(
        PaperRow(
            row["table"],
            row["data"],
            row["network"],
            row["classes"],
            {
                name: Printed(printed["ad_r"], printed["ad_f"], printed.get("seconds"))
                for name, printed in row["methods"].items()
            },
            row["averages"],
            row.get("situation", "few_hold"),
            row.get("lacking", 0),
        )
        for row in json.loads(text)
    )
