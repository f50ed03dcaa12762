# SPDX-License-Identifier: Apache-2.0
"""Members' logs and metrics during decisions: one request id everywhere, right counts, no secret."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from blockful_py.committee.service.folder import SHARES, VAULT, keys_in, share_in
from blockful_py.committee.vault import Vault
from blockful_py.monitoring import request_id
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.request import Request, request_key
from tests.federations import small, trained
from tests.member.leaders import until
from tests.member.processes import WORDS, MemberProcess, members

MORE = ("--monitor", "127.0.0.1:0", "--log-format", "json", "--log-level", "debug")


@dataclass(frozen=True)
class Monitored:
    """A federation that has published and forgotten once, with members that log everything."""

    federation: Federation
    members: list[MemberProcess]

    def jobs(self) -> list[str]:
        """Request ids of the two jobs, derived from the record."""
        with self.federation.run.opened_journal() as journal:
            train, unlearn = journal.jobs()
        request = Request.model_validate_json(unlearn.request)
        return [
            request_id.of_job(self.federation.run.identity, train.number),
            request_id.of_request(request_key(request)),
        ]


@pytest.fixture(scope="module")
def court(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    folder: Path = tmp_path_factory.mktemp("monitored")
    with members(4, folder, folder / "run", chains, MORE, logged=True) as processes:
        committee = {"roster": "services", "members": tuple(each.url for each in processes), "size": 4}
        with trained(small(committee=committee), folder / "run", chains) as federation:
            federation.unlearn(classes=[0])
            yield Monitored(federation, processes)


def records(member: MemberProcess) -> list[dict[str, Any]]:
    return [json.loads(line) for line in member.reported().splitlines()]


def measured(member: MemberProcess) -> dict[str, Metric]:
    return {
        each.name: each for each in text_string_to_metric_families(told(member.told["monitor"] + "/metrics"))
    }


def told(url: str) -> str:
    return httpx2.get(url, timeout=600, trust_env=False).text


def value(metrics: dict[str, Metric], name: str, **labels: str) -> float:
    """Sum of the samples with this name and these labels."""
    return sum(
        sample.value
        for metric in metrics.values()
        for sample in metric.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


@pytest.mark.parametrize(("kind", "job"), [("vote-publication", 0), ("approve", 1), ("vote-redaction", 1)])
def test_a_request_id_follows_a_proposal_to_every_member(court: Monitored, kind: str, job: int) -> None:
    for member in court.members:
        until(lambda member=member: any(each.get("kind") == kind for each in records(member)))
        found = {each.get("request") for each in records(member) if each.get("kind") == kind}
        assert found == {court.jobs()[job]}


def test_the_proposals_in_the_logs_are_those_that_the_chains_executed(court: Monitored) -> None:
    contracts = court.federation.contracts
    for member in court.members:
        voted = {
            each["proposal"]
            for each in records(member)
            if each.get("kind") in ("vote-publication", "vote-redaction")
            and each["message"].startswith("answered")
        }
        assert len(voted) > 1
        for proposal in voted:
            assert contracts.live.executed_in(bytes.fromhex(proposal[2:]), 0) is not None


def test_a_member_counts_what_it_reviews_and_signs(court: Monitored) -> None:
    committee = court.federation.contracts.committee
    for member in court.members:
        until(lambda member=member: value(measured(member), "blockful_epoch") == committee.current_epoch())
        metrics, logged = measured(member), records(member)
        for kind in ("vote-publication", "approve"):
            asked = [each for each in logged if each.get("kind") == kind]
            accepted = sum(each["message"].startswith("answered") for each in asked)
            name, labels = "blockful_member_reviews_total", {"kind": kind}
            assert value(metrics, name, **labels, outcome="accepted") == accepted > 0
            assert value(metrics, name, **labels) == len(asked)
            assert value(metrics, "blockful_member_review_seconds_count", **labels) == len(asked)
        assert value(metrics, "blockful_member_votes_total", kind="vote-redaction") > 0
        assert value(metrics, "blockful_member_seated") == 1
        assert value(metrics, "blockful_http_requests_total", resource="messages", status="200") >= len(
            [each for each in logged if "kind" in each]
        )
        assert value(metrics, "process_resident_memory_bytes") > 2**20
        head = court.federation.nodes.live.block_number()
        assert 0 < value(metrics, "blockful_chain_head_block", chain="live") <= head


def test_a_question_that_is_not_accepted_is_counted(court: Monitored) -> None:
    member = court.members[0]
    name, labels = "blockful_member_refused_requests_total", {"reason": "not accepted"}
    before = value(measured(member), name, **labels)
    assert (
        httpx2.post(member.url + "/message", content=b"no line that is signed\n", timeout=600).status_code
        == 400
    )
    until(lambda: value(measured(member), name, **labels) == before + 1)


def test_members_are_ready_and_say_so_to_all(court: Monitored) -> None:
    for member in court.members:
        until(lambda member=member: json.loads(told(member.told["monitor"] + "/healthz"))["ready"])
        health = json.loads(told(member.told["monitor"] + "/healthz"))
        assert health["problems"] == {}
        assert (health["epoch"], health["seated"]) == (
            court.federation.contracts.committee.current_epoch(),
            True,
        )
        assert json.loads(told(member.url + "/healthz")) == {"ready": True}


def test_no_secret_is_logged_measured_or_told(court: Monitored) -> None:
    said = "".join(each.reported() for each in court.members)
    for member in court.members:
        for path in ("/metrics", "/healthz"):
            said += told(member.told["monitor"] + path)
    assert len(said) > 50_000
    kept = list(secrets(court.members))
    assert {name for name, _ in kept} >= {"account_secret", "share", "data key"}
    found = [name for name, secret in kept for form in forms(secret) if form.lower() in said.lower()]
    assert found == []


def test_a_secret_that_is_logged_would_be_found(court: Monitored) -> None:
    _, secret = next(secrets(court.members))
    assert all(form in f"the key is {form}" for form in forms(secret))
    assert len({*forms(secret)}) == 4


def secrets(processes: list[MemberProcess]) -> Iterator[tuple[str, bytes]]:
    """The members' keys, shares of group keys, and the data keys in their vaults."""
    yield "passphrase", WORDS.encode()
    for member in processes:
        keys = keys_in(member.folder, WORDS)
        for name in ("voting_secret", "vrf_secret", "account_secret"):
            yield name, getattr(keys, name).to_bytes(32, "big")
        shares = [
            share_in(member.folder, keys, bytes.fromhex(each.stem))
            for each in (member.folder / SHARES).iterdir()
        ]
        for share in filter(None, shares):
            yield "share", share.secret.to_bytes(32, "big")
        vault = Vault(member.folder / VAULT, keys.voting_secret)
        for version in vault.versions():
            yield "data key", vault.get(version)


def forms(secret: bytes) -> tuple[str, ...]:
    """Spellings of a secret in a program's output."""
    return (
        secret.decode("latin-1"),
        secret.hex(),
        str(int.from_bytes(secret, "big")),
        base64.b64encode(secret).decode(),
    )
