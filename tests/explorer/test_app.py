# SPDX-License-Identifier: Apache-2.0
"""The app's answers match the chains and the stores."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from starlette.testclient import TestClient

from blockful_py.explorer.guard import Guard
from blockful_py.explorer.index import IndexThread, RecordIndex
from blockful_py.explorer.monitoring import STALE_SECONDS, ExplorerMonitor, resource_of
from blockful_py.explorer.watched import Watched
from blockful_py.monitoring.traffic import HttpTraffic
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.certificates.document import ErasureCertificate, parse_certificate
from blockful_py.record.proofs.anchors import Anchors
from blockful_py.record.proofs.proof import Sources, parse_proof, verify_proof
from blockful_py.record.shown import shown
from blockful_py.record.verify import CHECKS
from blockful_py.storage.cid import cid_string, parse_cid
from tests.explorer.conftest import HOST
from tests.explorer.test_graph_file import unpacked
from tests.federations import AFFECTED, GRAPH, STARTS
from tests.member.leaders import until


def models(client: TestClient) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in client.get("/api/models?count=200").json()["models"]}


def checks(client: TestClient, position: str) -> list[dict[str, Any]]:
    """What `verify now` tells, event by event."""
    answer = client.get(f"/api/models/{position}/verify")
    lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def test_models_are_those_of_the_federation(client: TestClient) -> None:
    found = models(client)
    assert found.keys() == GRAPH.keys()
    assert {name for name, each in found.items() if each["version"] == 1} == set(AFFECTED)
    assert all(each["ad_f"] is not None for name, each in found.items() if name in AFFECTED)


@pytest.mark.parametrize("name", sorted(GRAPH))
def test_a_model_has_its_references_and_one_hash_for_all_versions(client: TestClient, name: str) -> None:
    model = client.get(f"/api/models/{models(client)[name]['position']}").json()
    assert {each["name"] for each in model["references"]} == set(GRAPH[name])
    assert {each["name"] for each in model["heirs"]["models"]} == {
        heir for heir, listed in GRAPH.items() if name in listed
    }
    assert [each["version"] for each in model["versions"]] == ([0, 1] if name in AFFECTED else [0])
    assert all(each["opening"]["opens"] for each in model["versions"])
    assert len({each["opening"]["px"] for each in model["versions"]}) == len(model["versions"])
    assert model["block"]["holds"]
    assert [each["reason"] for each in model["versions"][0]["archived"]] == (
        ["published", "superseded"] if name in AFFECTED else ["published"]
    )
    signed = [each["signed"] for each in model["versions"][-1]["review"]["members"]]
    assert len(signed) == 4
    assert sum(signed) >= 3


def test_accuracies_are_those_of_the_version_that_stands(client: TestClient) -> None:
    """The owners of s and t signed new statements; members replaced x and y, whose owners signed none."""
    found = models(client)
    assert {name for name, each in found.items() if each["accuracy"] is None} == {"x", "y"}
    model = client.get("/api/models/x").json()
    shown = {each["name"]: each for each in model["references"]}
    assert shown == {name: {**found[name], "kind": None} for name in GRAPH["x"]}
    (standing,) = [each for each in client.get("/api/models/s").json()["versions"] if each["current"]]
    assert shown["s"]["version"] == standing["version"] == 1
    assert shown["s"]["accuracy"] == standing["accuracy"]
    graph = unpacked(gzip.compress(client.get("/api/graph").content))
    coloured = {
        name for name, each in zip(graph["names"], graph["accuracy"], strict=True) if not np.isnan(each)
    }
    assert coloured == GRAPH.keys() - {"x", "y"}


def test_a_model_has_its_figures_before_and_after(client: TestClient, run: Path, chains: Nodes) -> None:
    """As members measured them, for everybody to read in the version that stands."""
    with Federation.open(run, nodes=chains, settle=False) as federation:
        redaction = federation.catalogue()["x"].node.redaction
    assert redaction is not None and redaction.claims is not None
    claims = redaction.claims
    newest = client.get("/api/models/x").json()["versions"][-1]
    (request,) = client.get("/api/requests").json()
    affected = client.get(f"/api/requests/{request['key']}").json()["models"]
    (shown,) = [each for each in affected if each["name"] == "x"]
    assert newest["request"]["forget"] == "class 3"
    assert newest["request"]["before"] == shown["before"] == {
        "ad_f": claims.ad_f_before,
        "ad_r": claims.before,
        "logit_auc": claims.logit_auc_before,
        "accuracy": None,
    }  # fmt: skip
    assert shown["after"] == {"ad_f": claims.ad_f, "ad_r": claims.ad_r, "logit_auc": claims.logit_auc}
    assert newest["logit_auc"] == claims.logit_auc
    assert None not in (claims.ad_f_before, claims.before, claims.logit_auc_before, claims.logit_auc)


def test_two_models_are_answered_side_by_side(client: TestClient) -> None:
    found = models(client)
    asked = {"model": ["x", found["z"]["position"]]}
    assert client.get("/api/compare", params=asked).json() == [
        client.get(f"/api/models/{name}").json() for name in "xz"
    ]


def test_a_model_has_the_requests_that_reach_it(client: TestClient) -> None:
    (heading,) = client.get("/api/requests").json()
    for name in GRAPH:
        reached = client.get(f"/api/models/{name}").json()["requests"]
        assert [each["key"] for each in reached] == [heading["key"]] * (name in AFFECTED)
        assert all((each["forget"], each["version"]) == ("class 3", 1) for each in reached)


def test_a_good_model_passes_every_check_in_order(client: TestClient) -> None:
    told = checks(client, models(client)["x"]["position"])
    assert [each["check"] for each in told[:-1]] == list(CHECKS)
    assert all(each["holds"] for each in told[:-1])
    assert told[-1] == {"done": True, "passed": True, "pending": []}


def test_a_flipped_byte_fails_its_check_and_says_so(client: TestClient, watched: Watched) -> None:
    model = client.get(f"/api/models/{models(client)['y']['position']}").json()
    cid = model["versions"][-1]["weights"]["cid"]
    (file,) = [each for each in (watched.run.live_store / "blocks").rglob(f"*{cid}*") if each.is_file()]
    whole = file.read_bytes()
    file.chmod(0o600)
    file.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
    try:
        told = checks(client, model["position"])
    finally:
        file.write_bytes(whole)
    assert told[0]["check"] == "content"
    assert not told[0]["holds"]
    assert cid in told[0]["detail"]
    assert told[-1]["passed"] is False
    assert checks(client, model["position"])[-1]["passed"] is True


def test_a_proof_of_a_model_verifies(client: TestClient, watched: Watched) -> None:
    answer = client.get(f"/api/models/{models(client)['x']['position']}/proof")
    assert "attachment" in answer.headers["content-disposition"]
    contracts = watched.contracts
    sources = Sources(contracts.live, contracts.committee, contracts.archive)
    outcome = verify_proof(parse_proof(answer.content), Anchors(), sources)
    assert [each.node.name for each in outcome.models] == ["x"]


def test_a_request_has_its_models_decisions_and_certificate(
    client: TestClient, run: Path, chains: Nodes
) -> None:
    (heading,) = client.get("/api/requests").json()
    assert {each["name"] for each in heading["starts"]} == set(STARTS)
    assert (heading["replaced"], heading["affected"]) == (len(AFFECTED), len(AFFECTED))
    request = client.get(f"/api/requests/{heading['key']}").json()
    assert {each["name"]: each["depth"] for each in request["models"]} == {"s": 0, "t": 0, "x": 1, "y": 1}
    (decision,) = request["decisions"]
    assert {each["chain"] for each in decision["transactions"]} == {"live", "archive"}
    assert decision["review"]["checked"] == request["checked"] == "recomputed"
    assert request["certificate"] is None
    with Federation.open(run, nodes=chains) as federation:
        placed = federation.catalogue()["x"]
        assert placed.node.redaction is not None
        certificate = federation.certify_erasure(placed.node.redaction.request)
    path = run / "certificates" / f"erasure-{heading['created']}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(certificate.to_bytes())
    try:
        answer = client.get(f"/api/requests/{heading['key']}/certificate")
        told = client.get(f"/api/requests/{heading['key']}").json()["certificate"]
        path.write_bytes(unreadable(certificate).to_bytes())
        assert client.get(f"/api/requests/{heading['key']}").json()["certificate"] is None
    finally:
        path.unlink()
    assert parse_certificate(answer.content) == certificate
    expected = shown(certificate.statement)
    assert (told["kind"], told["warnings"]) == (expected.kind, list(expected.warnings))
    assert "3 other owners have models" in told["kind"] and told["models"] == list(AFFECTED)


def unreadable(certificate: ErasureCertificate) -> ErasureCertificate:
    """A certificate with a node that is none, which the explorer does not check."""
    record = certificate.statement.record
    first = record.models[0].model_copy(update={"node": "{}"})
    changed = record.model_copy(update={"models": (first, *record.models[1:])})
    statement = certificate.statement.model_copy(update={"record": changed})
    return certificate.model_copy(update={"statement": statement})


def test_what_if_counts_what_the_request_then_took(client: TestClient) -> None:
    found = models(client)
    query = "&".join(f"start={found[name]['position']}" for name in STARTS)
    forecast = client.get(f"/api/what-if?{query}").json()
    assert {each["name"] for each in forecast["models"]} == set(AFFECTED)
    assert forecast["affected"] == len(AFFECTED)
    parallel, sequential = forecast["paradigms"]
    assert (parallel["chameleon_hashes"], parallel["consensus"]) == (len(AFFECTED) + forecast["blocks"], 1)
    assert (sequential["chameleon_hashes"], sequential["consensus"]) == (2 * len(AFFECTED), len(AFFECTED))
    (past,) = forecast["past"]
    assert past["forecast"] is None
    assert past["gas"] == pytest.approx(parallel["gas"], rel=0.05)


def test_gas_is_that_of_the_receipts(client: TestClient, watched: Watched) -> None:
    listed = client.get("/api/blocks?count=200").json()["transactions"]
    assert len(listed) >= 2 * 4
    for each in listed:
        node = watched.nodes.live if each["chain"] == "live" else watched.nodes.archive
        receipt: Mapping[str, Any] = node.rpc.call("eth_getTransactionReceipt", each["hash"])
        assert int(receipt["gasUsed"], 16) == each["gas"]


def test_all_answers_have_one_block_number_and_one_count_of_replaced_models(client: TestClient) -> None:
    found, about = models(client), client.get("/api/federation").json()
    listed = client.get("/api/blocks?count=200").json()["transactions"]
    published = {each["block"]: each["published"] for each in listed if each["published"]}
    heights = [int(each["position"].split(":")[0]) for each in found.values()]
    assert published == {height: heights.count(height) for height in heights}
    assert all(each["block"] is None for each in listed if not each["published"])
    graph = unpacked(gzip.compress(client.get("/api/graph").content))
    assert graph["ticks"][-1][1] == about["height"] == max(heights)
    coloured = [row for row in range(graph["models"]) if graph["version"][row] > 0]
    assert len(coloured) == about["replaced"] == client.get("/api/requests").json()[0]["replaced"]


def test_blocks_come_page_by_page_and_each_once(client: TestClient) -> None:
    seen, address = [], "/api/blocks?count=3"
    while address:
        answer = client.get(address).json()
        seen += [each["hash"] for each in answer["transactions"]]
        address = answer["next"] and f"/api/blocks?count=3&before={answer['next']}"
    assert seen == [each["hash"] for each in client.get("/api/blocks?count=200").json()["transactions"]]
    assert len(set(seen)) == len(seen)


def test_the_committee_and_its_votes_are_shown(client: TestClient, watched: Watched) -> None:
    committee = client.get("/api/committee").json()
    roster, quorum = watched.contracts.committee.roster(1)
    assert [each["address"] for each in committee["members"]] == [
        "0x" + each.hex() for each in roster.members
    ]
    assert committee["epochs"][0]["quorum"] == quorum
    assert all(each["signed"] <= each["asked"] for each in committee["members"])
    assert sum(each["signed"] for each in committee["members"]) > 0


def test_jobs_are_those_of_the_journal(client: TestClient) -> None:
    (listed,) = client.get("/api/jobs").json()["runs"]
    assert [each["kind"] for each in listed["jobs"]] == ["unlearn parallel", "train"]
    assert all(each["done"] == each["steps"] for each in listed["jobs"])


def test_a_model_is_reached_by_its_name_as_by_its_position(client: TestClient) -> None:
    found = models(client)
    by_name, by_position = (
        client.get(f"/api/models/{each}").json() for each in ("x", found["x"]["position"])
    )
    assert by_name == by_position
    assert by_name["address"] == "x"
    assert checks(client, "x")[-1]["passed"]
    assert client.get("/api/models/x/proof").status_code == 200
    starts = [
        client.get(f"/api/what-if?start={each}&start=t").json()["starts"]
        for each in ("s", found["s"]["position"])
    ]
    assert starts[0] == starts[1]
    assert client.get("/models/x").status_code == 200


def test_search_finds_names_positions_and_owners(client: TestClient) -> None:
    found = models(client)
    for text in ("x", found["x"]["position"], found["x"]["owner"]):
        names = [each["name"] for each in client.get("/api/models", params={"search": text}).json()["models"]]
        assert "x" in names
    assert client.get("/api/models", params={"search": "%"}).json()["total"] == 0
    assert client.get("/api/models", params={"search": "_"}).json()["total"] == 0


def test_requests_are_counted_by_what_answered_them(guard: Guard) -> None:
    registry = CollectorRegistry()
    traffic = HttpTraffic(registry, resource_of)
    with TestClient(traffic.around(guard), base_url=f"http://{HOST}") as client:
        position = models(client)["x"]["position"]
        for path in (
            "/healthz",
            "/",
            "/static/explorer.js",
            f"/api/models/{position}",
            "/api/models/9-9",
            "/x",
        ):
            client.get(path)
        client.post("/api/models")
    counted = {
        (sample.labels["resource"], sample.labels["status"]): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "blockful_http_requests_total"
    }
    assert counted == {
        ("models", "200"): 1,
        ("health", "200"): 1,
        ("page", "200"): 1,
        ("static", "200"): 1,
        ("model", "200"): 1,
        ("model", "404"): 1,
        ("refused", "404"): 1,
        ("refused", "405"): 1,
    }


def test_an_explorer_is_ready_once_its_index_has_the_record(watched: Watched, tmp_path: Path) -> None:
    changed = threading.Event()
    with IndexThread(RecordIndex(tmp_path / "index.sqlite", watched.sources()), changed.set) as follower:
        at = [time.time()]
        registry = CollectorRegistry()
        monitor = ExplorerMonitor(registry, follower, tmp_path, lambda: 3, lambda: at[0])
        assert monitor.health.report().problems == {"index": "the record is still being read"}
        follower.start()
        until(lambda: follower.followed is not None)
        assert monitor.health.report().is_ready
        assert registry.get_sample_value("blockful_explorer_open_pages") == 3
    at[0] = (follower.followed or 0.0) + STALE_SECONDS + 1
    assert registry.get_sample_value("blockful_explorer_index_age_seconds") == STALE_SECONDS + 1
    assert monitor.health.report().problems == {"index": "the index was last up to date 61 s ago"}
    follower.problem = "no node answers at http://127.0.0.1:1"
    told = monitor.health.report().problems["index"]
    assert told == "the index does not follow the chains: see the log"


def test_nodes_of_the_answers_are_in_the_stores(client: TestClient, watched: Watched) -> None:
    model = client.get(f"/api/models/{models(client)['s']['position']}").json()
    old, new = (parse_cid(each["node"]) for each in model["versions"])
    assert cid_string(new) == model["versions"][1]["node"]
    assert watched.stores.live.has(new)
    assert watched.stores.archive.has(old)
