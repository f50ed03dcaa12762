# SPDX-License-Identifier: Apache-2.0
"""Publishes a plan on the record, as models of the adopter."""

from __future__ import annotations

from pathlib import Path

from blockful_py.adopt.plan import AdoptionPlan, PlannedModel
from blockful_py.chain.settlement import Executed
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.digests import weights_of
from blockful_py.learning.federation import TrainedModel
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.progress import Progress
from blockful_py.settings import Settings, TrainingSettings

ADOPTER = 1
"""The user that signs; its account is the run's first (federation.accounts, or from the seed)."""
SETTINGS = ("federation.scenario=adopted", "federation.users=2")


def new_record(run: Path) -> Federation:
    """A record for adopted models, on two local chains.  Raises as `Federation.create`."""
    return Federation.create(Settings.load(None, SETTINGS), run)


def publish(federation: Federation, plan: AdoptionPlan, progress: Progress) -> tuple[Executed, ...]:
    """Signs and publishes the planned models, parents first; returns the transactions.

    Raises as `Federation.adopt`.
    """
    models = {each.name: _model(each) for each in plan.models}
    adopted = {each.name: each.adopted for each in plan.models}
    return federation.adopt(models, progress, adopted) if models else ()


def _model(planned: PlannedModel) -> TrainedModel:
    found = planned.found
    digests = found.digests or {"description": bytes.fromhex(found.description)}
    return TrainedModel(
        name=planned.name,
        user=ADOPTER,
        round=1,
        references=tuple(ScoredModel(name, None) for name in planned.parents),
        weights=weights_of(digests),
        accuracy=0.0,
        training=TrainingSettings(),
    )
