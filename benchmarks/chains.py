# SPDX-License-Identifier: Apache-2.0
"""The pair of chains that a benchmark works on, with or without a block time."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blockful_py.chain.devnet import NodeOptions, start_together
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes

IDS = (1337, 1338)


def add_options(parser: argparse.ArgumentParser, devnet: str) -> None:
    parser.add_argument("--devnet", choices=("ganache", "anvil", "embedded"), default=devnet)
    parser.add_argument(
        "--block-time",
        type=int,
        default=0,
        help="seconds between blocks of Ganache or Anvil (default 0: a block for each transaction)",
    )


@contextmanager
def chains(devnet: str, block_time: int, folder: Path) -> Iterator[Nodes]:
    """Both nodes, which stop in the end; with a block time they are reached by URL, as anybody's are."""
    if not block_time:
        with Nodes(ChainEndpoints(*IDS, databases=folder, devnet=devnet)) as nodes:
            yield nodes
        return
    devnets = start_together(*(NodeOptions(each, kind=devnet, block_time=block_time) for each in IDS))
    try:
        live, archive = (each.url for each in devnets)
        with Nodes(ChainEndpoints(*IDS, live, archive)) as nodes:
            yield nodes
    finally:
        for each in devnets:
            each.close()
