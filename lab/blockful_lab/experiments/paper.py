# SPDX-License-Identifier: Apache-2.0
"""The printed figures of the paper: data, network, forgotten classes, and accuracies by method."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from types import MappingProxyType

from blockful_lab.experiments.protocol import Scale
from blockful_py.errors import SettingsError
from blockful_py.learning.models.registry import GROUP
from blockful_py.learning.models.registry import MODELS as NETWORKS
from blockful_py.learning.plugins import find
from blockful_py.settings import Situation

MODELS = ("r5", "r6", "r8")
"""Models measured by the paper, at growing depth: r5 is a start."""


@dataclass(frozen=True, slots=True)
class Printed:
    """As printed: AD_r and AD_f in percent, seconds; by model.  None if the paper prints no figures."""

    ad_r: Mapping[str, float]
    ad_f: Mapping[str, float]
    seconds: Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A row of a table.

    Attributes:
        data, network: the paper's names.
        classes: number to forget.
        situation: partition of the data; `few_hold` if the paper does not say.
        lacking: number of classes of the paper's data that users 5 and 7 lack (different ones), in
            `label_non_iid`.
        methods: printed figures by our name of the method.
        averages: percentages from the text, for rows whose table is empty in the source.
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
    """Settings of a rerun, by our names.

    Data set and network, epochs and rate of training, the partition of the data, the number of classes that
    users 5 and 7 lack (different ones), and the number of samples drawn of each split (None: all).
    """

    data: str
    network: str
    epochs: int
    rate: float
    situation: Situation = "few_hold"
    lacking: int = 0
    data_limit: int | None = None

    @property
    def title(self) -> str:
        where = "" if self.situation == "few_hold" else f", {self.situation}"
        lacking = f" ({self.lacking} each)" if self.lacking else ""
        few = "" if self.data_limit is None else f", {self.data_limit:,} samples"
        return f"{self.data}, {self.network}{where}{lacking}{few}"


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
"""Classes of the paper's data per class of the stand-in, for users that lack some."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """The rows to rerun, and changes of their settings.

    Attributes:
        tables: parts of the titles of tables, in any case; all rows if empty.
        classes: rows that forget so many; all rows if empty.
        networks: in place of the row's, each in turn.
        epochs: in place of the scale's.
        data_limit: at most so many samples of each split, drawn by seed.

    Raises SettingsError (when made) for a part that no title contains, a number of classes that no row of
    these tables forgets, and an unknown network.
    """

    scale: Scale
    tables: tuple[str, ...] = ()
    classes: tuple[int, ...] = ()
    networks: tuple[str, ...] = ()
    epochs: int | None = None
    data_limit: int | None = None

    def __post_init__(self) -> None:
        rows = paper_rows()
        for part in self.tables:
            if not any(_is_in(part, row) for row in rows):
                titles = dict.fromkeys(row.table for row in rows)
                raise SettingsError(f"the paper has no table {part!r}. Known: {'; '.join(titles)}.")
        counts = sorted({row.classes for row in self._of_tables()})
        for count in self.classes:
            if count not in counts:
                raise SettingsError(
                    f"no row of these tables forgets {count} classes. Known: {', '.join(map(str, counts))}."
                )
        for name in self.networks:
            find(name, "network", NETWORKS, GROUP)

    def rows(self) -> tuple[tuple[PaperRow, Setting], ...]:
        """Rows in the paper's order, each with its settings, network after network."""
        return tuple(
            (row, setting)
            for row in self._of_tables()
            if not self.classes or row.classes in self.classes
            for setting in self._settings(row)
        )

    def _of_tables(self) -> tuple[PaperRow, ...]:
        return tuple(
            row for row in paper_rows() if not self.tables or any(_is_in(part, row) for part in self.tables)
        )

    def _settings(self, row: PaperRow) -> Iterator[Setting]:
        setting = replace(_setting_of(row, self.scale), data_limit=self.data_limit)
        if self.epochs is not None:
            setting = replace(setting, epochs=self.epochs)
        for network in self.networks or (setting.network,):
            yield replace(setting, network=network)


def _is_in(part: str, row: PaperRow) -> bool:
    return part.lower() in row.table.lower()


def _setting_of(row: PaperRow, scale: Scale) -> Setting:
    if scale is Scale.SMALL:
        lacking = row.lacking // SMALL_SHARE.get(row.data, 1)
        return replace(SMALL[row.data], situation=row.situation, lacking=lacking)
    named = FULL[row.data], FULL[row.network]
    return Setting(*named, FULL_EPOCHS, FULL_RATE, row.situation, row.lacking)


def paper_rows() -> tuple[PaperRow, ...]:
    """All rows, table by table."""
    text = files("blockful_lab.experiments").joinpath("paper_tables.json").read_text(encoding="utf-8")
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
