# SPDX-License-Identifier: Apache-2.0
"""Recipients among machines: owners state and tell them, members keep the files and certify answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blockful_py.chain.account_file import create
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.storage.store import ContentStore
from blockful_py.types import Uri
from tests.cli.commands import Outcome, blockful
from tests.member.leaders import until
from tests.member.processes import WORDS
from tests.participant.conftest import Machines


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    return machines.publish()


def recall(machines: Machines, who: str, command: str, *words: str) -> Outcome:
    """A command of a participant, on its own run."""
    run = machines.participants[who].folder.run
    environment = {"BLOCKFUL_PASSPHRASE": WORDS}
    return blockful(
        machines.folder, "recall", command, *words, "--run", str(run), "--json", environment=environment
    )


def done(outcome: Outcome, status: int = 0) -> Any:
    assert outcome.status == status, outcome.err
    return outcome.document


def declared(machines: Machines) -> list[Uri]:
    return [each.uri for each in machines.contracts.participants.declarations()]


def kept_by_members(machines: Machines) -> bool:
    """Whether each member keeps all declared files."""
    stores = [ContentStore(member.folder / "run" / "live") for member in machines.members]
    return all(store.has(uri) for store in stores for uri in declared(machines))


def answer(folder: Path, notice: str, did: str, output: str) -> str:
    words = ("--did", did, "--keystore", "carol.json", "--output", output)
    done(
        blockful(
            folder, "recall", "answer", notice, *words, "--json", environment={"BLOCKFUL_PASSPHRASE": WORDS}
        )
    )
    return output


@pytest.mark.slow
def test_an_owner_recalls_what_it_gave_away(published: Machines) -> None:
    folder = published.folder
    carol = "0x" + create(folder / "carol.json", WORDS, work=1 << 10).hex()
    (folder / "two.csv").write_text(f"name,account\nClinic,\n,{carol}\n")
    assert done(recall(published, "z", "deliver", "z", "two.csv"))["declared"] == 2
    others = recall(published, "a", "deliver", "z", "two.csv")
    assert "z belongs to" in done(others, 2)["error"]["message"]
    until(lambda: kept_by_members(published))

    number = published.ask("z", 3)
    published.take("z", number)
    assert done(recall(published, "z", "status"), 1)["open"] == 2
    assert done(recall(published, "a", "status"), 1)["open"] == 2, "others read them from the members"
    notices = done(recall(published, "z", "notify", "told"))["notices"]
    by_account = {each["account"]: each["file"] for each in notices}
    files = [
        answer(folder, by_account[carol], "deleted", "one.json"),
        answer(folder, by_account[None], "replaced", "two.json"),
    ]
    refused = done(recall(published, "a", "record", *files), 1)["refused"]
    assert all("neither the model's owner nor the recipient's account" in why for why in refused.values())
    stranger = done(recall(published, "z", "record", files[0], "--keystore", "carol.json"), 2)
    assert "send the answer to the model's owner" in stranger["error"]["message"]
    assert done(recall(published, "z", "record", *files))["recorded"] == 2
    assert done(recall(published, "a", "status"))["open"] == 0

    with published.participants["z"].run() as party:
        certificate = party.certificate(number)
    check_certificate(certificate)
    listed = certificate.statement.recipients
    assert listed is not None
    assert listed.counts == {"deleted": 1, "replaced": 1}
    until(lambda: kept_by_members(published))
    assert len(declared(published)) == 2
