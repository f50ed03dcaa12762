# SPDX-License-Identifier: Apache-2.0
"""The files of deploy/besu, checked without Docker and Besu."""

from __future__ import annotations

import json
import re
import runpy
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
import rlp
import yaml

from blockful_py.chain.deployments import deploy_live
from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import Signer
from blockful_py.crypto import curve
from tests.chain.council import Council

FOLDER = Path(__file__).parents[1] / "deploy" / "besu"
SCRIPT = runpy.run_path(str(FOLDER / "make_network.py"))
CHAIN_ID = 626202
HOSTS = [f"10.66.2.{number}" for number in range(11, 15)]
FUNDED = ["0x" + "0a" * 20]
ALLOWED = ["0x" + "0b" * 20, "0x" + "0C" * 20]

DOCUMENTED = (
    "0xf87aa00000000000000000000000000000000000000000000000000000000000000000f8549464a702e6263b7297a96638cac6ae65"
    "e6541f4169943923390ad55e90c237593b3b0e401f3b08a0318594aefdb9a738c9f433e5b6b212a6d62f6370c2f69294c7eeb9a4e00c"
    "e683cf93039b212648e01c6c6b78c080c0"
)
"""Besu's documentation, "Configure QBFT consensus", genesis file with block header validator selection."""


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("networks") / "archive"
    for number in range(1, 5):
        SCRIPT["main"](["key", str(folder / f"node{number}")])
    arguments = ["--chain-id", str(CHAIN_ID), "--rpc-port", "8555", "--hosts", *HOSTS]
    SCRIPT["main"](["network", str(folder), *arguments, "--fund", *FUNDED, "--allow", *ALLOWED])
    return folder


