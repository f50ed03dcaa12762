# SPDX-License-Identifier: Apache-2.0
"""Records of adopted models, for tests that have merges computed again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blockful_py.adopt.folders import read_folder
from blockful_py.adopt.plan import plan_adoption
from blockful_py.adopt.publishing import SETTINGS, publish
from blockful_py.adopt.recomputing import Recomputation, lent
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.progress import Silent
from blockful_py.settings import Settings


@contextmanager
def adopted(models: Path, run: Path, chains: Nodes) -> Iterator[Federation]:
    """A new run with the models of a folder on its record."""
    settings = Settings.load(None, [*SETTINGS, "chain.packaging_interval=0"])
    with Federation.create(settings, run, nodes=chains) as federation:
        publish(federation, plan_adoption(read_folder(models), federation.catalogue()), Silent())
        yield federation


def publish_computed(record: Federation, done: Recomputation) -> None:
    """Publishes computed models; members read the files meanwhile."""
    with lent(record.context.stores.live, done.files):
        publish(record, done.plan, Silent())
