# SPDX-License-Identifier: Apache-2.0
"""Joins a federation: checks its file against the chains and the data, then registers the account."""

from __future__ import annotations

import secrets

from blockful_py.errors import SettingsError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.pipeline.run.contracts import open_contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.entering import enter, require_standing
from blockful_py.pipeline.run.nodes import Nodes


def join(
    folder: ParticipantFolder,
    keys: ReaderKeys,
    file: bytes,
    own_data: str,
    nodes: Nodes,
    seed: int | None = None,
    device: str = "auto",
) -> RunDirectory:
    """Registers the participant's account as a reader and as a participant, and makes its run directory.

    `file`: the federation file.  `own_data`: a file of samples, or the name of a data set.  `nodes` send from
    the participant's account.  `seed`: of its training, secret; a random one if None.

    A call after an interruption, or with a new federation file, continues.

    Raises as `enter` and `require_standing`; SettingsError without money for gas, ContractError when the
    registry refuses.
    """
    before = RunDirectory.open(folder.run) if (folder.run / "run.json").exists() else None
    if seed is None:
        seed = before.settings.seed if before else secrets.randbits(32)
    own = {"learning": {"device": device}}
    run = enter(folder.run, file, nodes, seed, None, own_data, own)
    contracts = open_contracts(nodes, run.deployments)
    if run.party is not None:
        require_standing(contracts, run.party)
    account = keys.account
    if not nodes.live.balance(account):
        raise SettingsError(
            f"the account 0x{account.hex()} cannot pay for gas on chain {nodes.live.chain_id}: send it some "
            "ether, and repeat the command."
        )
    if contracts.readers.reader(account).key != keys.encryption_key:
        contracts.readers.register(keys.encryption_key)
    if not contracts.participants.participant(account).since:
        contracts.participants.join()
    number = contracts.participants.participant(account).number
    return enter(folder.run, file, nodes, seed, number, own_data, own)
