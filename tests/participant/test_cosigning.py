# SPDX-License-Identifier: Apache-2.0
"""Requests that several owners sign on their own machines, by commands, and attacks on them."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from blockful_py.errors import RefusedError
from blockful_py.forget import Forget
from blockful_py.pipeline.party import PartyRun
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.parts import request_to_bytes
from blockful_py.record.request import Request, Start
from blockful_py.record.request_file import RequestFile
from blockful_py.record.request_state import RequestStage
from blockful_py.types import Paradigm
from tests.cli.commands import Outcome, blockful
from tests.federations import AFFECTED
from tests.member.leaders import until
from tests.participant.conftest import Machines

BOTH = ("--start", "s", "--start", "t")


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"federation": {"parties": {"4": "clinic"}}, "unlearning": {"blocks": 100_000}}


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    for name in ("a", "b", "s", "t", "x", "y"):
        with machines.participants[name].run() as party:
            party.train_next()
    return machines


def command(machines: Machines, name: str, owner: str, *more: str) -> Outcome:
    """Runs `blockful participant NAME FOLDER ...` as the owner of a model."""
    folder = str(machines.participants[owner].folder.path)
    words = ("--passphrase-file", str(machines.folder / "passphrase"))
    return blockful(machines.folder, "participant", name, folder, *more, *words)


def drafted(machines: Machines, path: Path, *what: str, by: str = "s") -> RequestFile:
    """A request file of the owner of a model, with its signature."""
    outcome = command(machines, "request", by, *what, "--draft", str(path))
    assert outcome.status == 0, outcome.err
    return RequestFile.read(path)


def signed(machines: Machines, file: RequestFile, *owners: str) -> RequestFile:
    for owner in owners:
        secret = machines.participants[owner].keys.account_secret
        wallet = Account.sign_typed_data(secret.to_bytes(32, "big"), full_message=file.typed_data)
        file = file.with_signature(wallet.signature)
    return file


def asking(machines: Machines, name: str, file: RequestFile) -> None:
    """Checks a file as the owner of a model.  Raises as `PartyRun.asked`."""
    with machines.participants[name].run() as party:
        party.asked(file)


def version(machines: Machines, name: str) -> int:
    with machines.participants["a"].run() as party:
        return party.federation.catalogue()[name].version


def remade(machines: Machines, file: RequestFile, **changes: Any) -> RequestFile:
    """A file with a changed request, consistent in itself."""
    request = file.request.model_copy(update=changes)
    with machines.participants["a"].run() as party:
        live = party.federation.contracts.live
        return RequestFile.of(request, party.federation.catalogue(), live.chain_id, live.address)


def test_without_a_draft_others_models_are_refused_with_the_option_to_use(published: Machines) -> None:
    outcome = command(published, "request", "s", *BOTH, "--class", "3")
    assert (outcome.status, outcome.out) == (2, "")
    assert 'needs the signature of participant 4 "clinic", too: add --draft FILE' in outcome.error
    assert not published.contracts.participants.filed_requests()


def test_whoever_owns_no_start_neither_drafts_nor_signs(published: Machines, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    outcome = command(published, "request", "a", *BOTH, "--class", "3", "--draft", str(path))
    assert "none of the request's starts is yours" in outcome.error
    assert not path.exists()
    drafted(published, path, *BOTH, "--class", "3")
    before = path.read_bytes()
    for name in ("sign", "request"):
        words = ("--yes", str(path)) if name == "sign" else ("--file", str(path))
        assert "none of the request's starts is yours" in command(published, name, "x", *words).error
    assert path.read_bytes() == before


@pytest.mark.slow
def test_two_owners_forget_a_class_together(published: Machines, tmp_path: Path) -> None:
    """Drafted by one, shown to and signed by the other, filed once, by either, and carried out by both."""
    path = tmp_path / "request.json"
    outcome = command(published, "request", "s", *BOTH, "--class", "3", "--draft", str(path))
    assert outcome.status == 0, outcome.err
    assert "participant 3 signed" in outcome.out
    assert 'participant 4 "clinic" has yet to sign' in outcome.out
    assert f"blockful participant sign FOLDER {path}" in outcome.out
    advised = "--start s --start t --start MODEL --class 3 --draft request.json"
    assert advised in outcome.out
    assert (
        "exists already"
        in command(published, "request", "s", *BOTH, "--class", "3", "--draft", str(path)).error
    )

    early = command(published, "request", "s", "--file", str(path))
    assert 'still needs the signature of participant 4 "clinic"' in early.error
    unasked = command(published, "sign", "t", str(path))
    assert "nothing is signed" in unasked.error
    assert "it starts from your t" in unasked.out
    assert "models that must forget: 4, of them yours: t" in unasked.out
    assert "blocks of the live chain's node from its admission to hand in" in unasked.out
    assert "gas on both chains" in unasked.out
    assert "warning: gradient_ascent: unchanged models teach it again" in unasked.err
    assert RequestFile.read(path).missing

    told = command(published, "sign", "t", str(path), "--yes", "--json").document
    assert (told["missing"], told["starts"], told["own"], told["data"]) == ([], ["t"], ["t"], None)
    assert sorted(told["reached"]) == sorted(AFFECTED)
    mixed = command(published, "request", "t", "--file", str(path), "--class", "3")
    assert "--file already names what to forget" in mixed.error
    filed = command(published, "request", "t", "--file", str(path), "--json").document
    assert filed["stage"] == RequestStage.OPEN
    with published.participants["t"].run() as party:
        assert party.federation.contracts.participants.filed_requests()[-1].blocks == told["blocks"]
    again = command(published, "request", "s", "--file", str(path))
    assert "the same request was admitted before" in again.error
    assert "the same request was admitted before" in command(published, "sign", "s", str(path), "--yes").error

    before = {name: version(published, name) for name in AFFECTED}
    for name in ("s", "t"):
        with published.participants[name].run() as party:
            assert [node.name for node in party.take_part(filed["request"])] == [name]
    with published.participants["s"].run() as party:
        certificate = party.certificate(filed["request"], 600)
        assert party.federation.verify().passed
    check_certificate(certificate)
    assert {each.name for each in certificate.statement.replaced} >= {"s", "t"}
    assert version(published, "s") == before["s"] + 1
    _replayed(published, RequestFile.read(path).signed())


def _replayed(machines: Machines, request: Request) -> None:
    """A request that was carried out, filed once more past the command: the members dismiss it."""
    with machines.participants["s"].run() as party:
        number = filed_past_checks(party, request)
        until(lambda: party.stage(number) is RequestStage.DISMISSED)


def filed_past_checks(party: PartyRun, request: Request, blocks: int = 100) -> int:
    context = party.federation.context
    uri = context.stores.live.add(request_to_bytes(request))
    context.hand_out([uri])
    context.contracts.participants.file(uri, blocks)
    return len(context.contracts.participants.filed_requests())


class Terminal(io.StringIO):
    """A terminal at which its user types an answer."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "status", "left"), [("n", 1, 1), ("y", 0, 0)])
