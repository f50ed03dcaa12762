# SPDX-License-Identifier: Apache-2.0
"""Leads an election to its end: phases, key generation, succession on the archive chain.

Each step reads the chain and takes the next missing action, so any caller can continue a rotation.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from blockful_py.chain import deployments
from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.sortition import ElectionState, Phase
from blockful_py.closable import Closable
from blockful_py.errors import ContractError, QuorumError, RunError
from blockful_py.file_lock import FileLock
from blockful_py.pipeline.coordination.remote_committee import RemoteCommittee
from blockful_py.pipeline.run.clock import skip_to, tick
from blockful_py.pipeline.run.contracts import Contracts, open_contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.types import Bytes32
from blockful_py.whole_file import write_whole

Pause = Callable[[ElectionState], None]
"""Waits a little before the next look at the election."""

Tell = Callable[[str], None]
"""Called with a description of each phase."""

NOT_YET = {"TooEarly", "TooLate", "WrongPhase"}
"""Contract errors of a step that another caller has taken, or that is too early."""


@dataclass(frozen=True, slots=True)
class Rotated:
    """An epoch in force; `excluded`: members without a share of its key, each with the reason."""

    epoch: int
    members: tuple[bytes, ...]
    threshold: int
    key_id: Bytes32
    excluded: tuple[str, ...]


class Goal(Closable):
    """The target epoch of a rotation, stored in a file so that an interrupted rotation can continue.

    One process at a time holds it; the lock beside the file ends with the process, even after a crash.
    """

    def __init__(self, path: Path) -> None:
        """Locks the goal.  Raises RunError, naming the leader, while another process leads a rotation."""

        def held(holder: str) -> RunError:
            return RunError(
                f"a rotation is being led in {path.parent} by {holder}: wait until it is done. If it ends "
                "before, rotate again to take it up."
            )

        self._path = path
        self._lock = FileLock(path.with_suffix(".lock"), held)

    def begin(self, epoch: int) -> int:
        """The stored goal, or `epoch` as a new one."""
        try:
            return int(json.loads(self._path.read_text())["epoch"])
        except FileNotFoundError:
            write_whole(self._path, json.dumps({"epoch": epoch}) + "\n")
            return epoch
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"{self._path} cannot be read ({error!r}): move it away.") from None

    def reached(self) -> None:
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        self._lock.close()


class Rotation:
    """Brings the epoch `goal` into force on the home chain."""

    def __init__(self, committee: CommitteeContract, remote: RemoteCommittee, goal: int) -> None:
        self._committee = committee
        self._remote = remote
        self._goal = goal
        self._opened = False
        self._since = committee.node.block_number()
        self._tried: tuple[int, int] | None = None
        self._excluded: tuple[str, ...] = ()

    def run(self, pause: Pause, tell: Tell) -> Rotated:
        """Takes steps until the epoch is in force; calls `tell` for each phase.

        Raises:
            ContractError: an election cannot be opened yet (TooEarly).
            QuorumError: the election was void, or too few of the elected respond.
        """
        told = None
        while self._committee.current_epoch() < self._goal:
            tick(self._committee.node)
            election = self.step()
            stage = (election.draw, election.phase, election.attempt)
            if stage != told and election.phase is not Phase.IDLE:
                tell(_described(election))
            told = stage
            if self._committee.current_epoch() < self._goal:
                pause(election)
        roster, _ = self._committee.roster(self._goal)
        key_id = self._committee.key_id(self._goal)
        return Rotated(self._goal, roster.members, roster.threshold, key_id, self._excluded)

    def step(self) -> ElectionState:
        """Takes the currently possible step; returns the election after it."""
        election = self._committee.election()
        if election.phase is Phase.IDLE:
            self._open()
        elif not self._proceeded() and election.phase is Phase.CONFIRM:
            self._confirm(election)
        return self._committee.election()

    def _open(self) -> None:
        if self._committee.current_epoch() >= self._goal:
            return
        if self._opened:
            self._opened = False
            raise QuorumError(
                f"the election was void: {self._why_void()}. Repeat when more members take part."
            )
        try:
            self._committee.open_election()
        except ContractError as error:
            if error.name != "WrongPhase":
                raise _explained(error) from None
        self._opened = True

    def _proceeded(self) -> bool:
        """Ends the phase if its time is over; returns whether it did."""
        self._opened = True
        try:
            self._committee.proceed()
        except ContractError as error:
            if error.name not in NOT_YET:
                raise
            return False
        return True

    def _confirm(self, election: ElectionState) -> None:
        """Has a key confirmed; generates one first unless a quorum holds a key of this attempt."""
        members = self._committee.elected()
        if self._remote.settle(election, members) or self._moved_on(election):
            return
        attempt = (election.draw, election.attempt)
        if self._tried == attempt:
            return
        try:
            generated = self._remote.generate_elected(election, members)
        except QuorumError:
            if self._moved_on(election):
                return
            raise
        self._tried, self._excluded = attempt, generated.excluded
        self._remote.settle(election, members)

    def _moved_on(self, election: ElectionState) -> bool:
        """Whether the phase, draw or attempt has changed since `election` was read."""
        latest = self._committee.election()
        return (latest.phase, latest.draw, latest.attempt) != (
            election.phase,
            election.draw,
            election.attempt,
        )

    def _why_void(self) -> str:
        events = self._committee.events("ElectionVoid", self._since)
        return str(events[-1].arguments["reason"]) if events else "the chain does not say why"


def rotate(
    run: RunDirectory, nodes: Nodes, contracts: Contracts, remote: RemoteCommittee, pause: Pause, tell: Tell
) -> tuple[Rotated, Contracts]:
    """Makes one rotation, or continues an interrupted one; the archive chain's contracts follow it.

    Raises as `Goal` and `Rotation.run`; QuorumError when the outgoing committee does not certify its
    successor.
    """
    committee = contracts.elected
    with Goal(run.path / "rotation.json") as goal:
        epoch = committee.current_epoch()
        unfinished = epoch > 0 and contracts.followers is None
        rotation = Rotation(committee, remote, goal.begin(epoch if unfinished else epoch + 1))
        rotated = rotation.run(pause, tell)
        if contracts.followers is None:
            contracts = found_followers(nodes, contracts, run.deployments)
        else:
            remote.follow((), b"")
            _acknowledge(remote, tell)
        goal.reached()
    return rotated, contracts


def _acknowledge(remote: RemoteCommittee, tell: Tell) -> None:
    """Frees the stake of earlier committees; leaves it to the members if too few agree now."""
    try:
        remote.acknowledge()
    except QuorumError as error:
        tell(f"the members will free the stake of the committee before themselves: {error}")


def found_followers(nodes: Nodes, contracts: Contracts, directory: Path) -> Contracts:
    """Deploys QuorumMirror, starting with the epoch in force, and ArchiveRegistry.

    The deployer need not be trusted: `open_contracts` compares the mirror's rosters with the home chain's.
    """
    committee = contracts.committee
    epoch = committee.current_epoch()
    roster, _ = committee.roster(epoch)
    made = deployments.deploy_archive(
        nodes.archive_sender, committee.chain_id, committee.address, roster, epoch
    )
    if nodes.one_chain:
        path = deployments.deployments_path(directory, nodes.live.chain_id)
        made = deployments.load(path, nodes.live).merged(made)
    made.write(directory)
    return open_contracts(nodes, directory)


def a_second(election: ElectionState) -> None:
    """Waits a second."""
    time.sleep(1.0)


def skipping(committee: CommitteeContract, members: int) -> Pause:
    """A pause that skips, on development chains, the rest of a phase in which all members have acted.

    On other chains it waits a second.  `members`: expected number of candidates.
    """

    def pause(election: ElectionState) -> None:
        acted = {
            Phase.COMMIT: election.committed >= members,
            Phase.REVEAL: election.revealed >= election.committed > 0,
            Phase.PROVE: election.proven >= election.revealed > 0,
        }
        if not (acted.get(election.phase) and skip_to(committee.node, election.deadline)):
            a_second(election)

    return pause


def _described(election: ElectionState) -> str:
    until = datetime.fromtimestamp(election.deadline, UTC).strftime("%H:%M:%S UTC")
    name = election.phase.name.lower()
    attempt = f", attempt {election.attempt}" if election.phase is Phase.CONFIRM else ""
    return f"epoch {election.epoch}, draw {election.draw}: {name}{attempt}, until {until}"


def _explained(error: ContractError) -> Exception:
    if error.name != "TooEarly":
        return error
    at = datetime.fromtimestamp(error.arguments["at"], UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return QuorumError(f"the epoch in force has not had its least length: the next election opens at {at}.")
