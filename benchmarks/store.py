# SPDX-License-Identifier: Apache-2.0
"""Storage throughput: sha256 alone, CID only, durable add, verified read, both of them sealed; small files.

python -m benchmarks.store [MiB]        (default 256; one run of each)
"""

from __future__ import annotations

import hashlib
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from blockful_py.crypto.envelope import KEY_BYTES, seal, sealed_size, unseal
from blockful_py.storage import ContentStore, file_uri
from blockful_py.storage.pieces import ahead

MIB = 2**20
SMALL_FILES = 200
SMALL_SIZE = 56_000  # bytes, about a model of 13,706 float32 weights


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds by the clock, and of CPU in all threads."""

    clock: float
    cpu: float


def spent(action: Callable[[], object]) -> Spent:
    clock, cpu = time.perf_counter(), time.process_time()
    action()
    return Spent(time.perf_counter() - clock, time.process_time() - cpu)


def hash_file(path: Path) -> None:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(MIB):
            digest.update(chunk)


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with path.open("wb") as file:
            for _ in range(size):
                file.write(os.urandom(MIB))
        plain, sealed = (ContentStore(Path(folder) / name) for name in ("plain", "sealed"))
        key = os.urandom(KEY_BYTES)
        baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        alone = spent(lambda: hash_file(path))
        with path.open("rb") as file:
            named = spent(lambda: file_uri(file))
        with path.open("rb") as file:
            added = spent(lambda: plain.add_stream(file))
        (uri,) = plain
        read = spent(lambda: all(plain.stream(uri, size * MIB)))
        plain.delete(uri)
        with path.open("rb") as file:
            closed = spent(lambda: sealed.add_pieces(ahead(seal(key, file))))
        (uri,) = sealed
        opened = spent(lambda: all(unseal(key, ahead(sealed.stream(uri, sealed_size(size * MIB))))))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"file of {size} MiB")
        for what, took in (
            ("sha256 alone", alone),
            ("CID", named),
            ("add, durable", added),
            ("read, verified", read),
            ("seal and add", closed),
            ("read and open", opened),
        ):
            clock, cpu = alone.clock / took.clock, alone.cpu / took.cpu
            shares = f"{clock:6.0%} of sha256 alone, {cpu:6.0%} by CPU time"
            print(f"  {what:<16}{size / took.clock:8.0f} MiB/s  {shares}")
        print(f"  memory above baseline {(peak - baseline) / 1024:.0f} MiB")
        models = [os.urandom(SMALL_SIZE) for _ in range(SMALL_FILES)]
        took = spent(lambda: [plain.add(model) for model in models])
        uris = [file_uri(model) for model in models]
        read = spent(lambda: [plain.read(uri, SMALL_SIZE) for uri in uris])
        print(f"{SMALL_FILES} files of {SMALL_SIZE} bytes")
        print(f"  add, durable    {SMALL_FILES / took.clock:8.0f} files/s")
        print(f"  read, verified  {SMALL_FILES / read.clock:8.0f} files/s")


if __name__ == "__main__":
    main()
