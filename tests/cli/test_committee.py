# SPDX-License-Identifier: Apache-2.0
"""A member from the command line: creation, service, questions, end; and refusals on the way."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from blockful_py.committee import wire
from blockful_py.committee.motions import AGREED, Agreements, Matter
from blockful_py.committee.service.member_client import identify
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import MessageError, UnreachableError
from blockful_py.pipeline.coordination.motions import OpenMotions
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.settings import Settings
from tests.cli.commands import begin, blockful, end
from tests.federations import small

WORDS = {"BLOCKFUL_PASSPHRASE": "correct horse battery staple"}


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A member's folder, with its passphrase in a file beside it."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "words").write_text(WORDS["BLOCKFUL_PASSPHRASE"] + "\n", encoding="utf-8")
    made = blockful(folder, "committee", "init", "m", "--passphrase-file", "words", "--json")
    assert made.status == 0, made.err
    addresses = {made.document[name] for name in ("address", "account")}
    assert [len(bytes.fromhex(each[2:])) for each in addresses] == [20, 20]
    return folder / "m"


def test_a_member_is_made_once_and_shows_no_secret(member: Path) -> None:
    again = blockful(member.parent, "committee", "init", "m", environment=WORDS)
    assert again.status == 6
    assert "exists already" in again.error
    assert member.stat().st_mode & 0o077 == 0
    assert (member / "keystore.json").stat().st_mode & 0o077 == 0


def test_an_operator_agrees_to_one_motion_and_takes_it_back(member: Path) -> None:
    motions = OpenMotions(member.parent / "motions")
    one, other = (motions.find(1, matter, bytes(20), None) for matter in (Matter.BAR, Matter.READMIT))
    agreements, path = Agreements(member / AGREED), str(motions.path(one))
    agree = ("committee", "agree", path, "m")
    agreed = blockful(member.parent, *agree, "--json", environment=WORDS)
    assert agreed.document == {
        "motion": str(one),
        "proposal": "0x" + one.proposal.hex(),
        "agreed": True,
        "changed": [],
    }
    assert (agreements.holds(one), agreements.holds(other)) == (True, False)
    for arguments, environment, reason, status in (
        (agree, {"BLOCKFUL_PASSPHRASE": "wrong horse battery"}, "passphrase is wrong", 6),
        (("committee", "agree", "words", "m"), WORDS, "holds no motion", 2),
        (("committee", "agree", path, "nobody"), WORDS, "there is no member in nobody", 6),
    ):
        refused = blockful(member.parent, *arguments, environment=environment)
        assert reason in refused.error
        assert refused.status == status
    withdrawn = blockful(member.parent, *agree, "--withdraw", environment=WORDS)
    assert "does not agree to bar 0x" in withdrawn.out
    assert not agreements.holds(one)


def test_a_member_serves_until_it_is_ended(member: Path) -> None:
    """Before its run exists it listens, and says that it is not ready."""
    serving = begin(
        member.parent, "committee", "serve", "m", "--run", "none", "--passphrase-file", "words", "--json"
    )
    assert serving.stdout is not None
    said = json.loads(serving.stdout.readline())
    signer = wire.MessageSigner(1, wire.domain(1337, bytes(20)), system_rng)
    with pytest.raises(MessageError, match="not ready: there is no run in none"):
        identify(said["url"], signer, 30)
    taken = blockful(member.parent, "committee", "serve", "m", "--run", "none", "--passphrase-file", "words")
    assert taken.status == 6
    assert "in use" in taken.error
    ended = end(serving, signal.SIGTERM)
    assert ended.status == 0
    assert ended.err == ""


def test_beyond_loopback_a_member_serves_by_tls(member: Path) -> None:
    serving = begin(
        member.parent,
        *("committee", "serve", "m", "--run", "none", "--host", "0.0.0.0"),  # noqa: S104
        *("--passphrase-file", "words", "--json"),
    )
    assert serving.stdout is not None
    port = json.loads(serving.stdout.readline())["url"].removeprefix("https://0.0.0.0:")
    signer = wire.MessageSigner(1, wire.domain(1337, bytes(20)), system_rng)
    with pytest.raises(MessageError, match="not ready"):
        identify(f"https://127.0.0.1:{port}", signer, 30)
    with pytest.raises(UnreachableError):
        identify(f"http://127.0.0.1:{port}", signer, 30)
    assert end(serving, signal.SIGTERM).status == 0


@pytest.mark.parametrize(
    ("arguments", "words", "status", "reason"),
    [
        (["--host", "localhost"], WORDS, 2, "is not an IP address"),
        (["--live-url", "http://127.0.0.1:1"], WORDS, 2, "or neither"),
        (["--leader", "0x12"], WORDS, 2, "is not an address"),
        ([], {"BLOCKFUL_PASSPHRASE": "not the passphrase"}, 6, "passphrase"),
    ],
)
def test_what_cannot_be_served_is_named(
    member: Path, arguments: list[str], words: dict[str, str], status: int, reason: str
) -> None:
    refused = blockful(
        member.parent, "committee", "serve", "m", "--run", "none", *arguments, environment=words
    )
    assert refused.status == status
    assert reason in refused.error


def test_there_is_no_member_to_serve(tmp_path: Path) -> None:
    refused = blockful(tmp_path, "committee", "serve", "m", "--run", "none", environment=WORDS)
    assert "blockful committee init m" in refused.error


def test_an_appointed_committee_has_no_processes(chains: Nodes, tmp_path: Path) -> None:
    urls = {"live_url": chains.live.url, "archive_url": chains.archive.url}
    settings: Settings = small(chain=urls)
    Federation.create(settings, tmp_path / "run").close()
    for command in ("status", "keygen"):
        refused = blockful(tmp_path, "committee", command, "--run", "run")
        assert refused.status == 2
        assert "is appointed" in refused.error


def test_services_without_members_are_settings_that_do_not_fit(tmp_path: Path) -> None:
    refused = blockful(tmp_path, "train", "--set", "committee.roster=services")
    assert refused.status == 2
    assert "committee.members lists 0 URLs, 4 different are expected" in refused.error
