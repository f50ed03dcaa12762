# SPDX-License-Identifier: Apache-2.0
"""Builds the report of a run."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from blockful_py.chain.contract import Contract
from blockful_py.chain.node import Node
from blockful_py.chain.settlement import ARCHIVE, LIVE, Executed, gas_of
from blockful_py.keys.erasure import Erasure
from blockful_py.learning.curves import Curve
from blockful_py.learning.metrics import Quality
from blockful_py.pipeline.jobs.unlearning import Unlearned
from blockful_py.pipeline.review.methods import named_method
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.shown import checked_in
from blockful_py.record.statement_parts import Claimed, Privacy
from blockful_py.record.verify import Verification
from blockful_py.report import schema, sections
from blockful_py.report.passes import SamplePasses
from blockful_py.report.runs.confusions import confusions
from blockful_py.settings import Settings
from blockful_py.storage.cid import cid_string
from blockful_py.types import Paradigm
from blockful_py.unlearning.audit import ModelAccuracy

PACKAGES = ("blockful", "web3", "torch", "coincurve", "numpy", "safetensors")


@dataclass(frozen=True, slots=True)
class Branch:
    """One paradigm's outcome: the unlearning, the figures after it, and the verification of the record.

    `certificate` is the erasure certificate's path relative to the report, or None.
    """

    unlearned: Unlearned
    after: Mapping[str, ModelAccuracy]
    quality: Mapping[str, Quality]
    membership: Mapping[str, float | None]
    verification: Verification
    certificate: str | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """The state before any unlearning: models, figures, transactions, verification, learning curves."""

    catalogue: Catalogue
    before: Mapping[str, ModelAccuracy]
    quality: Mapping[str, Quality]
    membership: Mapping[str, float | None]
    executed: Sequence[Executed]
    verification: Verification | None
    curves: Mapping[str, Curve]


def build_report(
    settings: Settings,
    contracts: Contracts,
    published: Published,
    branches: Mapping[Paradigm, Branch],
    watch: Stopwatch,
) -> schema.Report:
    """The report of a run with one or both paradigms; the total seconds are still missing."""
    request = next(iter(branches.values())).unlearned.request
    depth = published.catalogue.graph.depth(tuple(start.name for start in request.starts))
    return schema.Report(
        seed=settings.seed,
        scenario=settings.federation.scenario,
        situation=settings.federation.situation,
        forget=sections.ForgetSection(
            classes=request.classes,
            clients=request.clients,
            samples=request.samples,
            starts=tuple(start.name for start in request.starts),
        ),
        method=sections.ByParadigm[sections.MethodSection](
            **{paradigm.value: _method(each.unlearned) for paradigm, each in branches.items()}
        ),
        versions=versions(contracts.live.node),
        certificates={
            paradigm: branch.certificate for paradigm, branch in branches.items() if branch.certificate
        },
        excluded={
            paradigm: branch.unlearned.excluded
            for paradigm, branch in branches.items()
            if branch.unlearned.excluded
        },
        settings=settings.to_json(),
        models=tuple(
            _model(name, published, branches, {n: d.shortest for n, d in depth.items()})
            for name in published.catalogue.models
        ),
        confusions=confusions(
            (name for name in published.catalogue.models if name in depth),
            published.quality,
            {paradigm.value: branch.quality for paradigm, branch in branches.items()},
        ),
        operations=sections.ByParadigm[sections.OperationsCheck](
            **{
                paradigm.value: sections.OperationsCheck.of(
                    branch.unlearned.counted, branch.unlearned.formula
                )
                for paradigm, branch in branches.items()
            }
        ),
        gas=sections.GasSection(
            publication=_gas(published.executed, len(published.catalogue.models)),
            **{
                paradigm.value: _gas(branch.unlearned.executed, len(branch.unlearned.nodes))
                for paradigm, branch in branches.items()
            },
        ),
        depth=_depth(settings, branches),
        seconds=_seconds(branches, watch),
        erasure=sections.ByParadigm[sections.ErasureSection](
            **{paradigm.value: _erasure(branch.unlearned.erasure) for paradigm, branch in branches.items()}
        ),
        passes=sections.ByParadigm[SamplePasses](
            **{paradigm.value: passes_section(branch.unlearned) for paradigm, branch in branches.items()}
        ),
        verification=sections.VerificationSection.of_runs(
            published=_verification(published.verification),
            **{paradigm.value: _verification(branch.verification) for paradigm, branch in branches.items()},
        ),
        chains=sections.ChainsSection(
            live=_chain(contracts.live.node, [contracts.committee, contracts.live]),
            archive=_chain(contracts.archive.node, [contracts.mirror, contracts.archive]),
        ),
    )


def versions(node: Node) -> dict[str, str]:
    """Versions of Python, of packages that affect the results, and of the node."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            installed[package] = "not installed"
    return installed | {"node": str(node.rpc.call("web3_clientVersion"))}


def _model(
    name: str,
    published: Published,
    branches: Mapping[Paradigm, Branch],
    depth: Mapping[str, int],
) -> schema.ModelEntry:
    placed = published.catalogue.models[name]
    statement = placed.node.statement
    after = {paradigm.value: _outcome(name, branch) for paradigm, branch in branches.items()}
    request = next(iter(branches.values())).unlearned.request
    claims = [each for branch in branches.values() if (each := _claims(name, branch)) is not None]
    return schema.ModelEntry(
        name=name,
        user=statement.user,
        position=placed.position,
        owner=statement.owner,
        references=published.catalogue.graph.references(name),
        depth=depth.get(name),
        affected=name in depth,
        start=any(start.name == name for start in request.starts),
        below_epsilon=any(name in branch.unlearned.skipped for branch in branches.values()),
        left_out=placed.node.removed_beside(request.classes),
        cid=cid_string(placed.node.weights),
        privacy=_privacy(statement.privacy),
        learning_curve=_curve(published.curves.get(name)),
        before=sections.Accuracies(
            **_accuracies(published.before[name], published.quality[name], published.membership[name]),
            logit_auc=claims[0].logit_auc_before if claims else None,
        ),
        **after,
    )


