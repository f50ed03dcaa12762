# SPDX-License-Identifier: Apache-2.0
"""Joining, looking, electing and leaving from the command line, and refusals on the way."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from tests.cli.commands import Outcome, blockful
from tests.federations import put_back, small

ETHER = 10**18
WORDS = {"BLOCKFUL_PASSPHRASE": "correct horse battery staple"}
NOBODY = ("http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3", "http://127.0.0.1:4")


@pytest.fixture(scope="module")
def place(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a member `m` and a run `run` whose committee is to be elected."""
    folder = tmp_path_factory.mktemp("elected")
    assert blockful(folder, "committee", "init", "m", environment=WORDS).status == 0
    rules = {"epoch_length": 0, "commit_period": 1, "unbonding_delay": 1_000}
    settings = small(
        chain={"live_url": chains.live.url, "archive_url": chains.archive.url},
        committee={"roster": "elected", "members": NOBODY, "size": 4, "election": rules},
    )
    Federation.create(settings, folder / "run").close()
    return folder


@pytest.fixture(autouse=True)
def _as_it_was(chains: Nodes, place: Path) -> Iterator[None]:
    with put_back(chains.live):
        yield
    shutil.rmtree(place / "run" / "events", ignore_errors=True)  # or the run would tell of a reorganisation


def committee(place: Path, command: str, *arguments: str) -> Outcome:
    return blockful(place, "committee", command, *arguments, "--run", "run", environment=WORDS)


def test_a_member_without_funds_is_told_whom_to_send_how_much(place: Path) -> None:
    refused = committee(place, "join", "m", "--stake", "1.5")
    assert refused.status == 4
    assert "has 0 ether on chain 1337; a stake of 1.5 and gas take 1.5" in refused.error
    assert "send it 1.5" in refused.error


def test_a_member_joins_raises_its_stake_and_is_shown(place: Path) -> None:
    joined = committee(place, "join", "m", "--stake", "1", "--fund", "--json")
    assert joined.status == 0, joined.out
    assert joined.document["stake"] == "1"
    assert float(joined.document["funded"]) > 1
    again = committee(place, "join", "m", "--stake", "1", "--json")
    assert again.document == {**joined.document, "funded": "0"}
    raised = committee(place, "join", "m", "--stake", "2.25", "--fund", "--json")
    assert raised.document["stake"] == "2.25"
    with Federation.open(place / "run") as federation:
        account = bytes.fromhex(joined.document["account"][2:])
        state = federation.contracts.elected.candidate(account)
    assert (state.stake, state.voter.hex()) == (9 * ETHER // 4, joined.document["address"][2:])


def test_a_stake_that_is_too_small_or_no_number(place: Path) -> None:
    small_stake = committee(place, "join", "m", "--stake", "0.5")
    assert (small_stake.status, "asks for 1 at least" in small_stake.error) == (2, True)
    assert "not an amount of ether" in committee(place, "join", "m", "--stake", "1e3").error


def test_the_status_of_a_committee_without_an_epoch(place: Path) -> None:
    outcome = committee(place, "status", "--json")
    assert outcome.status == 6
    document = outcome.document
    assert (document["epoch"], document["archiveEpoch"], document["ready"]) == (0, None, 0)
    assert document["election"]["phase"] == "idle"
    assert [member["url"] for member in document["members"]] == list(NOBODY)
    assert all("answer" in member["problem"] for member in document["members"])


def test_nothing_is_trained_before_the_first_epoch(place: Path) -> None:
    refused = blockful(place, "train", "--run", "run")
    assert refused.status == 1
    assert "let members join with `blockful committee join`" in refused.error


def test_an_election_without_candidates_is_void(place: Path) -> None:
    refused = committee(place, "rotate", "--quiet")
    assert refused.status == 6
    assert "the election was void: too few candidates" in refused.error


def test_a_member_leaves_and_is_told_when_its_stake_is_free(place: Path, chains: Nodes) -> None:
    assert "has not joined" in committee(place, "leave", "m").error
    assert committee(place, "join", "m", "--stake", "1", "--fund").status == 0
    left = committee(place, "leave", "m", "--json").document
    assert (left["state"], left["stake"]) == ("waiting", "1")
    assert left["withdrawableAt"] == pytest.approx(chains.live.timestamp() + 1_000, abs=60)
    again = committee(place, "leave", "m", "--json").document
    assert again == left
    chains.live.rpc.call("evm_increaseTime", 1_100)
    assert committee(place, "leave", "m", "--json").document == {
        "state": "left",
        "stake": "1",
        "withdrawableAt": None,
    }
    assert committee(place, "leave", "m", "--json").document["stake"] == "0"
    assert committee(place, "join", "m", "--stake", "1", "--json").document["stake"] == "1"


def test_who_has_asked_to_leave_may_stay(place: Path) -> None:
    assert committee(place, "join", "m", "--stake", "1", "--fund").status == 0
    assert committee(place, "leave", "m").status == 0
    assert committee(place, "join", "m", "--stake", "1").status == 0
    with Federation.open(place / "run") as federation:
        found = federation.contracts.elected.candidate(_account(place))
    assert (found.stake, found.unbonding_since) == (ETHER, 0)


def test_an_elected_committee_generates_no_key_by_itself(place: Path) -> None:
    refused = committee(place, "keygen")
    assert refused.status == 2
    assert "is elected" in refused.error


def test_an_appointed_committee_elects_nobody(chains: Nodes, tmp_path: Path, place: Path) -> None:
    urls = {"live_url": chains.live.url, "archive_url": chains.archive.url}
    Federation.create(small(chain=urls), tmp_path / "run").close()
    refused = blockful(tmp_path, "committee", "rotate", "--run", "run")
    assert refused.status == 2
    assert "not elected" in refused.error


def _account(place: Path) -> bytes:
    from blockful_py.committee.service.folder import keys_in

    return keys_in(place / "m", WORDS["BLOCKFUL_PASSPHRASE"]).account
