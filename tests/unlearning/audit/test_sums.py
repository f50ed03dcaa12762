# SPDX-License-Identifier: Apache-2.0
"""The audit of models of sums: forgotten is what has gold's bits, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
import torch

from blockful_lab.experiments.variants import MERGED_CHEATS, SUM_CHEATS, Variant
from blockful_py.errors import UnlearningError
from blockful_py.forget import LEVELS, Forget, Level
from blockful_py.learning.data import Dataset
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.architecture import Option
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.streams import generator
from blockful_py.learning.sums import INHERITED, OWN, SHIFT, require_part, total_of
from blockful_py.learning.weights import Weights, equal, to_bytes
from blockful_py.settings import FederationSettings, TrainingSettings
from blockful_py.storage.cid import cid_string, uri_of
from blockful_py.types import Codec
from blockful_py.unlearning.audit import (
    AuditOutcome,
    Bench,
    audit,
    audit_folder,
    audit_samples,
    is_exact,
    prepare,
)
from blockful_py.unlearning.audit.distance import weight_distance
from blockful_py.unlearning.audit.references import resampled_graph
from blockful_py.unlearning.head import neutralised
from blockful_py.unlearning.method import Outcome
from blockful_py.unlearning.subtract import Subtract
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.verdict import BITS
from tests.unlearning.audit.conftest import FORGET, GRAPH

KINDS = ("analytic", "merged")
REQUESTS = {
    Level.CLASS: (Forget.of_classes([FORGET]), ("r1", "r2")),
    Level.CLIENT: (Forget.of_clients([3]), ("r3",)),
    Level.SAMPLE: (Forget.of_samples((3, row) for row in range(40)), ("r3",)),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A bench, and its reference rows."""

    bench: Bench
    references: Sequence[Row]

    def judged(self, weights: dict[str, Weights]) -> AuditOutcome:
        return audit(self.bench, "under test", weights, self.references)


def federation(
    dataset: Dataset,
    forget: Forget,
    starts: tuple[str, ...],
    options: Mapping[str, Option],
    kind: str = "analytic",
) -> UnlearningTask:
    scenario = FederationSettings("scripted", "all_hold", users=5, graph=dict(GRAPH))
    users = partition(dataset, Division(scenario, (1,), (FORGET,)), 0)
    architecture = Architecture.of(kind, dataset, options)
    settings = FederationSpec(architecture, scenario, TrainingSettings(epochs=1))
    models = [model for wave in train_federation(settings, users) for model in wave]
    return UnlearningTask.of(settings, models, users, starts, forget)


Cases = Callable[..., Case]


@pytest.fixture(scope="module")
def cases(dataset: Dataset) -> Cases:
    @cache
    def case(level: Level, kind: str = "analytic") -> Case:
        forget, starts = REQUESTS[level]
        if kind == "merged" and level is Level.CLASS:
            starts = tuple(GRAPH)  # all owners hold it
        options: dict[str, Option] = {"network": "mlp"} if kind == "merged" else {"features": 16}
        task = federation(dataset, forget, starts, options, kind)
        bench = prepare(task, audit_samples(task, dataset))
        return Case(bench, bench.references())

    return case


def subtract(kind: str) -> Subtract:
    return Subtract(merged=kind == "merged")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", LEVELS)
def test_subtraction_has_forgotten_and_damaged_nothing(cases: Cases, level: Level, kind: str) -> None:
    case = cases(level, kind)
    outcome = case.judged(dict(subtract(kind).unlearn(case.bench.task).weights))
    assert str(outcome.verdict()) == "forgotten"
    assert [one.name for one in outcome.verdict().forgetting] == [BITS]
    assert all(each.distance == each.divergence == 0 for each in outcome.row.models)
    assert AuditOutcome.from_json(outcome.to_json()).canonical() == outcome.canonical()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", LEVELS)
def test_models_left_alone_have_not_forgotten(cases: Cases, level: Level, kind: str) -> None:
    case = cases(level, kind)
    assert not case.judged({}).verdict().forgotten
    names = [row.method for row in case.references]
    masked = ["head_mask"] * (level is Level.CLASS)
    assert names == ["original", "gold", "gold2", "resampled", *masked]
    assert all(each.relearn is None for row in case.references for each in row.models)


CHEATS = {"analytic": SUM_CHEATS, "merged": MERGED_CHEATS}


@pytest.mark.parametrize(
    ("kind", "level", "cheat"),
    [(kind, level, cheat) for kind in KINDS for cheat in CHEATS[kind] for level in sorted(cheat.levels)],
    ids=lambda each: getattr(each, "name", str(each)),
)
def test_a_cheat_is_found_out(cases: Cases, kind: str, level: Level, cheat: Variant) -> None:
    case = cases(level, kind)
    outcome = case.judged(dict(cheat.created().unlearn(case.bench.task).weights))
    verdict = outcome.verdict()
    assert not verdict.forgotten
    assert [one.name for one in verdict.forgetting if not one.passed] == [BITS]
    others = [each.model for each in outcome.row.models if each.distance > 0]
    assert verdict.forgetting[0].value == len(others)
    if "fingerprint" in cheat.name or cheat.name == "cheat_kept_1":
        assert len(others) == 1
    elif kind == "analytic":
        assert len(others) == len(outcome.row.models)


