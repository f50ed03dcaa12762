# SPDX-License-Identifier: Apache-2.0
"""A run on embedded chains whose s, t, x and y are replaced once, with exports of y before and after."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from blockful_py.chain.account_file import create
from blockful_py.pipeline.federation import Federation
from tests.cli.commands import Outcome, blockful
from tests.federations import small

WORDS = "a passphrase for tests"
HUNDRED = 100
EXPORT = ("--to", "hf", "--license", "apache-2.0", "--run", "run")


@dataclass(frozen=True)
class Publisher:
    """The folder with the run, `run`, and the keystores `carol.json` and `mallory.json`."""

    folder: Path

    def run(self, *words: str) -> Outcome:
        return blockful(self.folder, *words)

    def told(self, *words: str, status: int = 0) -> Any:
        done = self.run(*words, "--json")
        assert done.status == status, done.err
        return done.document

    def recall(self, *words: str, status: int = 0) -> Any:
        return self.told("recall", *words, "--run", "run", status=status)

    def account(self, name: str) -> str:
        address: str = json.loads((self.folder / f"{name}.json").read_text())["address"]
        return "0x" + address.removeprefix("0x").lower()

    def answer(self, notice: Path, did: str, who: str, output: str) -> str:
        """Signs an answer with a keystore; returns its file."""
        key = ("--keystore", f"{who}.json", "--passphrase-file", "words")
        self.told("recall", "answer", str(notice), "--did", did, *key, "--output", output)
        return output


@pytest.fixture(scope="package")
def publisher(tmp_path_factory: pytest.TempPathFactory) -> Publisher:
    """A hundred recipients of y: carol by her account, the others by name; one of x; and one of a."""
    folder = tmp_path_factory.mktemp("recalled")
    made = Publisher(folder)
    with Federation.create(small(chain={"devnet": "embedded"}), folder / "run") as federation:
        federation.train()
    (folder / "words").write_text(WORDS + "\n")
    for name in ("carol", "mallory"):
        create(folder / f"{name}.json", WORDS, work=1 << 10)
    rows = [f"Clinic {number}," for number in range(1, HUNDRED)]
    (folder / "hundred.csv").write_text(
        "\n".join(["name,account", *rows, f",{made.account('carol')}"]) + "\n"
    )
    (folder / "one.csv").write_text("name\nHeirs' clinic\n")
    made.told("export", "y", *EXPORT, "--output", "y-0")
    return made
