# SPDX-License-Identifier: Apache-2.0
"""Asks a running explorer from many clients at once: the time of answers, and its memory.

    python -m benchmarks.explorer_load --port 8000 --pid PID --clients 100 --seconds 60

Each client asks once a second, like the page of a federation that changes all the time.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import threading
import time
from pathlib import Path

PATHS = (
    "/",
    "/static/explorer.js",
    "/api/federation",
    "/api/graph",
    "/api/models?count=50",
    "/api/models?search=r1",
    "/api/requests",
    "/api/blocks?count=50",
)


class Clients:
    """Clients of one server, until a moment."""

    def __init__(self, port: int, end: float) -> None:
        self.seconds: list[float] = []
        self.failed: list[str] = []
        self._port = port
        self._end = end
        self._noting = threading.Lock()

    def run(self, seed: int) -> None:
        rng = random.Random(seed)
        time.sleep(rng.random())
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        while time.time() < self._end:
            began = time.perf_counter()
            status = self._ask(connection, rng.choice(PATHS))
            took = time.perf_counter() - began
            with self._noting:
                self.seconds.append(took)
                if status != "200":
                    self.failed.append(status)
            time.sleep(max(0.0, 1 - took))

    def _ask(self, connection: http.client.HTTPConnection, path: str) -> str:
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            return type(error).__name__
        return str(answer.status)


def memory(pid: int) -> int:
    """Resident MiB of a process (Linux)."""
    (line,) = [each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmRSS" in each]
    return int(line.split()[1]) // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    clients = Clients(chosen.port, time.time() + chosen.seconds)
    threads = [threading.Thread(target=clients.run, args=(each,)) for each in range(chosen.clients)]
    for each in threads:
        each.start()
    resident = [memory(chosen.pid)]
    while any(each.is_alive() for each in threads):
        time.sleep(chosen.seconds / 6)
        resident.append(memory(chosen.pid))
    took = sorted(clients.seconds)
    share = {name: took[int(len(took) * part)] * 1e3 for name, part in (("median", 0.5), ("p95", 0.95))}
    print(f"{len(took):,} answers, {len(clients.failed)} failed {sorted(set(clients.failed))}")
    print(f"median {share['median']:.0f} ms, p95 {share['p95']:.0f} ms, longest {took[-1] * 1e3:.0f} ms")
    print(f"memory {resident} MiB, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
