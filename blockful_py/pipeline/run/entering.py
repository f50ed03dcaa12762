# SPDX-License-Identifier: Apache-2.0
"""Makes a party's run directory from the federation file, after checking the file against the chains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from blockful_py.callbacks.told import Callbacks
from blockful_py.chain import deployments
from blockful_py.chain.deployments import DeployedContract, Deployment
from blockful_py.chain.node import Node
from blockful_py.chain.participant_registry import ParticipantRegistryContract
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import DeploymentError, SettingsError
from blockful_py.learning.plugins import require_importable
from blockful_py.pipeline.run.creation import creating
from blockful_py.pipeline.run.directory import Party, RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.federation_file import ContractEntry, FederationFile, PublicFiles, uri_of
from blockful_py.settings import Settings
from blockful_py.settings.code import require_allowed

FILE = "federation.toml"
"""The federation file, in its founder's run directory, or saved in a run that could not use it."""
RUN = "run"
"""The run directory in the folder of a founder or a member."""


def enter(
    path: Path,
    data: bytes,
    nodes: Nodes,
    seed: int = 0,
    user: int | None = None,
    own_data: str | None = None,
    own: Mapping[str, Mapping[str, Any]] | None = None,
) -> RunDirectory:
    """Makes a party's run directory at `path`, or updates it to this federation file.

    Args:
        data: the federation file.
        seed, user, own_data: of a participant.
        own: the party's own settings, by section; code that the run already allows stays unless `own` names
            some.  None for an observer, who runs no code that the file names.

    Raises SettingsError if the file is not the federation's current one, or names code that the party does
    not allow or does not have; DeploymentError if the chains hold other contracts; RunError if the directory
    cannot be made.  On an error, existing files stay unchanged.
    """
    file = FederationFile.parse(data)
    require_contracts(file, nodes)
    digest = uri_of(data).digest
    current = _current_digest(file, nodes)
    if current not in (None, digest):
        raise SettingsError(
            f"the federation's file is 0x{current.hex()} on the chain, this party has 0x{digest.hex()}: "
            "get the current file, and repeat with it."
        )
    before = RunDirectory.open(path) if (path / "run.json").exists() else None
    code = {} if before is None else asdict(before.settings.run)
    given = own or {}
    settings = file.settings(seed, **{**given, "run": {**code, **given.get("run", {})}})
    if own is not None:
        require_allowed(settings)
    require_importable(settings.run.allow, "code")
    Callbacks(settings.run.callbacks).make()
    public = file.public
    party = Party(digest.hex(), public.measuring, public.initial, user, own_data)
    if before is not None:
        return renewed_under(before, file, settings, party)
    with creating(path):
        _write_deployments(file, path / "deployments")
        return RunDirectory.create(path, settings, nodes.place, party)


def is_outdated(path: Path, data: bytes, nodes: Nodes) -> bool:
    """Whether the run directory at `path` follows a federation that has replaced this file.

    Raises as `enter` for a file of other chains or contracts.
    """
    if not (path / "run.json").exists():
        return False
    file = FederationFile.parse(data)
    require_contracts(file, nodes)
    _require_same(RunDirectory.open(path), file)
    return _current_digest(file, nodes) not in (None, uri_of(data).digest)


def require_contracts(file: FederationFile, nodes: Nodes) -> None:
    """Checks the file's contracts.  Raises SettingsError for other chains, DeploymentError for other code."""
    by_chain = {str(node.chain_id): node for node in (nodes.live, nodes.archive)}
    strangers = sorted(file.contracts.keys() - by_chain.keys())
    if strangers:
        raise SettingsError(
            f"the federation {file.name!r} is on chain {' and '.join(sorted(file.contracts))}; these nodes "
            f"are on {' and '.join(sorted(by_chain))}: give --live-url and --archive-url of its chains."
        )
    for chain_id, entries in file.contracts.items():
        for name, entry in entries.items():
            _require_code(file, by_chain[chain_id], name, entry)


def file_of(name: str, settings: Settings, public: PublicFiles, nodes: Nodes, directory: Path) -> bytes:
    """The federation file of the contracts in the deployments files of `directory`."""
    contracts: dict[str, dict[str, ContractEntry]] = {}
    for node in {id(node): node for node in (nodes.live, nodes.archive)}.values():
        path = deployments.deployments_path(directory, node.chain_id)
        if path.exists():
            contracts[str(node.chain_id)] = {
                contract: ContractEntry(
                    "0x" + each.address.hex(),
                    "0x" + keccak(node.code(each.address)).hex(),
                    each.block,
                    "0x" + each.transaction.hex(),
                )
                for contract, each in sorted(deployments.load(path, node).contracts.items())
            }
    return FederationFile.of(name, settings, public, contracts).to_bytes()


def _current_digest(file: FederationFile, nodes: Nodes) -> bytes | None:
    """Digest of the federation file on the chain; None before the federation is founded."""
    entries = file.contracts.get(str(nodes.live.chain_id), {})
    name = ParticipantRegistryContract.NAME
    if name not in entries:
        raise SettingsError(
            f"the federation file of {file.name!r} names no {name} on chain {nodes.live.chain_id}: give "
            "--live-url of the live chain, and a file that was not altered."
        )
    address = bytes.fromhex(entries[name].address[2:])
    return ParticipantRegistryContract(nodes.live, address).file_digest()


def renewed_under(run: RunDirectory, file: FederationFile, settings: Settings, party: Party) -> RunDirectory:
    """The run under another file of its federation.  Raises SettingsError for another federation's."""
    _require_same(run, file)
    _write_deployments(file, run.deployments)
    return run.renewed(settings, party)


def _require_same(run: RunDirectory, file: FederationFile) -> None:
    """Checks that the file names at least the run's known contracts.  Raises SettingsError if not."""
    for path in sorted(run.deployments.glob("*.json")):
        known = deployments.read(path)
        entries = file.contracts.get(str(known.chain_id), {})
        for name, contract in known.contracts.items():
            entry = entries.get(name)
            if entry is None or bytes.fromhex(entry.address[2:]) != contract.address:
                raise SettingsError(
                    f"the file is of another federation ({file.name!r}): {run.path} belongs to the one whose "
                    f"{name} is 0x{contract.address.hex()} on chain {known.chain_id}. Take a folder of its "
                    "own for each federation."
                )


def _require_code(file: FederationFile, node: Node, name: str, entry: ContractEntry) -> None:
    code = node.code(bytes.fromhex(entry.address[2:]))
    if "0x" + keccak(code).hex() != entry.code:
        there = "other code" if code else "no contract"
        raise DeploymentError(
            f"the federation {file.name!r} has {name} at {entry.address} on chain {node.chain_id}; "
            f"{node.url} has {there} there: use a node of its chain, and a file that was not altered."
        )


def _write_deployments(file: FederationFile, directory: Path) -> None:
    for chain_id, entries in file.contracts.items():
        contracts = {
            name: DeployedContract(
                bytes.fromhex(entry.address[2:]), entry.block, bytes.fromhex(entry.transaction[2:])
            )
            for name, entry in entries.items()
        }
        Deployment(int(chain_id), contracts, {}).write(directory)
