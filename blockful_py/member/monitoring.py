# SPDX-License-Identifier: Apache-2.0
"""Monitoring of a member: its seat, stake and trust, and whether it is ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Gauge

from blockful_py.chain.committee import CommitteeContract
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.member.office import MemberOffice, MemberView
from blockful_py.monitoring.health import Health, writable
from blockful_py.pipeline.run.chain_looks import ChainLooks

WEI_OF_ETHER = 10**18
MILLION = 1_000_000


class MonitorDuty:
    """Reads the chains for the metrics and the health of a member."""

    name = "monitor"

    def __init__(self, office: MemberOffice, folder: MemberFolder, registry: CollectorRegistry) -> None:
        self._office = office
        self._folder = folder
        self._looks = ChainLooks(registry)
        self._is_seated = False
        self._rules = "its run cannot be opened yet"
        self._seated = Gauge(
            "blockful_member_seated", "1 for a member of the current committee.", registry=registry
        )
        self._stake = Gauge("blockful_member_stake_ether", "Stake of the member.", registry=registry)
        self._trust = Gauge("blockful_member_trust_ratio", "Trust in the member, 0 to 1.", registry=registry)
        self.health = Health(
            {
                "chains": self._looks.reached,
                "clock": self._looks.clock_is_right,
                "store": writable(folder.path),
                "rules": lambda: self._rules or None,
            },
            self._facts,
        )

    def step(self) -> None:
        """Updates metrics and health.  Raises NodeError when a chain does not answer."""
        if not self._looks.is_due:
            return
        view = self._office.view_if_any()
        if view is None:
            return
        self._looks.look(view.contracts)
        self._is_seated = self._folder.address in self._office.current_roster()
        self._seated.set(self._is_seated)
        self._rules = "" if view.is_standing() else "it lacks the federation file that the chain names"
        self._weigh(view)

    def _weigh(self, view: MemberView) -> None:
        """Updates stake and trust, which appointed members lack."""
        committee = view.contracts.committee
        if isinstance(committee, CommitteeContract):
            account = self._folder.keys.account
            self._stake.set(committee.candidate(account).stake / WEI_OF_ETHER)
            self._trust.set(committee.trust(account) / MILLION)

    def _facts(self) -> Mapping[str, Any]:
        return {"epoch": self._looks.epoch, "seated": self._is_seated}