def _privacy(spent: Privacy | None) -> sections.PrivacySection | None:
    return None if spent is None else sections.PrivacySection(epsilon=spent.epsilon, delta=spent.delta)


def _curve(curve: Curve | None) -> sections.LearningCurve | None:
    if curve is None:
        return None
    return sections.LearningCurve(loss=curve.loss, accuracy=tuple(100 * share for share in curve.accuracy))


def _outcome(name: str, branch: Branch) -> sections.ModelOutcome | None:
    node = branch.unlearned.nodes.get(name)
    if node is None or node.redaction is None:
        return None
    claims = _claims(name, branch)
    return sections.ModelOutcome(
        **_accuracies(branch.after[name], branch.quality[name], branch.membership[name]),
        logit_auc=None if claims is None else claims.logit_auc,
        version=node.redaction.version,
        cid=node.redaction.weights,
    )


def _claims(name: str, branch: Branch) -> Claimed | None:
    """The figures of a replaced model as members measured them."""
    node = branch.unlearned.nodes.get(name)
    return None if node is None or node.redaction is None else node.redaction.claims


def _method(unlearned: Unlearned) -> sections.MethodSection:
    name, settings = named_method(unlearned.request.method)
    checked = checked_in(unlearned.request, unlearned.nodes.values())
    advice = unlearned.advice
    return sections.MethodSection(
        name=name, settings=settings, checked=checked, reason=advice.reason, caveat=advice.caveat
    )


def _accuracies(measured: ModelAccuracy, quality: Quality, membership: float | None) -> dict[str, Any]:
    """Accuracies in percent; the AUC stays a share."""
    return {
        "ad_f": None if measured.test.ad_f is None else 100 * measured.test.ad_f,
        "ad_r": 100 * measured.test.ad_r,
        "ad_f_train": None if measured.train.ad_f is None else 100 * measured.train.ad_f,
        "ad_r_train": 100 * measured.train.ad_r,
        "at_chance": measured.test.is_at_chance,
        "per_class": tuple(None if share is None else 100 * share for share in quality.per_class),
        "calibration_error": 100 * quality.calibration_error,
        "membership_auc": membership,
    }


def _erasure(erasure: Erasure | None) -> sections.ErasureSection | None:
    if erasure is None:
        return None
    return sections.ErasureSection(
        versions=tuple(
            sections.ErasedVersion(
                name=each.name,
                version=each.version,
                weights=cid_string(each.weights),
                increments=tuple(map(cid_string, each.increments)),
            )
            for each in erasure.versions
        ),
        destroyed=tuple("0x" + member.hex() for member in erasure.destruction.destroyed),
        silent={"0x" + member.hex(): reason for member, reason in erasure.destruction.silent.items()},
        auditors=tuple("0x" + account.hex() for account in erasure.auditors),
        said=erasure.account(),
    )


def passes_section(unlearned: Unlearned) -> SamplePasses | None:
    cost, used = unlearned.cost, unlearned.increments
    if cost is None:
        return None
    return SamplePasses(
        request=cost.passes,
        longest_path=cost.critical_path,
        prepared=cost.prepared,
        stored=used.stored if used else (),
        made=used.made if used else (),
        unusable=dict(unlearned.unusable),
    )


def _gas(executed: Sequence[Executed], models: int) -> sections.Gas:
    return sections.Gas.spent(
        archive=gas_of(executed, ARCHIVE),
        live=gas_of(executed, LIVE),
        models=models,
        transactions=len(executed),
    )


def _depth(settings: Settings, branches: Mapping[Paradigm, Branch]) -> sections.DepthSection:
    branch = branches.get(Paradigm.PARALLEL) or branches[Paradigm.SEQUENTIAL]
    return sections.DepthSection(
        bound=branch.unlearned.depth_bound,
        observed=branch.unlearned.depth_observed,
        epsilon=settings.unlearning.epsilon,
        delta_norm=branch.unlearned.delta_norm,
    )


def _seconds(branches: Mapping[Paradigm, Branch], watch: Stopwatch) -> sections.SecondsSection:
    spent = watch.seconds
    return sections.SecondsSection(
        setup=spent.get("setup", 0.0),
        train=spent.get("train", 0.0),
        publish=spent.get("publish", 0.0),
        verify=spent.get("verify", 0.0),
        **{paradigm.value: dict(branch.unlearned.seconds) for paradigm, branch in branches.items()},
    )


def _verification(outcome: Verification | None) -> sections.VerificationRun | None:
    if outcome is None:
        return None
    return sections.VerificationRun(
        checked=outcome.checked,
        failed=tuple(
            sections.FailedCheck(subject=f.model, check=f.check, detail=f.detail) for f in outcome.failures
        ),
    )


def _chain(node: Node, contracts: Sequence[Contract]) -> sections.Chain:
    return sections.Chain(
        chain_id=node.chain_id,
        client=str(node.rpc.call("web3_clientVersion")),
        contracts={contract.NAME: "0x" + contract.address.hex() for contract in contracts},
    )
