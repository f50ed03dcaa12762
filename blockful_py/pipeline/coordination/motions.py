# SPDX-License-Identifier: Apache-2.0
"""Open motions, including changes of the federation file: stored, reviewed by members, sent to the chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as changed
from pathlib import Path

from blockful_py.chain.contract import Contract
from blockful_py.committee import codec
from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.motions import REQUESTS, Agreements, Matter, Motion
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import ContractError, MessageError, RefusedError, SettingsError
from blockful_py.ledger.signed import Executor
from blockful_py.pipeline.run.catching_up import following
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.directory import Party
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.pipeline.run.training_data import setup_of
from blockful_py.record.federation_file import (
    MAX_BYTES,
    MAX_PUBLIC_BYTES,
    FederationFile,
    require_carried_out,
    uri_of_digest,
)
from blockful_py.record.file_change import Difference, differences, require_allowed
from blockful_py.storage.blockstore import readable_errors
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Action, Bytes32, Point, Uri
from blockful_py.whole_file import replace

NO_SALT = bytes(32)
OVERTAKEN = frozenset({"RequestNotWaiting", "ChunkOutOfOrder"})
"""Contract errors when another leader has sent the decision first."""


class OpenMotions:
    """The motions that are not carried yet, one file each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def find(self, epoch: int, matter: Matter, subject: bytes, key: Point | None = None) -> Motion:
        """The open motion, or a new one, to which the members' operators have yet to agree.

        Removes motions of past epochs, which can no longer be voted on.  Raises StorageError when a new one
        cannot be written.
        """
        wanted = Motion.about(epoch, matter, subject, NO_SALT, key)
        for path in sorted(self._directory.glob("*.json")):
            kept = read_motion(path)
            if kept.epoch < epoch:
                path.unlink(missing_ok=True)
            if changed(kept, salt=NO_SALT) == wanted:
                return kept
        motion = changed(wanted, salt=system_rng(32))
        with readable_errors(self._directory):
            self._directory.mkdir(exist_ok=True)
            replace(self.path(motion), (codec.encode(motion), b"\n"))
        return motion

    def path(self, motion: Motion) -> Path:
        return self._directory / f"{motion.proposal.hex()[:16]}.json"

    def close(self, motion: Motion) -> None:
        """Removes a carried motion."""
        self.path(motion).unlink(missing_ok=True)


class OwnMotions:
    """Motions as reviewed by members in this process, who agree to all motions of their one operator."""

    def __init__(self, contracts: Contracts) -> None:
        self._contracts = contracts

    def review(self, motion: Motion) -> bytes:
        """The leaf of the call that the motion allows."""
        return motion.leaf(self._contracts)


class AgreedMotions(OwnMotions):
    """Motions as reviewed by a member in its own process.

    It votes for a motion only if its operator has agreed, and for a federation file only if it also holds the
    file and finds it valid.  It decides on the admission of requests without its operator.
    """

    def __init__(
        self,
        contracts: Contracts,
        agreements: Agreements,
        review_file: Callable[[bytes], object],
        review_request: Callable[[int, bool], object],
    ) -> None:
        """Takes the two reviews that no operator makes.

        `review_file`: raises BlockfulError unless the file with the digest is acceptable.  `review_request`:
        raises BlockfulError unless the request is to be admitted (True) or dismissed (False).
        """
        super().__init__(contracts)
        self._agreements = agreements
        self._review_file = review_file
        self._review_request = review_request

    def review(self, motion: Motion) -> bytes:
        """The leaf of the call that the motion allows.

        Raises RefusedError unless the operator has agreed, otherwise as `review_file` or `review_request`.
        """
        if motion.matter in REQUESTS:
            self._review_request(motion.request, motion.matter is Matter.ADMIT_REQUEST)
        elif not self._agreements.holds(motion):
            raise RefusedError(f"its operator has not agreed to {motion}")
        if motion.matter is Matter.CHANGE_FILE:
            self._review_file(motion.subject)
        return super().review(motion)


def read_motion(path: Path) -> Motion:
    """Reads a motion from a file.  Raises SettingsError if the file is no motion."""
    try:
        return codec.decode(Motion, path.read_bytes().removesuffix(b"\n"))
    except OSError as error:
        raise SettingsError(f"the motion {path} cannot be read: {error.strerror}.") from None
    except MessageError as error:
        raise SettingsError(f"{path} holds no motion: {error}") from None


