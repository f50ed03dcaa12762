# SPDX-License-Identifier: Apache-2.0
"""The sources of a member's reviews."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from blockful_py.keys.sealing import Keyring
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.ledger.protocols import Store
from blockful_py.ledger.replay import SignedWord
from blockful_py.pipeline.review.known_checks import KnownChecks
from blockful_py.pipeline.review.opened_heads import OpenedHeads
from blockful_py.pipeline.review.own_weights import KnownWeights
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.record.catalogue import RecordReaders
from blockful_py.record.docket import Docket
from blockful_py.types import Bytes32

Heard = Callable[[Bytes32], Sequence[SignedWord]]
"""The auditors' words that a member has heard on the training with a commitment."""


@dataclass(frozen=True, slots=True, eq=False)
class ReviewSources:
    """The sources of a review: the member's view of chains and store, its data keys, and public test data.

    Attributes:
        store: the store of the live chain.
        attested: whether the member also signs results that only owners attest.
        methods: import paths of unlearning methods that the member's own settings name.
        docket: the filed requests in a federation of machines, whose owners are registered participants;
            None in a laboratory.
        words: the auditors' words that the member has heard.
        known: weights that the member has read.
        checks: spot checks that it has done.
        heads: heads of shared sums that it has opened.
    """

    contracts: Contracts
    record: RecordReaders
    store: Store
    keyring: Keyring
    setup: TrainingSetup
    attested: bool = False
    methods: frozenset[str] = frozenset()
    docket: Docket | None = None
    words: Heard = lambda commitment: ()
    known: KnownWeights = field(default_factory=KnownWeights)
    checks: KnownChecks = field(default_factory=KnownChecks)
    heads: OpenedHeads = field(default_factory=OpenedHeads)
