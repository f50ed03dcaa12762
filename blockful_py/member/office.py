# SPDX-License-Identifier: Apache-2.0
"""A member's office: answers the questions of leaders, other members, participants and readers."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.sortition import Phase
from blockful_py.committee import wire
from blockful_py.committee.certificate_signer import PENDING, CertificateSigner, PendingNonces
from blockful_py.committee.member import Member
from blockful_py.committee.service.block_custody import BlockCustody
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.committee.service.generation import Charter
from blockful_py.committee.service.key_custody import KeyCustody, encryption_key, encryption_secret
from blockful_py.committee.service.limits import Extent
from blockful_py.committee.service.messages import (
    Empty,
    HandOnRequest,
    HeadAnswer,
    HeadRequest,
    Identity,
    ReadRequest,
    WrappedKey,
)
from blockful_py.committee.service.office import Seat
from blockful_py.committee.service.shared_mail import Mailbox
from blockful_py.committee.shared_rounds import LeftOut
from blockful_py.committee.succession import MirrorVoter
from blockful_py.committee.words import WORDS, HeardWords
from blockful_py.crypto import curve, eip712, multisignature
from blockful_py.crypto.randomness import gathered_rng
from blockful_py.crypto.roster import Roster
from blockful_py.errors import NodeError, RefusedError, RunError
from blockful_py.keys.appointed_keyring import VaultKeyring
from blockful_py.ledger.replay import SignedWord
from blockful_py.member.endpoints import Urls, signer_of
from blockful_py.member.view import MemberView
from blockful_py.pipeline.coordination.remote_committee import (
    members_at,
)
from blockful_py.pipeline.coordination.sharers import sharers
from blockful_py.pipeline.review.commitments import Commitments
from blockful_py.pipeline.review.handing_on import ShareHander
from blockful_py.pipeline.review.replays import Replays
from blockful_py.pipeline.review.share_runs import ShareRuns
from blockful_py.pipeline.review.shared_heads import HeadOpener
from blockful_py.settings import quorum_of
from blockful_py.types import Address

Stamps = tuple[tuple[str, int, int], ...]
"""Name, inode and time of change (ns) of each file."""


class MemberOffice:
    """Answers for one member; opens the run on first use, since a member may start earlier."""

    def __init__(
        self,
        directory: Path,
        folder: MemberFolder,
        urls: Urls | None,
        leaders: frozenset[bytes],
        block_custody: BlockCustody | None = None,
    ) -> None:
        """Serves the member of `folder`; `block_custody` is None without a store of its own."""
        self._directory = directory
        self._folder = folder
        self._urls = urls
        self._leaders = leaders
        self._block_custody = block_custody
        self._opening = threading.Lock()
        self._seating = threading.Lock()
        self._opened: MemberView | None = None
        self._made: Stamps = ()
        self._rosters: dict[int, Roster] = {}
        self._pending = PendingNonces(PENDING)
        self._seat: tuple[int, Seat] | None = None
        self._mailbox, self._left_out = Mailbox(), LeftOut()
        self._handing = threading.Lock()

    def domain(self) -> eip712.Domain:
        return self.view().messages

    def one_look(self) -> AbstractContextManager[None]:
        return self.view().nodes.one_look()

    def may_lead(self, address: Address) -> bool:
        return address in self._leaders or self.view().may_lead(address)

    def is_participant(self, address: Address) -> bool:
        view = self.view()
        return view.run.party is not None and view.contracts.participants.participant(address).since > 0

    def identity(self) -> Identity:
        folder, domain = self._folder, self.view().votes
        secret = folder.voting_secret
        return Identity(
            folder.key_ids(),
            encryption_key(secret),
            folder.keys.account,
            curve.multiply_base(secret),
            multisignature.sign(secret, eip712.digest(domain, eip712.Possession(folder.address))),
        )

    def roster(self, epoch: int) -> tuple[bytes, ...]:
        roster = self._roster(epoch)
        return roster.members if roster else ()

    def current_roster(self) -> tuple[bytes, ...]:
        return self.roster(self.view().contracts.committee.current_epoch())

    def extent(self) -> Extent:
        """Bounds from the archive, which records every model; a block adds at most one for each user."""
        view = self.view()
        settings = view.run.settings
        models = settings.federation.users + view.contracts.archive.length()
        return Extent(models, max(settings.committee.size, len(settings.committee.members)))

    def seat(self, epoch: int) -> Seat:
        view = self.view()
        current = view.contracts.committee.current_epoch()
        if epoch != current:
            raise RefusedError(f"epoch {epoch} is not the current one, which is {current}")
        view.require_standing()
        with self._seating:
            if self._seat is None or self._seat[0] != epoch:
                self._seat = (epoch, self._take_seat(epoch))
            return self._seat[1]

    def mirror_voter(self, epoch: int) -> MirrorVoter:
        contracts = self.view().contracts
        return MirrorVoter(self._voter(epoch), contracts.committee, contracts.mirror)

    def key_custody(self) -> KeyCustody:
        view, folder = self.view(), self._folder
        return KeyCustody(folder.vault, encryption_secret(folder.voting_secret), view.messages, view)

    def read_key(self, reader: Address, wanted: ReadRequest) -> WrappedKey:
        """The wrapped key of a file that a reader may read; a part's, by waves, once its check has passed."""
        view = self.view()
        wrapped = view.access.wrapped(reader, wanted, VaultKeyring(self._folder.vault))
        if wanted.request:
            view.reviewer.review_part(wanted.request, wanted.position)
        return WrappedKey(wrapped)

    def hear(self, signed: SignedWord) -> Empty:
        view = self.view()
        commitments = Commitments(view.contracts.participants, view.stores.live)
        auditor = Replays(view.contracts).speaker(view.docket, commitments, signed)
        self.words().keep(auditor, signed)
        return Empty()

    def words(self) -> HeardWords:
        return HeardWords(self._folder.path / WORDS)

    def open_heads(self, asking: wire.Message, asked: HeadRequest) -> HeadAnswer:
        self._require_shared()
        view, folder = self.view(), self._folder
        view.require_standing()
        opener = HeadOpener(
            view.sources,
            self._share_runs(view),
            sharers(view.led_by(folder), view.contracts),
            view.handed,
        )
        return opener.open(asking, asked)

    def hand_on(self, asking: wire.Message, asked: HandOnRequest) -> Empty:
        self._require_shared()
        view = self.view()
        view.require_standing()
        there = members_at(view.led_by(self._folder).reachable())
        clients = {each.client.address: each.client for each in there}
        hander = ShareHander(view.sources, self._share_runs(view), view.handed, clients)
        with self._handing:
            return hander.hand_on(asking, asked)

    @property
    def is_handing_on(self) -> bool:
        """Whether this member is handing shares on."""
        return self._handing.locked()

    def _share_runs(self, view: MemberView) -> ShareRuns:
        patience, secret = view.run.settings.committee.round_seconds, self._folder.voting_secret
        return ShareRuns(view.messages, secret, self._mailbox, self._left_out, patience)

    def carry_shares(self, carrying: wire.Message, data: bytes) -> Empty:
        self._require_shared()
        epoch = carrying.epoch
        if carrying.sender not in {*self.roster(epoch), *self.roster(epoch - 1)}:
            raise RefusedError("only members run protocols on shares")
        self._mailbox.put(carrying.sender, carrying.subject, data)
        return Empty()

    def _require_shared(self) -> None:
        if not self.view().run.settings.learning.shares_sums:
            raise RefusedError("this federation shares no sums (learning.shares_sums)")

    def block_custody(self) -> BlockCustody:
        if self._block_custody is None:
            raise RefusedError("this member reads the run's own store and accepts no blocks")
        return self._block_custody

    def admit(self, charter: Charter) -> None:
        committee = self.view().contracts.committee
        expected = (committee.chain_id, committee.address, committee.current_epoch() + 1)
        if (charter.chain_id, charter.committee, charter.epoch) != expected:
            raise RefusedError(
                f"the charter is for epoch {charter.epoch}; this committee's next epoch is {expected[2]}"
            )
        if isinstance(committee, CommitteeContract):
            _require_elected(charter, committee)
        if 3 * charter.threshold <= len(charter.members):
            raise RefusedError(
                f"a threshold of {charter.threshold} among {len(charter.members)} members would let the "
                "third of them that may be faulty use the key alone"
            )

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def view(self) -> MemberView:
        """The current run.  Raises RunError, NodeError or DeploymentError while it does not exist."""
        with self._opening:
            made = _made(self._directory)  # before reading the files, to notice changes meanwhile
            if self._opened is not None and self._made != made:
                self._opened.close()
                self._opened, self._seat, self._rosters = None, None, {}
            if self._opened is None:
                self._made = made
                account = signer_of(self._folder.keys)
                self._opened = MemberView.of(self._directory, self._urls, account, self._folder)
            return self._opened

    def view_if_any(self) -> MemberView | None:
        """As `view`, but None while the run does not exist: it may come after the member."""
        with suppress(RunError):
            return self.view()
        return None

    def _roster(self, epoch: int) -> Roster | None:
        committee = self.view().contracts.committee
        if epoch not in self._rosters and 0 < epoch <= committee.current_epoch():
            roster = committee.roster(epoch)[0]
            if not roster.members:
                raise NodeError(
                    f"the node at {committee.url} has no members of epoch {epoch}, which has begun: it lags. "
                    "Wait until it has caught up, or use another node of this chain."
                )
            self._rosters[epoch] = roster
        return self._rosters.get(epoch)

    def _voter(self, epoch: int) -> CertificateSigner:
        roster = self._roster(epoch)
        if roster is None:
            raise RefusedError(f"there is no epoch {epoch}")
        folder = self._folder
        return CertificateSigner(
            folder.voting_secret, roster, self.view().votes, folder.memory, gathered_rng, self._pending
        )

    def _take_seat(self, epoch: int) -> Seat:
        view = self.view()
        contracts, voter = view.contracts, self._voter(epoch)
        share = self._folder.share(contracts.committee.key_id(epoch))
        if share is None or share.index != voter.index:
            raise RefusedError(f"this member has no share of the group key of epoch {epoch}")
        member = Member(
            voter,
            share,
            contracts.live,
            contracts.archive,
            view.reviewer,
            gathered_rng,
            self._folder.memory,
        )
        return Seat(member, view.reviewer.downloads)


