# SPDX-License-Identifier: Apache-2.0
"""A participant's folder.

keys.json            account and encryption secret, under a passphrase (`keys.reader_keys`)
run/                 its run directory (`pipeline.run.directory`), made when it joins
limits.toml          its owner's limits (`settings.limits`), optional
public.parquet       public rows of its own file, for the founder, if it has written them
samples.safetensors  its own file as samples of the federation
persons.box          which rows of the samples are whose (`participant.persons`), under its keys
cases.box            cases of persons who asked to be forgotten (`participant.cases`), under its keys
cases.lock           held by the process that writes cases
work.jsonl           log of its work (`participant.work_log`)
paused               exists while the participant is paused
serving.lock         held by the process that serves it
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from blockful_py.crypto.passphrase import KdfCost
from blockful_py.errors import KeystoreError, RunError
from blockful_py.file_lock import FileLock
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.participant.work_log import WorkLog

if TYPE_CHECKING:
    from blockful_py.pipeline.run.directory import Party, RunDirectory
from blockful_py.settings.limits import OwnerLimits

KEYS = "keys.json"
RUN = "run"
LIMITS = "limits.toml"
LOG = "work.jsonl"
PAUSED = "paused"
SERVING = "serving.lock"


@dataclass(frozen=True, slots=True)
class ParticipantFolder:
    """The files of a participant."""

    path: Path

    @property
    def run(self) -> Path:
        return self.path / RUN

    @property
    def public(self) -> Path:
        return self.path / "public.parquet"

    @property
    def samples(self) -> Path:
        return self.path / "samples.safetensors"

    @property
    def persons(self) -> Path:
        return self.path / "persons.box"

    @property
    def cases(self) -> Path:
        return self.path / "cases.box"

    @property
    def is_paused(self) -> bool:
        return (self.path / PAUSED).exists()

    @property
    def is_served(self) -> bool:
        """Whether a process serves this participant."""
        return not FileLock.is_free(self.path / SERVING)

    def serving(self) -> FileLock:
        """Takes the lock that a serving process holds.

        Raises RunError if another process holds it (the message names that process) or it cannot be created.
        """
        path = self.path / SERVING
        try:
            return FileLock(
                path, lambda holder: RunError(f"{self.path} is served by {holder}: end that process first.")
            )
        except OSError as error:
            raise RunError(f"{path} cannot be written ({error.strerror}): give yourself the right.") from None

    @property
    def log(self) -> WorkLog:
        return WorkLog(self.path / LOG)

    def limits(self) -> OwnerLimits:
        """Reads the owner's current limits.  Raises SettingsError."""
        return OwnerLimits.load(self.path / LIMITS)

    def init(self, words: str, cost: KdfCost | None = None) -> ReaderKeys:
        """Creates the folder with fresh keys.  Raises KeystoreError if it has keys already."""
        keys = ReaderKeys.generate()
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
        except OSError as error:
            raise KeystoreError(f"{self.path} cannot be made: {error.strerror}.") from None
        keys.save(self.path / KEYS, words, cost)
        return keys

    def keys(self, words: str) -> ReaderKeys:
        """Reads the keys, decrypted with the passphrase `words`.  Raises KeystoreError."""
        self.require()
        return ReaderKeys.load(self.path / KEYS, words)

    def require(self) -> None:
        """Checks that the folder has a participant.  Raises KeystoreError if not."""
        if not (self.path / KEYS).exists():
            raise KeystoreError(
                f"there is no participant in {self.path}: make one with "
                f"`blockful participant init {shlex.quote(str(self.path))}`."
            )

    def opened(self) -> tuple[RunDirectory, Party]:
        """The run directory and the party.  Raises RunError if the participant has not joined yet."""
        if not (self.run / "run.json").exists():
            raise RunError(
                f"the participant in {self.path} has joined no federation: "
                f"`blockful participant join {shlex.quote(str(self.path))} --federation FILE`."
            )
        from blockful_py.pipeline.run.directory import RunDirectory

        run = RunDirectory.open(self.run)
        if run.party is None or run.party.user is None:
            raise RunError(
                f"the participant in {self.path} has not joined yet: repeat `blockful participant join "
                f"{shlex.quote(str(self.path))} --federation FILE --data DATA`."
            )
        return run, run.party

    def pause(self) -> None:
        """Stops the participant from starting new work until `resume`.  Raises as `require`."""
        self.require()
        (self.path / PAUSED).touch()

    def resume(self) -> None:
        """Lets the participant start new work again.  Raises as `require`."""
        self.require()
        (self.path / PAUSED).unlink(missing_ok=True)
