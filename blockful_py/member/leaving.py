# SPDX-License-Identifier: Apache-2.0
"""Hands a member's files and keys on to the others before it leaves."""

from __future__ import annotations

from blockful_py.committee.keystore import MemberKeys
from blockful_py.committee.vault import Vault
from blockful_py.errors import QuorumError
from blockful_py.member.file_retention import kept_files
from blockful_py.member.view import MemberView
from blockful_py.pipeline.coordination.remote_committee import remote_committee_of
from blockful_py.pipeline.coordination.remote_keyring import RemoteKeyring
from blockful_py.storage.cid import parse_cid


def hand_on(view: MemberView, keys: MemberKeys, vault: Vault) -> bool:
    """Gives a quorum of the members the files and data keys that they lack and this one has.

    Returns False without action in a laboratory, and for a member outside the committee.  Raises QuorumError
    when fewer members take them.
    """
    contracts = view.contracts
    epoch = contracts.committee.current_epoch()
    members = contracts.committee.roster(epoch)[0].members if epoch else ()
    if view.run.party is None or contracts.followers is None or keys.address not in members:
        return False
    remote = remote_committee_of(view.run, contracts, keys.voting_secret)
    try:
        for store, named in kept_files(view):
            files = [uri for uri in named() if store.own.has(uri)]
            remote.push(files, store.own)
        own = vault.versions()
        handed_on = {parse_cid(each) for part in view.earlier_parts().values() for each in part.files}
        current = view.versions.current() - handed_on
        held = {uri: vault.get(uri.digest) for uri in current if uri.digest in own}
        if held:
            RemoteKeyring(contracts, lambda: remote).deliver(held)
    except QuorumError as error:
        raise QuorumError(
            f"this member's files and keys cannot be handed on: {error} Repeat when the others answer; with "
            "--anyway the member leaves now, and data that only it has is lost."
        ) from None
    return True
