# SPDX-License-Identifier: Apache-2.0
"""Measures every method of a request against the same references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import nn

from blockful_py.errors import UnlearningError
from blockful_py.learning.data import pooled
from blockful_py.learning.intervals import weights_digest
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights, require_finite
from blockful_py.unlearning.audit import relearn
from blockful_py.unlearning.audit.canonical import peaks, uneven
from blockful_py.unlearning.audit.distance import jensen_shannon, weight_distance
from blockful_py.unlearning.audit.exposure import auc
from blockful_py.unlearning.audit.membership import membership_rate
from blockful_py.unlearning.audit.network import Floats, observe
from blockful_py.unlearning.audit.references import GOLD2_SHIFT, GOLD_SHIFT, resampled_graph, retrained_graph
from blockful_py.unlearning.audit.samples import AuditSamples
from blockful_py.unlearning.cost import Cost, Meter
from blockful_py.unlearning.head import neutralised
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.draw import Draw, commitment
from blockful_py.verdicts.figures import ModelFigures, Row
from blockful_py.verdicts.references import GOLD, GOLD2, HEAD_MASK, ORIGINAL, RESAMPLED, rows_for


@dataclass(frozen=True, eq=False)
class Bench:
    """A request with its samples and gold models; built by `prepare`.

    Attributes:
        gold: state dicts of the affected models, retrained without the forgotten samples.
        gold_cost: cost of this retraining, in sample passes.
        uneven: weights whose scales an owner can choose freely (`canonical.uneven`).
        draw: origin of the task's seed, if it was drawn after the weights to audit were committed to.
    """

    task: UnlearningTask
    samples: AuditSamples
    gold: Mapping[str, Weights]
    gold_cost: Cost
    uneven: tuple[str, ...]
    _gold_says: Mapping[str, Floats]
    _lessons: Mapping[str, relearn.Lesson]
    _depth: Mapping[str, int]
    draw: Draw | None = None

    def references(self) -> tuple[Row, ...]:
        """Rows `original`, `gold`, `gold2`; `resampled` of models of sums; `head_mask` for whole classes."""
        names = rows_for(bool(self.samples.classes), self.task.architecture.is_sums)
        return tuple(self.measure(name, self.reference(name)) for name in names)

    def reference(self, name: str) -> Mapping[str, Weights]:
        """State dicts of a reference row's models, by name; every call for gold2 trains them.

        Raises UnlearningError: there is no such row, or no head to mask at this level.
        """
        original = self.task.weights(self.task.affected())
        if name == ORIGINAL:
            return original
        if name == GOLD:
            return self.gold
        if name == GOLD2:
            return retrained_graph(self.task, GOLD2_SHIFT)
        if name == RESAMPLED:
            return resampled_graph(self.task)
        if name == HEAD_MASK and self.samples.classes:
            architecture, classes = self.task.architecture, self.samples.classes
            return {model: neutralised(architecture, weights, classes) for model, weights in original.items()}
        raise UnlearningError(f"an audit of {self.task.forget} has no reference row {name!r}.")

    def measure(self, method: str, weights: Mapping[str, Weights]) -> Row:
        """Figures of every affected model; models without new weights are measured as published.

        Raises LearningError: weights of another architecture, or not finite.
        """
        affected, complete = self.task.affected(), completed(self.task, weights)
        for name in affected:
            require_finite(complete[name], f"model {name!r} of {method}")
        samples = self.samples
        device = samples.forget_test.x.device
        architecture = self.task.architecture
        learnt = relearn.relearn_steps(architecture, complete, self._lessons, samples.classes, device)
        return Row(method, tuple(self._figures(name, complete[name], learnt.get(name)) for name in affected))

    def _figures(self, name: str, weights: Weights, learnt: float | None) -> ModelFigures:
        samples, architecture = self.samples, self.task.architecture
        classes = architecture.class_count
        module = architecture.module(weights, samples.forget_test.x.device)
        members = observe(module, classes, samples.members[name])
        strangers = observe(module, classes, samples.retain_test)
        trained = observe(module, classes, samples.forget_train)
        held_out = observe(module, classes, samples.forget_test)
        more = samples.never_seen
        never_seen = held_out if more is None else observe(module, classes, more)
        return ModelFigures(
            model=name,
            depth=self._depth[name],
            start=name in self.task.starts,
            holder=len(self.task.forgotten(name)) > 0,
            weights=weights_digest(weights),
            ad_f_train=trained.accuracy(),
            ad_f_test=held_out.accuracy(),
            ad_r_train=members.accuracy(),
            ad_r_test=strangers.accuracy(),
            membership=membership_rate(members.log_probs, strangers.log_probs, trained.log_probs),
            auc=auc(trained.truth(), never_seen.truth()),
            relearn=learnt,
            divergence=jensen_shannon(held_out.log_probs, self._gold_says[name]),
            distance=weight_distance(weights, self.gold[name]),
        )


def completed(task: UnlearningTask, weights: Mapping[str, Weights]) -> dict[str, Weights]:
    """State dicts of all affected models: the new ones, and the published ones of the others."""
    return {name: weights.get(name, task.models[name].weights) for name in task.affected()}


def drawn(task: UnlearningTask, methods: Mapping[str, Mapping[str, Weights]], beacon: bytes = b"") -> Draw:
    """The draw for the audit of these methods' weights, by name as in the audit.

    Args:
        methods: by method, the new state dicts by model.
        beacon: bytes that nobody knew before the weights were committed to, such as
            `Federation.audit_beacon`.
    """
    committed = {
        method: commitment((name, weights_digest(each)) for name, each in completed(task, weights).items())
        for method, weights in methods.items()
    }
    return Draw(tuple(sorted(committed.items())), beacon.hex())


def prepare(task: UnlearningTask, samples: AuditSamples, draw: Draw | None = None) -> Bench:
    """Trains gold, and prepares the samples and lessons that all methods share.

    Args:
        draw: replaces the task's seed, of which gold, gold2 and lessons follow, by one drawn after the
            weights to audit were committed to; only these are audited then.  Merged models keep the
            federation's seed, which their parts follow from.

    Raises UnlearningError: a model or a user of the graph is missing, or a model has no member samples.
    """
    missing = sorted(set(task.graph.names) - task.models.keys())
    missing += [name for name in task.affected() if not len(samples.members.get(name, ()))]
    if missing:
        raise UnlearningError(
            f"the audit retrains the graph, and needs every model and its owner's data: {', '.join(missing)} "
            "is missing."
        )
    meter = Meter()
    if draw is not None and not task.architecture.is_merged:
        task = replace(task, seed=draw.seed)
    gold = retrained_graph(task, GOLD_SHIFT, meter)
    return replace(beside(task, samples, gold, meter.cost()), draw=draw)


def beside(task: UnlearningTask, samples: AuditSamples, gold: Mapping[str, Weights], cost: Cost) -> Bench:
    """A bench with existing gold models: state dicts of all affected models, and their retraining's cost."""
    device = samples.forget_test.x.device
    says: dict[str, Floats] = {}
    lessons: dict[str, relearn.Lesson] = {}
    for name in task.affected():
        module = task.architecture.module(gold[name], device)
        says[name] = observe(module, task.architecture.class_count, samples.forget_test).log_probs
        lesson = _lesson(task, samples, name, module, gold[name])
        if lesson is not None:
            lessons[name] = lesson
    depth = {name: depths.longest for name, depths in task.graph.depth(task.starts).items()}
    first = gold[task.affected()[0]]
    return Bench(
        task, samples, gold, cost, uneven(task.architecture, first, samples.forget_test), says, lessons, depth
    )


def _lesson(
    task: UnlearningTask, samples: AuditSamples, name: str, gold: nn.Module, weights: Weights
) -> relearn.Lesson | None:
    """The lesson of a model, with the same batches for every method.

    For a class, the measure of learning is the share of its held-out samples classified correctly.  For a
    client's data or single samples it is the fall of their loss from gold's to the published model's.  None
    unless gold's loss is the higher one, and for models of sums, which learn by no steps.  Every model gets
    the scales of gold, whose weights these are.
    """
    if task.architecture.is_sums:
        return None
    stream = generator(task.seed, "relearn", name)
    batches = relearn.lesson_batches(samples.forget_train, samples.retain_train, relearn.STEPS, stream)
    scales = peaks(task.architecture, weights, pooled(batches))
    if samples.classes:
        asked = samples.forget_test
        return relearn.Lesson(batches, asked, relearn.wrong_share(asked), scales)
    published = task.architecture.module(task.models[name].weights, samples.forget_test.x.device)
    low = relearn.mean_loss(published, samples.forget_train)
    high = relearn.mean_loss(gold, samples.forget_train)
    if high <= low:
        return None
    left = relearn.loss_share(samples.forget_train, low, high)
    return relearn.Lesson(batches, samples.forget_train, left, scales)
