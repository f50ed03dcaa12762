# SPDX-License-Identifier: Apache-2.0
"""The data and training settings of a run: all users' in a laboratory, a party's own among machines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from blockful_py.errors import SettingsError
from blockful_py.learning.data import UserData
from blockful_py.learning.datasets.parties.dataset import NAME as PARTIES
from blockful_py.learning.datasets.parties.dataset import OwnSamples, own_samples, own_words
from blockful_py.learning.datasets.parties.rule import SampleRule
from blockful_py.learning.form import read_weights
from blockful_py.learning.sample_files import SUFFIX, own_data, samples_from_bytes, samples_to_bytes
from blockful_py.learning.streams import generator
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.pipeline.run.directory import Party, RunDirectory
from blockful_py.record.federation_file import MAX_PUBLIC_BYTES
from blockful_py.settings import Settings
from blockful_py.settings.code import require_allowed
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.interface import FileStore
from blockful_py.storage.segments import stored
from blockful_py.whole_file import OWN, write_whole


def setup_of(run: RunDirectory, store: FileStore) -> TrainingSetup:
    """The training setup of a run.

    A party's settings come from a federation file; code that they name is imported only if `require_allowed`
    passes.

    Raises as `TrainingSetup.of` and `of_party`; StorageError when the store lacks the public files.
    """
    party = run.party
    if party is None:
        return TrainingSetup.of(run.settings)
    require_allowed(run.settings)
    public = samples_from_bytes(store.read(parse_cid(party.measuring), MAX_PUBLIC_BYTES))
    initial = read_weights(
        stored(store, parse_cid(party.initial), MAX_PUBLIC_BYTES), "the shared initialisation"
    )
    own = () if party.user is None else (_own(run, party, party.user),)
    return TrainingSetup.of_party(run.settings, public, initial, own)


def require_usable(run: RunDirectory, data: str, store: FileStore) -> None:
    """Checks that a participant, perhaps without a number yet, can use this data.  Raises as `setup_of`."""
    if run.party is not None:
        party = replace(run.party, user=run.party.user or 1, data=data)
        setup_of(replace(run, party=party), store)


def _own(run: RunDirectory, party: Party, user: int) -> UserData:
    if party.data is None:
        raise SettingsError(f"{run.path} does not say where its data is: give --data when you join.")
    data = own_data(party.data, run.settings.seed, run.settings.learning)
    return UserData(user, data.train, data.test)


def convert(
    run: RunDirectory, file: Path, public: Path, store: FileStore, samples: Path, person: str | None = None
) -> OwnSamples:
    """Converts a party's own file to samples of the federation, which only its user may read.

    `public`: the party's published rows, if any.  `person`: the column that names persons.  Raises
    SettingsError if the federation has no rule for such files, otherwise as `own_samples`.
    """
    party = run.party
    if party is None:
        raise SettingsError(f"{run.path} is a laboratory's run, which has no party.")
    shared = samples_from_bytes(store.read(parse_cid(party.measuring), MAX_PUBLIC_BYTES))
    if shared.rule is None:
        raise SettingsError(
            f"this federation was not made of parties' files, so nothing says how {file} becomes samples: "
            "give a .safetensors file of samples (docs/reference/learning.md)."
        )
    stream = generator(run.settings.seed, "parties")
    own = own_samples(file, SampleRule.parse(shared.rule), public, stream, person)
    write_whole(samples, samples_to_bytes(own.dataset), SettingsError, mode=OWN)
    return own


def named(settings: Settings) -> Settings:
    """The settings with the names of the parties whose files form the data set."""
    if settings.learning.dataset != PARTIES:
        return settings
    words = enumerate(own_words(settings.learning), start=1)
    said = {each.account.lower() or str(number): each.name for number, each in words}
    federation = replace(settings.federation, parties={**said, **settings.federation.parties})
    return Settings.parse(replace(settings, federation=federation).to_json())


def save_users(settings: Settings, folder: Path) -> list[Path]:
    """Writes the samples of each user of a laboratory, `user-1.safetensors` and so on; returns the paths.

    Raises SettingsError when they cannot be written, otherwise as `TrainingSetup.of`.
    """
    setup = TrainingSetup.of(settings)
    paths = []
    for user in setup.users:
        path = folder / f"user-{user.index}{SUFFIX}"
        own = replace(setup.dataset, train=user.train, test=user.test)
        write_whole(path, samples_to_bytes(own), SettingsError, mode=OWN, parents=True)
        paths.append(path)
    return paths
