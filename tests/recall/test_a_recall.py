# SPDX-License-Identifier: Apache-2.0
"""A recall from deliveries to the last answer: a hundred recipients, one that lies, heirs, certificates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from blockful_py import load
from blockful_py.errors import QuorumError, RecalledError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.certificate import latest_request
from blockful_py.record.certificates.document import parse_certificate
from blockful_py.record.recall.documents import parse_answer
from blockful_py.record.recall.listed import RecipientList, listed
from blockful_py.record.recall.recipients import Recipients
from tests.recall.conftest import EXPORT, HUNDRED, Publisher


def test_a_hundred_recipients_are_told_and_none_is_left_open(publisher: Publisher) -> None:
    made, folder = publisher, publisher.folder
    first = made.recall("deliver", "y", "hundred.csv")
    assert first["declared"] == HUNDRED
    assert made.recall("deliver", "y", "hundred.csv")["declared"] == 0, "a second time adds nothing"
    made.recall("deliver", "x", "one.csv")
    made.recall("deliver", "a", "one.csv")
    assert made.recall("status")["open"] == 0, "nothing is recalled yet"
    assert load(folder / "y-0", run=folder / "run").keys()
    book = folder / "run" / "recipients.json"
    assert book.stat().st_mode & 0o077 == 0
    kept = b"".join(path.read_bytes() for path in (folder / "run" / "live").rglob("*") if path.is_file())
    assert b"Clinic 7" in book.read_bytes()
    assert b"Clinic 7" not in kept, "the store has hashes of names alone"

    made.told("unlearn", "--run", "run", "--quiet")
    found = made.recall("status", status=1)
    assert found["open"] == HUNDRED + 1, (
        "recipients of x, an heir of the starts, are told too, and of a are not"
    )
    (certificate,) = (folder / "run" / "certificates").glob("*.json")
    listed = parse_certificate(certificate.read_bytes()).statement.recipients
    assert listed is not None
    assert listed.counts == {"open": HUNDRED + 1}

    notices = {each["recipient"]: folder / each["file"] for each in made.recall("notify", "out")["notices"]}
    assert len(notices) == HUNDRED + 1
    feed = json.loads((folder / "out" / "feed.json").read_text())
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert [each["_blockful"]["version"] for each in feed["items"]] == [0, 0, 0, 0]

    own = "0x" + "00" * 12 + made.account("carol")[2:]
    forged = made.answer(notices[own], "deleted", "mallory", "forged.json")
    refused = made.recall("record", forged, status=1)
    assert f"the recipient's account is {made.account('carol')}" in refused["refused"][forged]
    answers = [
        made.answer(path, "deleted" if recipient == own else "replaced", "carol", f"{recipient[-8:]}.json")
        for recipient, path in notices.items()
    ]
    late, *answers = answers
    done = made.recall("record", *answers)
    assert (done["recorded"], done["refused"]) == (HUNDRED, {})
    assert made.recall("status", status=1)["open"] == 1
    assert len(made.recall("notify", "again")["notices"]) == 1, "a second time tells only who is open"
    made.recall("record", late)
    assert made.recall("status")["open"] == 0

    again = made.told("certificate", "issue", "--run", "run")
    listed = parse_certificate((folder / again["file"]).read_bytes()).statement.recipients
    assert listed is not None
    assert listed.counts == {"deleted": 1, "replaced": HUNDRED}
    verified = made.told("certificate", "verify", again["file"], "--run", "run")
    assert verified["recipients"] == listed.counts
    assert f"1 deleted, {HUNDRED} replaced" in made.run("certificate", "show", again["file"]).out
    assert made.account("carol") in (folder / again["page"]).read_text()
    assert made.run("verify", "--run", "run").status == 0


@pytest.fixture
def recalled(publisher: Publisher) -> Publisher:
    """After the test above, or after a request of its own."""
    if not list((publisher.folder / "run" / "certificates").glob("*.json")):
        publisher.told("unlearn", "--run", "run", "--quiet")
    return publisher


def test_the_loader_refuses_what_a_recipient_says_it_deleted(recalled: Publisher) -> None:
    """Its signed word stands beside a file whose hash shows what it is."""
    folder = recalled.folder
    with pytest.raises(RecalledError, match="version 1 stands") as refused:
        load(folder / "y-0", run=folder / "run")
    assert (refused.value.model, refused.value.version, refused.value.stands) == ("y", 0, 1)
    assert refused.value.withdrawn is False
    if not (folder / "y-1").exists():
        recalled.told("export", "y", *EXPORT, "--output", "y-1")
    assert load(folder / "y-1", run=folder / "run").keys()


def test_a_recipient_that_changes_its_word_is_shown(recalled: Publisher) -> None:
    made = recalled
    made.recall("deliver", "t", "hundred.csv", "--version", "0")
    own = "0x" + "00" * 12 + made.account("carol")[2:]
    notices = {
        each["recipient"]: made.folder / each["file"] for each in made.recall("notify", "t")["notices"]
    }
    gone = made.answer(notices[own], "deleted", "carol", "gone.json")
    made.recall("record", gone)
    kept = parse_answer((made.folder / gone).read_bytes())
    later = made.answer(notices[own], "kept", "carol", "kept.json")
    assert parse_answer((made.folder / later).read_bytes()).at >= kept.at
    _later_than(made, gone, later)
    made.recall("record", later, "--keystore", "carol.json", "--passphrase-file", "words")
    made.recall("record", gone)
    shown = made.run("recall", "status", "--model", "t", "--run", "run")
    assert "kept, signed by" in shown.out
    assert "after it had said that no copy was left" in shown.out


def _later_than(made: Publisher, before: str, after: str) -> None:
    """Signs `after` again for a second after `before`, which may be of the same second."""
    from blockful_py.chain.account_file import secret_in
    from tests.recall.conftest import WORDS

    first = parse_answer((made.folder / before).read_bytes())
    second = parse_answer((made.folder / after).read_bytes())
    notice = json.loads(next((made.folder / "t" / "notices").glob("*.json")).read_text())
    from blockful_py.crypto.eip712 import Domain

    domain = Domain(notice["chain_id"], bytes.fromhex(notice["contract"][2:]))
    signed = second.model_copy(update={"at": first.at + 1}).signed(
        domain, secret_in(made.folder / "carol.json", WORDS)
    )
    (made.folder / after).write_bytes(signed.to_bytes())


@pytest.mark.parametrize(
    "text, says",
    [
        ("name\n", "names 0 recipients"),
        ("who\nx\n", "expected name or account"),
        ("name,account\n,0x12\n", "line 2"),
        ("name\nx\nx\n", "line 3"),
        ("name,webhook\nx,http://example.org/\n", "line 2"),
        ("name,webhook\nx,file:///etc/passwd\n", "line 2"),
        ("name,webhook\nx,http://localhost:80@example.org/\n", "line 2"),
        ("name\nx,y\n", "line 2"),
        ("name\n" + "".join(f"n{number}\n" for number in range(4097)), "4097 recipients"),
    ],
)
def test_a_list_of_recipients_is_refused(publisher: Publisher, text: str, says: str) -> None:
    (publisher.folder / "bad.csv").write_text(text)
    done = publisher.run("recall", "deliver", "b", "bad.csv", "--run", "run")
    assert done.status == 5
    assert says in done.error


def test_commands_say_what_is_wrong(publisher: Publisher, tmp_path: Path) -> None:
    run = ("--run", "run")
    assert (
        "no version 7 yet" in publisher.run("recall", "deliver", "b", "one.csv", "--version", "7", *run).error
    )
    assert "no model 'q'" in publisher.run("recall", "deliver", "q", "one.csv", *run).error
    assert "no model 'q'" in publisher.run("recall", "status", "--model", "q", *run).error
    key = ("--keystore", "carol.json", "--passphrase-file", "words")
    assert "--did takes" in publisher.run("recall", "answer", "words", "--did", "burnt", *key).error
    assert "no notice of recall" in publisher.run("recall", "answer", "words", "--did", "kept", *key).error
    assert "cannot be read" in publisher.run("recall", "answer", "none", "--did", "kept", *key).error
    assert "name the owner's keystore" in publisher.run("recall", "deliver", "b", "one.csv", *key, *run).error
    card = publisher.run("recall", "card", "b", str(tmp_path), *run)
    assert "neither replaced nor withdrawn" in card.error


@pytest.mark.parametrize("lie", ["nobody", "one less", "a file unread"])
def test_members_sign_for_no_list_that_lies(
    recalled: Publisher, lie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader hides recipients of a recalled version."""
    recalled.recall("deliver", "s", "one.csv", "--version", "0")

    def hiding(found: Recipients, versions: Mapping[str, int], block: int) -> RecipientList | None:
        true = listed(found, versions, block)
        assert true is not None
        if lie == "one less":
            return true.model_copy(update={"recipients": true.recipients[1:]})
        return None if lie == "nobody" else true.model_copy(update={"unread": ("b" + "a" * 58,)})

    with Federation.open(recalled.folder / "run") as federation:
        request = latest_request(federation.catalogue())
        with monkeypatch.context() as patch:
            patch.setattr("blockful_py.pipeline.jobs.certificate.listed", hiding)
            with pytest.raises(QuorumError):
                federation.certify_erasure(request)
        assert federation.certify_erasure(request).statement.recipients is not None
