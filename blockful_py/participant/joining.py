# SPDX-License-Identifier: Apache-2.0
"""Joins a federation: checks its file against the chains and the data, then registers; and leaves it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockful_py.chain.participant_registry import ParticipantRegistryContract
from blockful_py.errors import ContractError, RunError, SettingsError, StorageError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.datasets.parties.rows import is_party_file
from blockful_py.learning.sample_files import SUFFIX
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.persons import Persons
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.entering import enter
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.pipeline.run.progress import Progress, Silent
from blockful_py.pipeline.run.training_data import convert, require_usable
from blockful_py.record.statement import MAX_AUDITORS
from blockful_py.settings.learning import REVEALED
from blockful_py.settings.rules import ANALYTIC
from blockful_py.storage.interface import FileStore
from blockful_py.types import Address

if TYPE_CHECKING:
    from blockful_py.participant.serving import ParticipantService


def join(
    folder: ParticipantFolder,
    keys: ReaderKeys,
    file: bytes,
    own_data: str,
    nodes: Nodes,
    seed: int | None = None,
    device: str = "auto",
    progress: Progress | None = None,
    code: Mapping[str, tuple[str, ...]] | None = None,
    discloses: float | None = None,
    auditors: Sequence[Address] | None = None,
    person: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> RunDirectory:
    """Registers the participant's account as reader and participant and creates its run directory.

    A call after an interruption, or with a new federation file, continues.

    Args:
        own_data: a file of samples, the name of a data set, or a table or folder of images, which is
            converted to samples by the federation's rule.
        nodes: send transactions from the participant's account.
        seed: secret seed of its training; None draws one.
        code: code of the owner's that its run may import (`RunSettings`); None keeps the present list.
        discloses: share of a retraining's steps whose samples members may see; None keeps the present
            share, which starts at 0.
        auditors: accounts of which one, drawn by lot, may replay its retrainings with its samples; None keeps
            the present ones.
        person: column of the own file that names each row's person; None keeps the present one.
        tell: called with each line of the report on the conversion and on the federation's rules.

    Raises as `enter` and `require_usable` before anything is registered; SettingsError if the account has no
    money for gas, `person` is given for data without columns, or checks of trainings are promised where
    models are sums; KeystoreError if the index of persons cannot be read or written; RunError or
    ContractError if the registry refuses.
    """
    before = RunDirectory.open(folder.run) if (folder.run / "run.json").exists() else None
    party = before.party if before else None
    if seed is None:
        seed = before.settings.seed if before else secrets.randbits(32)
    brought = Path(own_data) if is_party_file(own_data) else None
    if brought is None and person is not None:
        raise SettingsError(
            f"--person names a column of a CSV or parquet file, and {own_data} has no columns: name a "
            "person's rows with `blockful participant request --sample`."
        )
    if brought is not None:
        own_data = str(folder.samples.resolve())
    elif own_data.endswith(SUFFIX):
        if not Path(own_data).is_file():
            raise SettingsError(f"there is no file of samples {own_data}: give yours with --data.")
        own_data = str(Path(own_data).resolve())
    own: dict[str, Mapping[str, Any]] = {"learning": {"device": device}, "run": code or {}}
    number = party.user if party else None
    run = enter(folder.run, file, nodes, seed, number, party.data if party else own_data, own)
    if (discloses or auditors) and run.settings.learning.model == ANALYTIC:
        raise SettingsError(
            "this federation's models are sums, which are not trained: there is nothing to disclose or to "
            "replay. Leave out --disclose and --replay-by."
        )
    opened = OpenedRun.attach(run, nodes, secret=keys.account_secret)
    contracts = opened.contracts
    fetching = (progress or Silent()).stage("check the data, fetch the federation's files", None, "blocks")
    try:
        with fetching as advance:
            opened.arrived, stores = lambda: advance(1), opened.stores
            if brought is not None:
                for line in _bring(run, brought, stores.live, folder, Persons(folder, keys), person):
                    tell(line)
            require_usable(run, own_data, stores.live)
    except StorageError as error:
        if contracts.participants.file_digest() is not None:
            raise
        raise RunError(
            f"this federation is not founded yet, and nobody hands out its public files ({error}) Repeat "
            "this once its founder has called `blockful federation found`."
        ) from None
    _require_funds(nodes, keys.account)
    if contracts.readers.reader(keys.account).key != keys.encryption_key:
        contracts.readers.register(keys.encryption_key)
    if not contracts.participants.participant(keys.account).since:
        _register(contracts.participants, keys.account)
    number = contracts.participants.participant(keys.account).number
    run = enter(folder.run, file, nodes, seed, number, own_data, own)
    if run.party is None:
        return run
    if discloses is None:
        discloses = party.discloses if party else 0.0
    accounts = tuple(party.auditors) if party else ()
    if auditors is not None:
        accounts = tuple(dict.fromkeys("0x" + each.hex() for each in auditors))
    _require_checkers(contracts, discloses, accounts, keys.account)
    if run.settings.learning.reveals_samples:
        tell(f"warning: {REVEALED}")
    return run.renewed(run.settings, replace(run.party, discloses=discloses, auditors=accounts))


def _require_checkers(contracts: Contracts, discloses: float, auditors: Sequence[str], own: Address) -> None:
    """Checks who may see the owner's samples.  Raises SettingsError."""
    if discloses and auditors:
        raise SettingsError(
            "--disclose shows samples to all members, and --replay-by to one auditor alone: give one of "
            "them, and --disclose 0 or --replay-by none to end the other."
        )
    if len(auditors) > MAX_AUDITORS:
        raise SettingsError(f"{len(auditors)} auditors are named, {MAX_AUDITORS} are allowed.")
    for each in auditors:
        account = bytes.fromhex(each[2:])
        if account == own or not any(contracts.archive.auditor_key(account)):
            raise SettingsError(
                f"{each} is no auditor of this federation that could replay your trainings: have the "
                "committee register it with `blockful auditor add`, or name others."
            )


