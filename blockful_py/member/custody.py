# SPDX-License-Identifier: Apache-2.0
"""What a member's process checks about data keys, and what it does about them unasked."""

from __future__ import annotations

from blockful_py.committee.service.folder import MemberFolder
from blockful_py.errors import RunError
from blockful_py.member.office import MemberOffice, World
from blockful_py.pipeline.run.lease import request_under_way
from blockful_py.types import Uri


class CustodyDuty:
    """Gets the keys of standing versions that this member lacks; destroys those of replaced ones.

    While a request is under way its replaced versions are left: who resumes it after a crash needs them.
    """

    name = "keys"

    def __init__(self, office: MemberOffice, folder: MemberFolder) -> None:
        self._office = office
        self._folder = folder
        self._settled: str | None = None

    def step(self) -> None:
        """Raises what keeps a key from being had or destroyed; nothing where there is no run yet."""
        try:
            world = self._office.world()
        except RunError:
            return  # the run may come after the member
        if world.contracts.followers is None:
            return
        block = world.contracts.live.node.latest_block()["hash"]
        if block == self._settled:
            return
        if self._folder.address not in self._office.roster(world.contracts.committee.current_epoch()):
            return
        standing = world.versions.standing()
        self._destroy(world, standing)
        self._borrow(world, standing)
        if request_under_way(world.run.journal) is None:
            self._settled = block

    def _destroy(self, world: World, standing: frozenset[Uri]) -> None:
        kept = self._folder.vault.versions() - {uri.digest for uri in standing}
        if not kept or request_under_way(world.run.journal) is not None:
            return
        replaced = {uri.digest for version in world.versions.all() for uri in version.sealed}
        self._folder.vault.destroy(kept & replaced)

    def _borrow(self, world: World, standing: frozenset[Uri]) -> None:
        kept = self._folder.vault.versions()
        for uri in standing:
            if uri.digest not in kept:
                world.keyring.find(uri)