def test_at_a_terminal_the_owner_is_asked_before_it_signs(
    published: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, left: int
) -> None:
    path = tmp_path / "request.json"
    drafted(published, path, *BOTH, "--class", "6")
    monkeypatch.setattr(sys, "stdin", Terminal(f"{answer}\n"))
    outcome = command(published, "sign", "t", str(path))
    assert outcome.status == status
    assert "Sign it?" in outcome.err
    assert len(RequestFile.read(path).missing) == left


def test_a_participant_without_a_start_files_in_vain(published: Machines, tmp_path: Path) -> None:
    file = signed(published, drafted(published, tmp_path / "file", *BOTH, "--class", "4"), "t")
    with published.participants["x"].run() as party:
        with pytest.raises(RefusedError, match="none of the request's starts is yours"):
            party.file(file)
        number = filed_past_checks(party, file.signed())
        until(lambda: party.stage(number) is RequestStage.DISMISSED)
    with published.participants["t"].run() as party:
        assert party.stage(party.file(file)) is RequestStage.OPEN


def test_no_signer_blocks_another_by_a_filing_that_has_to_wait(published: Machines, tmp_path: Path) -> None:
    """The owner of t has an open request, so that its next filing waits."""
    file = signed(published, drafted(published, tmp_path / "file", *BOTH, "--class", "5"), "t")
    with published.participants["t"].run() as other, published.participants["s"].run() as one:
        waiting = other.file(file)
        assert other.stage(waiting) is RequestStage.FILED
        with pytest.raises(RefusedError, match=f"waits for its admission already, as request {waiting}"):
            other.file(file)
        assert one.stage(one.file(file)) is RequestStage.OPEN
        until(lambda: other.stage(waiting) is RequestStage.DISMISSED)


