# SPDX-License-Identifier: Apache-2.0
"""Open motions: kept in the run until they are carried, reviewed by members, sent to the chains."""

from __future__ import annotations

from pathlib import Path

from blockful_py.committee import codec
from blockful_py.committee.motions import Matter, Motion
from blockful_py.committee.service.agreements import Agreements
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import MessageError, RefusedError, SettingsError
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.storage.blockstore import readable_errors
from blockful_py.types import Action, Point
from blockful_py.whole_file import replace


class OpenMotions:
    """The motions that were made and not carried yet, one file each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def find(self, epoch: int, matter: Matter, account: bytes, key: Point | None) -> Motion:
        """The open motion, or a new one, which the members' operators have yet to agree to.

        Removes motions of past epochs, for which nobody can vote any more.  Raises StorageError when a new
        one cannot be written.
        """
        wanted = Motion.about(epoch, matter, account, bytes(32), key)
        for path in sorted(self._directory.glob("*.json")):
            kept = read_motion(path)
            if kept.epoch < epoch:
                path.unlink(missing_ok=True)
            if Motion.about(kept.epoch, kept.matter, kept.address, bytes(32), _key(kept)) == wanted:
                return kept
        motion = Motion.about(epoch, matter, account, system_rng(32), key)
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
    """Members of this process agree to every motion of its one operator."""

    def __init__(self, contracts: Contracts) -> None:
        self._contracts = contracts

    def review(self, motion: Motion) -> bytes:
        """The leaf of the call that the motion allows."""
        return motion.leaf(self._contracts.readers, self._contracts.archive)


class AgreedMotions(OwnMotions):
    """A member votes only for the motions that its operator has agreed to."""

    def __init__(self, contracts: Contracts, agreements: Agreements) -> None:
        super().__init__(contracts)
        self._agreements = agreements

    def review(self, motion: Motion) -> bytes:
        """Raises RefusedError unless the operator has agreed."""
        if not self._agreements.holds(motion.proposal):
            raise RefusedError(f"its operator has not agreed to {motion}")
        return super().review(motion)


def read_motion(path: Path) -> Motion:
    """Raises SettingsError unless the file holds a motion."""
    try:
        return codec.decode(Motion, path.read_bytes().removesuffix(b"\n"))
    except OSError as error:
        raise SettingsError(f"the motion {path} cannot be read: {error.strerror}.") from None
    except MessageError as error:
        raise SettingsError(f"{path} holds no motion: {error}") from None


def carry_out(contracts: Contracts, motion: Motion, action: Action) -> None:
    """Sends the decision.  Raises ContractError, NothingToChange among others."""
    if motion.matter in (Matter.BAR, Matter.READMIT):
        contracts.readers.set_barred(motion.address, motion.matter is Matter.BAR, action)
    else:
        contracts.archive.set_auditor(motion.address, motion.key_x, motion.key_y, action)


def _key(motion: Motion) -> Point | None:
    return Point(motion.key_x, motion.key_y) if motion.matter is Matter.NAME_AUDITOR else None
