# SPDX-License-Identifier: Apache-2.0
"""Ten requests, one after the other, on one federation: what its models know after each, and after the tenth.

    python -m benchmarks.requests_in_turn [--data digits] [--seeds 5 6 7 8 9] --rows FOLDER --output FILE

The federations of the audit in which all hold everything.  Four classes, three clients and a quarter of the
samples of three other users are forgotten, in an order that the seed draws.  A class starts at the first
models of all users, so that it reaches every model; a client, and samples of one, at all models of theirs.
Classes take an exact method, clients and samples `clean_increments`; each request works on the models that
those before have left.  Clients and owners of samples are drawn from users whose first model has references:
the root of a client that left would be an untrained model.

A request is audited at once, against gold without it and those before, and after the tenth, against gold
without all ten: on the models that it reached, and elsewhere.  The original is the federation before the
first request.  A seed that has a file in FOLDER is not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from blockful_py.experiments.machine import THREADS, describe
from blockful_py.experiments.protocol import SAMPLES, Cell, Layout, lay_out, recipe_of
from blockful_py.experiments.results import Result
from blockful_py.experiments.summary import summarise
from blockful_py.experiments.tabulate import document, machine_line
from blockful_py.forget import Forget, Level
from blockful_py.learning.data import Dataset
from blockful_py.learning.device import use_threads
from blockful_py.learning.federation import TrainedModel, train_federation
from blockful_py.learning.plateau import Plateau
from blockful_py.learning.weights import Weights, equal
from blockful_py.unlearning.audit.bench import Bench, beside, prepare
from blockful_py.unlearning.audit.exactness import same_bits, with_others
from blockful_py.unlearning.audit.references import GOLD2_SHIFT, GOLD_SHIFT, retrained_graph
from blockful_py.unlearning.audit.samples import audit_samples
from blockful_py.unlearning.cost import Meter
from blockful_py.unlearning.method import Outcome
from blockful_py.unlearning.proxy import available_proxy
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.outcome import row_from_json, row_to_json
from blockful_py.verdicts.references import GOLD, GOLD2, ORIGINAL

KINDS = (Level.CLASS,) * 4 + (Level.CLIENT,) * 3 + (Level.SAMPLE,) * 3
PROXY_SAMPLES = 10
"""Of each retained class, as in a run."""
UNLEARNED = "unlearned"
OTHERS = "clean_increments"
"""Method of clients and samples: of those that take a tenth of gold's passes, the closest to it."""
EXACT = frozenset({"clean_line", "retrain_ahead"})
"""Methods that make all models anew where a class is forgotten by all."""
ROWS = (ORIGINAL, GOLD, GOLD2, UNLEARNED)
AT_ONCE, LAST, ELSEWHERE = "at once", "after the tenth", "after the tenth, elsewhere"


@dataclass(frozen=True)
class Asked:
    """A request, and the method that it takes."""

    forget: Forget
    starts: tuple[str, ...]
    method: str


@dataclass(frozen=True, eq=False)
class Done:
    """A request that was carried out: its task, what came of it, and all models after it."""

    task: UnlearningTask
    outcome: Outcome
    models: Mapping[str, TrainedModel]


@dataclass(frozen=True, eq=False)
class Turn:
    """A federation as published, and what it is asked, one after the other.

    Attributes:
        task: of all its models; each request has its own starts and forget set.
    """

    data: Dataset
    recipe: Plateau
    task: UnlearningTask
    requests: tuple[Asked, ...]

    def carried_out(self) -> Iterator[Done]:
        models = dict(self.task.models)
        earlier: dict[str, tuple[Forget, ...]] = {}
        for asked in self.requests:
            task = replace(
                self.task,
                models=dict(models),
                starts=asked.starts,
                forget=asked.forget,
                earlier=dict(earlier),
                proxy=available_proxy(self.data.proxy, asked.forget, PROXY_SAMPLES),
            )
            outcome = create_method(asked.method).unlearn(task)
            for name, weights in outcome.weights.items():
                models[name] = replace(models[name], weights=weights)
                earlier[name] = (*earlier.get(name, ()), asked.forget)
            yield Done(task, outcome, dict(models))

    def asked_of_all(self, forget: Forget, others: Iterable[Forget]) -> UnlearningTask:
        """Every published model is asked to forget, and must not know the others either."""
        names = self.task.graph.names
        known = tuple(each for each in others if each != forget)
        return replace(self.task, starts=tuple(names), forget=forget, earlier=dict.fromkeys(names, known))


