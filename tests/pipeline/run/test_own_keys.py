# SPDX-License-Identifier: Apache-2.0
"""Outside development chains, keys are not derived from the seed; remaining uses are refused and named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.sender import SENDER_KEY
from blockful_py.errors import ChainError, SettingsError
from blockful_py.member.view import MemberView
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.contracts import deploy
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.identities import LEADER_KEY, Identities, address_of
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.settings import Settings
from tests.federations import small

FOUNDERS = tuple(f"0x{number:040x}" for number in range(1, 5))
URLS = tuple(f"http://127.0.0.1:{number}" for number in range(1, 5))
ELECTED = {"roster": "elected", "members": URLS, "election": {"founders": FOUNDERS}}


@pytest.fixture(scope="module")
def anvil() -> Iterator[Devnet]:
    with Devnet(NodeOptions(4242, kind="anvil")) as devnet:
        yield devnet


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SENDER_KEY, raising=False)
    monkeypatch.delenv(LEADER_KEY, raising=False)


def paid(anvil: Devnet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SENDER_KEY, bytes(anvil.signer(0)._account.key).hex())


def settings(anvil: Devnet, **sections: dict[str, Any]) -> Settings:
    chain = {"live_url": anvil.url, "archive_url": anvil.url, "live_chain_id": 4242}
    return small(chain={"packaging_interval": 0, **chain}, **sections)


def configured(anvil: Devnet, folder: Path) -> Settings:
    return settings(anvil, committee=ELECTED, federation={"accounts": str(folder / "accounts")})


def test_one_error_says_all_that_is_to_be_configured(anvil: Devnet, tmp_path: Path) -> None:
    blocks = anvil.node.block_number()
    with pytest.raises(SettingsError) as refused:
        Federation.create(settings(anvil), tmp_path / "run")
    told = str(refused.value)
    assert told.startswith("chain 4242 is not a development chain (1337, 1338, 31337, 31338 are)")
    for wanted in (SENDER_KEY, 'committee.roster = "elected"', "election.founders", "federation.accounts"):
        assert wanted in told
    assert anvil.node.block_number() == blocks
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("missing", "committee", "accounts"),
    [
        (r'Configure committee.roster = "elected", since [^;]*; [^;]*founders[^;]*\.$', {}, "accounts"),
        (r"Configure committee.election.founders[^;]*$", {**ELECTED, "election": {}}, "accounts"),
        (r"Configure federation.accounts[^;]*$", ELECTED, None),
    ],
    ids=["appointed", "no founders", "no accounts"],
)
def test_what_a_settings_file_leaves_to_the_seed_is_refused_at_deployment_and_opening(
    anvil: Devnet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
    committee: dict[str, Any],
    accounts: str | None,
) -> None:
    paid(anvil, monkeypatch)
    lacking = settings(anvil, committee=committee, federation={"accounts": accounts})
    with pytest.raises(SettingsError, match=missing):
        Federation.create(lacking, tmp_path / "run")
    Federation.create(configured(anvil, tmp_path), tmp_path / "run").close()
    file = tmp_path / "run" / "run.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "settings": lacking.to_json()}))
    with pytest.raises(SettingsError, match=missing):
        Federation.open(tmp_path / "run")


def test_an_account_that_everybody_knows_does_not_pay(anvil: Devnet, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=rf"Configure \${SENDER_KEY}[^;]*\.$"):
        Federation.create(configured(anvil, tmp_path), tmp_path / "run")
    with (
        Nodes(ChainEndpoints(4242, 4242, anvil.url, anvil.url)) as nodes,
        pytest.raises(ChainError, match=SENDER_KEY),
    ):
        _ = nodes.live_sender.address


def test_who_reads_needs_no_account_and_no_key(
    anvil: Devnet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid(anvil, monkeypatch)
    Federation.create(configured(anvil, tmp_path), tmp_path / "run").close()
    monkeypatch.delenv(SENDER_KEY)
    with Federation.open(tmp_path / "run") as federation:
        assert federation.contracts.live.height() == 0
        with pytest.raises(SettingsError, match=rf"takes a key of your own.*\${LEADER_KEY}.*--leader"):
            _ = federation.leader.secret
        monkeypatch.setenv(LEADER_KEY, "0x" + "07" * 32)
        assert federation.leader.secret == int.from_bytes(b"\7" * 32)


def test_members_know_no_leader_from_the_seed(
    anvil: Devnet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid(anvil, monkeypatch)
    Federation.create(configured(anvil, tmp_path), tmp_path / "run").close()
    with MemberView.of(tmp_path / "run", None, anvil.signer(1)) as view:
        assert not view.may_lead(address_of(Identities(0, (1337, 1338)).leader()))


def test_the_settings_of_a_place_outlive_the_command(anvil: Devnet, tmp_path: Path) -> None:
    """Lists of URLs, confirmations and the cap of fees are in run.json."""
    chain = {
        "live_url": (anvil.url, URLS[0]),
        "archive_url": (anvil.url, URLS[0]),
        "live_chain_id": 4242,
        "confirmations": 7,
        "max_fee_gwei": 2.5,
    }
    place = ChainEndpoints.of(small(chain=chain).chain, tmp_path)
    assert (place.archive_chain_id, place.confirmations, place.max_fee_gwei) == (4242, 7, 2.5)
    run = RunDirectory.create(tmp_path, small(chain=chain), place)
    opened = RunDirectory.open(tmp_path)
    assert (opened.place, opened.settings) == (place, run.settings)
    with Nodes(opened.place) as nodes:
        assert nodes.one_chain
        assert (nodes.live.url, nodes.live.confirmations) == (anvil.url, 7)
        with pytest.raises(SettingsError):
            deploy(nodes, small(chain=chain), tmp_path / "deployments")


def test_own_devnets_wait_for_no_confirmations(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="chains that go on by themselves"):
        ChainEndpoints.of(small(chain={"confirmations": 1}).chain, tmp_path)


def test_the_leader_of_a_development_chain_still_derives_from_the_seed(chains: Nodes, tmp_path: Path) -> None:
    with Federation.create(small(), tmp_path / "run", nodes=chains) as federation:
        secret = federation.leader.secret
    with Federation.create(small(), tmp_path / "again", nodes=chains) as federation:
        assert address_of(federation.leader.secret) == address_of(secret)
