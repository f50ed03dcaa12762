# SPDX-License-Identifier: Apache-2.0
"""Switches a party to a federation file that the committee has changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace

from blockful_py.errors import BlockfulError, NodeError, SettingsError, StorageError
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.directory import Party, RunDirectory
from blockful_py.pipeline.run.entering import FILE, renewed_under, require_contracts
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.federation_file import MAX_BYTES, OWN, FederationFile, uri_of_digest
from blockful_py.settings import Settings
from blockful_py.settings.code import require_allowed
from blockful_py.storage.interface import FileStore
from blockful_py.types import Bytes32
from blockful_py.whole_file import write_whole

Check = Callable[[RunDirectory], object]
"""Checks a run with its new settings.  Raises BlockfulError if the party cannot work with it."""


def catch_up(
    run: RunDirectory,
    contracts: Contracts,
    store: FileStore,
    nodes: Nodes,
    check: Check = lambda run: None,
) -> RunDirectory | None:
    """Switches a party to the federation file that the chain names; None if it has that file already.

    Fetches the file from members if `store` lacks it.  Keeps the party's own settings.

    Raises SettingsError if the file cannot be fetched or used, and then changes no settings; an unusable file
    is saved in the run directory (FILE), to be read and entered by hand.
    """
    digest = contracts.participants.file_digest()
    if run.party is None or digest in (None, bytes.fromhex(run.party.federation)):
        return None
    try:
        data = store.read(uri_of_digest(digest), MAX_BYTES)
        file = FederationFile.parse(data)
    except StorageError as error:
        raise SettingsError(
            f"the federation's file has changed to 0x{digest.hex()}, and no member hands it out: {error} Get "
            "it from another party, and give it with `blockful participant join` or `committee enter`."
        ) from None
    except SettingsError as error:
        raise _unusable(digest, "it", error) from None
    try:
        require_contracts(file, nodes)
        settings, party = following(run, file, digest)
        check(replace(run, settings=settings, party=party))
        return renewed_under(run, file, settings, party)
    except NodeError:
        raise
    except BlockfulError as error:
        kept = run.path / FILE
        write_whole(kept, data)
        raise _unusable(digest, f"{kept}", error) from None


def following(run: RunDirectory, file: FederationFile, digest: Bytes32) -> tuple[Settings, Party]:
    """Settings and entry of a party under another federation file, with the party's own settings kept.

    Raises SettingsError for a laboratory's run, for code that the party does not allow, or if the settings do
    not fit together.
    """
    if run.party is None:
        raise SettingsError(f"{run.path} is a laboratory's run, and has no federation file.")
    settings, public = run.settings, file.public
    own = {rule: {key: getattr(getattr(settings, rule), key) for key in keys} for rule, keys in OWN.items()}
    own |= {"storage": asdict(settings.storage), "run": asdict(settings.run)}
    party = replace(run.party, federation=digest.hex(), measuring=public.measuring, initial=public.initial)
    followed = file.settings(settings.seed, **own)
    require_allowed(followed)
    return followed, party


def _unusable(digest: Bytes32, what: str, error: BlockfulError) -> SettingsError:
    return SettingsError(
        f"the federation's file has changed to 0x{digest.hex()}, and this party cannot go by {what}: {error}"
    )