def test_of_two_signers_that_file_at_the_same_time_one_is_admitted(
    published: Machines, tmp_path: Path
) -> None:
    """The other's filing is refused by its own command, or dismissed."""
    file = signed(
        published,
        drafted(published, tmp_path / "file", "--start", "x", "--start", "b", "--class", "7", by="x"),
        "b",
    )

    def filed(name: str) -> int | None:
        with published.participants[name].run() as party, suppress(RefusedError):
            return party.file(file)
        return None

    with ThreadPoolExecutor() as both:
        numbers = [number for number in both.map(filed, ("x", "b")) if number is not None]
    with published.participants["a"].run() as party:
        ended = (RequestStage.OPEN, RequestStage.DISMISSED)
        until(lambda: all(party.stage(number) in ended for number in numbers))
        assert [party.stage(number) for number in numbers].count(RequestStage.OPEN) == 1


def test_a_wallets_signature_is_added_without_a_chain(published: Machines, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    file = drafted(published, path, *BOTH, "--class", "6")
    secret = published.participants["t"].keys.account_secret.to_bytes(32, "big")
    wallet = Account.sign_typed_data(secret, full_message=file.typed_data).signature
    assert (
        blockful(tmp_path, "request", "add", "request.json", "0x" + wallet.hex(), "--json").document[
            "missing"
        ]
        == []
    )
    asking(published, "t", RequestFile.read(path))


def altered(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def _another_class(document: dict[str, Any]) -> None:
    document["request"]["classes"] = document["typed_data"]["message"]["classes"] = [8]


def _no_signature(document: dict[str, Any]) -> None:
    document["signatures"] = dict.fromkeys(document["signatures"], "0x" + "00" * 64)


def _anothers_signature(document: dict[str, Any]) -> None:
    document["signatures"] = dict.fromkeys(document["owners"], *document["signatures"].values())


def _a_stranger(document: dict[str, Any]) -> None:
    document["signatures"]["0x" + "11" * 20] = "0x" + "22" * 64


def _no_hexadecimal(document: dict[str, Any]) -> None:
    document["signatures"] = dict.fromkeys(document["owners"], "0xzz")


def _shown_otherwise(document: dict[str, Any]) -> None:
    document["typed_data"]["message"]["classes"] = [8]


def _another_contract(document: dict[str, Any]) -> None:
    document["contract"] = document["typed_data"]["domain"]["verifyingContract"] = "0x" + "33" * 20
    document["signatures"] = {}


def _another_owner(document: dict[str, Any]) -> None:
    document["owners"] = document["owners"][::-1]


def _no_owner(document: dict[str, Any]) -> None:
    document["owners"] = [document["owners"][1]] * 2
    document["signatures"] = {}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_another_class, "has not signed this request: the file was changed after it was signed"),
        (_no_signature, "no key gives this signature"),
        (_anothers_signature, "has not signed this request"),
        (_a_stranger, "no key gives this signature|has not signed this request"),
        (_no_hexadecimal, "is not hexadecimal"),
        (_shown_otherwise, "shows wallets another request than it makes"),
        (_another_contract, "it is another federation's"),
        (_another_owner, "have the request made anew"),
        (_no_owner, "have the request made anew"),
    ],
)
def test_an_altered_file_is_neither_signed_nor_filed(
    published: Machines, tmp_path: Path, change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    path = tmp_path / "request.json"
    drafted(published, path, *BOTH, "--class", "6")
    altered(path, change)
    before, filed = path.read_bytes(), len(published.contracts.participants.filed_requests())
    for words in (("sign", "t", str(path), "--yes"), ("request", "t", "--file", str(path))):
        outcome = command(published, *words)
        assert outcome.status and re.search(reason, outcome.error), outcome.error
    assert path.read_bytes() == before
    assert len(published.contracts.participants.filed_requests()) == filed


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"method": "nobody.has:This {}"}, "custom code runs only if"),
        ({"method": "clean_increments {}"}, "more than each owner's own data"),
        ({"paradigm": "sequential"}, "needs more than each owner's own data (the models of others)"),
        ({"classes": (11,)}, "has no class"),
        ({"classes": (), "clients": (1,)}, "user 1 owns no start"),
        ({"created": 1 << 40}, "set this machine's clock"),
        (
            {"starts": (Start(name="s", position="9:0"), Start(name="t", position="9:1"))},
            "have the request made anew",
        ),
    ],
)
def test_what_members_would_dismiss_is_not_signed(
    published: Machines, tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "request.json"
    remade(published, drafted(published, path, *BOTH, "--class", "6"), **changes).write(path)
    before = path.read_bytes()
    assert reason in command(published, "sign", "t", str(path), "--yes").error
    assert path.read_bytes() == before


def test_samples_of_two_owners_are_named_and_each_checks_its_own_rows(
    published: Machines, tmp_path: Path
) -> None:
    path, wrong = tmp_path / "request.json", tmp_path / "wrong.json"
    file = drafted(published, path, "--sample", "3", "--sample", "6:0", "--sample", "6:2", by="t")
    assert file.request.samples == ("4:3", "6:0", "6:2")
    outcome = command(published, "sign", "x", str(path), "--yes")
    assert "it names your samples 0, 2" in outcome.out
    assert "all owners have signed; one of them files it:" in outcome.out
    drafted(published, wrong, "--sample", "3", "--sample", "6:99999", by="t")
    assert "user 6 has no sample 99999" in command(published, "sign", "x", str(wrong), "--yes").error
    assert RequestFile.read(wrong).missing
    bad = command(published, "request", "t", "--sample", "3:x")
    assert "a sample is written user:row" in bad.error
    assert (
        "--with names participants"
        in command(published, "request", "t", "--sample", "3", "--with", "2").error
    )


def test_a_file_signed_before_a_start_was_replaced_asks_the_same_of_its_new_version(
    published: Machines, tmp_path: Path
) -> None:
    """A request names models by their places: it holds for each version, and is carried out once."""
    start = ("--start", "y", "--start", "x", "--class", "9", "--paradigm", "sequential")
    file = signed(published, drafted(published, tmp_path / "file", *start, by="y"), "x")
    before = version(published, "y")
    with published.participants["y"].run() as party:
        number = party.request(("y",), Forget.of_classes([8]), Paradigm.SEQUENTIAL, None)
        assert [node.name for node in party.take_part(number)] == ["y"]
        assert version(published, "y") == before + 1
        assert party.stage(party.file(file)) is RequestStage.OPEN


def test_clients_leave_together_and_each_signs_for_its_own_data(published: Machines, tmp_path: Path) -> None:
    """The starts are all models of both, and a data owner that is left out cannot be named."""
    path = tmp_path / "request.json"
    alone = command(published, "request", "a", "--client", "--with", "2")
    assert "needs the signature of participant 2, too: add --draft FILE" in alone.error
    drafted(published, path, "--client", "--with", "2", by="a")
    told = command(published, "sign", "b", str(path), "--yes", "--json").document
    assert (told["missing"], told["starts"], told["data"]) == ([], ["b"], "all your data")
    assert [each["name"] for each in told["request"]["starts"]] == ["a", "b"]
    assert command(published, "request", "b", "--file", str(path), "--json").document["stage"] == "open"
    without = remade(published, RequestFile.read(path), starts=RequestFile.read(path).request.starts[:1])
    with pytest.raises(RefusedError, match="user 2 owns no start of the request"):
        asking(published, "a", without)
