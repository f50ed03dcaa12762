# SPDX-License-Identifier: Apache-2.0
"""The cost of attacks by participants: gas and bytes of the attacker, seconds and MiB of the federation.

    python -m benchmarks.attack_costs [--trials 1] [--only WORDS]
    python -m benchmarks.attack_costs --render-only

A federation of processes on Anvil: four members (f = 1), two participants that serve, and accounts that
attack, each from a process of its own.  A request that its owner retrains one model is timed from its filing
to its certificate: in peace, and under each attack from one account and from f + 1.  Memory is the peak of
the largest member's process (VmHWM) without the memory of a process that only imports torch.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import shlex
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import tomli_w

from benchmarks.attack_costs_table import markdown
from benchmarks.attackers import ATTACKS, BY_OWNERS, attack
from benchmarks.processes import children, usage
from benchmarks.services import member_memory
from benchmarks.stored import FIGURES, keep, load
from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.signer import Signer
from blockful_py.cli.local_federation import ARCHIVE, LIVE, LocalFederation
from blockful_py.detached import end
from blockful_py.errors import BlockfulError, RunError
from blockful_py.forget import Forget
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.joining import join
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.types import Paradigm, RequestState
from tests.devnets import set_balance
from tests.member.processes import QUICK

SETTINGS = Path("examples/machines.toml")
MEMBERS, FAULTY = 4, 1
HONEST = ("a", "b")
"""The second is trained from the first, and from models of attackers that file valid requests."""
START = "b"
"""The honest request starts here, and reaches nothing else."""
OWNERS = ("x1", "x2", "x3", "x4")
"""Attackers with a published model; the others join and publish nothing."""
ETHER = 10**18
WAIT_SECONDS = 600.0
CONTEXT = multiprocessing.get_context("spawn")


def told(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class AttackedFederation(LocalFederation):
    """A local federation on chains in memory, most of whose participants do not serve."""

    def __init__(self, folder: Path, strangers: int) -> None:
        super().__init__(folder, lambda command: told(f"  {command}"))
        self.names = ("a", *OWNERS, "b", *(f"p{number}" for number in range(1, strangers + 1)))
        self.chains = {chain: Devnet(NodeOptions(chain, kind="anvil")) for chain in (LIVE, ARCHIVE)}

    def settings(self) -> Path:
        document = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
        graph = {name: ["a", *BY_OWNERS["valid requests"]] if name == "b" else [] for name in self.names}
        document["federation"] = {
            "scenario": "scripted",
            "situation": "all_hold",
            "users": len(graph),
            "graph": graph,
        }
        document["unlearning"] = {"starts": ["a"], "classes": [3], "blocks": 5000}
        path = self.folder / "settings.toml"
        path.write_text(tomli_w.dumps(document), encoding="utf-8")
        return path

    def participant(self, name: str) -> str:
        return f"participant-{self.names.index(name) + 1}"

    def members(self) -> list[int]:
        return [each.pid for each in self.services() if each.name.startswith("member-")]

    def end_service(self, name: str) -> None:
        for each in self.services():
            if each.name == self.participant(name):
                end(each.pid, each.mark)

    def serve(self, name: str) -> None:
        name = self.participant(name)
        self._serve(name, "participant", "serve", self.party(name))

    def serve_beside(self, name: str) -> None:
        """Serves an attacker, which has a machine of its own: it takes no time of the others' cores."""
        self.serve(name)
        for each in self.services():
            if each.name == self.participant(name):
                os.setpriority(os.PRIO_PROCESS, each.pid, 19)

    def opened(self, name: str) -> tuple[ParticipantFolder, Nodes, PartyRun]:
        folder = ParticipantFolder(self.party(self.participant(name)))
        keys = folder.keys(self.words(self.participant(name)).read_text().strip())
        nodes = self._nodes(keys.account_secret)
        return folder, nodes, PartyRun.of_participant(folder.run, nodes, keys)

    def account(self, name: str) -> bytes:
        folder = ParticipantFolder(self.party(self.participant(name)))
        return folder.keys(self.words(self.participant(name)).read_text().strip()).account

    def _chain(self, chain_id: int) -> str:
        return self.chains[chain_id].node.url

    def _participants(self) -> None:
        """All join in turn; participants with a model in the graph serve until it is published."""
        for number, name in enumerate(self.participants, start=1):
            folder = ParticipantFolder(self.party(name))
            keys = folder.init(self.words(name).read_text().strip(), QUICK)
            shutil.move(self.folder / "data" / f"user-{number}.safetensors", folder.path / "own.safetensors")
            with self._nodes(keys.account_secret) as nodes:
                for node in (nodes.live, nodes.archive):
                    set_balance(node, keys.account, 100 * ETHER)
                join(
                    folder,
                    keys,
                    self.file.read_bytes(),
                    str(folder.path / "own.safetensors"),
                    nodes,
                    0,
                    "cpu",
                )
        for name in (*HONEST, *OWNERS):
            self.serve(name)

    def _explorer(self) -> None:
        """Starts nothing: this federation has no explorer."""

    def _nodes(self, secret: int) -> Nodes:
        live, archive = (self.chains[chain].node.url for chain in (LIVE, ARCHIVE))
        return Nodes(ChainEndpoints(LIVE, ARCHIVE, live, archive), Signer(secret.to_bytes(32, "big")))

    def down(self) -> tuple[Any, ...]:
        ended = super().down()
        for chain in self.chains.values():
            chain.close()
        return ended


