# SPDX-License-Identifier: Apache-2.0
"""The nodes of the chains and the account of a member."""

from __future__ import annotations

from dataclasses import dataclass, replace

from blockful_py.chain.signer import Signer
from blockful_py.committee.keystore import MemberKeys
from blockful_py.errors import SettingsError
from blockful_py.pipeline.run.nodes import ChainEndpoints


@dataclass(frozen=True, slots=True)
class Urls:
    """URLs of the two chains' nodes, if they differ from the run's."""

    live: str | tuple[str, ...]
    archive: str | tuple[str, ...]


def place_for(place: ChainEndpoints, urls: Urls | None) -> ChainEndpoints:
    """A run's place, as a member's process reaches it.

    Raises SettingsError for a run with its own chains, without URLs.
    """
    if urls is not None:
        return replace(place, live_url=urls.live, archive_url=urls.archive, databases=None)
    if place.own:
        raise SettingsError(
            "the run has its own chains, which another process cannot open: give the URLs of the two "
            "nodes, or make the run on the devnets of `blockful devnet up`."
        )
    return place


def signer_of(keys: MemberKeys) -> Signer:
    """Signs as the member's account on the chains."""
    return Signer(keys.account_secret.to_bytes(32, "big"))
