# SPDX-License-Identifier: Apache-2.0
"""A member's small duties: alarms, evidence, data keys, its outbox, its rules and its URL."""

from __future__ import annotations

import time
from collections.abc import Callable

from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.participant_registry import Endpoint
from blockful_py.chain.sortition import Equivocation
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.committee.service.outbox import Evidence, Outbox, RefusedProposal
from blockful_py.crypto import signature
from blockful_py.errors import ContractError, SettingsError
from blockful_py.keys.erasure import ReplacedVersion
from blockful_py.member.office import MemberOffice
from blockful_py.member.view import MemberView
from blockful_py.pipeline.run.accounts import announce
from blockful_py.pipeline.run.lease import request_under_way
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Uri


class AlarmDuty:
    """Records this member's refusals on the home chain, with reasons (Algorithm 1, lines 15 to 21).

    Each alarm is sent once, from the member's own account.
    """

    name = "alarm"

    def __init__(self, office: MemberOffice, folder: MemberFolder, outbox: Outbox) -> None:
        self._office = office
        self._folder = folder
        self._outbox = outbox

    def step(self) -> None:
        for refused in self._outbox.alarms():
            if not refused.raised:
                self._raise(refused)
                self._outbox.raised(refused)

    def _raise(self, refused: RefusedProposal) -> None:
        """Sends an alarm; drops one of a past epoch, which the contract no longer accepts."""
        view, ballot = self._office.view(), refused.ballot
        committee, registry = view.contracts.committee, view.contracts.alarms
        place = (committee.chain_id, committee.address, committee.current_epoch())
        if (ballot.chain_id, ballot.committee, ballot.epoch) != place:
            return
        index = self._office.seat(ballot.epoch).member.index - 1
        if registry.alarms(ballot.epoch, ballot.proposal) >> index & 1:
            return
        digest = registry.digest(view.votes, ballot.epoch, ballot.proposal, refused.reason)
        signed = signature.sign(self._folder.voting_secret, digest)
        registry.alarm(ballot.epoch, ballot.proposal, refused.reason, index, signed)


class SlashingDuty:
    """Submits this member's evidence against others, who then lose their stake.

    The contract rewards the first report of an equivocation and refuses the others.
    """

    name = "evidence"

    def __init__(self, office: MemberOffice, folder: MemberFolder, outbox: Outbox) -> None:
        self._office = office
        self._own = folder.address
        self._outbox = outbox

    def step(self) -> None:
        for evidence in self._outbox.evidence():
            committee = self._office.view().contracts.committee
            if isinstance(committee, CommitteeContract):
                self._report(committee, evidence)
            self._outbox.punished(evidence)

    def _report(self, committee: CommitteeContract, evidence: Evidence) -> None:
        """Reports an equivocation of any epoch, unless its member is slashed already."""
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
            if error.name != "Excluded":  # another member reported it first
                raise


class ChainsDuty:
    """Compares the blocks that this member has read with the chains, and reports a reorganisation."""

    name = "chains"

    def __init__(self, office: MemberOffice) -> None:
        self._office = office

    def step(self) -> None:
        """Checks the chains once.  Raises ReorganisedError, once, with the first block that changed."""
        if (view := self._office.view_if_any()) is not None:
            view.contracts.require_unchanged()


class CustodyDuty:
    """Fetches missing keys of current versions from other members; destroys keys of versions no longer used.

    These are replaced versions, and parts of requests that are over.

    During a request, it keeps the keys of the versions being replaced, because resuming the request after a
    crash needs them.
    """

    name = "keys"

    def __init__(self, office: MemberOffice, folder: MemberFolder) -> None:
        self._office = office
        self._folder = folder
        self._settled: str | None = None

    def step(self) -> None:
        """Destroys and fetches keys; does nothing without a run.  Raises the errors of both."""
        view = self._office.view_if_any()
        if view is None or view.contracts.followers is None:
            return
        block = view.contracts.live.newest_block()
        if block == self._settled:
            return
        if self._folder.address not in self._office.roster(view.contracts.committee.current_epoch()):
            return
        current = view.versions.current()
        self._destroy(view, current)
        self._fetch(view, current)
        if request_under_way(view.run.journal) is None:
            self._settled = block

    def _destroy(self, view: MemberView, current: frozenset[Uri]) -> None:
        kept = self._folder.vault.versions() - {uri.digest for uri in current}
        if not kept or request_under_way(view.run.journal) is not None:
            return
        replaced = [each for each in view.versions.all() if kept & _digests(each)]
        view.versions.require_another_look(replaced)
        over = {uri.digest for uri in view.files_of_parts(are_open=False)}
        needed = {uri.digest for uri in view.files_of_parts(are_open=True)}
        self._folder.vault.destroy((kept & (_digests(*replaced) | over)) - needed)

    def _fetch(self, view: MemberView, current: frozenset[Uri]) -> None:
        kept = self._folder.vault.versions()
        handed_on = {parse_cid(each) for part in view.earlier_parts().values() for each in part.files}
        missing = [uri for uri in current - handed_on if uri.digest not in kept]
        view.keyring.find(missing).require(missing)


def _digests(*versions: ReplacedVersion) -> set[bytes]:
    """Names in the vault of the files that the versions sealed."""
    return {uri.digest for version in versions for uri in version.sealed}


class PruneDuty:
    """Removes notes of past epochs from the outbox, because no contract accepts them any more."""

    name = "notes"

    def __init__(self, office: MemberOffice, outbox: Outbox) -> None:
        self._office = office
        self._outbox = outbox

    def step(self) -> None:
        """Prunes the outbox.  Raises MemoryLostError when the notes cannot be changed."""
        if (view := self._office.view_if_any()) is not None:
            committee = view.contracts.committee
            self._outbox.forget_before(committee.chain_id, committee.address, committee.current_epoch())


RETRY_SECONDS = 30.0
"""Wait after a file could not be fetched or used."""


class RulesDuty:
    """Fetches the federation file after the committee has changed it, and makes the member comply with it.

    Until that succeeds, the member does not vote.
    """

    name = "rules"

    def __init__(self, office: MemberOffice, now: Callable[[], float] = time.monotonic) -> None:
        self._office = office
        self._now = now
        self._problem: tuple[SettingsError, float] | None = None

    def step(self) -> None:
        """Fetches and applies a changed file.

        Raises SettingsError while the file cannot be fetched or this member cannot comply with it.
        """
        view = self._office.view_if_any()
        if view is None:
            return
        if view.is_standing():
            self._problem = None
            return
        if self._problem is not None and self._now() < self._problem[1]:
            raise self._problem[0]
        try:
            view.catch_up()
        except SettingsError as error:
            self._problem = (error, self._now() + RETRY_SECONDS)
            raise


class AnnounceDuty:
    """Announces a member's URL once, and again after a change; its own account pays."""

    name = "announce"

    def __init__(self, office: MemberOffice, folder: MemberFolder, url: str) -> None:
        self._office = office
        self._endpoint = Endpoint(folder.address, url)
        self._account = folder.keys.account
        self._done = False

    def step(self) -> None:
        """Announces the URL if necessary.

        Raises ContractError, and NodeError when the account cannot pay.
        """
        view = self._office.view_if_any()
        if view is None or self._done or view.run.party is None:
            return
        self._done = announce(view.contracts, self._account, self._endpoint)