@pytest.mark.parametrize(
    ("name", "level"), [("shrunk", Level.CLASS), *(("hidden_32", level) for level in LEVELS)]
)
def test_a_mimic_answers_as_gold_on_every_sample(cases: Cases, name: str, level: Level) -> None:
    """So no figure of outputs finds it out."""
    case = cases(level)
    (cheat, *_) = (each for each in SUM_CHEATS if name in each.name)
    row = case.bench.measure("mimic", cheat.created().unlearn(case.bench.task).weights)
    gold = case.references[1]
    for model, other in zip(row.models, gold.models, strict=True):
        assert (model.membership, model.auc) == (other.membership, other.auc)
        assert (model.ad_f_test, model.ad_r_test) == (other.ad_f_test, other.ad_r_test)
        assert model.divergence < 1e-9


def test_a_masked_class_keeps_its_sums_and_answers_as_gold(cases: Cases) -> None:
    case = cases(Level.CLASS)
    task, masked = case.bench.task, case.references[-1]
    assert all(model.ad_f_test == 0 and model.divergence < 1e-12 for model in masked.models)
    weights = task.models["r3"].weights
    hidden = neutralised(task.architecture, weights, (FORGET,))
    assert hidden[OWN][FORGET].any() and hidden[INHERITED][:, FORGET].any()
    with pytest.raises(Exception, match="no sum over samples"):
        require_part(hidden[OWN])


@pytest.mark.parametrize("level", LEVELS)
def test_resampled_data_move_the_sums_and_not_the_request(cases: Cases, level: Level) -> None:
    task, gold = cases(level).bench.task, cases(level).bench.gold
    again = resampled_graph(task)
    assert all(equal(again[name], each) for name, each in resampled_graph(task).items())
    counts = [int(total_of(each["r5"])[:, :, -1].sum()) for each in (again, gold)]
    assert counts[0] == counts[1]
    assert not equal(again["r5"], gold["r5"])
    if level is Level.CLASS:
        assert not any(each[OWN][FORGET].any() or each[INHERITED][:, FORGET].any() for each in again.values())


@dataclass(frozen=True, slots=True)
class Doubled(Subtract):
    """Sums and shift of the same value, with other bits."""

    def unlearn(self, task: UnlearningTask) -> Outcome:
        outcome = Subtract.unlearn(self, task)
        return replace(
            outcome,
            weights={
                name: {**each, INHERITED: each[INHERITED] * 2, SHIFT: each[SHIFT] + 1}
                for name, each in outcome.weights.items()
            },
        )


def test_other_bits_without_memory_are_acquitted_by_execution_alone(cases: Cases) -> None:
    case = cases(Level.CLIENT)
    verdict = case.judged(dict(Doubled().unlearn(case.bench.task).weights)).verdict()
    assert not verdict.forgotten
    assert is_exact(case.bench.task, Doubled(), draws=1)
    assert replace(verdict, exact=True).forgotten


@pytest.mark.parametrize("kind", KINDS)
def test_a_cheat_is_not_exact(cases: Cases, kind: str) -> None:
    task = cases(Level.SAMPLE, kind).bench.task
    (other, *_) = (each.created() for each in SUM_CHEATS if "fingerprint" in each.name)
    assert is_exact(task, subtract(kind), draws=1) and not is_exact(task, other, draws=1)


def test_exactness_reads_the_weights_of_a_frozen_network_and_no_other_file(
    dataset: Dataset, tmp_path: Path
) -> None:
    network = Architecture("cnn", dataset.input_shape, 4)
    path = tmp_path / "frozen.safetensors"
    path.write_bytes(to_bytes(network.initial(generator(1, "initial"))))
    cid = cid_string(uri_of(path.read_bytes(), Codec.RAW))
    options: dict[str, Option] = {"network": "cnn", "classes": 4, "weights": str(path), "cid": cid}
    task = federation(dataset, *REQUESTS[Level.SAMPLE], options)
    assert is_exact(task, Subtract(), draws=1)
    with pytest.raises(UnlearningError, match="read code alone"):
        is_exact(task, Reading(path=str(path.with_suffix(".other"))), draws=1)


@dataclass(frozen=True, slots=True)
class Reading(Subtract):
    """Reads another file."""

    path: str = ""

    def unlearn(self, task: UnlearningTask) -> Outcome:
        Path(self.path).read_bytes()
        return Subtract.unlearn(self, task)


def test_the_distance_between_sums_is_in_units_of_the_own_part() -> None:
    own, inherited = torch.tensor([[3, 4]], dtype=torch.int32), torch.tensor([[[8, 0]], [[0, 1]]])
    left = {OWN: own, INHERITED: inherited, SHIFT: torch.tensor(1)}
    right = {OWN: own * 0, INHERITED: inherited * 0, SHIFT: torch.tensor(3)}
    assert weight_distance(left, right) == pytest.approx((3**2 + 4**2 + 4**2 + 2.0**122) ** 0.5)
    assert weight_distance(left, left) == 0


def test_a_folder_of_sums_is_refused_with_what_to_do(dataset: Dataset, tmp_path: Path) -> None:
    architecture, (part, held) = Architecture.of("analytic", dataset), (dataset.train, dataset.test)
    with pytest.raises(UnlearningError, match="SHA-256 of the unlearned files"):
        audit_folder(tmp_path, architecture, part, part, held)
