# SPDX-License-Identifier: Apache-2.0
"""Writes the files of an experiment with families: family.json and family.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockful_lab.experiments.family.corpus import OWN_TEXTS, PUBLIC_TEXTS
from blockful_lab.experiments.family.members import CHEATS, HEIRS
from blockful_lab.experiments.machine import THREADS, describe
from blockful_lab.experiments.tabulate import machine_line
from blockful_py.unlearning.audit import TextAudit
from blockful_py.unlearning.audit.folder_figures import FORGOTTEN, UNLEARNED
from blockful_py.unlearning.audit.text_figures import HELD_OUT, RETAINED, SPLITS
from blockful_py.verdicts.references import GOLD, GOLD2, ORIGINAL
from blockful_py.whole_file import write_whole

if TYPE_CHECKING:
    from blockful_lab.experiments.family.experiment import FamilyMeasures

FORMAT = "blockful-experiment-family/1"
FILES = MARKDOWN, DOCUMENT = "family.md", "family.json"
ROWS: Mapping[str, str] = {
    ORIGINAL: "before",
    UNLEARNED: "computed again",
    GOLD: "never had them",
    GOLD2: "never had them, another seed",
}
COLUMNS: Sequence[tuple[str, Callable[[Mapping[str, Any]], float], str]] = (
    ("perplexity, forgotten", lambda row: row["perplexity"][FORGOTTEN], ".1f"),
    ("retained", lambda row: row["perplexity"][RETAINED], ".2f"),
    ("held out", lambda row: row["perplexity"][HELD_OUT], ".1f"),
    ("codes extracted, %", lambda row: 100 * row["extracted"], ".0f"),
    ("AUC", lambda row: row["auc"], ".2f"),
)


def document_of(measured: FamilyMeasures, seeds: Sequence[int], command: str) -> dict[str, Any]:
    """The experiment as JSON."""
    packages = {name: version(name) for name in ("peft", "transformers")}
    machine = describe(THREADS)
    return {
        "format": FORMAT,
        "command": command,
        "seeds": [*seeds],
        "texts": {"public": PUBLIC_TEXTS, "owner": OWN_TEXTS},
        "machine": {**machine, "packages": {**machine["packages"], **packages}},
        "forgotten": {str(seed): asdict(each) for seed, each in measured.forgotten.items()},
        "audits": {name: _audit(each) for name, each in measured.audits.items()},
    }


def write(output: Path, document: Mapping[str, Any]) -> str:
    """Writes both files; returns the table.  Raises RunError if the folder cannot be written."""
    text = markdown(document)
    write_whole(output / DOCUMENT, json.dumps(document) + "\n")
    write_whole(output / MARKDOWN, text)
    return text


def markdown(document: Mapping[str, Any]) -> str:
    """Means over seeds, least and most, as tables."""
    return "\n".join(_lines(document)) + "\n"


def _audit(found: TextAudit) -> dict[str, Any]:
    return {
        "rows": {
            kind: [
                {
                    "model": each.model,
                    "perplexity": {name: each.perplexity(name) for name in SPLITS},
                    "extracted": each.extracted,
                    "auc": each.auc,
                }
                for each in models
            ]
            for kind, models in found.rows.items()
        },
        "klom": {kind: asdict(splits[FORGOTTEN]) for kind, splits in found.klom.items()},
        "u_lira": {kind: asdict(each.auc) for kind, each in found.u_lira.items()},
        "above_floor": None if found.above_floor is None else asdict(found.above_floor),
    }


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    seeds, forgotten = document["seeds"], document["forgotten"].values()
    yield f"`{document['command']}`"
    yield ""
    yield machine_line(document["machine"])
    yield ""
    same = sum(all(each["same_bits"].values()) for each in forgotten)
    verified = sum(each["verified"] for each in forgotten)
    yield (
        f"n = {len(seeds)} families. In {same} of them all {len(HEIRS)} models computed again have the bits "
        f"of the family that never had the owner; {verified} records verify. Means, least to most; KLoM in "
        "nats and U-LiRA against models that never had the texts."
    )
    for name in HEIRS:
        yield from ("", f"## {name}", "", *_table(document["audits"][name], [*ROWS.items()]))
    yield from ("", "## Owners of gil/pair who only pretend", "")
    rows = [row for cheat in CHEATS for row in _table(document["audits"][cheat], [(UNLEARNED, cheat)])[2:]]
    yield from (*_table(document["audits"][CHEATS[0]], [(GOLD2, ROWS[GOLD2])]), *rows)


def _table(audit: Mapping[str, Any], kinds: Sequence[tuple[str, str]]) -> list[str]:
    titles = ["model", *(title for title, _, _ in COLUMNS), "KLoM", "above another seed", "U-LiRA AUC"]
    lines = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
    for kind, title in kinds:
        cells = [title]
        for _, figure, form in COLUMNS:
            values = [figure(row) for row in audit["rows"][kind]]
            mean, least, most = sum(values) / len(values), min(values), max(values)
            cells.append(f"{mean:{form}} ({least:{form}} to {most:{form}})")
        far, above, attack = audit["klom"].get(kind), audit["above_floor"], audit["u_lira"].get(kind)
        cells.append(f"{far['mean']:.1f}" if far else "-")
        cells.append(_interval(above) if above and kind == UNLEARNED else "-")
        cells.append(_interval(attack) if attack else "-")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _interval(each: Mapping[str, float]) -> str:
    return f"{each['value']:.2f} ({each['low']:.2f} to {each['high']:.2f})"