def _executor_of(contracts: Contracts, motion: Motion) -> Contract:
    """The contract that carries the motion out."""
    match motion.matter:
        case Matter.BAR | Matter.READMIT:
            return contracts.readers
        case Matter.NAME_AUDITOR | Matter.REMOVE_AUDITOR:
            return contracts.archive
        case _:
            return contracts.participants


def carry_out(contracts: Contracts, motion: Motion, action: Action) -> None:
    """Sends the decision.  Raises ContractError, for example NothingToChange."""
    subject = motion.subject
    match motion.matter:
        case Matter.BAR | Matter.READMIT:
            contracts.readers.set_barred(subject, motion.matter is Matter.BAR, action)
        case Matter.NAME_AUDITOR | Matter.REMOVE_AUDITOR:
            contracts.archive.set_auditor(subject, motion.key_x, motion.key_y, action)
        case Matter.ADMIT_PARTICIPANT:
            contracts.participants.admit(subject, action)
        case Matter.BAR_PARTICIPANT | Matter.READMIT_PARTICIPANT:
            contracts.participants.set_barred(subject, motion.matter is Matter.BAR_PARTICIPANT, action)
        case Matter.CHANGE_FILE:
            contracts.participants.change_file(subject, action)
        case Matter.ADMIT_REQUEST | Matter.DISMISS_REQUEST:
            admitted = motion.matter is Matter.ADMIT_REQUEST
            contracts.participants.decide(motion.request, admitted, action)


def certified(contracts: Contracts, coordinator: Coordinator, motion: Motion) -> Action:
    """The members' decision for the motion.  Raises QuorumError, with their reasons, when too few agree."""
    contract = _executor_of(contracts, motion)
    executor = Executor(contract.chain_id, contract.address)
    return coordinator.certify_motion(motion, motion.leaf(contracts), executor)


def decide_request(contracts: Contracts, coordinator: Coordinator, number: int, admitted: bool) -> None:
    """Admits or dismisses a request; does nothing if another leader has sent the decision first.

    Raises QuorumError, with the members' reasons, when too few agree.
    """
    registry, epoch = contracts.participants, contracts.committee.current_epoch()
    motion = Motion.about_request(epoch, number, registry.filed(number).content, admitted)
    action = certified(contracts, coordinator, motion)
    try:
        carry_out(contracts, motion, action)
    except ContractError as error:
        if error.name not in OVERTAKEN:
            raise
    registry.node.await_settled()


class FileChanges:
    """Compares new federation files with the party's current one."""

    def __init__(self, opened: OpenedRun) -> None:
        self._opened = opened
        self._run = opened.run
        self._store = opened.stores.live

    def review(self, digest: Bytes32) -> tuple[Difference, ...]:
        """The changes that a file makes, after it and its public files have been stored here.

        Raises RefusedError for a change that is not allowed; StorageError when a file cannot be fetched;
        SettingsError or LearningError for rules that this party cannot follow.
        """
        before, after = self._file(bytes.fromhex(self.require_party().federation)), self._file(digest)
        found = differences(before, after)
        require_allowed(found, self.open_requests())
        settings, party = following(self._run, after, digest)
        require_carried_out(settings)
        setup_of(changed(self._run, settings=settings, party=changed(party, user=None)), self._store)
        return found

    def files(self, digest: Bytes32) -> dict[Uri, int]:
        """The file and the public files that it names, each with its maximum size in bytes."""
        public = self._file(digest).public
        named = (parse_cid(public.measuring), parse_cid(public.initial))
        return {uri_of_digest(digest): MAX_BYTES, **dict.fromkeys(named, MAX_PUBLIC_BYTES)}

    def open_requests(self) -> tuple[int, ...]:
        """Numbers of the admitted requests that are not completed yet."""
        return tuple(each.number for each in self._opened.docket.admitted() if each.stage.is_open)

    def require_party(self) -> Party:
        """The party whose run it is.  Raises RefusedError for a laboratory's run."""
        if self._run.party is None:
            raise RefusedError("a laboratory has no federation file: change its settings instead.")
        return self._run.party

    def _file(self, digest: Bytes32) -> FederationFile:
        return FederationFile.parse(self._store.read(uri_of_digest(digest), MAX_BYTES))