class WorkSampler:
    """The largest resident size of a process that a member started, while it is open."""

    def __init__(self, members: Sequence[int]) -> None:
        self._members = members
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.most = 0

    def _run(self) -> None:
        while not self._over.wait(0.5):
            found = [usage(pid) for pid in children(self._members)]
            self.most = max([self.most, *(each.rss for each in found if each)])

    def __enter__(self) -> WorkSampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def sizes(status: str) -> dict[str, int]:
    """Bytes by name, of a process's /proc/PID/status: its peak (VmHWM), and its resident memory."""
    words = [line.split() for line in status.splitlines() if line.endswith("kB")]
    return {each[0].rstrip(":"): int(each[1]) * 1024 for each in words}


def with_torch() -> dict[str, int]:
    """Of a process that only imports torch."""
    script = "import torch, pathlib; print(pathlib.Path('/proc/self/status').read_text())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return sizes(done.stdout)


class Bench:
    """One federation, and the measurements in it."""

    def __init__(self, federation: AttackedFederation, party: PartyRun) -> None:
        self._federation = federation
        self._party = party
        self.torch = with_torch()
        self._turn = 0
        self._free = [name for name in federation.names if name.startswith("p")]
        self.rows: list[dict[str, Any]] = []

    def request(self) -> dict[str, Any]:
        """Times an honest request, and the members' memory meanwhile."""
        members = self._federation.members()
        for pid in members:
            member_memory(pid, reset=True)
        self._turn += 1
        begun = time.monotonic()
        with WorkSampler(members) as work:
            forgotten = Forget.of_classes([self._turn % 10])
            number = self._party.request((START,), forgotten, Paradigm.SEQUENTIAL, None)
            filed = time.monotonic()
            certificate = self._party.certificate(number, seconds=WAIT_SECONDS)
            seconds = time.monotonic() - begun
        found = [sizes(Path(f"/proc/{pid}/status").read_text(encoding="ascii")) for pid in members]
        replaced = {each.name for each in certificate.statement.replaced}
        if replaced != {START}:
            raise RunError(f"the request replaced {replaced} only")
        return {
            "seconds": round(seconds, 2),
            "filed": round(filed - begun, 2),
            "member_mib": max(peaks := [self._beside_torch("VmHWM", each["VmHWM"]) for each in found]),
            "members_mib": peaks,
            "private_mib": [self._beside_torch("RssAnon", each["RssAnon"]) for each in found],
            "leader_mib": self._beside_torch("VmHWM", work.most) if work.most else None,
            "load": round(os.getloadavg()[0], 1),
        }

    def _beside_torch(self, what: str, size: int) -> float:
        return round((size - self.torch[what]) / 2**20, 1)

    def peace(self) -> None:
        self._note({"attack": None, "accounts": 0, **self.request()})

    def attacked(self, kind: str, accounts: int) -> None:
        owners = BY_OWNERS.get(kind)
        names = owners[:accounts] if owners else tuple(self._free.pop(0) for _ in range(accounts))
        honest = self._federation.account(START)
        begun = self._party.federation.nodes.live.block_number()
        attackers: list[tuple[Any, Connection]] = []
        for name in names:
            here, there = CONTEXT.Pipe()
            folder = self._federation.party(self._federation.participant(name))
            words = self._federation.words(self._federation.participant(name)).read_text().strip()
            process = CONTEXT.Process(target=attack, args=(there, kind, folder, words, honest), daemon=True)
            process.start()
            attackers.append((process, here))
        for step in ("open", "begun"):
            for _, pipe in attackers:
                assert pipe.recv() == step
                if step == "open":
                    pipe.send("go")
        row: dict[str, Any] = {"attack": kind, "accounts": accounts}
        try:
            row |= self.request()
        except BlockfulError as error:
            row["problem"] = str(error)
        for _, pipe in attackers:
            pipe.send("end")
        ended = [pipe.recv() for _, pipe in attackers]
        for process, pipe in attackers:
            pipe.send("bye")
            process.join()
        done: dict[str, int] = {}
        for each in ended:
            for what, number in each["done"].items():
                done[what] = done.get(what, 0) + number
        problems = [each["problem"] for each in ended if each["problem"]]
        spent = self._spent(begun, [self._federation.account(name) for name in names])
        row |= {"done": done, "problems": problems, "sent": sum(each["sent"] for each in ended), **spent}
        self._note(row)
        if kind not in BY_OWNERS:
            self._settle()

    def _spent(self, first: int, accounts: Iterable[bytes]) -> dict[str, int]:
        """Gas and bytes of the accounts' transactions since a block, on the live chain."""
        node, wanted = self._party.federation.nodes.live, {"0x" + each.hex() for each in accounts}
        gas = size = count = 0
        for number in range(first + 1, node.block_number() + 1):
            block = node.rpc.call("eth_getBlockByNumber", hex(number), True)
            for each in block["transactions"]:
                if each["from"].lower() in wanted:
                    receipt = node.rpc.call("eth_getTransactionReceipt", each["hash"])
                    gas += int(receipt["gasUsed"], 16)
                    size += len(each["input"]) // 2 - 1
                    count += 1
        return {"gas": gas, "calldata": size, "transactions": count}

    def _settle(self) -> None:
        """Waits until the members have dismissed all filed requests."""
        registry, limit = self._party.federation.contracts.participants, time.monotonic() + 120
        while any(each.state is RequestState.FILED for each in registry.filed_requests()):
            if time.monotonic() > limit:
                told("  some requests are not decided yet")
                return
            time.sleep(1.0)

    def _note(self, row: dict[str, Any]) -> None:
        told(json.dumps(row))
        self.rows.append(row)