def _require_elected(charter: Charter, committee: CommitteeContract) -> None:
    """Checks that the charter is for the elected members, in this attempt.  Raises RefusedError."""
    election = committee.election()
    asked = (charter.epoch, charter.draw, charter.attempt)
    if election.phase is not Phase.CONFIRM or asked != (election.epoch, election.draw, election.attempt):
        raise RefusedError(
            f"the charter is for epoch {charter.epoch}, draw {charter.draw}, attempt {charter.attempt}; "
            f"the election is at epoch {election.epoch}, draw {election.draw}, attempt {election.attempt}, "
            f"{election.phase.name.lower()}"
        )
    if charter.members != committee.elected():
        raise RefusedError("the charter names other members than the chain elected, or in another order")
    quorum = quorum_of(len(charter.members))
    if charter.threshold > quorum or len(charter.dealers) < quorum:
        raise RefusedError(
            f"a key with threshold {charter.threshold} among {len(charter.dealers)} of "
            f"{len(charter.members)} members was requested: the threshold may be at most "
            f"the quorum of {quorum}, and at least that many members must deal"
        )


def _made(directory: Path) -> Stamps:
    """Identifies the files of the run and its contracts, to notice a replaced run."""
    files = []
    for path in (directory / "run.json", *sorted((directory / "deployments").glob("*.json"))):
        with suppress(OSError):
            status = path.stat()
            files.append((path.name, status.st_ino, status.st_mtime_ns))
    return tuple(files)
