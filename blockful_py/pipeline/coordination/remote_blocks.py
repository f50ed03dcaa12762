# SPDX-License-Identifier: Apache-2.0
"""Pushes a party's files to the members, who keep all current files, so that their owner may switch off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from blockful_py.committee.service.block_push import push
from blockful_py.committee.service.member_client import IndexedClient
from blockful_py.pipeline.coordination.remote_committee import ReachableMember, RemoteCommittee
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.storage.store import ContentStore
from blockful_py.types import Uri


class RemoteBlocks:
    """The members of the current epoch as keepers of blocks."""

    def __init__(
        self, contracts: Contracts, remote: Callable[[], RemoteCommittee], source: ContentStore
    ) -> None:
        self._committee = contracts.committee
        self._remote = remote
        self._source = source

    def push(self, files: Sequence[Uri]) -> None:
        """Pushes all blocks of the files to the members.  Raises QuorumError unless a quorum accepts them."""
        epoch = self._committee.current_epoch()
        roster, quorum = self._committee.roster(epoch)
        reachable = self._remote().reachable(quorum).values()
        members = [
            IndexedClient(roster.members.index(each.client.address) + 1, each.client)
            for each in reachable
            if isinstance(each, ReachableMember) and each.client.address in roster.members
        ]
        push(files, self._source, members, epoch, quorum)
