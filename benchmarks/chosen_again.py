# SPDX-License-Identifier: Apache-2.0
"""Traces of a forgotten client in the graph, with references kept and chosen again.

    python -m benchmarks.chosen_again [--federations 8] [--output benchmarks/results/figures.jsonl]

Federations of 6 users publish 2 models each on digits; eq. 1 chooses 2 of 5 candidates.  In half of them the
labels of user 3 are shuffled.  User 3 is forgotten by `retrain_ahead`, and the models that refer to its own
are counted: if that number separates right from shuffled labels, the graph tells how good its data were.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.stored import FIGURES, keep
from blockful_py.forget import Forget
from blockful_py.learning.data import UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.selection import Selection
from blockful_py.learning.streams import generator
from blockful_py.settings import FederationSettings, TrainingSettings
from blockful_py.types import References
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.task import UnlearningTask

NAME = "chosen_again"
CLIENT = 3
SCENARIO = FederationSettings("organic", "all_hold", users=6, rounds=2)
EPOCHS = 5
VARIANTS = ("kept", "chosen_again", "chosen_by_all")
Graph = Mapping[str, Sequence[str]]


PAGE = """# A forgotten client in the graph

{n} federations of 12 models on digits with right labels of user {u}, and {n} with its labels shuffled;
each cell has the least and the most of them. `retrain_ahead` made the user forgotten.

- Referring: models with one of the user's own among their references in use, after a request that
  keeps references, one that chooses them again, and one that also starts at all models that drew an
  affected one.
- Knowing: models that the request does not reach and that drew an affected one; bits: upper bound
  of what their choices tell, {bits:.2f} a model.

| federation | affected | chose others | referring, kept | chosen again | by all that drew | knowing | bits |
|---|---|---|---|---|---|---|---|
{rows}

AUC of the number of referring models, right against shuffled labels: {kept} with references kept,
{again} chosen again, {by_all} chosen again by all that drew an affected model. The references on the chain
stay, so its graph tells as much as before in each case.

Made by `python -m benchmarks.chosen_again`.
"""


def shuffled(user: UserData, seed: int) -> UserData:
    """The user with its training labels in another order."""
    order = torch.randperm(len(user.train), generator=generator(seed, "shuffled labels"))
    return replace(user, train=replace(user.train, y=user.train.y[order]))


def measure(seed: int, shuffle: bool) -> dict[str, Any]:
    """In-degrees of the client's models, and the choices of a federation, before and after its request."""
    data = load_dataset("digits", seed, torch.device("cpu"))
    users = partition(data, Division(SCENARIO, (CLIENT,), (3,)), seed)
    if shuffle:
        users = tuple(shuffled(user, seed) if user.index == CLIENT else user for user in users)
    network = Architecture("cnn", data.input_shape, data.class_count)
    spec = FederationSpec(network, SCENARIO, TrainingSettings(epochs=EPOCHS), seed=seed, starting_users=())
    models = {model.name: model for wave in train_federation(spec, users) for model in wave}
    own = [model.name for model in models.values() if model.user == CLIENT]
    selection = Selection(spec)

    def asked(starts: Sequence[str]) -> UnlearningTask:
        return UnlearningTask.of(spec, models.values(), users, starts, Forget.of_clients([CLIENT]))

    task = asked(own)
    affected, before = {*task.affected()}, {name: task.graph.references(name) for name in models}
    candidates = {name: {*selection.candidates(name, models)} for name in models}
    knowing = [name for name in models if name not in affected and candidates[name] & affected]
    wide = {*affected}
    for name in models:  # in the order of publication
        if candidates[name] & wide:
            wide.add(name)
    narrow = chosen_again(task, before)
    return {
        "models": len(models),
        "affected": len(affected),
        "others": sum({*before[name]} != {*narrow[name]} for name in models),
        "kept": referring(before, own),
        "chosen_again": referring(narrow, own),
        "chosen_by_all": referring(chosen_again(asked([*own, *sorted(wide - {*own})]), before), own),
        "knowing": len(knowing),
        "bits": max(selection.bits(name, models) for name in models),
        "bits_knowing": sum(selection.bits(name, models) for name in knowing),
    }


def chosen_again(task: UnlearningTask, before: Graph) -> Graph:
    """The references in use after a request that chooses again."""
    chosen = RetrainAhead(References.CHOSEN_AGAIN).unlearn(task).references
    return {**before, **{name: [each.name for each in found] for name, found in chosen.items()}}


def referring(graph: Graph, own: Sequence[str]) -> int:
    """Number of models that refer to one of the client's models."""
    return sum(bool({*own} & {*references}) for references in graph.values())


def auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Share of the pairs in which the first is higher; ties count half (Mann and Whitney)."""
    pairs = [(first > second) + (first == second) / 2 for first in right for second in wrong]
    return sum(pairs) / len(pairs)


def figures(federations: int) -> dict[str, Any]:
    """The figures of all federations, and how well in-degrees separate them."""
    right = [measure(seed, shuffle=False) for seed in range(5, 5 + federations)]
    wrong = [measure(seed, shuffle=True) for seed in range(5, 5 + federations)]
    return {
        "federations": federations,
        "auc": {each: auc([one[each] for one in right], [one[each] for one in wrong]) for each in VARIANTS},
        "right": right,
        "shuffled": wrong,
    }


def render(found: Mapping[str, Any]) -> str:
    """The page of tables."""
    rows = []
    for kind in ("right", "shuffled"):
        columns = ("affected", "others", *VARIANTS, "knowing", "bits_knowing")
        cells = [f"{kind} labels", *(spread(found[kind], each) for each in columns)]
        rows.append(f"| {' | '.join(cells)} |")
    kept, again, by_all = (f"{found['auc'][each]:.2f}" for each in VARIANTS)
    return PAGE.format(
        n=found["federations"],
        u=CLIENT,
        bits=found["right"][0]["bits"],
        rows="\n".join(rows),
        kept=kept,
        again=again,
        by_all=by_all,
    )


def spread(rows: Sequence[Mapping[str, Any]], key: str) -> str:
    """Least and most of a figure."""
    least, most = (choose(row[key] for row in rows) for choose in (min, max))
    return f"{least:.0f}" if least == most else f"{least:.0f} to {most:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--federations", type=int, default=8, help="number with right labels, and with shuffled"
    )
    parser.add_argument("--output", type=Path, default=FIGURES)
    asked = parser.parse_args()
    found = figures(asked.federations)
    page = render(found)
    keep(asked.output, NAME, found, page)
    print(page)


if __name__ == "__main__":
    main()
