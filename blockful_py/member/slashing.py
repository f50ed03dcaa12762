# SPDX-License-Identifier: Apache-2.0
"""Members that voted for two contents of one proposal lose their stake; who reports them is rewarded."""

from __future__ import annotations

from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.sortition import Equivocation
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.committee.service.outbox import Clerk, Evidence
from blockful_py.errors import ContractError
from blockful_py.member.office import MemberOffice


class PunishingDuty:
    """Submits the evidence that this member has against others.

    The first report is rewarded, the rest come too late.
    """

    name = "evidence"

    def __init__(self, office: MemberOffice, folder: MemberFolder, clerk: Clerk) -> None:
        self._office = office
        self._own = folder.address
        self._clerk = clerk

    def step(self) -> None:
        for evidence in self._clerk.evidence():
            committee = self._office.world().contracts.committee
            if isinstance(committee, CommitteeContract):
                self._report(committee, evidence)
            self._clerk.punished(evidence)

    def _report(self, committee: CommitteeContract, evidence: Evidence) -> None:
        """Evidence is good in every epoch; a member that is excluded cannot be punished again."""
        ballot = evidence.ballot
        if (ballot.chain_id, ballot.committee) != (committee.chain_id, committee.address):
            return
        member = committee.roster(ballot.epoch)[0].members[evidence.index - 1]
        if member == self._own or committee.candidate(committee.registrant_of(member)).slashed:
            return
        first, second = evidence.first, evidence.second
        pair = (first.content, first.vote, second.content, second.vote)
        try:
            committee.slash(Equivocation(ballot.epoch, ballot.proposal, evidence.index - 1, *pair))
        except ContractError as error:
            if error.name != "Excluded":  # another member was quicker
                raise
