# SPDX-License-Identifier: Apache-2.0
"""A record whose contracts were deployed before there were recalls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.adopt.folders import read_folder
from blockful_py.adopt.plan import plan_adoption
from blockful_py.adopt.publishing import SETTINGS, publish
from blockful_py.errors import DeploymentError
from blockful_py.forget import Forget
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.recalls import declare
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.progress import Silent
from blockful_py.record.recall.documents import Deliveries, Recipient
from blockful_py.settings import Settings
from tests.adopt.model_folders import write_model
from tests.cli.commands import blockful

SAYS = "was deployed by a version of BlockFUL without recalls"


@pytest.fixture
def record(tmp_path: Path, chains: Nodes) -> Iterator[Federation]:
    """A record whose registry does not know `declare`: its code compares with another selector."""
    write_model(tmp_path / "models" / "base", 1, datasets=["wiki"])
    urls = [f"chain.live_url={chains.live.url}", f"chain.archive_url={chains.archive.url}"]
    settings = Settings.load(None, [*SETTINGS, *urls, "chain.packaging_interval=0"])
    with Federation.create(settings, tmp_path / "run") as record:
        publish(record, plan_adoption(read_folder(tmp_path / "models"), record.catalogue()), Silent())
        registry = record.contracts.participants
        selector, code = registry.interface.selector("declare"), registry.node.code(registry.address)
        assert code.count(selector) == 1
        earlier = code.replace(selector, bytes(4))
        registry.node.rpc.call("anvil_setCode", "0x" + registry.address.hex(), "0x" + earlier.hex())
        yield record


def test_recalls_say_that_the_contracts_came_before_them(record: Federation, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("name\nClinic\n")
    for words in (("deliver", "base", "list.csv"), ("status",), ("notify", "out"), ("record", "list.csv")):
        assert SAYS in blockful(tmp_path, "recall", *words, "--run", "run").error
    assert not (tmp_path / "run" / "recipients.json").exists(), "nobody was stated"
    file = Deliveries(
        position="1:0", version=0, recipients=(Recipient(recipient="0x" + 64 * "1", account=None),)
    )
    with pytest.raises(DeploymentError, match="deploy a new federation"):
        declare(record.context.opened, record.context.accounts.secret(1), file)


def test_forgetting_and_certificates_go_on_without_recalls(record: Federation) -> None:
    done = record.unlearn(forget=Forget.of_datasets(["wiki"]))
    assert record.certify_erasure(done.request).statement.recipients is None
    assert record.verify().passed
