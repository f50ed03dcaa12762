# SPDX-License-Identifier: Apache-2.0
"""The audit of models that a federation of processes made forget a class, beside models that never knew it.

    python -m benchmarks.audited_machines [--seeds 5 6 7] --folder DIR

`blockful up` with examples/machines.toml, where every owner holds every class, once for each seed.  Its first
root's owner asks for class 3 in parallel, then for class 4 in sequence, with the federation's own settings.
Their new models are audited here, with the data of all owners, against gold (retrained without the
class, on the same graph) and three more trainings that never knew it.  Exact: owners' parts, repeated here
one after the other with each owner's own seed, give the same bits, and again where other samples are to be
forgotten.

The AUC is the AUC of the class's logit on held-out samples, as certificates have it.  A seed that has a file
in DIR is not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.machines import MEMBERS, SETTINGS, command, has_models, is_done, observer, wait
from benchmarks.stored import FIGURES, keep
from blockful_lab.experiments.machine import THREADS, describe
from blockful_lab.experiments.tabulate import machine_line
from blockful_py.cli.local_federation import LocalFederation
from blockful_py.cli.participant_requests import opened_run
from blockful_py.forget import Forget
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.device import use_threads
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights, equal
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.serving import ParticipantService
from blockful_py.pipeline.jobs.training import trained_model
from blockful_py.settings import Settings
from blockful_py.types import Paradigm
from blockful_py.unlearning.audit.bench import prepare
from blockful_py.unlearning.audit.exactness import other_worlds
from blockful_py.unlearning.audit.recognition import logit_auc
from blockful_py.unlearning.audit.references import GOLD_SHIFT, retrained_graph
from blockful_py.unlearning.audit.samples import audit_samples
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.outcome import row_from_json, row_to_json
from blockful_py.verdicts.references import GOLD, GOLD2, ORIGINAL
from blockful_py.verdicts.verdict import judge, place

MACHINES = "machines"
REQUESTS = ((Paradigm.PARALLEL, 3), (Paradigm.SEQUENTIAL, 4))
OTHERS = 3
"""More trainings that never knew the class, for the spread of their AUC."""

LONGEST = 7200.0

Forgets = tuple[Forget, ...]


class Machines:
    """A running federation of processes, as participant 1 sees it."""

    def __init__(self, federation: LocalFederation, seen: ParticipantService) -> None:
        self._federation = federation
        self._seen = seen
        self._folder = federation.party("participant-1")

    @property
    def start(self) -> str:
        """The first model of participant 1."""
        return f"r{self._seen.user}"

    def models(self) -> dict[str, TrainedModel]:
        """All models, as they are published now."""
        folder = ParticipantFolder(self._folder)
        keys = folder.keys(self._federation.words("participant-1").read_text().strip())
        with opened_run(folder, keys) as party:
            models = party.federation.catalogue().models
            read = party.federation.weights.read
            return {name: trained_model(placed, read(placed.node.weights)) for name, placed in models.items()}

    def seeds(self) -> dict[int, int]:
        """Each owner's seed, which only its own folder has."""
        found = {}
        for name in self._federation.participants:
            run, party = ParticipantFolder(self._federation.party(name)).opened()
            assert party.user is not None
            found[party.user] = run.settings.seed
        return found

    def forget(self, label: int, paradigm: Paradigm) -> None:
        """Has participant 1 ask for a class, and waits until the request is carried out."""
        asked = ("--start", self.start, "--class", label, "--paradigm", paradigm.value)
        number = command(self._federation, "participant", "request", self._folder, *asked)["request"]
        wait(partial(is_done, self._seen, number), LONGEST)


@contextmanager
def machines_of(folder: Path, seed: int, models: int) -> Iterator[Machines]:
    """Starts a federation, and waits until its models are published."""
    federation = LocalFederation(folder, lambda each: print(f"  {each}", flush=True))
    try:
        federation.up(SETTINGS, (f"seed={seed}",), MEMBERS)
        with observer(federation) as seen:
            wait(partial(has_models, seen, models), LONGEST)
            yield Machines(federation, seen)
    finally:
        federation.down()


def measure(seed: int, folder: Path) -> list[dict[str, Any]]:
    """Figures of both requests to one federation."""
    settings = Settings.load(SETTINGS, (f"seed={seed}",))
    setup = TrainingSetup.of(settings)
    done, earlier = list[tuple[Paradigm, UnlearningTask, Mapping[str, Weights]]](), dict[str, Forgets]()
    with machines_of(folder, seed, settings.federation.users * settings.federation.rounds) as machines:
        seeds = machines.seeds()
        for paradigm, label in REQUESTS:
            models = machines.models()
            machines.forget(label, paradigm)
            forget = Forget.of_classes([label])
            task = UnlearningTask.of(
                setup.federation, models.values(), setup.users, (machines.start,), forget
            )
            task = replace(task, earlier=dict(earlier))
            after = machines.models()
            done.append((paradigm, task, {name: after[name].weights for name in task.affected()}))
            for name in task.affected():
                earlier[name] = (*earlier.get(name, ()), forget)
    return [
        {"paradigm": paradigm.value, **figures(task, setup, weights, seeds)}
        for paradigm, task, weights in done
    ]