def prepared(cell: Cell, class_method: str) -> Turn:
    """Trains a federation, and draws its requests."""
    laid = lay_out(cell)
    recipe = recipe_of(laid.settings, laid.data)
    laid = laid.lasting(recipe.epochs)
    models = [model for wave in train_federation(laid.settings, laid.users) for model in wave]
    requests = drawn(laid, models, class_method)
    first = requests[0]
    task = UnlearningTask.of(laid.settings, models, laid.users, first.starts, first.forget)
    return Turn(laid.data, recipe, task, requests)


def drawn(laid: Layout, models: Sequence[TrainedModel], class_method: str) -> tuple[Asked, ...]:
    """Classes, clients, samples and their order, by the federation's seed."""
    stream = np.random.default_rng(laid.settings.seed)
    first = {model.user: model for model in models if model.round == 1}
    heirs = [user for user, model in first.items() if model.references]
    classes = stream.permutation(laid.data.class_count)[: KINDS.count(Level.CLASS)].tolist()
    users = stream.permutation(heirs)[: len(KINDS) - len(classes)].tolist()
    roots = tuple(model.name for model in first.values())

    def asked(level: Level) -> Asked:
        if level is Level.CLASS:
            return Asked(Forget.of_classes([classes.pop()]), roots, class_method)
        user = users.pop()
        starts = tuple(model.name for model in models if model.user == user)
        if level is Level.CLIENT:
            return Asked(Forget.of_clients([user]), starts, OTHERS)
        held = len(laid.users[user - 1].train)
        rows = stream.permutation(held)[: round(SAMPLES * held)]
        return Asked(Forget.of_samples((user, int(row)) for row in rows), starts, OTHERS)

    return tuple(asked(KINDS[place]) for place in stream.permutation(len(KINDS)))


def measure(turn: Turn) -> dict[str, Any]:
    """Carries the requests out, and audits each at once and after the last."""
    done: list[Done] = []
    requests: list[dict[str, Any]] = []
    began = perf_counter()
    for asked, each in zip(turn.requests, turn.carried_out(), strict=True):
        seconds = perf_counter() - began
        task = replace(each.task, models=turn.task.models)
        bench = prepare(task, audit_samples(task, turn.data))
        requests.append(
            {
                "forget": str(asked.forget),
                "level": asked.forget.level,
                "method": asked.method,
                "reached": list(task.affected()),
                "seconds": seconds,
                "passes": each.outcome.cost.passes,
                AT_ONCE: rows(bench, each.outcome.weights, bench.reference(GOLD2)),
                "exact at once": exact_at_once(asked, each),
            }
        )
        done.append(each)
        print(f"  {asked.forget.level} by {asked.method}: {seconds:.1f} s", flush=True)
        began = perf_counter()
    forgets = [asked.forget for asked in turn.requests]
    every = turn.asked_of_all(forgets[0], forgets)
    meter = Meter()
    gold, gold2 = retrained_graph(every, GOLD_SHIFT, meter), retrained_graph(every, GOLD2_SHIFT)
    after = {name: model.weights for name, model in done[-1].models.items()}
    for asked, request in zip(turn.requests, requests, strict=True):
        task = turn.asked_of_all(asked.forget, forgets)
        request[LAST] = rows(beside(task, audit_samples(task, turn.data), gold, meter.cost()), after, gold2)
    lines = [number for number, asked in enumerate(turn.requests) if asked.method in EXACT]
    kept = exact_after_all(turn, lines[-1], after)
    for number, request in enumerate(requests):
        request["anew before"], request["anew later"] = number > lines[0], number < lines[-1]
        request["exact after the tenth"] = kept if number <= lines[-1] else False
    return {
        "recipe": asdict(turn.recipe),
        "gold passes": meter.cost().passes,
        "requests": requests,
        "machine": describe(THREADS),
    }


def rows(bench: Bench, weights: Mapping[str, Weights], gold2: Mapping[str, Weights]) -> list[dict[str, Any]]:
    models = {ORIGINAL: bench.reference(ORIGINAL), GOLD: bench.gold, GOLD2: gold2, UNLEARNED: weights}
    return [row_to_json(bench.measure(name, models[name])) for name in ROWS]


def exact_at_once(asked: Asked, done: Done) -> bool:
    """Whether a request's new weights depend on nothing that it, or one before it, forgot."""
    method = create_method(asked.method)
    return same_bits(done.outcome.weights, lambda: method.unlearn(with_others(done.task)).weights)


