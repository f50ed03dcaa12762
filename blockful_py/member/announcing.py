# SPDX-License-Identifier: Apache-2.0
"""Announces a member's URL on the chain, with the key that its certificate is pinned to."""

from __future__ import annotations

from blockful_py.chain.participant_registry import Endpoint
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.errors import RunError
from blockful_py.member.office import MemberOffice
from blockful_py.pipeline.run.endpoints import announce


class AnnounceDuty:
    """Announces a member's URL once, and again after a change; its own account pays."""

    name = "announce"

    def __init__(self, office: MemberOffice, folder: MemberFolder, url: str) -> None:
        self._office = office
        self._endpoint = Endpoint(folder.address, url)
        self._account = folder.keys.account
        self._done = False

    def step(self) -> None:
        """Announces the URL if necessary.

        Raises ContractError, and NodeError when the account cannot pay.
        """
        try:
            view = self._office.view()
        except RunError:
            return  # the run may come after the member
        if self._done or view.run.party is None:
            return
        self._done = announce(view.contracts, self._account, self._endpoint)
