# SPDX-License-Identifier: Apache-2.0
"""The rule that turns all parties' rows into samples, fitted on public rows alone.

A column whose public values are all numbers is standardised by their mean and standard deviation.  A column
with few distinct public texts becomes one input per text, 1 if the row has it.  Images are standardised by
channel.  Labels are numbered in the order of the class names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from blockful_py.bounded_json import parse_json
from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Samples
from blockful_py.learning.datasets.decoding import decode
from blockful_py.learning.datasets.parties.rows import PartyRows

LARGEST_SIDE = 1024
"""Maximum side of an image, in pixels."""
MOST_VALUES = 20
"""Maximum number of distinct texts in a column of categories."""


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """A column: scaled numbers, or categories, which are listed in `values`."""

    name: str
    mean: float = 0.0
    spread: float = 1.0
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImageRule:
    """Images of one size in pixels, scaled by each channel's mean and standard deviation in [0, 1]."""

    column: str
    side: int
    mean: tuple[float, ...]
    spread: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SampleRule:
    """The rule.

    Attributes:
        label: label column.
        classes: names of the classes; a class's label is its index, from 0.
        columns: columns of a table, in the order of the inputs.
        image: set for images only.
    """

    label: str
    classes: tuple[str, ...]
    columns: tuple[ColumnRule, ...] = ()
    image: ImageRule | None = None

    @classmethod
    def fitted(cls, label: str, classes: Sequence[str], public: Sequence[PartyRows]) -> SampleRule:
        """Fits the rule on the public rows of all parties.

        Raises LearningError if parties' columns differ, a column has too many texts, or an image is damaged.
        Raises SettingsError if the images are larger than LARGEST_SIDE.
        """
        names = tuple(sorted(public[0].columns))
        for rows in public[1:]:
            _require_columns(rows, names, public[0].source)
        ordered = tuple(sorted(classes, key=_by_number))
        if images := public[0].images():
            if {*names} != {images[0], label}:
                raise LearningError(
                    f"{public[0].source} has images and further columns ({', '.join(names)}): leave the "
                    "image and its label."
                )
            rule = cls(label, ordered, image=_image_rule(images[0], public))
            rule._require_usable()
            return rule
        inputs = (name for name in public[0].columns if name != label)
        return cls(label, ordered, tuple(_column_rule(name, public) for name in inputs))

    @classmethod
    def parse(cls, text: str) -> SampleRule:
        """Parses the JSON that `to_json` writes.  Raises SettingsError for any other text."""
        from blockful_py.settings.validation import validated  # learning does not depend on pydantic

        try:
            document = parse_json(text.encode())
        except ValueError as error:
            raise SettingsError(f"the rule of the parties' files cannot be read: {error}.") from None
        rule = validated(cls, document)
        rule._require_usable()
        return rule

    def _require_usable(self) -> None:
        """Checks a rule received from others: image size, channels and scales.  Raises SettingsError."""
        scales = [(each.mean, each.spread) for each in self.columns]
        if (image := self.image) is not None:
            if not 1 <= image.side <= LARGEST_SIDE or len(image.mean) not in (1, 3):
                raise SettingsError(
                    f"the rule of the parties' files has images of {image.side} pixels and {len(image.mean)} "
                    f"channels: at most {LARGEST_SIDE} pixels, and 1 or 3 channels, are taken."
                )
            if len(image.spread) != len(image.mean):
                raise SettingsError("the rule of the parties' files does not scale every channel.")
            scales += zip(image.mean, image.spread, strict=True)
        if not all(math.isfinite(mean) and math.isfinite(spread) and spread > 0 for mean, spread in scales):
            raise SettingsError("the rule of the parties' files has an invalid scale: ask the founder.")

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def said(self) -> str:
        """The numbered classes, for display."""
        return ", ".join(f"{number} {name}" for number, name in enumerate(self.classes))

    def samples(self, rows: PartyRows) -> Samples:
        """Converts n rows to samples: float32 (n, inputs) or (n, channels, side, side), and int64 (n,).

        A text that no public row has is 0 in all inputs of its column.
        Raises LearningError for columns, a class or an image outside the rule, and, with row and column, for
        a text where the rule expects a number.
        """
        names = [self.image.column] if self.image else [each.name for each in self.columns]
        _require_columns(rows, tuple(sorted([*names, self.label])), "this federation")
        number = {name: place for place, name in enumerate(self.classes)}
        for row, name in enumerate(rows.columns[self.label], start=1):
            if name not in number:
                raise LearningError(
                    f"{rows.source} has class {name!r} in row {row}; the federation has "
                    f"{', '.join(self.classes)}: leave the row out."
                )
        labels = torch.tensor([number[name] for name in rows.columns[self.label]], dtype=torch.int64)
        return Samples(self._inputs(rows), labels)

    def unseen(self, rows: PartyRows) -> Mapping[str, int]:
        """Number of rows with a text that no public row has, by column."""
        counts = {
            each.name: sum(value not in each.values for value in rows.columns[each.name])
            for each in self.columns
            if each.values
        }
        return {name: count for name, count in counts.items() if count}

    def _inputs(self, rows: PartyRows) -> Tensor:
        if self.image is not None:
            x = _pixels(rows, self.image.column, self.image.side, len(self.image.mean))
            mean, spread = (
                torch.tensor(each).view(1, -1, 1, 1) for each in (self.image.mean, self.image.spread)
            )
            return (x - mean) / spread
        inputs = [
            _is_each(rows.columns[each.name], each.values)
            if each.values
            else (_numbers(rows, each.name)[:, None] - each.mean) / each.spread
            for each in self.columns
        ]
        return torch.from_numpy(np.concatenate(inputs, axis=1).astype(np.float32))


