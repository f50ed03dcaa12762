# SPDX-License-Identifier: Apache-2.0
"""Our development node on a free port, ended by its process id."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
STARTUP_S = 60.0
HOST = "127.0.0.1"
CHAIN_ID = 1337
GAS_LIMIT = 30_000_000
ACCOUNTS = 10


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


def call(url: str, method: str, *params: object, timeout_s: float = 120.0) -> object:
    """One JSON-RPC call; the answer as it came, `result` or `error`."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310
        return json.load(answer)


def ganache() -> AbstractContextManager[str]:
    """Starts a Ganache as `node` does."""
    program = shutil.which("ganache") or str(PROJECT / "node_modules" / ".bin" / "ganache")
    options = {
        "--server.host": HOST,
        "--server.port": (port := free_port()),
        "--chain.chainId": CHAIN_ID,
        "--chain.networkId": CHAIN_ID,
        "--chain.hardfork": "shanghai",
        "--miner.blockGasLimit": GAS_LIMIT,
        "--wallet.mnemonic": "brownie",
        "--wallet.totalAccounts": ACCOUNTS,
        "--wallet.defaultBalance": 1_000_000,
    }
    return node([program, "--logging.quiet", *(str(part) for item in options.items() for part in item)], port)


def anvil(program: Path) -> AbstractContextManager[str]:
    """Starts an Anvil as `node` does."""
    options = {
        "--host": HOST,
        "--port": (port := free_port()),
        "--chain-id": CHAIN_ID,
        "--hardfork": "shanghai",
        "--gas-limit": GAS_LIMIT,
        "--accounts": ACCOUNTS,
        "--balance": 1_000_000,
    }
    return node([str(program), "--silent", *(str(part) for item in options.items() for part in item)], port)


def quickest() -> AbstractContextManager[str]:
    """An Anvil if npm has a program for it, otherwise a Ganache; TEST_NODE overrides this."""
    programs = sorted(PROJECT.glob("node_modules/@foundry-rs/anvil-*/bin/anvil*"))
    return anvil(programs[0]) if programs and os.environ.get("TEST_NODE") != "ganache" else ganache()


@contextmanager
def node(command: list[str], port: int) -> Iterator[str]:
    """Starts a node, waits until it answers, and yields its URL.

    Raises:
        RuntimeError: it ended or did not answer within STARTUP_S seconds.
    """
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://{HOST}:{port}"
    try:
        deadline = time.monotonic() + STARTUP_S
        while not _answers(url):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} did not answer at {url} (exit status {process.poll()})")
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        call(url, "eth_chainId", timeout_s=5.0)
    except OSError:
        return False
    return True
