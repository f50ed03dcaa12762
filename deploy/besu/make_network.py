# SPDX-License-Identifier: Apache-2.0
"""Makes the files of a Besu network with four QBFT validators; README.md has the commands.

make_network.py key NETWORK/node1       NETWORK/node1/key (secret) and key.pub
make_network.py network NETWORK ...     from the four key.pub:
    NETWORK/genesis.json                    chain id, forks, validators, balances
    NETWORK/network.env                     what compose.yaml takes
    NETWORK/node1/static-nodes.json         the nodes to connect to
    NETWORK/node1/permissions_config.toml   the nodes, and the accounts that may send transactions
"""

from __future__ import annotations

import argparse
import ipaddress
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rlp

from blockful_py.crypto import curve
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import KeystoreError
from blockful_py.whole_file import write_secret

VALIDATORS = 4
"""The fewest of which one may fail."""
BLOCK_SECONDS, TIMEOUT_SECONDS, EPOCH_BLOCKS = 2, 4, 30_000
GAS_LIMIT = 30_000_000
BALANCE = 1_000 * 10**18
"""Wei of each funded account: gas is free, and stakes are not."""
QBFT_MIX_HASH = "0x63746963616c2062797a616e74696e65206661756c7420746f6c6572616e6365"
P2P_PORT = 30303


def make_key(folder: Path) -> str:
    """Makes a node's key; returns the public one, 128 hexadecimal digits."""
    folder.mkdir(parents=True, exist_ok=True)
    secret = curve.random_scalar(system_rng)
    point = curve.multiply_base(secret)
    public = f"{point.x:064x}{point.y:064x}"
    write_secret(folder / "key", f"0x{secret:064x}", KeystoreError)
    (folder / "key.pub").write_text(f"0x{public}\n", encoding="utf-8")
    return public


def extra_data(validators: Sequence[bytes]) -> str:
    """RLP([32 bytes of vanity, validators, no votes, round 0, no seals])."""
    return "0x" + rlp.encode([bytes(32), list(validators), [], b"", []]).hex()


def genesis(chain_id: int, validators: Sequence[bytes], funded: Sequence[str]) -> dict[str, Any]:
    """Shanghai from the first block, since the contracts need its PUSH0; gas is free."""
    return {
        "config": {
            "chainId": chain_id,
            "berlinBlock": 0,
            "londonBlock": 0,
            "shanghaiTime": 0,
            "zeroBaseFee": True,
            "qbft": {
                "epochlength": EPOCH_BLOCKS,
                "blockperiodseconds": BLOCK_SECONDS,
                "requesttimeoutseconds": TIMEOUT_SECONDS,
            },
        },
        "nonce": "0x0",
        "timestamp": "0x0",
        "extraData": extra_data(sorted(validators)),
        "gasLimit": hex(GAS_LIMIT),
        "difficulty": "0x1",
        "mixHash": QBFT_MIX_HASH,
        "coinbase": "0x" + "00" * 20,
        "alloc": {each.lower().removeprefix("0x"): {"balance": hex(BALANCE)} for each in funded},
    }


def make_network(
    network: Path,
    chain_id: int,
    hosts: Sequence[str],
    rpc_port: int,
    funded: Sequence[str] = (),
    allowed: Sequence[str] = (),
) -> None:
    """`hosts`: IP addresses of the nodes.  `allowed`: accounts that may send; all may if it is empty."""
    folders = [network / f"node{number}" for number in range(1, VALIDATORS + 1)]
    keys = [(folder / "key.pub").read_text(encoding="utf-8").strip().removeprefix("0x") for folder in folders]
    validators = [keccak(bytes.fromhex(key))[12:] for key in keys]
    enodes = [f"enode://{key}@{host}:{P2P_PORT}" for key, host in zip(keys, hosts, strict=True)]
    permissions = f"nodes-allowlist={json.dumps(enodes)}\n"
    if allowed:
        permissions += f"accounts-allowlist={json.dumps([each.lower() for each in allowed])}\n"
    for number, folder in enumerate(folders):
        others = [enode for other, enode in enumerate(enodes) if other != number]
        (folder / "static-nodes.json").write_text(json.dumps(others, indent=2) + "\n", encoding="utf-8")
        (folder / "permissions_config.toml").write_text(permissions, encoding="utf-8")
    document = json.dumps(genesis(chain_id, validators, funded), indent=2)
    (network / "genesis.json").write_text(document + "\n", encoding="utf-8")
    settings = {
        "NETWORK": network.resolve(),
        "SUBNET": ipaddress.ip_network(f"{hosts[0]}/24", strict=False),
        "ACCOUNTS_PERMISSIONED": str(bool(allowed)).lower(),
        **{f"HOST_{number}": host for number, host in enumerate(hosts, start=1)},
        **{f"RPC_PORT_{number}": rpc_port + number - 1 for number in range(1, VALIDATORS + 1)},
    }
    lines = "".join(f"{name}={value}\n" for name, value in settings.items())
    (network / "network.env").write_text(lines, encoding="utf-8")


def account(text: str) -> str:
    if len(bytes.fromhex(text.removeprefix("0x"))) != 20:
        raise ValueError(text)
    return "0x" + text.removeprefix("0x").lower()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    key = commands.add_parser("key", help="make the key of one node")
    key.add_argument("folder", type=Path)
    network = commands.add_parser("network", help="make the other files, from the four public keys")
    network.add_argument("network", type=Path)
    network.add_argument("--chain-id", type=int, required=True)
    network.add_argument("--hosts", nargs=VALIDATORS, required=True, metavar="IP")
    network.add_argument("--rpc-port", type=int, default=8545, help="of node 1; the others follow")
    network.add_argument("--fund", nargs="*", default=[], type=account, metavar="ACCOUNT")
    network.add_argument("--allow", nargs="*", default=[], type=account, metavar="ACCOUNT")
    given = parser.parse_args(arguments)
    if given.command == "key":
        print("0x" + make_key(given.folder))
    else:
        make_network(given.network, given.chain_id, given.hosts, given.rpc_port, given.fund, given.allow)


if __name__ == "__main__":
    main()
