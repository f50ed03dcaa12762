# SPDX-License-Identifier: Apache-2.0
"""Makes the run directory of one party from the federation file, once the chains agree with the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blockful_py.chain.deployments import DeployedContract, Deployment
from blockful_py.chain.node import Node
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import DeploymentError, SettingsError
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.creation import creating
from blockful_py.pipeline.run.directory import Party, RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.federation_file import ContractEntry, FederationFile, PublicFiles, uri_of
from blockful_py.settings import Settings


def read_file(path: Path) -> bytes:
    """The bytes of a federation file.  Raises SettingsError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"the federation file {path} cannot be read ({error.strerror}): ask whoever made the federation "
            "for it."
        ) from None


def enter(
    path: Path,
    data: bytes,
    nodes: Nodes,
    seed: int = 0,
    user: int | None = None,
    own_data: str | None = None,
    own: Mapping[str, Mapping[str, Any]] | None = None,
) -> RunDirectory:
    """The run directory of a party at `path`, made or brought to this file.

    `data`: the federation file.  `seed`, `user`, `own_data`: a participant's.  `own`: its own settings, by
    section.

    Raises SettingsError for another file than the federation's, DeploymentError where the chains hold other
    contracts, RunError when the directory cannot be made.
    """
    file = FederationFile.parse(data)
    require_contracts(file, nodes)
    settings = file.settings(seed, **(own or {}))
    public = file.public
    party = Party(uri_of(data).digest.hex(), public.measuring, public.initial, user, own_data)
    if (path / "run.json").exists():
        _write_deployments(file, path / "deployments")
        return RunDirectory.open(path).renewed(settings, party)
    with creating(path):
        _write_deployments(file, path / "deployments")
        return RunDirectory.create(path, settings, nodes.place, party)


def require_contracts(file: FederationFile, nodes: Nodes) -> None:
    """Raises SettingsError for nodes of other chains, DeploymentError for other code at an address."""
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


def require_standing(contracts: Contracts, party: Party) -> None:
    """Raises SettingsError unless the chain names the party's federation file, or none yet."""
    digest = contracts.participants.file_digest()
    if digest not in (None, bytes.fromhex(party.federation)):
        raise SettingsError(
            f"the federation's file is 0x{digest.hex()} on the chain, this party has 0x{party.federation}: "
            "get the file that stands, and repeat with it."
        )


def file_of(name: str, settings: Settings, public: PublicFiles, nodes: Nodes, directory: Path) -> bytes:
    """The federation file of the contracts in the deployments files of `directory`."""
    from blockful_py.chain.deployments import deployments_path, load

    contracts: dict[str, dict[str, ContractEntry]] = {}
    for node in {id(node): node for node in (nodes.live, nodes.archive)}.values():
        path = deployments_path(directory, node.chain_id)
        if path.exists():
            contracts[str(node.chain_id)] = {
                contract: ContractEntry(
                    "0x" + each.address.hex(),
                    "0x" + keccak(node.code(each.address)).hex(),
                    each.block,
                    "0x" + each.transaction.hex(),
                )
                for contract, each in sorted(load(path, node).contracts.items())
            }
    return FederationFile.of(name, settings, public, contracts).to_bytes()


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
