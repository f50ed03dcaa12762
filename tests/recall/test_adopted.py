# SPDX-License-Identifier: Apache-2.0
"""Recalls of models that were made elsewhere: recipients of a merge, a folder that is withdrawn, its card."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from blockful_py import load
from blockful_py.adopt.folders import read_folder
from blockful_py.adopt.plan import plan_adoption
from blockful_py.adopt.publishing import SETTINGS, publish
from blockful_py.chain.account_file import create
from blockful_py.errors import FormatError, RecalledError, VerificationError
from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.index import RecordIndex
from blockful_py.explorer.requests_page import request_document, request_list
from blockful_py.explorer.watched import watched_run
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.progress import Silent
from blockful_py.settings import Settings
from tests.adopt.model_folders import write_family, write_merge
from tests.recall.conftest import WORDS, Publisher


def adopt(publisher: Publisher) -> None:
    with Federation.open(publisher.folder / "run") as record:
        publish(record, plan_adoption(read_folder(publisher.folder / "family"), record.catalogue()), Silent())


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Publisher:
    """A family of models, adopted; recipients of its base, and of a merge of ann's model."""
    made = Publisher(tmp_path_factory.mktemp("hub"))
    write_family(made.folder / "family")
    settings = Settings.load(None, [*SETTINGS, "chain.packaging_interval=0", "chain.devnet=embedded"])
    Federation.create(settings, made.folder / "run").close()
    adopt(made)
    (made.folder / "list.csv").write_text("name\nClinic\nAnother\n")
    made.recall("deliver", "eve--mix", "list.csv")
    made.recall("deliver", "lab--base", "list.csv")
    for name in ("eve/mix", "lab/base"):
        proof = str(made.folder / "family" / name / "proof.json")
        made.told("export-proof", name.replace("/", "--"), "--run", "run", "--output", proof)
    return made


def test_recipients_of_a_merge_are_told_when_its_parent_forgets(hub: Publisher, tmp_path: Path) -> None:
    mix, base = hub.folder / "family" / "eve" / "mix", hub.folder / "family" / "lab" / "base"
    given = shutil.copytree(mix, tmp_path / "given")
    assert load(mix, run=hub.folder / "run").keys() == load(base, run=hub.folder / "run").keys()
    _a_changed_file_is_refused(hub, mix, tmp_path / "changed")

    hub.told("unlearn", "--run", "run", "--dataset", "cases", "--quiet")
    found = hub.recall("status", status=1)
    told = {each["model"]: each["recalled"] for each in found["delivered"]}
    assert (told, found["open"]) == ({"eve--mix": True, "lab--base": False}, 2)
    with pytest.raises(RecalledError, match="withdrawn: delete every copy") as refused:
        load(given, run=hub.folder / "run")
    assert refused.value.withdrawn is True
    assert load(base, run=hub.folder / "run").keys(), "a parent of the merge stands"

    card = (given / "README.md").read_bytes()
    assert hub.recall("card", "eve--mix", str(given))["new_version"] is None
    write_merge(mix, 50, {"lab/base": 0.5, "lab/other": 0.5})
    adopt(hub)
    assert hub.recall("status", status=1)["open"] == 2, "a model that was made again closes nothing"
    marked = hub.recall("card", "eve--mix", str(given), "--new-version", "eve/mix-2")
    assert marked == {"card": str(given / "README.md"), "changed": True, "new_version": "eve/mix-2"}
    text = (given / "README.md").read_text()
    assert "eve--mix is withdrawn" in text
    before, front = (yaml.safe_load(each.split("---")[1]) for each in (card.decode(), text))
    assert front == {**before, "tags": [*before["tags"], "recalled"], "new_version": "eve/mix-2"}
    assert text.endswith(card.decode().split("---")[-1])


def test_the_page_of_a_request_lists_recipients_with_their_answers(hub: Publisher, tmp_path: Path) -> None:
    assert _listed_recipients(hub, tmp_path / "before", "wiki") == []
    hub.told("unlearn", "--run", "run", "--dataset", "wiki", "--quiet")
    assert _listed_recipients(hub, tmp_path / "open", "wiki") == [None, None]
    notices = hub.recall("notify", "out")["notices"]
    notice = next(each["file"] for each in notices if each["model"] == "lab--base")
    create(hub.folder / "clinic.json", WORDS, work=1 << 10)
    (hub.folder / "words").write_text(WORDS + "\n")
    hub.recall("record", hub.answer(hub.folder / notice, "kept", "clinic", "answer.json"))
    assert _listed_recipients(hub, tmp_path / "answered", "wiki") == [None, "kept"]


def _listed_recipients(hub: Publisher, folder: Path, dataset: str) -> list[str | None]:
    """The answers of the recipients of lab--base on the page of the request to forget a data set."""
    with (
        watched_run(hub.folder / "run", None, folder / "events") as watched,
        RecordIndex(folder / "index.sqlite", watched.sources()) as index,
    ):
        index.follow()
        with IndexReader(folder / "index.sqlite").moment() as connection:
            keys = [each["key"] for each in request_list(connection, False) if dataset in each["forget"]]
            pages = [request_document(connection, watched, bytes.fromhex(key[2:]), False) for key in keys]
    told = [page["recipients"] for page in pages if page is not None]
    assert all(each["unread"] == 0 for each in told)
    return [each["did"] for one in told for each in one["recipients"] if each["model"] == "lab--base"]


def _a_changed_file_is_refused(hub: Publisher, folder: Path, copy: Path) -> None:
    shutil.copytree(folder, copy)
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    with pytest.raises(VerificationError, match="their CID is"):
        load(copy, run=hub.folder / "run")
    weights.write_bytes(weights.read_bytes() + b"more")
    with pytest.raises(FormatError, match="has more than"):
        load(copy, run=hub.folder / "run")