@pytest.fixture(scope="module")
def genesis(network: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((network / "genesis.json").read_text())
    return document


def addresses(network: Path) -> list[bytes]:
    """Addresses of the validators, from their secret keys."""
    secrets = [int((network / f"node{number}" / "key").read_text(), 16) for number in range(1, 5)]
    return [curve.address(curve.multiply_base(secret)) for secret in secrets]


def test_extra_data_is_that_of_besus_documentation() -> None:
    validators = rlp.decode(bytes.fromhex(DOCUMENTED[2:]))[1]
    assert SCRIPT["extra_data"](validators) == DOCUMENTED


def test_the_genesis_block_names_the_four_validators(network: Path, genesis: dict[str, Any]) -> None:
    vanity, validators, votes, validation_round, seals = rlp.decode(bytes.fromhex(genesis["extraData"][2:]))
    assert (vanity, votes, validation_round, seals) == (bytes(32), [], b"", [])
    assert validators == sorted(addresses(network))
    assert len(set(validators)) == 4


def test_the_genesis_file_has_the_fields_of_a_free_qbft_network_with_push0(genesis: dict[str, Any]) -> None:
    config = genesis.pop("config")
    assert config.pop("qbft").keys() == {"epochlength", "blockperiodseconds", "requesttimeoutseconds"}
    assert config == {
        "chainId": CHAIN_ID,
        "berlinBlock": 0,
        "londonBlock": 0,
        "shanghaiTime": 0,
        "zeroBaseFee": True,
    }
    numbers = {"nonce", "timestamp", "gasLimit", "difficulty"}
    assert genesis.keys() == {*numbers, "extraData", "mixHash", "coinbase", "alloc"}
    assert all(re.fullmatch("0x(0|[1-9a-f][0-9a-f]*)", genesis[each]) for each in numbers)
    assert genesis["difficulty"] == "0x1"
    assert bytes.fromhex(genesis["mixHash"][2:]) == b"ctical byzantine fault tolerance"
    assert genesis["alloc"] == {"0a" * 20: {"balance": hex(1_000 * 10**18)}}
    genesis["config"] = config


def test_a_key_is_for_its_owner_alone_and_never_replaced(network: Path) -> None:
    assert stat.S_IMODE((network / "node1" / "key").stat().st_mode) == 0o600
    before = (network / "node1" / "key").read_bytes()
    with pytest.raises(Exception, match="key"):
        SCRIPT["main"](["key", str(network / "node1")])
    assert (network / "node1" / "key").read_bytes() == before


def test_nodes_and_accounts_are_permitted_alike_on_all_nodes(network: Path) -> None:
    texts = {(network / f"node{number}" / "permissions_config.toml").read_text() for number in range(1, 5)}
    (text,) = texts
    permissions = tomllib.loads(text)
    keys = [(network / f"node{number}" / "key.pub").read_text().strip()[2:] for number in range(1, 5)]
    enodes = [f"enode://{key}@{host}:30303" for key, host in zip(keys, HOSTS, strict=True)]
    assert permissions == {
        "nodes-allowlist": enodes,
        "accounts-allowlist": [each.lower() for each in ALLOWED],
    }
    for number in range(4):
        others = json.loads((network / f"node{number + 1}" / "static-nodes.json").read_text())
        assert others == [each for each in enodes if each != enodes[number]]


def test_a_network_without_a_list_takes_transactions_from_all(network: Path) -> None:
    SCRIPT["make_network"](network, CHAIN_ID, HOSTS, 8555)
    assert "accounts-allowlist" not in (network / "node1" / "permissions_config.toml").read_text()
    assert "ACCOUNTS_PERMISSIONED=false" in (network / "network.env").read_text()
    SCRIPT["make_network"](network, CHAIN_ID, HOSTS, 8555, FUNDED, ALLOWED)


@pytest.mark.parametrize("name", ["compose.yaml", "compose.machine.yaml"])
def test_compose_files_are_whole(network: Path, name: str) -> None:
    text = (FOLDER / name).read_text()
    document = yaml.safe_load(text)
    environment = dict(line.split("=", 1) for line in (network / "network.env").read_text().splitlines())
    told = {"HOST", "NODE"} if name == "compose.machine.yaml" else set()
    assert set(re.findall(r"\$\{([A-Z_0-9]+)", text)) <= environment.keys() | told
    assert environment["ACCOUNTS_PERMISSIONED"] == "true"
    for service in document["services"].values():
        assert re.fullmatch(r"hyperledger/besu:\d+\.\d+\.\d+", service["image"])
        options = service["environment"]
        assert all(each.startswith("BESU_") and isinstance(value, str) for each, value in options.items())
        assert options["BESU_PERMISSIONS_NODES_CONFIG_FILE_ENABLED"] == "true"
        assert options["BESU_MIN_GAS_PRICE"] == "0"
        assert {"PERM", "QBFT", "ADMIN"}.isdisjoint(options["BESU_RPC_HTTP_API"].split(","))
        assert [each.split(":")[-1] for each in service["volumes"]] == ["/data", "/genesis.json"]
        local = all(each.startswith("127.0.0.1:") for each in service.get("ports", ()))
        assert local and (service.get("ports") or options["BESU_RPC_HTTP_HOST"] == "127.0.0.1")


def test_four_nodes_have_folders_ports_and_addresses_of_their_own() -> None:
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    assert services.keys() == {f"node{number}" for number in range(1, 5)}
    for name, service in services.items():
        number = name.removeprefix("node")
        assert service["volumes"][0] == f"${{NETWORK:?}}/{name}:/data"
        assert service["ports"] == [f"127.0.0.1:${{RPC_PORT_{number}:?}}:8545"]
        address = f"${{HOST_{number}:?}}"
        assert service["networks"]["chain"]["ipv4_address"] == address
        assert service["environment"]["BESU_P2P_HOST"] == address


def test_contracts_are_deployed_on_the_genesis_block(network: Path, genesis: dict[str, Any]) -> None:
    """Uses Anvil, which reads chain id, balances and gas limit from it, but nothing of QBFT."""
    owner = Signer(bytes(31) + b"\x09")
    SCRIPT["make_network"](network, CHAIN_ID, HOSTS, 8555, ["0x" + owner.address.hex()])
    options = NodeOptions(CHAIN_ID, kind="anvil", more=("--init", str(network / "genesis.json")))
    with Devnet(options) as devnet:
        assert devnet.node.balance(owner.address) == 1_000 * 10**18
        deployed = deploy_live(Sender(devnet.node, owner), Council.gathered(b"besu").roster, seats=3)
        assert devnet.node.code(deployed.address("LiveChain"))