def exact_after_all(turn: Turn, last: int, after: Mapping[str, Weights]) -> bool:
    """Whether, after all requests, no weight depends on what those up to the number `last` forgot."""
    forgets = [asked.forget for asked in turn.requests[: last + 1]]
    other = with_others(turn.asked_of_all(forgets[0], forgets))
    changed = replace(turn, task=replace(turn.task, models=other.models, users=other.users))
    models = [each.models for each in changed.carried_out()][-1]
    return all(equal(after[name], model.weights) for name, model in models.items())


@dataclass(frozen=True)
class Group:
    """Requests whose models are judged together.

    Attributes:
        anew: whether an exact method is to have made all models anew before the request, or later; None:
            either way.
    """

    when: str
    level: Level
    anew: tuple[str, bool] | None = None

    def holds(self, request: Mapping[str, Any]) -> bool:
        return request["level"] == self.level and (self.anew is None or request[self.anew[0]] == self.anew[1])


GROUPS = (
    *(Group(when, Level.CLASS) for when in (AT_ONCE, LAST)),
    *(
        Group(when, level, (line, there))
        for when, line in ((AT_ONCE, "anew before"), (LAST, "anew later"), (ELSEWHERE, "anew later"))
        for level in (Level.CLIENT, Level.SAMPLE)
        for there in (False, True)
    ),
)


def report(measured: Mapping[Cell, Mapping[str, Any]], command: str) -> dict[str, Any]:
    """Figures and verdicts of each group, over all seeds that have some of it."""
    about = next(iter(measured.values()))
    return {
        "command": command,
        "machine": about["machine"],
        "data": next(iter(measured)).data,
        "epochs": {str(cell.seed): found["recipe"]["epochs"] for cell, found in measured.items()},
        "order": {
            str(cell.seed): [_told(request) for request in found["requests"]]
            for cell, found in measured.items()
        },
        "gold passes": {str(cell.seed): found["gold passes"] for cell, found in measured.items()},
        "groups": [found for group in GROUPS if (found := _judged(group, measured))],
    }


def _told(request: Mapping[str, Any]) -> dict[str, Any]:
    told = {key: request[key] for key in ("level", "method", "exact after the tenth", "passes")}
    return {**told, "models": len(request["reached"]), "seconds": round(request["seconds"], 2)}


def _judged(group: Group, measured: Mapping[Cell, Mapping[str, Any]]) -> dict[str, Any] | None:
    results: list[Result] = []
    aucs: dict[str, list[float]] = {name: [] for name in ROWS}
    count = 0
    for cell, found in measured.items():
        requests = [request for request in found["requests"] if group.holds(request)]
        parts = [_rows(group.when, request) for request in requests]
        if not any(part[0].models for part in parts):
            continue
        count += len(parts)
        which = "exact at once" if group.when == AT_ONCE else "exact after the tenth"
        exact = all(request[which] for request in requests)
        for place, name in enumerate(ROWS):
            row = Row(name, tuple(model for part in parts for model in part[place].models))
            aucs[name] += [model.auc for model in row.models]
            results.append(
                Result(cell, {}, row, None, 0.0, "", "", {}, {}, 0.0, 0, exact and name == UNLEARNED)
            )
    if not results:
        return None
    told = document({("", "", group.level): summarise(results)}, {})["scenarios"][0]["methods"]
    kept = ("models", "seeds", "verdict", "forgotten", "intact", "exact", "criteria", "figures")
    by_name = {
        method["method"]: {key: method[key] for key in kept}
        | {"auc": round(fmean(aucs[method["method"]]), 6)}
        for method in told
    }
    return {**asdict(group), "requests": count, **by_name}


def _rows(when: str, request: Mapping[str, Any]) -> list[Row]:
    """Of the models that a request reached, or of the others."""
    reached = set(request["reached"])
    found = [row_from_json(row) for row in request[AT_ONCE if when == AT_ONCE else LAST]]
    return [
        Row(row.method, tuple(one for one in row.models if (one.model in reached) != (when == ELSEWHERE)))
        for row in found
    ]


HEAD = (
    "audited", "requests; models", "AD_f: original, gold", "AD_f", "AD_r - gold (p5)", "membership", "AUC",
    "AUC: original, gold", "relearn closed", "probe", "JS", "verdict",
)  # fmt: skip

LEGEND = (
    "Percent. AD_f: mean of train and test. AD_r - gold: on test data of what is still to be known, in "
    "brackets the value that 5 % of the models fall below. Membership, AUC (mean first), probe and JS: gap "
    "to gold in times the floor, with the 95 % bootstrap interval over seeds and models. At once: against "
    "gold without the request and those before; after the tenth: without all ten. Elsewhere: models that the "
    "request did not reach. Anew: a class was forgotten, which makes all models anew. Exact: "
    "the bits do not depend on what was forgotten. Passes: of gold without all ten."
)


