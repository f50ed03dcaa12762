# SPDX-License-Identifier: Apache-2.0
"""Fuzzes one target with Atheris (libFuzzer), guided by the covered lines of this project.

    python -m tests.fuzzing.run node -max_total_time=60 -rss_limit_mb=2048 [corpus folder]

Arguments after the target go to libFuzzer.  An input that causes an error other than BlockfulError, or
exceeds the -timeout or memory limit, ends the run and is written to `crash-...`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["blockful_py"]):
    from tests.fuzzing.targets import TARGETS, survives


def main(arguments: list[str]) -> None:
    if len(arguments) < 2 or arguments[1] not in TARGETS:
        raise SystemExit(f"name one of {', '.join(TARGETS)}.")
    target = TARGETS[arguments[1]]
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        for number, seed in enumerate(target.seeds):
            (Path(folder) / str(number)).write_bytes(seed)

        def read(data: bytes) -> None:
            survives(target, data)

        atheris.Setup([arguments[0], *arguments[2:], folder], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
