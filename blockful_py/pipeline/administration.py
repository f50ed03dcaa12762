# SPDX-License-Identifier: Apache-2.0
"""What the appointed committee decides beside models: who is barred from reading, who audits.

Members of this process vote as their one operator says.  Members that are processes of their own have no way
yet to be told what their operators have decided, so their committees cannot do this.
"""

from __future__ import annotations

from blockful_py.committee.certificates import certified_actions
from blockful_py.crypto import eip712, merkle, signature
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import SettingsError
from blockful_py.pipeline.workbench import Workbench
from blockful_py.types import Action, Point

DST_ADMINISTRATION = tag("administration")


class Administration:
    """Decisions of the members whose keys the run has."""

    def __init__(self, bench: Workbench) -> None:
        """Raises SettingsError when the members are processes of their own."""
        if bench.run.settings.committee.roster != "appointed":
            raise SettingsError(
                "only an appointed committee of this process can bar readers or name auditors so far: make a "
                "run with committee.roster=appointed."
            )
        self._bench = bench

    def set_barred(self, account: bytes, barred: bool) -> None:
        """Bars a reader, or readmits it.  Raises ContractError NothingToChange."""
        readers = self._bench.contracts.readers
        readers.set_barred(account, barred, self._decided(readers.set_barred_leaf(account, barred)))

    def set_auditor(self, account: bytes, key: Point | None) -> None:
        """Registers an auditor or replaces its key; None removes it.

        A new one gets the keys of all versions that stand; one that is removed loses its wrapped keys.
        Raises ContractError.
        """
        archive = self._bench.contracts.archive
        x, y = (key.x, key.y) if key is not None else (0, 0)
        archive.set_auditor(account, x, y, self._decided(archive.set_auditor_leaf(account, x, y, 0, 1)))
        bench = self._bench
        bench.auditors.drop(account)
        if key is not None:
            standing = {placed.node.weights for placed in bench.catalogue.read().models.values()}
            bench.auditors.wrap({uri: bench.keepers.find(uri) for uri in standing})

    def _decided(self, leaf: bytes) -> Action:
        """A certificate of its own for one action."""
        committee = self._bench.contracts.committee
        epoch = committee.current_epoch()
        domain = eip712.Domain(committee.chain_id, committee.address)
        proposal = keccak(DST_ADMINISTRATION + leaf + system_rng(32))
        digest = eip712.decision_digest(domain, epoch, proposal, merkle.root([leaf]))
        votes = {
            share.index: signature.sign(self._bench.identities.voter(share.index), digest)
            for share in self._bench.shares
        }
        quorum = self._bench.run.settings.committee.quorum
        return certified_actions(epoch, proposal, [[leaf]], votes, quorum)[0]