def _bring(
    run: RunDirectory,
    file: Path,
    store: FileStore,
    folder: ParticipantFolder,
    persons: Persons,
    person: str | None,
) -> list[str]:
    """Converts a party's own file to its samples and indexes their persons; returns a report."""
    column = person or persons.column()
    own = convert(run, file, folder.public, store, folder.samples, column)
    if column is None or own.persons is None:
        return own.said
    return [*own.said, *persons.make(column, own.persons, folder.samples, folder.public.exists())]


def _require_funds(nodes: Nodes, account: Address) -> None:
    for node in (nodes.live, nodes.archive):
        if not node.balance(account):
            raise SettingsError(
                f"the account 0x{account.hex()} cannot pay for gas on chain {node.chain_id}: send it some "
                "ether, and repeat the command."
            )


def _register(participants: ParticipantRegistryContract, account: Address) -> None:
    try:
        participants.join()
    except ContractError as error:
        if error.name == "NotAdmitted":
            raise RunError(
                "the committee admits participants to this federation, and has not admitted this account: "
                f"ask a member for `blockful participant admit 0x{account.hex()} FOLDER`, and repeat."
            ) from None
        if error.name == "ParticipantIsBarred":
            raise RunError(f"the committee has barred 0x{account.hex()} from this federation.") from None
        raise


def leave(participant: ParticipantService, keys: ReaderKeys, anyway: bool) -> dict[int, tuple[str, ...]]:
    """Removes the account from the registries; returns its models that open requests wait for, by request.

    A call after an interruption continues.  Raises RunError if requests wait for own models, unless `anyway`;
    or if the account has left already.
    """
    contracts, account = participant.contracts, keys.account
    joined = contracts.participants.participant(account).since
    reads = contracts.readers.reader(account).joined
    if not (joined or reads):
        raise RunError(f"0x{account.hex()} has left this federation already.")
    waiting = participant.owed() if joined else {}
    if waiting and not anyway:
        listed = "; ".join(f"request {number}: {', '.join(names)}" for number, names in waiting.items())
        raise RunError(
            f"requests wait for this participant's models ({listed}), and only their owner can have them "
            "forget: let it serve until they are done. With --anyway it leaves them open."
        )
    if contracts.participants.endpoint(account) is not None:
        contracts.participants.announce(None)
    if joined:
        contracts.participants.leave()
    if reads:
        contracts.readers.leave()
    return waiting
