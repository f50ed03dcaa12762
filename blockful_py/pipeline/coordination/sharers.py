# SPDX-License-Identifier: Apache-2.0
"""The members who share sums: all of an epoch, of whom some may be absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blockful_py.committee.service.member_client import MemberClient
from blockful_py.crypto import curve
from blockful_py.errors import QuorumError
from blockful_py.keys.shared_files import threshold_of
from blockful_py.pipeline.coordination.remote_committee import RemoteCommittee, members_at
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.types import Address, Point


@dataclass(frozen=True)
class Sharers:
    """Members of an epoch, indexed from 1 in the order of their addresses.

    Attributes:
        keys: of all.
        clients: of the members that answer.
    """

    epoch: int
    keys: tuple[Point, ...]
    clients: Mapping[int, MemberClient]

    @property
    def addresses(self) -> list[Address]:
        return [*map(curve.address, self.keys)]

    @property
    def most_absent(self) -> int:
        return threshold_of(len(self.keys)) - 1


def sharers(committee: RemoteCommittee, contracts: Contracts) -> Sharers:
    """The members of the current epoch.  Raises QuorumError, with those absent, if they are t or more."""
    epoch = contracts.committee.current_epoch()
    keys = sorted(contracts.committee.roster(epoch)[0].keys, key=curve.address)
    clients = {each.client.address: each.client for each in members_at(committee.reachable())}
    there = {
        j: clients[address] for j, key in enumerate(keys, 1) if (address := curve.address(key)) in clients
    }
    found = Sharers(epoch, tuple(keys), there)
    missing = [f"0x{curve.address(key).hex()}" for j, key in enumerate(keys, 1) if j not in there]
    if len(missing) > found.most_absent:
        raise QuorumError(
            f"{', '.join(missing)} of {len(keys)} members do not answer, and {found.most_absent} may be "
            "absent to open a head of shared sums: repeat when they do."
        )
    return found
