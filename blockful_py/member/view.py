# SPDX-License-Identifier: Apache-2.0
"""A member's view of chains and stores, through its own nodes, reads and checks."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from blockful_py.chain.signer import Signer
from blockful_py.committee import wire
from blockful_py.committee.motions import AGREED, Agreements, Matter
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.committee.words import WORDS, HeardWords
from blockful_py.crypto import eip712
from blockful_py.crypto.envelope import MAX_SEALED_BYTES
from blockful_py.errors import BlockfulError, RefusedError
from blockful_py.keys.appointed_keyring import NO_KEYS
from blockful_py.keys.erasure import ReplacedVersions
from blockful_py.keys.handed_shares import HANDED, HandedShares
from blockful_py.keys.sealing import Keyring, require_key
from blockful_py.member.endpoints import Urls, place_for
from blockful_py.pipeline.coordination.motions import AgreedMotions, FileChanges
from blockful_py.pipeline.coordination.remote_committee import (
    RemoteCommittee,
    remote_committee_of,
)
from blockful_py.pipeline.coordination.remote_keyring import PeerKeyring, RemoteKeyring
from blockful_py.pipeline.review.admission import RequestAdmission
from blockful_py.pipeline.review.fresh import FreshReviewer
from blockful_py.pipeline.review.share_reader import same_members
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.pipeline.run.accounts import identities_in
from blockful_py.pipeline.run.catching_up import catch_up
from blockful_py.pipeline.run.contracts import EVENTS
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.identities import address_of
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.pipeline.run.operations import Counter
from blockful_py.pipeline.run.training_data import setup_of
from blockful_py.record.model_node import MAX_NODE_BYTES, parse_node
from blockful_py.record.statement_parts import SharedPart
from blockful_py.types import Address, Certificate, Uri


class MemberView(OpenedRun):
    """A member process's view of chains and store; the member's account pays for its transactions."""

    _folder: MemberFolder | None = None

    @classmethod
    def of(
        cls, directory: Path, urls: Urls | None, account: Signer, folder: MemberFolder | None = None
    ) -> MemberView:
        """Opens the run in a directory; `folder` belongs to a reviewing member, None disables reviews.

        Raises RunError, NodeError or DeploymentError while the run does not exist.
        """
        run = RunDirectory.open(directory)
        secret, kept = (None, None) if folder is None else (folder.voting_secret, folder.path / EVENTS)
        view = cls.attach(run, place=place_for(run.place, urls), account=account, secret=secret, kept=kept)
        view._folder = folder
        return view

    @cached_property
    def messages(self) -> eip712.Domain:
        """EIP-712 domain of messages."""
        return wire.domain(self.contracts.committee.chain_id, self.contracts.committee.address)

    @cached_property
    def votes(self) -> eip712.Domain:
        """EIP-712 domain of votes."""
        return eip712.Domain(self.contracts.committee.chain_id, self.contracts.committee.address)

    @cached_property
    def reviewer(self) -> FreshReviewer:
        motions = AgreedMotions(
            self.contracts, self._agreements, self.file_changes.review, self.admission.review
        )
        return FreshReviewer(self.sources, motions)

    @cached_property
    def sources(self) -> ReviewSources:
        """The sources of this member's reviews."""
        return ReviewSources(
            self.contracts,
            self.record,
            self.stores.live,
            self.keyring,
            setup_of(self.run, self.stores.live),
            self.run.settings.committee.attested,
            self.run.allowed_code,
            docket=self.docket if self.run.party is not None else None,
            words=HeardWords(self._words).on,
        )

    @cached_property
    def admission(self) -> RequestAdmission:
        """This member's checks of undecided requests."""
        return RequestAdmission.of(self)

    @property
    def _agreements(self) -> Agreements:
        return Agreements((self._folder.path if self._folder else self.run.path) / AGREED)

    @property
    def _words(self) -> Path:
        return (self._folder.path if self._folder else self.run.path) / WORDS

    @property
    def file_changes(self) -> FileChanges:
        """Reviews changes of the federation file."""
        return FileChanges(self)

    def agreed_files(self) -> dict[Uri, int]:
        """Federation files that the operator agreed to in this epoch, and their named files, with maximum
        bytes.

        Files that are unavailable here are left out.
        """
        agreed = self._agreements.motions(self.contracts.committee.current_epoch())
        files = dict[Uri, int]()
        for motion in agreed:
            if motion.matter is Matter.CHANGE_FILE:
                with suppress(BlockfulError):
                    files |= self.file_changes.files(motion.subject)
        return files

    def catch_up(self) -> None:
        """Brings the run to the federation file that the chain names, if this member can comply with it.

        Raises the errors of the run's `catch_up`.
        """
        store = self.stores.live
        catch_up(self.run, self.contracts, store, self.nodes, lambda run: setup_of(run, store))

    def is_standing(self) -> bool:
        """Whether the chain names this member's federation file or none; always true in a laboratory."""
        party = self.run.party
        digest = None if party is None else self.contracts.participants.file_digest()
        return party is None or digest in (None, bytes.fromhex(party.federation))

    def require_standing(self) -> None:
        """Checks that the chain names this member's federation file.  Raises RefusedError."""
        if not self.is_standing():
            raise RefusedError("the federation's file has changed, and this member does not have it yet")

    @cached_property
    def keyring(self) -> Keyring:
        """The member's own vault, and its peers' vaults for missing keys."""
        folder = self._folder
        if folder is None:
            return NO_KEYS
        peers = RemoteKeyring(self.contracts, lambda: self.led_by(folder))
        return PeerKeyring(folder.vault, peers, self.stores.live)

    def release(self, decision: Certificate) -> Certificate:
        """Obtains the live chain's certificate of a decision from this member and its peers.

        Raises QuorumError when too few of them sign it.
        """
        if self._folder is None:
            raise RefusedError("only a member asks for certificates")
        return self.led_by(self._folder).coordinator(Counter()).release(decision)

    def led_by(self, folder: MemberFolder) -> RemoteCommittee:
        """The committee, led under a member's own key."""
        return remote_committee_of(self.run, self.contracts, folder.voting_secret)

    @cached_property
    def handed(self) -> HandedShares:
        """Shares of sums that others handed on to this member.  Raises RefusedError without its folder."""
        if self._folder is None:
            raise RefusedError("only a member has shares")
        return HandedShares(self._folder.path / HANDED, self._folder.vault)

    def earlier_parts(self) -> dict[str, SharedPart]:
        """Current parts of sums that were dealt to a committee of other members."""
        committee = self.contracts.committee
        if not (self.run.settings.learning.shares_sums and committee.current_epoch()):
            return {}
        nodes = {name: placed.node for name, placed in self.record.catalogue.read().models.items()}
        found = {name: node.shared for name, node in nodes.items() if node.shared is not None}
        since, epoch = min((part.epoch for part in found.values()), default=1), committee.current_epoch()
        first = same_members(committee, epoch, since)[0]
        return {name: part for name, part in found.items() if part.epoch < first}

    @cached_property
    def versions(self) -> ReplacedVersions:
        """Replaced versions, as this member reads them from chains and stores."""
        return ReplacedVersions(self.record.catalogue, self.record.archive, self.stores.archive)

    def require_decrypts(self, uri: Uri, key: bytes) -> None:
        try:
            require_key(key, self.stores.live.stream(uri, MAX_SEALED_BYTES), uri)
        except BlockfulError as error:
            raise RefusedError(f"the key does not decrypt this version: {error}") from None

    def replaced(self, uris: Collection[Uri]) -> frozenset[Uri]:
        asked = frozenset(uris)
        versions = [each for each in self.versions.all() if not asked.isdisjoint(each.sealed)]
        self.versions.require_another_look(versions)
        replaced = {uri for version in versions for uri in version.sealed}
        return (asked & replaced) - self.files_of_parts(are_open=True)

    def files_of_parts(self, are_open: bool) -> frozenset[Uri]:
        """Sealed files of the parts of requests that are open, or over, as far as the parts' nodes are here.

        Anybody can name another owner's file, so a file that an open request needs has to be kept.
        """
        if self.run.party is None:
            return frozenset()
        store, files = self.stores.live, set[Uri]()
        for status in self.docket.admitted():
            parts = (*status.parts.values(), *(() if are_open else status.unused_parts))
            here = parts if status.stage.is_open == are_open else ()
            for uri in filter(store.has, here):
                with suppress(BlockfulError):  # no node names no file
                    files.update(parse_node(store.read(uri, MAX_NODE_BYTES)).sealed)
        return frozenset(files)

    def may_lead(self, address: Address) -> bool:
        """Whether an account may lead: a laboratory's own leader, or a participant among machines.

        Among machines, the founder leads until the federation is founded.
        """
        identities = identities_in(self.run, self.nodes)
        if identities is not None:
            return address == address_of(identities.leader())
        participants = self.contracts.participants
        if participants.participant(address).since:
            return True
        return participants.file_digest() is None and address == participants.deployer()

    def require_borrower(self, address: Address) -> None:
        """Refuses participants, which get keys of current versions as readers.  Raises RefusedError."""
        committee = self.contracts.committee
        members = committee.roster(committee.current_epoch())[0].members
        if self.run.party is not None and address not in members:
            raise RefusedError("members lend keys to members alone: ask as a registered reader")
