# SPDX-License-Identifier: Apache-2.0
"""Points of the figures, simulated or real, each in a file of its own, so that a rerun goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from blockful_lab.experiments.scale.plan import PlannedPoint
from blockful_lab.simulation.constants import Constants
from blockful_lab.simulation.summary import Figure, simulate_seeds
from blockful_py.errors import FormatError
from blockful_py.whole_file import write_whole

FORMAT = "blockful-experiment-scale/1"
Kind = Literal["simulated", "real", "simulated laboratory"]


@dataclass(frozen=True, slots=True)
class ScalePoint:
    """One point of two panels.

    Attributes:
        throughput: requests a second.
        latency: s from a request's arrival to its end, mean over the requests.
        share: total seconds divided by the number of requests.
    """

    panels: str
    curve: str
    x: int
    kind: Kind
    throughput: Figure
    latency: Figure
    share: Figure


def simulate(
    planned: Iterable[PlannedPoint],
    constants: Constants,
    seeds: Sequence[int],
    folder: Path,
    advance: Callable[[int], None],
) -> list[ScalePoint]:
    """Simulates the points without a file, or with one of other settings, seeds or constants.

    Raises:
        SettingsError: as a simulation does.
        RunError, FormatError: the folder cannot be written; a file in it is damaged.
    """
    points = []
    for point in planned:
        asked = {
            "settings": asdict(point.settings),
            "seeds": list(seeds),
            "constants": digest(constants.documented()),
        }
        path = folder / "simulated" / f"{point.panels}-{point.curve}-{point.x}.json"
        found = kept(path, asked)
        if found is None:
            summary = simulate_seeds(point.settings, constants, seeds)
            found = {
                "throughput": asdict(summary.figure(lambda one: one.throughput)),
                "latency": asdict(summary.figure(lambda one: one.latency["mean"])),
                "share": asdict(summary.figure(lambda one: 1 / one.throughput)),
            }
            keep(path, asked, found)
        figures = {name: Figure(**found[name]) for name in ("throughput", "latency", "share")}
        points.append(ScalePoint(point.panels, point.curve, point.x, "simulated", **figures))
        advance(1)
    return points


def digest(document: Any) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def keep(path: Path, asked: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Writes the result of `asked`.  Raises RunError if it cannot be written."""
    document = {"format": FORMAT, "asked": dict(asked), "found": dict(found)}
    write_whole(path, json.dumps(document, indent=1) + "\n", parents=True)


def kept(path: Path, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """The stored result of `asked`; None without one.  Raises FormatError for a damaged file."""
    if not path.exists():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise FormatError(f"format {document['format']!r}, not {FORMAT!r}")
        found: dict[str, Any] = document["found"]
        return found if document["asked"] == json.loads(json.dumps(asked)) else None
    except (ValueError, KeyError, TypeError, FormatError) as error:
        raise FormatError(f"{path} is no result of this experiment ({error}): delete it and rerun.") from None
