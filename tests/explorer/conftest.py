# SPDX-License-Identifier: Apache-2.0
"""A run that was trained and unlearned once, and the explorer's app over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from blockful_py.crypto.randomness import SeededRng
from blockful_py.explorer.app import ExplorerApp
from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.guard import Guard
from blockful_py.explorer.index import RecordIndex
from blockful_py.explorer.watched import Watched, watched_run
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.member.endpoints import Urls
from blockful_py.pipeline.run.nodes import Nodes
from tests.federations import small, trained

HOST = "explorer.test"
AUDITOR = ReaderKeys.generate(SeededRng(b"auditor"))


@pytest.fixture(scope="module")
def run(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run with an auditor, whose starts have forgotten in parallel."""
    directory = tmp_path_factory.mktemp("explored") / "run"
    with trained(small(), directory, chains) as federation:
        federation.administration().set_auditor(AUDITOR.account, AUDITOR.encryption_key)
        federation.unlearn(paradigm="parallel")
    yield directory


@pytest.fixture(scope="module")
def watched(run: Path, chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    urls = Urls(chains.live.url, chains.archive.url)
    with watched_run(run, urls, tmp_path_factory.mktemp("events")) as opened:
        yield opened


@pytest.fixture(scope="module")
def reader(watched: Watched, tmp_path_factory: pytest.TempPathFactory) -> IndexReader:
    path = tmp_path_factory.mktemp("index") / "index.sqlite"
    with RecordIndex(path, watched.sources()) as index:
        index.follow()
    return IndexReader(path)


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static")
    (folder / "index.html").write_text("<!doctype html><title>the page</title>")
    (folder / "explorer.js").write_text("0;")
    return folder


@pytest.fixture(scope="module")
def guard(watched: Watched, reader: IndexReader, static: Path) -> Guard:
    made = Guard(ExplorerApp(watched, reader, "tests", static).routes())
    made.allow([HOST])
    return made


@pytest.fixture(scope="module")
def client(guard: Guard) -> Iterator[TestClient]:
    with TestClient(guard, base_url=f"http://{HOST}") as opened:
        yield opened
