# SPDX-License-Identifier: Apache-2.0
"""The filed requests of a run, by its settings' rules."""

from __future__ import annotations

from blockful_py.committee.protocols import Store
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.record.catalogue import CatalogueReader
from blockful_py.record.docket import Docket
from blockful_py.record.request_state import Rules
from blockful_py.settings import Settings


def docket_of(settings: Settings, contracts: Contracts, catalogue: CatalogueReader, store: Store) -> Docket:
    """`store`: that of the live chain, which has the requests' files."""
    rules = Rules(settings.unlearning.blocks, settings.unlearning.unanswered == "withdraw")
    return Docket(contracts.participants, contracts.live, catalogue, store, rules)