def _require_columns(rows: PartyRows, names: tuple[str, ...], whose: str) -> None:
    own = tuple(sorted(rows.columns))
    if own != names:
        raise LearningError(
            f"{rows.source} has the columns {', '.join(own)}; {whose} has {', '.join(names)}: give all "
            "parties the same columns, and name one of persons with --person."
        )


def _column_rule(name: str, public: Sequence[PartyRows]) -> ColumnRule:
    values = [value for rows in public for value in rows.columns[name]]
    if _floats(values) is not None:
        numbers = np.concatenate([_numbers(rows, name) for rows in public])
        return ColumnRule(name, float(numbers.mean()), float(numbers.std()) or 1.0)
    texts = tuple(sorted(set(values)))
    if len(texts) > MOST_VALUES:
        word = next(value for value in values if _floats([value]) is None)
        raise LearningError(
            f"column {name!r} has {len(texts)} different texts in the public rows, such as {word!r:.60}: at "
            f"most {MOST_VALUES} count as categories. Write numbers with a decimal point, or drop the column."
        )
    return ColumnRule(name, values=texts)


def _floats(values: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Parses texts as float64 (n,); None unless all are numbers."""
    import pyarrow as pa

    try:
        return pa.array(values, pa.string()).cast(pa.float64()).to_numpy()  # type: ignore[no-any-return]
    except pa.ArrowInvalid:
        return None


def _numbers(rows: PartyRows, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = rows.columns[name]
    numbers = _floats(values)
    if numbers is None or not np.isfinite(numbers).all():
        wrong = ((i, _floats([value]), value) for i, value in enumerate(values, start=1))
        row, value = next((i, value) for i, one, value in wrong if one is None or not np.isfinite(one).all())
        raise LearningError(
            f"{rows.source} has {value!r:.60} in row {row}, column {name!r}, where a number is expected: "
            "correct it or drop the row."
        )
    return numbers


def _is_each(values: Sequence[str], known: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """One-hot columns, float64 (n, known): 1 where the row's value is the known one."""
    equal = np.array(values)[:, None] == np.array(known)[None, :]
    return np.asarray(equal, np.float64)


def _image_rule(column: str, public: Sequence[PartyRows]) -> ImageRule:
    """Fits the rule of images: grey if all public images are grey; the size of the first image."""
    side, channels = _form(public, column)
    x = torch.cat([_pixels(rows, column, side, channels) for rows in public])
    mean, spread = x.mean((0, 2, 3)).tolist(), x.std((0, 2, 3)).tolist()
    return ImageRule(column, side, tuple(mean), tuple(each or 1.0 for each in spread))


def _form(public: Sequence[PartyRows], column: str) -> tuple[int, int]:
    import io

    from PIL import Image, UnidentifiedImageError

    side, grey = 0, True
    for rows in public:
        for row, data in enumerate(rows.columns[column], start=1):
            try:
                with Image.open(io.BytesIO(data)) as image:
                    side, grey = side or image.width, grey and image.mode[0] in "1LIF"
            except UnidentifiedImageError:
                raise LearningError(f"{rows.source}: image {row} cannot be read: save it as PNG.") from None
    return side, 1 if grey else 3


def _pixels(rows: PartyRows, column: str, side: int, channels: int) -> Tensor:
    """Pixel values from 0 to 1, float32 (n, channels, side, side)."""
    x = torch.empty(len(rows), channels, side, side)
    for row, data in enumerate(rows.columns[column]):
        try:
            x[row] = torch.from_numpy(decode(data, side, channels)).permute(2, 0, 1)
        except LearningError as error:
            raise LearningError(f"{rows.source}: image {row + 1} {error}") from None
    return x / 255


def _by_number(name: str) -> tuple[float, str]:
    """Sort key: numeric names first, by value, then all others."""
    number = _floats([name])
    return (float("inf") if number is None else float(number[0]), name)
