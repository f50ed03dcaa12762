# SPDX-License-Identifier: Apache-2.0
"""An elected federation on chains other than development chains: configured keys, slow blocks."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blockful_py.chain.account_file import create
from blockful_py.chain.calls import Call
from blockful_py.chain.devnet import NodeOptions, start_together
from blockful_py.chain.sender import SENDER_KEY
from blockful_py.chain.sortition import ElectionState
from blockful_py.committee.service.folder import keys_in
from blockful_py.crypto import curve
from blockful_py.keys.sealing import random_keys
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.environment import PASSPHRASE
from blockful_py.pipeline.run.identities import LEADER_KEY, Identities, address_of
from tests.federations import promised, small
from tests.member.electorate import ETHER, PERIOD_SECONDS, Electorate
from tests.member.processes import WORDS, members

pytestmark = pytest.mark.slow

IDS = (4242, 4243)
USERS = 2


class RealElectorate(Electorate):
    """Nobody funds members, and blocks come by themselves."""

    def pass_time(self, seconds: int) -> None:
        node = self.committee.node
        before = node.timestamp()
        node.rpc.call("evm_increaseTime", seconds)
        while node.timestamp() < before + seconds:
            time.sleep(0.1)

    def pause(self, election: ElectionState) -> None:
        super().pause(election)
        time.sleep(0.5)


def test_a_federation_without_a_key_from_a_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = curve.random_scalar(lambda size: bytes(range(size)))
    (tmp_path / "accounts").mkdir()
    for user in range(1, USERS + 1):
        create(tmp_path / "accounts" / f"user-{user}.json", WORDS, 1 << 10)
    devnets = start_together(*[NodeOptions(each, kind="anvil", block_time=1) for each in IDS])
    monkeypatch.setenv(SENDER_KEY, bytes(devnets[0].signer(0)._account.key).hex())
    monkeypatch.setenv(LEADER_KEY, f"{secret:064x}")
    monkeypatch.setenv(PASSPHRASE, WORDS)
    chains: Any = SimpleNamespace(live=devnets[0], archive=devnets[1])
    leader = ("--leader", "0x" + address_of(secret).hex())
    try:
        with members(4, tmp_path, tmp_path / "run", chains, leader) as processes:
            accounts = [keys_in(each.folder, WORDS).account for each in processes]
            periods = ("commit_period", "reveal_period", "prove_period", "confirm_period")
            committee = {
                "roster": "elected",
                "members": tuple(each.url for each in processes),
                "round_seconds": 90.0,
                "election": {
                    "founders": tuple("0x" + each.hex() for each in accounts),
                    **dict.fromkeys(periods, PERIOD_SECONDS),
                },
            }
            settings = small(
                federation={
                    "users": USERS,
                    "graph": {"s": (), "x": ("s",)},
                    "accounts": str(tmp_path / "accounts"),
                },
                unlearning={"starts": ("s",)},
                committee=committee,
                chain={
                    "packaging_interval": 0,
                    "confirmations": 1,
                    "live_url": devnets[0].url,
                    "archive_url": devnets[1].url,
                    "live_chain_id": IDS[0],
                    "archive_chain_id": IDS[1],
                },
            )
            with Federation.create(settings, tmp_path / "run") as federation:
                found = RealElectorate(federation, processes, 4)
                for member, account in zip(processes, accounts, strict=True):
                    money = Call(found.committee.interface, account, b"", value=2 * ETHER)
                    federation.nodes.live_sender.send(money)
                    found.candidate(member).join(ETHER)
                federation.epochs.rotate(found.pause)
                federation.train()
                federation.unlearn()
                assert federation.context.keys.new_key is random_keys
                assert federation.leader.secret == secret != Identities(0, (1337,)).leader()
                assert {each.version for each in federation.catalogue().models.values()} == {1}
                promised(federation.contracts)
            for name in (SENDER_KEY, LEADER_KEY, PASSPHRASE):
                monkeypatch.delenv(name)
            with Federation.open(tmp_path / "run") as reader:
                assert reader.verify().passed
                assert reader.audit().passed
    finally:
        for each in devnets:
            each.close()
