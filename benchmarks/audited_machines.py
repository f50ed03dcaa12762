# SPDX-License-Identifier: Apache-2.0
"""The audit of models that a federation of processes made forget, beside models that never had the data.

    python -m benchmarks.audited_machines [--seeds 5 6 7] [--levels class client sample] --folder DIR

`blockful up` with examples/machines.toml, where every owner holds every class, once for each seed and level.
Participant 1 asks in parallel, then, on what stands, in sequence: it again for another class, or participant
2 for its own data; all with the federation's own settings.  The new models are audited here, with the data of
all owners, against gold (retrained without the data, on the same graph) and three more trainings without it.
Exact: owners' parts, repeated here one after the other with each owner's own seed, give the same bits, and
again where other samples are to be forgotten.

The AUC of a class is its logit's on held-out samples, as certificates have it; otherwise the AUC compares the
true label's probability of forgotten samples and of held-out ones.  A case that has a file in DIR is not
measured again.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.audited_machines_table import MACHINES, OTHERS, REQUESTS, table
from benchmarks.machines import MEMBERS, SETTINGS, command, has_models, is_done, observer, wait
from benchmarks.stored import FIGURES, keep
from blockful_lab.experiments.machine import THREADS, describe
from blockful_lab.experiments.protocol import SAMPLES
from blockful_py.cli.local_federation import LocalFederation
from blockful_py.cli.participant_requests import opened_run
from blockful_py.forget import Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.data import UserData
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
from blockful_py.unlearning.audit.exposure import auc
from blockful_py.unlearning.audit.network import observe
from blockful_py.unlearning.audit.recognition import logit_auc
from blockful_py.unlearning.audit.references import GOLD_SHIFT, retrained_graph
from blockful_py.unlearning.audit.samples import AuditSamples, audit_samples
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.retraining import aggregate_of
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.outcome import row_to_json
from blockful_py.verdicts.references import GOLD, GOLD2, ORIGINAL

LONGEST = 7200.0

Forgets = tuple[Forget, ...]


@dataclass(frozen=True)
class Standing:
    """The models that have weights, and the untrained ones of them, which are means of references."""

    models: Mapping[str, TrainedModel]
    untrained: frozenset[str]


@dataclass(frozen=True)
class Done:
    """A request that was carried out, the models before it, and what stands after it."""

    paradigm: Paradigm
    task: UnlearningTask
    after: Standing

    @property
    def withdrawn(self) -> frozenset[str]:
        return frozenset(self.task.affected()) - self.after.models.keys()

    @property
    def replaced(self) -> dict[str, Weights]:
        return {
            name: self.after.models[name].weights
            for name in self.task.affected()
            if name not in self.withdrawn
        }


class Machines:
    """A running federation of processes, as its participants see it."""

    def __init__(self, federation: LocalFederation, seen: ParticipantService) -> None:
        self._federation = federation
        self._seen = seen

    def user(self, participant: int) -> int:
        """The user whose data a participant has."""
        _, party = ParticipantFolder(self._federation.party(f"participant-{participant}")).opened()
        assert party.user is not None
        return party.user

    def seeds(self) -> dict[int, int]:
        """Each owner's seed, which only its own folder has."""
        found = {}
        for name in self._federation.participants:
            run, party = ParticipantFolder(self._federation.party(name)).opened()
            assert party.user is not None
            found[party.user] = run.settings.seed
        return found

    def standing(self) -> Standing:
        """All models as they are now, without references that were withdrawn."""
        folder = ParticipantFolder(self._federation.party("participant-1"))
        keys = folder.keys(self._federation.words("participant-1").read_text().strip())
        with opened_run(folder, keys) as party:
            placed = {
                name: each
                for name, each in party.federation.catalogue().models.items()
                if not each.node.is_withdrawn
            }
            read = party.federation.weights.read
            models = {name: trained_model(each, read(each.node.weights)) for name, each in placed.items()}
        kept = {
            name: replace(model, references=tuple(each for each in model.references if each.name in models))
            for name, model in models.items()
        }
        nodes = {name: each.node.redaction for name, each in placed.items()}
        return Standing(kept, frozenset(name for name, made in nodes.items() if made and made.untrained))

    def forget(self, participant: int, paradigm: Paradigm, *asked: str | int) -> None:
        """Has a participant file a request, and waits until it is carried out."""
        name = f"participant-{participant}"
        given = (self._federation.party(name), *asked, "--paradigm", paradigm.value)
        number = command(self._federation, "participant", "request", *given, participant=name)["request"]
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


def measure(seed: int, level: Level, folder: Path) -> list[dict[str, Any]]:
    """Figures of both requests to one federation."""
    settings = Settings.load(SETTINGS, (f"seed={seed}",))
    setup = TrainingSetup.of(settings)
    users = {user.index: user for user in setup.users}
    done, earlier = list[Done](), dict[str, Forgets]()
    with machines_of(folder, seed, settings.federation.users * settings.federation.rounds) as machines:
        seeds, standing = machines.seeds(), machines.standing()
        for request in (each for each in REQUESTS if each.level is level):
            user = machines.user(request.participant)
            forget, asked = asked_for(level, request.label, users[user], seed)
            own = [name for name, model in standing.models.items() if model.user == user]
            starts = own[:1] if level is Level.CLASS else own
            if level is Level.CLASS:
                asked = ("--start", *starts, *asked)
            task = UnlearningTask.of(setup.federation, standing.models.values(), setup.users, starts, forget)
            task = replace(task, earlier=dict(earlier))
            machines.forget(request.participant, request.paradigm, *asked)
            standing = machines.standing()
            done.append(Done(request.paradigm, task, standing))
            for name in task.affected():
                earlier[name] = (*earlier.get(name, ()), forget)
    return [{"paradigm": each.paradigm.value, **figures(each, setup, seeds)} for each in done]


