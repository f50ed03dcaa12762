# SPDX-License-Identifier: Apache-2.0
"""A laboratory's commands, each on nodes that limit, drop, answer late and reorder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from blockful_py.chain import rpc
from blockful_py.chain.devnet import NodeOptions, start_together
from tests.cli.commands import blockful
from tests.cli.test_train_by_name import TOML
from tests.strict_node import BUSY, Habits, StrictNode

HABITS = {
    "busy, in 429": Habits(busy=BUSY["429"]),
    "busy, in 503": Habits(busy=BUSY["503"]),
    "busy, in the body of a 400": Habits(busy=BUSY["an error in a 400"]),
    "ranges and batches": Habits(blocks=5, calls=3, status=413, reorders=True),
    "drops and is late": Habits(drops=True, late=0.02),
}
COMMANDS = (
    "deploy two.toml --run run",
    "train --run run",
    "unlearn --run run --start a --class 3",
    "verify --run run",
    "audit --run run --model a",
    "graph --run run --start a",
    "jobs --run run",
    "evaluate --run run",
    "report --run run",
    "export-proof a --run run --output proof",
    "certificate issue --run run",
)


@pytest.fixture(params=HABITS)
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """With settings of a federation of two, on such nodes."""
    monkeypatch.setattr(rpc, "_PAUSE", 0.01)
    devnets = start_together(*(NodeOptions(each, kind="anvil") for each in (1337, 1338)))
    with ExitStack() as open_nodes:
        for each in devnets:
            open_nodes.callback(each.close)
        live, archive = (
            open_nodes.enter_context(StrictNode(each.url, HABITS[request.param])) for each in devnets
        )
        urls = f'live_url = "{live.url}"\narchive_url = "{archive.url}"\n'
        (tmp_path / "two.toml").write_text(TOML + urls)
        yield tmp_path
        assert all(each.refused or HABITS[request.param].drops for each in (live, archive))


@pytest.mark.slow
def test_every_command_ends_as_on_a_good_node(folder: Path) -> None:
    for command in COMMANDS:
        outcome = blockful(folder, *command.split())
        assert outcome.status == 0, (command, outcome.err)
