# SPDX-License-Identifier: Apache-2.0
"""Starting, watching and ending nodes, also when this process ends first."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from blockful_py.chain import persistent, processes, programs
from blockful_py.chain.calls import Call
from blockful_py.chain.devnet import Devnet, NodeOptions, start_together
from blockful_py.chain.node import connect
from blockful_py.chain.processes import take_port
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import Signer
from blockful_py.errors import NodeError, SettingsError, ToolchainError
from tests.chain.test_sender import artifact

ROOT = Path(__file__).parents[2]
HOLD = """
import signal, sys
from blockful_py.chain.devnet import Devnet, NodeOptions
with Devnet(NodeOptions(1337)) as devnet:
    try:
        print(devnet.port, devnet.pid, flush=True)
        signal.pause()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        print(devnet.node.block_number(), flush=True)
"""


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def until_silent(port: int) -> bool:
    end = time.monotonic() + 600
    while listening(port):
        if time.monotonic() > end:
            return False
    return True


def test_a_node_lives_as_long_as_its_context() -> None:
    with Devnet(NodeOptions(4242)) as devnet:
        assert devnet.node.chain_id == 4242
        assert int(devnet.node.rpc.call("net_version")) == 4242
        assert int(devnet.node.latest_block()["gasLimit"], 16) == 30_000_000
        pid, port = devnet.pid, devnet.port
        assert pid is not None
    assert not listening(port)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    devnet.close()
    with pytest.raises(NodeError, match="this development node was stopped"):
        devnet.node.block_number()


@pytest.mark.parametrize(("kind", "block_time"), [("ganache", 0), ("ganache", 1), ("anvil", 0), ("anvil", 1)])
def test_senders_of_a_node_know_how_it_makes_blocks(kind: str, block_time: int) -> None:
    with Devnet(NodeOptions(1337, kind=kind, block_time=block_time)) as devnet:
        call = Call(artifact(bytes(10)), bytes(20), b"data")
        receipts = devnet.sender(1).send_many([call] * 5)
        assert len(receipts) == 5
        if (kind, block_time) == ("ganache", 0):
            assert len({each.block_number for each in receipts}) == 5


def test_a_fast_node_leaves_nothing_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with Devnet(NodeOptions(31337, kind="anvil")) as devnet:
        devnet.node.rpc.call("anvil_mine", hex(1000))
        assert devnet.node.rpc.call("eth_getBlockByNumber", "0x1", False)["number"] == "0x1"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_exception_stops_the_node() -> None:
    with pytest.raises(RuntimeError, match="on purpose"), Devnet(NodeOptions(1337)) as devnet:
        raise RuntimeError("on purpose")
    assert not listening(devnet.port)


def test_a_killed_node_is_reported_with_its_last_words() -> None:
    with Devnet(NodeOptions(1337)) as devnet:
        assert devnet.pid is not None
        os.kill(devnet.pid, signal.SIGKILL)
        with pytest.raises(NodeError, match=r"was ended by SIGKILL; its last output: .*Listening"):
            while True:
                devnet.node.block_number()


def test_an_occupied_port_is_refused(ganache: Devnet) -> None:
    with pytest.raises(NodeError, match=f"port {ganache.port} is taken by another program: stop it"):
        Devnet(NodeOptions(1337, port=ganache.port))


def test_a_port_is_given_to_one_at_a_time() -> None:
    with take_port() as port:
        with pytest.raises(NodeError, match=f"port {port.number} is taken"):
            take_port(port.number)
        with pytest.raises(NodeError, match=f"port {port.number} is taken"):
            Devnet(NodeOptions(1337, port=port.number))
    with take_port(port.number) as again:
        assert again.number == port.number


def test_a_port_that_another_program_uses_is_no_free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        monkeypatch.setattr(processes, "FREE_PORTS", range(number, number + 1))
        with pytest.raises(NodeError, match=f"ports from {number} to {number} were taken"):
            take_port()


def test_when_one_of_two_nodes_does_not_start_none_is_left(ganache: Devnet) -> None:
    with take_port() as port:
        free = port.number
    with pytest.raises(NodeError, match="is taken"):
        start_together(NodeOptions(1, port=free), NodeOptions(2, port=ganache.port))
    assert not listening(free)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(SettingsError, match="'ganache' or 'anvil', not 'geth'"):
        Devnet(NodeOptions(1337, kind="geth"))


@pytest.mark.parametrize(
    "how",
    [
        signal.SIGKILL,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGINT, signal.SIGTERM)),
    ],
)
def test_no_node_outlives_the_process_that_started_it(how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True, start_new_session=True, cwd=ROOT
    ) as holder:
        assert holder.stdout is not None
        port = int(holder.stdout.readline().split()[0])
        os.killpg(holder.pid, how)  # as a terminal does on Ctrl-C: to the whole group
        rest = holder.stdout.read().split()
        holder.wait(timeout=600)
    assert rest == (["interrupted", "0"] if how == signal.SIGINT else [])
    assert until_silent(port)


def test_a_missing_node_program_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"no program `node` was found on PATH: install Node.js 18"):
        Devnet(NodeOptions(1337))


@pytest.mark.parametrize(
    ("prints", "says"), [("v16.20.2", "is version v16.20.2, too old"), ("hello", "printed 'hello")]
)
def test_an_old_node_program_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prints: str, says: str
) -> None:
    program = tmp_path / "node"
    program.write_text(f"#!/bin/sh\necho {prints}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=says):
        Devnet(NodeOptions(1337))


def test_missing_npm_packages_are_told(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "blockful_py", tmp_path / "blockful_py")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "node").symlink_to(programs.node_program())
    code = (
        "from blockful_py.chain.devnet import *\n"
        "for kind in ('ganache', 'anvil'):\n"
        "    try: Devnet(NodeOptions(1337, kind=kind))\n"
        "    except ToolchainError as error: print(error)\n"
    ).replace("import *", "import Devnet, NodeOptions\nfrom blockful_py.errors import ToolchainError")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PATH": str(tmp_path / "bin"), "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    ganache, anvil = done.stdout.splitlines()
    assert "Ganache is not installed: run `make setup` in a clone" in ganache
    assert "Anvil is not installed: run `make setup`" in anvil


def test_a_persistent_node_keeps_its_chain(tmp_path: Path) -> None:
    state = persistent.up(tmp_path, 1337)
    try:
        assert persistent.up(tmp_path, 1337) == state
        assert persistent.status(tmp_path) == (state,)
        node = connect(state.url, 1337)
        signer = Signer.from_mnemonic(NodeOptions(1337).mnemonic, 0)
        receipt = Sender(node, signer).send(Call(artifact(bytes(10)), bytes(20), b"kept"))
        node.close()
    finally:
        assert persistent.down(tmp_path) == (state,)
    assert not listening(state.port)
    assert persistent.status(tmp_path) == ()
    assert persistent.down(tmp_path) == ()

    again = persistent.up(tmp_path, 1337)
    try:
        assert again.url == state.url
        node = connect(again.url, 1337)
        name = "0x" + receipt.transaction_hash.hex()
        assert node.rpc.call("eth_getTransactionByHash", name)["input"] == "0x" + b"kept".hex()
        node.close()
    finally:
        persistent.down(tmp_path)


def test_the_port_of_the_last_time_is_not_exchanged(tmp_path: Path) -> None:
    with take_port() as taken:
        (tmp_path / "1337.port").write_text(f"{taken.number}\n")
        with pytest.raises(NodeError, match=f"port {taken.number}, where runs look for chain 1337, is taken"):
            persistent.up(tmp_path, 1337)
    (tmp_path / "1337.port").write_text("x")
    with pytest.raises(NodeError, match=r"1337.port is not the port of a development node"):
        persistent.up(tmp_path, 1337)


def test_down_leaves_a_process_alone_that_is_not_the_node(tmp_path: Path) -> None:
    with subprocess.Popen(["/bin/sleep", "60"]) as innocent:
        state = persistent.DevnetState(1337, innocent.pid, 1, "http://127.0.0.1:1", 0, str(tmp_path / "1337"))
        (tmp_path / "1337.json").write_text(json.dumps(asdict(state)))
        assert persistent.down(tmp_path) == ()
        assert innocent.poll() is None
        innocent.kill()


def test_a_damaged_state_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "1337.json").write_text("{")
    with pytest.raises(NodeError, match=r"1337.json is not the state of a development node"):
        persistent.status(tmp_path)