def markdown(result: Mapping[str, Any]) -> str:
    """The orders, then a line for each group."""
    lines = [f"# Requests one after the other: {result['data']}", "", f"`{result['command']}`", ""]
    lines += [machine_line(result["machine"]), "", LEGEND, ""]
    lines += [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    lines += [_line(group) for group in result["groups"]]
    lines += ["", "## Order", "", "| seed | epochs | requests: models reached; passes, % of gold's |"]
    lines += ["|---|---|---|"]
    for seed, order in result["order"].items():
        asked = ", ".join(
            f"{each['level']} {each['models']}; {100 * each['passes'] / result['gold passes'][seed]:.0f}"
            for each in order
        )
        lines.append(f"| {seed} | {result['epochs'][seed]} | {asked} |")
    return "\n".join([*lines, ""])


def _line(group: Mapping[str, Any]) -> str:
    judged = group[UNLEARNED]
    figures, criteria = judged["figures"], {one["name"]: one for one in judged["criteria"]}
    line = "" if group["anew"] is None else f", {'' if group['anew'][1] else 'none '}{group['anew'][0]}"
    damage, closed = figures["damage"], criteria.get("relearn closed")
    cells = [
        f"{group['level']}, {group['when']}{line}",
        f"{group['requests']}; {judged['models']}",
        ", ".join(f"{_ad_f(group[name]):.1f}" for name in (ORIGINAL, GOLD)),
        f"{_ad_f(judged):.1f}",
        f"{0 - 100 * damage['mean']['value']:+.1f} ({0 - 100 * damage['tail']['value']:+.1f})",
        _times(figures.get("membership")),
        f"{100 * judged['auc']:.1f}; {_times(figures.get('auc'))}",
        ", ".join(f"{100 * group[name]['auc']:.1f}" for name in (ORIGINAL, GOLD)),
        "-" if closed is None else "{:.0f} ({:.0f} to {:.0f})".format(
            *(100 * closed[key] for key in ("value", "low", "high"))
        ),
        _times(figures.get("probe")),
        _times(figures.get("divergence")),
        judged["verdict"],
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _ad_f(method: Mapping[str, Any]) -> float:
    each = (method["figures"][name]["mean"]["value"] for name in ("ad_f_train", "ad_f_test"))
    return float(50 * sum(each))


def _times(figure: Mapping[str, Any] | None) -> str:
    if figure is None or figure["times_floor"] is None:
        return "-"
    value, low, high = (float(figure["times_floor"][key]) for key in ("value", "low", "high"))
    return f"{value:.1f} ({low:.1f} to {high:.1f})"


def write(result: Mapping[str, Any], path: Path) -> None:
    """JSON at `path`, and the tables beside it."""
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(markdown(result), encoding="utf-8")


def measured_in(folder: Path, cell: Cell, class_method: str) -> Mapping[str, Any]:
    """What the folder has of a seed, measured where it has nothing."""
    path = folder / f"{cell.data}-{cell.seed}.json"
    if not path.exists():
        print(f"seed {cell.seed}", flush=True)
        found = measure(prepared(cell, class_method))
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found), encoding="utf-8")
    told: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", default="digits")
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 6, 7, 8, 9])
    parser.add_argument(
        "--classes", default="retrain_ahead", help="method of requests for classes (default %(default)s)"
    )
    parser.add_argument("--rows", type=Path, help="folder of the figures of single models, a file a seed")
    parser.add_argument("--output", type=Path, required=True, help="JSON; its tables come beside it")
    parser.add_argument("--render-only", action="store_true", help="measure nothing: the tables of --output")
    given = parser.parse_args()
    if given.render_only:
        write(json.loads(given.output.read_text(encoding="utf-8")), given.output)
        return
    if given.rows is None:
        parser.error("--rows names the folder to measure in.")
    use_threads(THREADS)
    cells = [Cell(given.data, "all_hold", Level.CLASS, seed) for seed in given.seeds]
    measured = {cell: measured_in(given.rows, cell, given.classes) for cell in cells}
    seeds = " ".join(map(str, given.seeds))
    command = f"python -m benchmarks.requests_in_turn --data {given.data} --seeds {seeds}"
    command += f" --classes {given.classes}"
    result = report(measured, f"{command} --rows FOLDER --output FILE")
    write(result, given.output)
    print(markdown(result))


if __name__ == "__main__":
    main()