def repeated(task: UnlearningTask, seeds: Mapping[int, int]) -> dict[str, Weights]:
    """The new models of a request by `retrain_ahead`, made part by part as their owners make them.

    `seeds`: by user.
    """
    affected, made = task.affected(), dict[str, Weights]()
    reached = {*affected, *task.graph.ancestors(affected)}
    of_others = tuple(dict.fromkeys(chain.from_iterable(task.earlier.get(name, ()) for name in affected)))
    for name in (each for each in task.graph.topological_order() if each in reached):
        model, above = task.models[name], task.references(name)
        references = {each: replace(task.models[each], weights=made[each]) for each in above}
        part = replace(
            task,
            graph=InheritanceGraph.from_references({**dict.fromkeys(above, ()), name: above}),
            models={name: model, **references},
            users={model.user: task.users[model.user]},
            starts=(name,),
            seed=seeds[model.user],
            earlier={name: task.earlier.get(name, ()) if name in affected else of_others},
            alone=True,
            selection=None,
        )
        made |= create_method("retrain_ahead").unlearn(part).weights
    return {name: made[name] for name in affected}


def figures(
    task: UnlearningTask, setup: TrainingSetup, machines: Mapping[str, Weights], seeds: Mapping[int, int]
) -> dict[str, Any]:
    """Figures of one request's models, by row, and whether they are exact."""
    bench = prepare(task, audit_samples(task, setup.dataset))
    rows = {name: bench.reference(name) for name in (ORIGINAL, GOLD, GOLD2)} | {MACHINES: machines}
    others = [retrained_graph(task, GOLD_SHIFT * (4 + each)) for each in range(OTHERS)]
    worlds = (task, *other_worlds(task))
    return {
        "classes": list(task.classes),
        "rows": [row_to_json(bench.measure(name, weights)) for name, weights in rows.items()],
        "auc": {name: list(aucs(task, setup, weights)) for name, weights in rows.items()},
        "others": [list(aucs(task, setup, weights)) for weights in others],
        "exact": all(
            equal(weights, machines[name])
            for world in worlds
            for name, weights in repeated(world, seeds).items()
        ),
    }


def aucs(task: UnlearningTask, setup: TrainingSetup, weights: Mapping[str, Weights]) -> Iterator[float]:
    """AUC of the class's logit on held-out samples, by affected model."""
    for name in task.affected():
        found = logit_auc(task.architecture, weights[name], setup.dataset.test, task.classes)
        assert found is not None
        yield found


def measured_in(folder: Path, seed: int) -> list[dict[str, Any]]:
    """Figures of a seed from the folder, measured if missing."""
    path = folder / f"{seed}.json"
    if not path.exists():
        print(f"seed {seed}", flush=True)
        path.write_text(json.dumps(measure(seed, folder / f"seed-{seed}")), encoding="utf-8")
    told: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return told


def table(result: Mapping[str, Any]) -> str:
    """A line for each request, over all seeds."""
    lines = [
        "# Audited: what a federation of processes made forget",
        "",
        f"`{result['command']}`",
        "",
        machine_line(result["machine"]),
        "",
        "Examples' federation of five processes, all owners hold all classes. AUC of the class's logit on "
        "held-out samples: mean over models and seeds, least and most. Never knew: gold, gold2 and "
        f"{OTHERS} other trainings without the class, on the same graph.",
        "",
        "| request | seeds; models | verdict | AD_f before, after | AUC before | after | never knew |",
        "|---|---|---|---|---|---|---|",
    ]
    for place_, (paradigm, label) in enumerate(REQUESTS):
        each = [found[place_] for found in result["seeds"].values()]
        lines.append(f"| class {label}, {paradigm.value} | {line(each)} |")
    return "\n".join([*lines, ""])


def line(each: Sequence[Mapping[str, Any]]) -> str:
    rows = [{row.method: row for row in map(row_from_json, found["rows"])} for found in each]
    placed = {
        name: [one for at, row in enumerate(rows) for one in place(row[name], row[GOLD], row[ORIGINAL], at)]
        for name in (MACHINES, GOLD2)
    }
    verdict = judge(placed[MACHINES], placed[GOLD2], classes=True)
    verdict = replace(verdict, exact=all(found["exact"] for found in each))
    knew = [value for found in each for value in found["auc"][ORIGINAL]]
    now = [value for found in each for value in found["auc"][MACHINES]]
    never = [
        value
        for found in each
        for some in (found["auc"][GOLD], found["auc"][GOLD2], *found["others"])
        for value in some
    ]
    ad_f = [
        100 * fmean(model.ad_f_test for row in rows for model in row[name].models)
        for name in (ORIGINAL, MACHINES)
    ]
    count = sum(len(row[MACHINES].models) for row in rows)
    cells = (
        f"{len(each)}; {count}",
        str(verdict),
        f"{ad_f[0]:.1f}, {ad_f[1]:.1f}",
        *map(spread, (knew, now, never)),
    )
    return " | ".join(cells)


def spread(values: Sequence[float]) -> str:
    return f"{fmean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 6, 7])
    parser.add_argument("--folder", type=Path, required=True, help="folder of the federations and figures")
    parser.add_argument("--output", type=Path, default=FIGURES)
    given = parser.parse_args()
    use_threads(THREADS)
    given.folder.mkdir(parents=True, exist_ok=True)
    seeds = " ".join(map(str, given.seeds))
    result = {
        "command": f"python -m benchmarks.audited_machines --seeds {seeds} --folder DIR",
        "machine": describe(THREADS),
        "seeds": {str(seed): measured_in(given.folder, seed) for seed in given.seeds},
    }
    keep(given.output, "audited_machines", result, table(result))
    print(table(result))


if __name__ == "__main__":
    main()