def until_published(party: PartyRun, names: Iterable[str]) -> None:
    limit = time.monotonic() + WAIT_SECONDS
    while not set(names) <= party.federation.catalogue().models.keys():
        if time.monotonic() > limit:
            raise SystemExit("the models are not published: see the logs in the federation's folder")
        time.sleep(1.0)


def measure(options: argparse.Namespace, command: str) -> dict[str, Any]:
    kinds = [each for each in ATTACKS if not options.only or any(word in each for word in options.only)]
    strangers = sum(each not in BY_OWNERS for each in kinds) * (2 + FAULTY) * options.trials
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    begun = time.monotonic()
    federation = AttackedFederation(options.folder, strangers)
    try:
        federation.up(federation.settings(), (), MEMBERS)
        told(f"up after {time.monotonic() - begun:.0f} s")
        _, nodes, party = federation.opened(START)
        with nodes, party:
            until_published(party, (*HONEST, *OWNERS))
            told(f"published after {time.monotonic() - begun:.0f} s")
            for name in OWNERS:
                federation.end_service(name)
            bench = Bench(federation, party)
            bench.peace()
            bench.rows.clear()  # the first reads the published models
            bench.peace()
            for kind in kinds:
                if kind == "valid requests":
                    for name in BY_OWNERS[kind]:
                        federation.serve_beside(name)
                for _ in range(options.trials):
                    for accounts in (1, 1 + FAULTY):
                        bench.attacked(kind, accounts)
                if kind != "valid requests":  # the last, whose work goes on
                    bench.peace()
    finally:
        federation.down()
    return {
        "command": command,
        "machine": {"python": platform.python_version(), "cpus": os.cpu_count(), "devnet": "anvil"},
        "members": MEMBERS,
        "torch_mib": round(bench.torch["VmHWM"] / 2**20, 1),
        "seconds": round(time.monotonic() - begun),
        "rows": bench.rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1, help="of each attack from each number of accounts")
    parser.add_argument("--only", action="append", help="words in the names of attacks; can be repeated")
    parser.add_argument("--append", action="store_true", help="keep the stored runs as well")
    parser.add_argument("--folder", type=Path, default=Path(".blockful/attack-costs"))
    parser.add_argument("--output", type=Path, default=FIGURES)
    parser.add_argument("--render-only", action="store_true", help="write the table of the stored figures")
    options = parser.parse_args()
    if not options.render_only:
        only = [part for each in options.only or () for part in ("--only", shlex.quote(each))]
        trials = ["--trials", str(options.trials)] if options.trials != 1 else []
        more = ["--append"] if options.append else []
        run = measure(options, " ".join(("python -m benchmarks.attack_costs", *trials, *only, *more)))
        runs = [*(load(options.output, "attack_costs") if options.append else ()), run]
    else:
        runs = load(options.output, "attack_costs")
    keep(options.output, "attack_costs", runs, markdown(runs))


if __name__ == "__main__":
    main()
