# SPDX-License-Identifier: Apache-2.0
"""Founds a federation of machines: deploys contracts, hands out shared files, elects the first committee."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from blockful_py.chain import deployments
from blockful_py.errors import RunError, SettingsError
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.sample_files import public_part, samples_to_bytes
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import pieces_of
from blockful_py.pipeline.coordination.remote_committee import remote_committee_of
from blockful_py.pipeline.coordination.rotation import Pause, Tell, skipping
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.contracts import open_contracts, rules_of
from blockful_py.pipeline.run.creation import creating
from blockful_py.pipeline.run.directory import Party, RunDirectory
from blockful_py.pipeline.run.entering import FILE, file_of
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.training_data import named
from blockful_py.record.federation_file import FederationFile, PublicFiles, require_carried_out, uri_of
from blockful_py.settings import Settings
from blockful_py.settings.code import code_of
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.storage.store import ContentStore
from blockful_py.whole_file import write_whole


def create(name: str, settings: Settings, directory: Path, nodes: Nodes) -> bytes:
    """Deploys the contracts of the home chain; returns the federation file, still without the archive chain.

    The measuring samples are the data set's test and proxy samples; the initial weights follow from the seed.
    `directory` becomes the founder's run directory and stores these files.  The run may import the code that
    the founder's own settings name.

    Raises SettingsError for a committee that is not elected, otherwise as `require_carried_out`,
    `TrainingSetup.of` and `deploy_elected`.
    """
    if settings.committee.roster != "elected":
        raise SettingsError(
            'the members of a federation of machines are elected: set committee.roster = "elected", and the '
            "founders in committee.election.founders."
        )
    require_carried_out(settings)
    setup = TrainingSetup.of(settings)
    setup.require_trainable()
    settings = named(settings)
    with creating(directory):
        store = ContentStore(directory / "live")
        measuring = store.add(samples_to_bytes(public_part(setup.dataset)))
        initial = store.add_pieces(pieces_of(initial_weights(setup.federation)))
        public = PublicFiles(cid_string(measuring), cid_string(initial))
        founders = [bytes.fromhex(each[2:]) for each in settings.committee.election.founders]
        rules = rules_of(settings.committee)
        made = deployments.deploy_elected(
            nodes.live_sender,
            rules,
            founders,
            seats=settings.federation.users,
            is_open=settings.access.participants == "any",
        )
        made.write(directory / "deployments")
        data = file_of(name, settings, public, nodes, directory / "deployments")
        common = FederationFile.parse(data).settings(settings.seed, run=asdict(code_of(settings)))
        party = Party(uri_of(data).digest.hex(), public.measuring, public.initial)
        RunDirectory.create(directory, common, nodes.place, party)
        write_whole(directory / FILE, data)
    return data


def found(directory: Path, nodes: Nodes, secret: int, pause: Pause | None, tell: Tell | None) -> int:
    """Elects the first committee, deploys the archive's contracts, and puts the file's digest on chain.

    `secret`: the founder's account, which deployed the contracts.  `pause` waits between two looks at the
    election, by default as `skipping`.  A repeated call does the missing steps.  Returns the epoch in force.
    """
    with Federation.open(directory, nodes=nodes, secret=secret, settle=False) as federation:
        committee = federation.contracts.elected
        if federation.contracts.followers is None:
            members = len(federation.settings.committee.members)
            federation.epochs.rotate(pause or skipping(committee, members), tell)
        data = _complete(directory, nodes)
        participants = federation.contracts.participants
        if participants.file_digest() != uri_of(data).digest:
            _hand_out(federation, secret, data)
            participants.found(uri_of(data).digest)
        return committee.current_epoch()


def _hand_out(federation: Federation, secret: int, data: bytes) -> None:
    """Pushes the public files and the federation file to the members, who serve them from then on."""
    party = federation.run.party
    if party is None:
        raise RunError(f"{federation.run.path} is a laboratory's run.")
    store = ContentStore(federation.run.live_store)
    files = [parse_cid(party.measuring), parse_cid(party.initial), store.add(data)]
    remote_committee_of(federation.run, federation.contracts, secret).push(files, store)


def _complete(directory: Path, nodes: Nodes) -> bytes:
    """Adds the archive chain's contracts to the federation file; writes it into the run directory."""
    run = RunDirectory.open(directory)
    draft = FederationFile.parse((directory / FILE).read_bytes())
    data = file_of(draft.name, draft.settings(), draft.public, nodes, run.deployments)
    party = Party(uri_of(data).digest.hex(), draft.public.measuring, draft.public.initial)
    write_whole(directory / FILE, data)
    run.renewed(FederationFile.parse(data).settings(run.settings.seed, run=asdict(run.settings.run)), party)
    open_contracts(nodes, run.deployments)
    return data