def asked_for(level: Level, label: int, user: UserData, seed: int) -> tuple[Forget, tuple[str | int, ...]]:
    """The data that a request forgets, and its options; of samples, a quarter drawn by seed."""
    if level is Level.CLASS:
        return Forget.of_classes([label]), ("--class", label)
    if level is Level.CLIENT:
        return Forget.of_clients([user.index]), ("--client",)
    held = len(user.train)
    drawn = np.random.default_rng(seed).permutation(held)[: round(SAMPLES * held)]
    rows = sorted(int(row) for row in drawn)
    return Forget.of_samples((user.index, row) for row in rows), tuple(
        chain.from_iterable(("--sample", row) for row in rows)
    )


def repeated(task: UnlearningTask, after: Standing, seeds: Mapping[int, int]) -> dict[str, Weights]:
    """The new models of a request, made part by part as their owners make them.

    Args:
        after: what stands after it, which says who trained.
        seeds: by user.
    """
    affected, made = task.affected(), dict[str, Weights]()
    reached = {*affected, *(task.graph.ancestors(affected) if task.classes else ())}
    of_others = tuple(dict.fromkeys(chain.from_iterable(task.earlier.get(name, ()) for name in affected)))
    gone = {*affected} - after.models.keys()
    for name in (each for each in task.graph.topological_order() if each in reached - gone):
        model, above = task.models[name], tuple(each for each in task.references(name) if each not in gone)
        references = {each: replace(task.models[each], weights=made[each]) for each in above if each in made}
        references = {each: references.get(each, task.models[each]) for each in above}
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
        if name in after.untrained:
            made[name] = aggregate_of(part, name, {})
        else:
            made |= create_method("retrain_ahead").unlearn(part).weights
    return {name: made[name] for name in affected if name in made}


def figures(done: Done, setup: TrainingSetup, seeds: Mapping[int, int]) -> dict[str, Any]:
    """Figures of one request's models that were not withdrawn, by row, and whether they are exact."""
    task, machines = done.task, done.replaced
    samples = audit_samples(task, setup.dataset)
    bench = prepare(task, samples)
    rows = {name: bench.reference(name) for name in (ORIGINAL, GOLD, GOLD2)} | {MACHINES: machines}
    others = [retrained_graph(task, GOLD_SHIFT * (4 + each)) for each in range(OTHERS)]
    worlds = (task, *other_worlds(task))
    return {
        "forget": str(task.forget),
        "withdrawn": sorted(done.withdrawn),
        "untrained": sorted(done.after.untrained & machines.keys()),
        "rows": [
            row_to_json(standing(bench.measure(name, weights), machines)) for name, weights in rows.items()
        ],
        "auc": {name: list(aucs(task, setup, samples, weights, machines)) for name, weights in rows.items()},
        "others": [list(aucs(task, setup, samples, weights, machines)) for weights in others],
        "exact": all(
            equal(weights, machines[name])
            for world in worlds
            for name, weights in repeated(world, done.after, seeds).items()
        ),
    }


def standing(row: Row, names: Iterable[str]) -> Row:
    """The row's figures of these models."""
    wanted = set(names)
    return replace(row, models=tuple(each for each in row.models if each.model in wanted))


def aucs(
    task: UnlearningTask,
    setup: TrainingSetup,
    samples: AuditSamples,
    weights: Mapping[str, Weights],
    names: Iterable[str],
) -> Iterator[float]:
    """The AUC, by model."""
    for name in names:
        if task.classes:
            found = logit_auc(task.architecture, weights[name], setup.dataset.test, task.classes)
            assert found is not None
            yield found
        else:
            module = task.architecture.module(weights[name], samples.forget_test.x.device)
            seen = [
                observe(module, task.architecture.class_count, each)
                for each in (samples.forget_train, samples.forget_test)
            ]
            yield auc(*(each.truth() for each in seen))


def measured_in(folder: Path, seed: int, level: Level) -> list[dict[str, Any]]:
    """Figures of a case from the folder, measured if missing."""
    path = folder / f"{level.value}-{seed}.json"
    if not path.exists():
        print(f"{level.value}, seed {seed}", flush=True)
        found = measure(seed, level, folder / f"{level.value}-{seed}")
        path.write_text(json.dumps(found), encoding="utf-8")
    told: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return told


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 6, 7])
    parser.add_argument("--levels", type=Level, nargs="+", default=list(Level))
    parser.add_argument("--folder", type=Path, required=True, help="folder of the federations and figures")
    parser.add_argument("--output", type=Path, default=FIGURES)
    given = parser.parse_args(arguments)
    use_threads(THREADS)
    given.folder.mkdir(parents=True, exist_ok=True)
    seeds = " ".join(map(str, given.seeds))
    levels = " ".join(level.value for level in given.levels)
    result = {
        "command": f"python -m benchmarks.audited_machines --seeds {seeds} --levels {levels} --folder DIR",
        "machine": describe(THREADS),
        "levels": {
            level.value: {str(seed): measured_in(given.folder, seed, level) for seed in given.seeds}
            for level in given.levels
        },
    }
    keep(given.output, "audited_machines", result, table(result))
    print(table(result))


if __name__ == "__main__":
    main()
