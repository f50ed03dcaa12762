# SPDX-License-Identifier: Apache-2.0
"""Reports as a run would write them, from references alone; the figures are made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from blockful_py import costs
from blockful_py.report import schema, sections
from blockful_py.types import Paradigm, Position


def paper_references() -> dict[str, tuple[str, ...]]:
    return {
        "r1": (),
        "r2": (),
        "r3": (),
        "r4": ("r1", "r2"),
        "r5": ("r1", "r3"),
        "r6": ("r4", "r5"),
        "r7": ("r2", "r3"),
        "r8": ("r6", "r4"),
        "r9": ("r7", "r1"),
        "r10": ("r4", "r2"),
        "r11": ("r8", "r9"),
        "r12": ("r10", "r4"),
        "r13": ("r11", "r8"),
        "r14": ("r10", "r12"),
    }


def organic_references(size: int) -> dict[str, tuple[str, ...]]:
    rng = np.random.default_rng(5)
    graph: dict[str, tuple[str, ...]] = {}
    for i in range(size):
        near = [name for name in list(graph)[-12:] if name not in ("r5", "r7")]
        chosen = rng.choice(len(near), size=min(2, len(near)), replace=False) if i > 3 else ()
        forced = {8: ("r5",), 10: ("r7",)}.get(i, ())
        graph[f"r{i + 1}"] = (*forced, *(near[c] for c in chosen[len(forced) :]))
    return graph


def depths(references: Mapping[str, Sequence[str]], starts: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = dict.fromkeys(starts, 0)
    for name, parents in references.items():
        reached = [found[parent] + 1 for parent in parents if parent in found]
        if name not in found and reached:
            found[name] = min(reached)
    return found


def report_of(
    references: Mapping[str, Sequence[str]],
    starts: tuple[str, ...],
    scenario: str = "paper14",
    failed: tuple[sections.FailedCheck, ...] = (),
    train_seconds: float = 11.4321,
) -> schema.Report:
    rng = np.random.default_rng(7)
    depth = depths(references, starts)
    deepest = max(depth.values())
    models = []
    for i, (name, parents) in enumerate(references.items()):
        affected = name in depth
        below = affected and name not in starts and depth[name] == deepest > 2
        ad_f, ad_r = float(rng.uniform(60, 97)), float(rng.uniform(90, 98))
        outcome: dict[str, Any] = {"parallel": None, "sequential": None}
        if affected:
            outcome["sequential"] = _outcome(rng.uniform(0, 3), ad_r - rng.uniform(-1, 2), 1, i)
            outcome["parallel"] = _outcome(ad_f * depth[name] / (deepest + 1), ad_r - rng.uniform(0, 9), 1, i)
            if below:
                outcome["parallel"] = _outcome(ad_f, ad_r, 0, i)
        models.append(
            schema.ModelEntry(
                name=name,
                user=i % 14 + 1,
                position=Position(1 + i // 4, i % 4),
                owner="0x" + f"{i + 1:040x}",
                references=tuple(parents),
                depth=depth.get(name),
                affected=affected,
                start=name in starts,
                below_epsilon=below,
                cid=_cid(i),
                learning_curve=_curve(20 if parents else 60, i),
                before=_accuracies(ad_f, ad_r),
                **outcome,
            )
        )
    return _report(tuple(models), references, starts, scenario, failed, train_seconds)


def _report(
    models: tuple[schema.ModelEntry, ...],
    references: Mapping[str, Sequence[str]],
    starts: tuple[str, ...],
    scenario: str,
    failed: tuple[sections.FailedCheck, ...],
    train_seconds: float,
) -> schema.Report:
    updated = [m.name for m in models if m.affected]
    passed = [m for m in models if m.affected and not m.below_epsilon]
    parallel = costs.expected_parallel(len(passed), len({m.position.height for m in passed}))
    sequential = costs.expected_sequential(len(updated), costs.mean_references(references, updated))
    good = sections.VerificationRun(checked=len(models))
    return schema.Report(
        seed=7,
        scenario=scenario,
        situation="few_hold",
        forget=sections.ForgetSection(classes=(3,), starts=starts),
        method=sections.ByParadigm(
            parallel=sections.MethodSection(name="gradient_ascent", settings={"alpha": 1.0, "epsilon": 0.05}),
            sequential=sections.MethodSection(name="retrain", settings={"epochs": 10}),
        ),
        versions={"blockful": "0.1.0", "python": "3.11.2", "torch": "2.13.0"},
        settings={
            "users": 14,
            "learning": {"rate": 0.05, "epochs": 10},
            "committee": {"members": 4, "threshold": 3},
        },
        models=models,
        confusions=_confusions(),
        operations=sections.ByParadigm(
            parallel=sections.OperationsCheck.of(counted=parallel, formula=parallel),
            sequential=sections.OperationsCheck.of(counted=sequential, formula=sequential),
        ),
        gas=sections.GasSection(
            publication=sections.Gas.spent(
                archive=58_000 * len(models), live=121_345 * len(models), models=len(models), transactions=8
            ),
            parallel=sections.Gas.spent(
                archive=52_000 * len(passed), live=33_456 * len(passed), models=len(passed), transactions=2
            ),
            sequential=sections.Gas.spent(
                archive=88_000 * len(updated),
                live=141_000 * len(updated),
                models=len(updated),
                transactions=2 * len(updated),
            ),
        ),
        depth=sections.DepthSection(bound=6, observed=4, epsilon=0.05, delta_norm=2.71828182845),
        seconds=sections.SecondsSection(
            setup=4.2,
            train=train_seconds,
            publish=3.3,
            parallel={
                "unlearn": 1.9,
                "store": 0.21,
                "certify": 0.4,
                "archive": 0.52,
                "live": 0.61,
                "audit": 0.3,
            },
            sequential={
                "unlearn": 8.8,
                "store": 0.3,
                "certify": 1.6,
                "archive": 2.1,
                "live": 2.8,
                "audit": 0.3,
            },
            verify=2.4,
            total=39.7,
        ),
        verification=sections.VerificationSection.of_runs(
            published=good,
            parallel=good,
            sequential=sections.VerificationRun(checked=len(models), failed=failed),
        ),
        erasure=sections.ByParadigm(parallel=_erasure(passed)),
        chains=sections.ChainsSection(
            live=sections.Chain(
                chain_id=1337, client="Ganache/v7.9.2", contracts={"LiveChain": "0x" + "ab" * 20}
            ),
            archive=sections.Chain(
                chain_id=1338, client="Ganache/v7.9.2", contracts={"ArchiveRegistry": "0x" + "cd" * 20}
            ),
        ),
    )


def _erasure(replaced: Sequence[schema.ModelEntry]) -> sections.ErasureSection:
    return sections.ErasureSection(
        versions=tuple(sections.ErasedVersion(name=m.name, version=0, weights=m.cid) for m in replaced),
        destroyed=("0x" + "11" * 20, "0x" + "22" * 20),
        silent={"0x" + "33" * 20: "does not answer"},
        said="The data keys of some versions were destroyed at 2 members.",
    )


def after_of(report: schema.Report, name: str, paradigm: Paradigm) -> sections.ModelOutcome | None:
    return next(model for model in report.models if model.name == name).after(paradigm)


def _curve(epochs: int, i: int) -> sections.LearningCurve:
    passed = np.arange(epochs) / epochs
    loss = 2.3 * np.exp(-(3 + i % 4) * passed) * (1 + 0.1 * np.sin(7 * passed + i))
    return sections.LearningCurve(
        loss=tuple(loss.tolist()), accuracy=tuple((100 * np.exp(-loss / 1.5)).tolist())
    )


def _cid(i: int) -> str:
    return "bafkreib" + "abcdefghijklmnopqrstuvwxyz234567"[i % 32] * 51


def _accuracies(ad_f: float, ad_r: float) -> sections.Accuracies:
    return sections.Accuracies(
        ad_f=ad_f,
        ad_r=ad_r,
        ad_f_train=min(ad_f + 2, 100),
        ad_r_train=min(ad_r + 2, 100),
        per_class=(*[ad_r] * 3, ad_f, *[ad_r] * 5, None),
        calibration_error=ad_f / 20,
    )


def _confusions() -> sections.Confusions:
    """Ten samples a class, all right; after either paradigm class 3 is taken for class 8."""
    before = tuple(tuple(10 * (i == j) for j in range(10)) for i in range(10))
    after = tuple(before[8] if i == 3 else before[i] for i in range(10))
    return sections.Confusions(before=before, parallel=after, sequential=after)


def _outcome(ad_f: float, ad_r: float, version: int, i: int) -> sections.ModelOutcome:
    ad_f, ad_r = float(np.clip(ad_f, 0, 100)), float(np.clip(ad_r, 0, 100))
    return sections.ModelOutcome(**_accuracies(ad_f, ad_r).model_dump(), version=version, cid=_cid(i + 9))


def without_figures(report: schema.Report) -> schema.Report:
    """Without learning curves, figures by class and confusions."""
    nothing = {"per_class": (), "calibration_error": None}
    models = tuple(
        model.model_copy(
            update={"learning_curve": None, "before": model.before.model_copy(update=nothing)},
        )
        for model in report.models
    )
    return report.model_copy(update={"models": models, "confusions": None})


def one_paradigm(report: schema.Report, alone: Paradigm) -> schema.Report:
    """The same report, as if only this paradigm had run."""
    left_out = next(paradigm for paradigm in Paradigm if paradigm is not alone)
    models = tuple(model.model_copy(update={left_out.value: None}) for model in report.models)
    parts = ("method", "operations", "gas", "passes", "erasure", "verification")
    changed = {part: getattr(report, part).model_copy(update={left_out.value: None}) for part in parts}
    changed["seconds"] = report.seconds.model_copy(update={left_out.value: {}})
    if report.confusions is not None:
        changed["confusions"] = report.confusions.model_copy(update={left_out.value: None})
    return report.model_copy(update={"models": models, **changed})


def of_client(report: schema.Report) -> schema.Report:
    """The same report, as if client 5 were to be forgotten."""

    def told(outcome: Any, auc: float) -> Any:
        return None if outcome is None else outcome.model_copy(update={"membership_auc": auc})

    models = tuple(
        model.model_copy(
            update={
                "before": told(model.before, 0.45 + 0.2 * model.affected + i / 1000),
                "parallel": told(model.parallel, 0.5 - i / 1000),
                "sequential": told(model.sequential, 0.48),
            }
        )
        for i, model in enumerate(report.models)
    )
    forget = sections.ForgetSection(classes=(), clients=(5,), starts=report.forget.starts)
    return report.model_copy(update={"models": models, "forget": forget})
