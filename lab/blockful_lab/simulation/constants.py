# SPDX-License-Identifier: Apache-2.0
"""The constants of the simulator: our measurements, each with its source, and a few stated assumptions.

`constants.json` holds points (x, y), such as seconds of a processor over the number of signers.  In between
and beyond, the least squares line through them is taken, but never less than the least of y.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from blockful_py.errors import SettingsError

FILE = "constants.json"


@dataclass(frozen=True, slots=True)
class Constant:
    """A measured or assumed quantity, y = `intercept` + `slope` x where it depends on something.

    Attributes:
        over: meaning of x; "" for a single value.
        least: the least y that was measured.
        assumed: stated, not measured.
        source: its file or command.
    """

    unit: str
    over: str
    intercept: float
    slope: float
    least: float
    assumed: bool
    source: str

    def at(self, x: float = 0.0) -> float:
        return max(self.least, self.intercept + self.slope * x)


@dataclass(frozen=True, slots=True)
class Constants:
    """All constants by name."""

    values: Mapping[str, Constant]

    @classmethod
    def load(cls, path: Path | None = None) -> Constants:
        """Loads the package's constants; entries of a file of the same form replace them.

        Raises SettingsError for an unreadable file or a wrong entry.
        """
        text = files("blockful_lab.simulation").joinpath(FILE).read_text(encoding="utf-8")
        entries = json.loads(text)
        if path is not None:
            try:
                entries |= json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError, TypeError) as error:
                raise SettingsError(f"{path} cannot be read as constants: {error}.") from None
        return cls.of(entries)

    @classmethod
    def of(cls, entries: Mapping[str, Any]) -> Constants:
        """Parses the file's form.  Raises SettingsError for a wrong entry."""
        return cls({name: _constant(name, entry) for name, entry in entries.items()})

    def at(self, name: str, x: float = 0.0) -> float:
        return self.values[name].at(x)

    def known(self, prefix: str) -> tuple[str, ...]:
        """Names below a prefix, such as the networks of "pass"."""
        start = f"{prefix}."
        return tuple(sorted(name.removeprefix(start) for name in self.values if name.startswith(start)))

    def documented(self) -> list[dict[str, Any]]:
        """All constants as their entries."""
        return [
            {
                "name": name, "unit": each.unit, "over": each.over, "intercept": each.intercept,
                "slope": each.slope, "assumed": each.assumed, "source": each.source,
            }
            for name, each in sorted(self.values.items())
        ]  # fmt: skip


def _constant(name: str, entry: Any) -> Constant:
    try:
        points = [(float(x), float(y)) for x, y in entry["points"]] if "points" in entry else []
        values = [y for _, y in points] or [float(entry["value"])]
        slope, intercept = line(points) if len(points) > 1 else (0.0, values[0])
        texts = [str(entry[key]) for key in ("unit", "source")]
    except (KeyError, TypeError, ValueError):
        raise SettingsError(
            f"constant {name!r} needs a unit, a source, and a value or points [[x, y], ...]."
        ) from None
    if min(values) < 0:
        raise SettingsError(f"constant {name!r} is negative.")
    return Constant(
        texts[0],
        str(entry.get("over", "")),
        intercept,
        slope,
        min(values),
        bool(entry.get("assumed")),
        texts[1],
    )


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Slope and intercept of the least squares line."""
    x, y = zip(*points, strict=True)
    slope, intercept = np.polyfit(x, y, 1)
    return float(slope), float(intercept)
