# SPDX-License-Identifier: Apache-2.0
"""A Ganache of our own on a free port, ended by its process id."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
STARTUP_S = 60.0
ACCOUNTS = 10


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def call(url: str, method: str, *params: object, timeout_s: float = 120.0) -> object:
    """One JSON-RPC call; the answer as it came, `result` or `error`."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310
        return json.load(answer)


@contextmanager
def ganache(chain_id: int = 1337) -> Iterator[str]:
    """Starts a node, waits until it answers, and yields its URL.

    Raises:
        RuntimeError: it ended or did not answer within STARTUP_S seconds.
    """
    port = free_port()
    program = shutil.which("ganache") or str(PROJECT / "node_modules" / ".bin" / "ganache")
    options = {
        "--server.host": "127.0.0.1",
        "--server.port": port,
        "--chain.chainId": chain_id,
        "--chain.networkId": chain_id,
        "--chain.hardfork": "shanghai",
        "--miner.blockGasLimit": 30_000_000,
        "--wallet.mnemonic": "brownie",
        "--wallet.totalAccounts": ACCOUNTS,
        "--wallet.defaultBalance": 1_000_000,
    }
    command = [program, "--logging.quiet", *(str(part) for item in options.items() for part in item)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + STARTUP_S
        while not _answers(url):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Ganache did not answer at {url} (exit status {process.poll()})")
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
