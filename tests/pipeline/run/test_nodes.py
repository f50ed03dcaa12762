# SPDX-License-Identifier: Apache-2.0
"""Federations on nodes given by URL: one node for both chains, Anvil, and nodes that are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.chain.devnet import Devnet, NodeOptions, start_together
from blockful_py.errors import DeploymentError, NodeError, RunError, SettingsError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from tests.federations import AFFECTED, GRAPH, UNTOUCHED, small, versions


@pytest.fixture(scope="module")
def anvils() -> Iterator[tuple[Devnet, ...]]:
    started = start_together(NodeOptions(31337, kind="anvil"), NodeOptions(1, kind="anvil"))
    try:
        yield started
    finally:
        for each in started:
            each.close()


def _forget(federation: Federation) -> None:
    federation.train()
    federation.unlearn()
    assert versions(federation) == dict.fromkeys(UNTOUCHED, 0) | dict.fromkeys(AFFECTED, 1)
    assert federation.verify().passed
    assert federation.audit().passed


def test_anvil_is_the_live_chain_and_ganache_the_archive(
    anvils: tuple[Devnet, ...], chains: Nodes, tmp_path: Path
) -> None:
    urls = {
        "live_url": anvils[0].url,
        "archive_url": chains.archive.url,
        "live_chain_id": 31337,
        "archive_chain_id": 1338,
    }
    settings = small(chain={"packaging_interval": 0, **urls})
    with Federation.create(settings, tmp_path / "run") as federation:
        assert not federation.nodes.one_chain
        _forget(federation)
    with Federation.open(tmp_path / "run") as again:
        assert again.verify().checked == len(GRAPH)
    assert anvils[0].diagnosis() is None


def test_one_node_for_both_chains(anvils: tuple[Devnet, ...], tmp_path: Path) -> None:
    url = anvils[0].url
    chain = {"packaging_interval": 0, "live_url": url, "archive_url": url, "live_chain_id": 31337}
    with Federation.create(small(chain=chain), tmp_path / "run") as federation:
        assert federation.nodes.one_chain
        _forget(federation)
    assert [path.name for path in (tmp_path / "run" / "deployments").iterdir()] == ["31337.json"]
    with Federation.open(tmp_path / "run") as again:
        assert again.verify().passed


def test_own_nodes_have_the_chain_ids_that_were_asked_for(tmp_path: Path) -> None:
    chain = {
        "packaging_interval": 0,
        "live_chain_id": 31337,
        "archive_chain_id": 31338,
        "devnet": "embedded",
    }
    with Federation.create(small(chain=chain), tmp_path / "run") as federation:
        assert (federation.nodes.live.chain_id, federation.nodes.archive.chain_id) == (31337, 31338)
        assert federation.contracts.live.chain_id == 31337
        with pytest.raises(RunError, match="holds a run already"):
            Federation.create(small(), tmp_path / "run", nodes=federation.nodes)


def test_a_wrong_chain_id_is_refused_and_leaves_nothing(anvils: tuple[Devnet, ...], tmp_path: Path) -> None:
    chain = {"live_url": anvils[0].url, "archive_url": anvils[0].url, "live_chain_id": 1337}
    with pytest.raises(NodeError, match="is on chain 31337, but chain 1337 was expected"):
        Federation.create(small(chain=chain), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_chain_that_is_no_development_chain_is_refused(anvils: tuple[Devnet, ...], tmp_path: Path) -> None:
    chain = {"live_url": anvils[1].url, "archive_url": anvils[1].url, "live_chain_id": 1}
    blocks = anvils[1].node.block_number()
    with pytest.raises(SettingsError, match="chain 1 is not a development chain"):
        Federation.create(small(chain=chain), tmp_path / "run")
    assert anvils[1].node.block_number() == blocks
    assert not (tmp_path / "run").exists()


def test_chains_that_were_started_anew_are_told_from_those_of_the_run(
    anvils: tuple[Devnet, ...], tmp_path: Path
) -> None:
    url = anvils[0].url
    chain = {"packaging_interval": 0, "live_url": url, "archive_url": url, "live_chain_id": 31337}
    mark = anvils[0].node.rpc.call("evm_snapshot")
    Federation.create(small(chain=chain), tmp_path / "run").close()
    assert anvils[0].node.rpc.call("evm_revert", mark)
    with pytest.raises(DeploymentError, match="was started anew; deploy again"):
        Federation.open(tmp_path / "run")


def test_settings_of_another_seed_do_not_open_the_committee(chains: Nodes, tmp_path: Path) -> None:
    federation = Federation.create(small(), tmp_path / "run", nodes=chains)
    text = (tmp_path / "run" / "run.json").read_text()
    (tmp_path / "run" / "run.json").write_text(text.replace('"seed": 0', '"seed": 1'))
    federation = Federation.open(tmp_path / "run", nodes=chains)
    with pytest.raises(DeploymentError, match="has another key than seed 1 gives"):
        federation.train()
    assert federation.contracts.live.height() == 0
