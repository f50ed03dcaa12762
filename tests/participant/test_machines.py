# SPDX-License-Identifier: Apache-2.0
"""A federation of machines gives the same results as the laboratory, and nobody has another's data."""

from __future__ import annotations

import hashlib
import json
import logging
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import httpx2
import pytest
from prometheus_client import CollectorRegistry

from blockful_py.chain.participant_registry import Endpoint
from blockful_py.child_process import ChildProcesses
from blockful_py.cli.parties import serving_blocks
from blockful_py.committee import drafting
from blockful_py.errors import (
    BlockNotFoundError,
    KeyDestroyedError,
    RefusedError,
    RunError,
    UnlearningError,
)
from blockful_py.forget import Forget
from blockful_py.learning.sample_files import samples_from_bytes
from blockful_py.learning.weights import Weights, equal, to_bytes
from blockful_py.participant.folder import LIMITS
from blockful_py.participant.monitoring import ParticipantMetrics
from blockful_py.participant.serving import FIRST_PAUSE, LOOK_SECONDS, NextWork, ParticipantService
from blockful_py.participant.task import MODULE
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.founding import found
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.federation_file import uri_of
from blockful_py.storage.interface import FileStore
from blockful_py.storage.store import ContentStore
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Paradigm, Uri
from tests.cli.commands import begin, end
from tests.federations import GRAPH, promised, small
from tests.limits import ANY_SIZE
from tests.member.leaders import until
from tests.participant.conftest import Machines, Participant, nodes_for

PARALLEL = ("s", "x", "y")
SEQUENTIAL = ("t", "y")


def key_of(content: bytes) -> bytes:
    """A data key derived from the content, so that both modes give equal files."""
    return hashlib.sha256(b"key" + content).digest()


@pytest.fixture(scope="module")
def laboratory(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """The same federation in one process, with one model in each block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.jobs.context.random_keys", key_of)
        patch.setattr(
            "blockful_py.pipeline.run.identities.Identities.data_key", lambda self, content: key_of(content)
        )
        patch.setattr(drafting, "MAX_BLOCK_MODELS", 1)
        directory = tmp_path_factory.mktemp("laboratory") / "run"
        with Federation.create(small(), directory, nodes=chains) as federation:
            federation.train()
            yield federation


@pytest.fixture(scope="module")
def published(machines: Machines, laboratory: Federation) -> Machines:
    """Every participant has published separately, in the laboratory's order."""
    return machines.publish()


def weights(party: PartyRun, names: Sequence[str]) -> dict[str, Weights]:
    catalogue = party.federation.catalogue()
    return {name: party.federation.weights.read(catalogue[name].node.weights) for name in names}


def versions(machines: Machines) -> dict[str, int]:
    with machines.participants["a"].run() as party:
        return versions_seen(party)


def versions_seen(party: PartyRun) -> dict[str, int]:
    return {name: each.version for name, each in party.federation.catalogue().models.items()}


def await_versions(machines: Machines, expected: Mapping[str, int]) -> None:
    """Waits until models have these versions."""
    with machines.participants["a"].run() as party:
        until(lambda: expected.items() <= versions_seen(party).items())


def same(left: Mapping[str, Weights], right: Mapping[str, Weights]) -> bool:
    return left.keys() == right.keys() and all(equal(left[name], right[name]) for name in left)


def test_equal_data_seeds_and_order_give_the_laboratorys_files_and_places(
    published: Machines, laboratory: Federation
) -> None:
    with published.participants["z"].run() as party:
        models = party.federation.catalogue().models
    expected = laboratory.catalogue().models
    for name in GRAPH:
        assert models[name].position == expected[name].position
        assert models[name].node.weights == expected[name].node.weights
        assert models[name].node.statement.references == expected[name].node.statement.references


def test_a_parallel_request_is_led_by_a_member_once_the_start_is_handed_in(
    published: Machines, laboratory: Federation
) -> None:
    before = versions(published)
    with published.participants["s"].run() as party:
        number = party.request(("s",), Forget.of_classes([3]), Paradigm.PARALLEL, None)
        advice = party.federation.advice(party.filed(number))
        assert advice.reason is None and "teach it again" in str(advice.caveat)
        assert [node.name for node in party.take_part(number)] == ["s"]
        assert party.take_part(number) == ()
    with published.participants["x"].run() as party:
        assert party.take_part(number) == ()
    await_versions(published, {n: before[n] + (n in PARALLEL) for n in GRAPH})
    laboratory.unlearn(starts=["s"], classes=[3])
    with published.participants["y"].run() as party:
        got = weights(party, PARALLEL)
        assert party.federation.verify().passed
        certificate = party.certificate(number)
    opened = {name: laboratory.weights.read(laboratory.catalogue()[name].node.weights) for name in PARALLEL}
    assert same(got, opened)
    check_certificate(certificate)
    assert {each.name for each in certificate.statement.replaced} == set(PARALLEL)


class Failing(ChildProcesses):
    """A task runner that fails at every task."""

    tasks = 0

    def run(self, task: str) -> bool:
        self.tasks += 1
        raise RunError("out of memory")


def fail_twice(participant: Participant, metrics: ParticipantMetrics) -> None:
    """Failed work is retried after growing pauses."""
    at, processes = [0.0], Failing(MODULE)
    with ParticipantService(
        participant.folder, participant.keys, processes, lambda: at[0], metrics=metrics
    ) as service:
        for pause, tasks in ((FIRST_PAUSE, 1), (2 * FIRST_PAUSE, 2)):
            with pytest.raises(RunError, match="out of memory"):
                service.step()
            at[0] += pause - 0.01
            service.step()
            assert processes.tasks == tasks
            at[0] += 0.01


@pytest.mark.slow
def test_an_owners_limits_put_work_off_and_refuse_requests(
    published: Machines, caplog: pytest.LogCaptureFixture
) -> None:
    participant = published.participants["z"]
    folder, before = participant.folder, versions(published)["z"]
    with participant.run() as party:
        number = party.request(("z",), Forget.of_classes([7]), Paradigm.PARALLEL, None)
    registry = CollectorRegistry()
    metrics = ParticipantMetrics(registry)

    def measured(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"blockful_participant_{name}", labels)

    fail_twice(participant, metrics)
    assert (measured("work_failed_total", work="parts"), measured("queue")) == (2, 1)
    failed = folder.log.entries()
    assert [each.error for each in failed] == ["out of memory"] * 2
    now = count(0.0, LOOK_SECONDS).__next__
    caplog.clear()
    with (
        caplog.at_level(logging.INFO, "blockful_py.participant"),
        ChildProcesses(MODULE) as processes,
        ParticipantService(folder, participant.keys, processes, now, metrics=metrics) as service,
    ):
        limits, catalogue = folder.path / LIMITS, service.catalogue()
        limits.write_text('refused_levels = ["class"]')
        service.step()
        assert service.next_work(catalogue) is None
        assert measured("queue") == 0
        assert "level class" in str(service.statuses(catalogue)[number - 1].refused)
        later = [f"{(datetime.now().astimezone() + timedelta(hours=ahead)):%H:%M}" for ahead in (2, 3)]
        limits.write_text(f'hours = ["{"-".join(later)}"]')
        service.step()
        (logged,) = caplog.messages
        assert f"request {number}: unlearning z: work begins in" in logged
        assert folder.log.entries() == failed
        limits.write_text("cores = 1\nmodels = 1")
        service.step()
        assert "1 models, of 1 at most" in str(service.withheld(NextWork(("more",)), catalogue))
    *before_it, work = folder.log.entries()
    assert tuple(before_it) == failed
    assert (work.models, work.request, work.error) == (("z",), number, None)
    assert (measured("parts_made_total"), measured("work_seconds_count", work="parts")) == (1, 1)
    assert measured("work_failed_total", work="parts") == 2
    assert measured("models_trained_total") == 0
    await_versions(published, {"z": before + 1})


def test_in_a_sequential_request_each_owner_replaces_its_own_model(
    published: Machines, laboratory: Federation
) -> None:
    before = versions(published)
    with published.participants["t"].run() as party:
        number = party.request(("t",), Forget.of_classes([5]), Paradigm.SEQUENTIAL, None)
        with pytest.raises(RunError, match=f"request {number} is open, and waits for t, y"):
            party.certificate(number)
    with published.participants["y"].run() as party:
        assert party.take_part(number) == ()  # its reference comes first
    for name in SEQUENTIAL:
        with published.participants[name].run() as party:
            assert [node.name for node in party.take_part(number)] == [name]
    assert versions(published) == {n: before[n] + (n in SEQUENTIAL) for n in GRAPH}
    laboratory.unlearn(starts=["t"], classes=[5], paradigm="sequential")
    with published.participants["y"].run() as party:
        got = weights(party, SEQUENTIAL)
        check_certificate(party.certificate(number))
        assert party.federation.verify().passed
        assert party.federation.audit().passed
    opened = {name: laboratory.weights.read(laboratory.catalogue()[name].node.weights) for name in SEQUENTIAL}
    assert same(got, opened)
    promised(published.contracts)
    every = every_version(published)
    for member in published.members:
        archive = ContentStore(RunDirectory.open(member.folder / "run").archive_store)
        until(lambda archive=archive: every <= set(archive))


def every_version(machines: Machines) -> set[Uri]:
    """The nodes and weights of all versions, from the record."""
    with machines.participants["a"].run() as party:
        context = party.federation.context
        nodes = [
            context.history.version(placed.position, number)
            for placed in party.federation.catalogue().models.values()
            for number in range(placed.version)
        ]
    return {uri for node in nodes for uri in (file_uri(node.to_bytes()), node.weights)}


def test_nobody_asks_for_anothers_model(published: Machines) -> None:
    with (
        published.participants["a"].run() as party,
        pytest.raises(RefusedError, match="none of the request's starts is yours"),
    ):
        party.request(("s",), Forget.of_classes([3]), Paradigm.PARALLEL, None)


def test_a_method_that_looks_at_several_users_data_is_refused_before_it_is_filed(
    published: Machines,
) -> None:
    filed = len(published.contracts.participants.filed_requests())
    with (
        published.participants["s"].run() as party,
        pytest.raises(UnlearningError, match="needs more than each owner's own data"),
    ):
        party.request(("s",), Forget.of_classes([3]), Paradigm.PARALLEL, "clean_increments")
    assert len(published.contracts.participants.filed_requests()) == filed


def test_who_has_published_all_has_nothing_to_train(published: Machines) -> None:
    with published.participants["a"].run() as party, pytest.raises(RunError, match="no model to publish"):
        party.train_next()


def test_a_replaced_versions_key_is_gone_everywhere(published: Machines) -> None:
    with published.participants["s"].run() as party:
        context = party.federation.context
        placed = party.federation.catalogue()["s"]
        old = context.history.version(placed.position, 0)
        with pytest.raises(KeyDestroyedError):
            context.keys.keyring.find((old.weights,))[old.weights]


def test_no_store_of_another_holds_samples_or_plain_weights(published: Machines) -> None:
    own = published.participants["z"].folder.path
    samples = samples_from_bytes((published.folder / "data" / "user-5.safetensors").read_bytes())
    with published.participants["z"].run() as party:
        plain = to_bytes(weights(party, ("z",))["z"])
    # A pixel row of zeros is everywhere: take a whole image, and a piece of the weights' numbers.
    secrets = [samples.train.x[row].numpy().tobytes() for row in range(len(samples.train))]
    secrets.append(plain[-256:])
    looked = 0
    for path in published.folder.rglob("*"):
        if not path.is_file() or own in path.parents or path.parent == published.folder / "data":
            continue
        content = path.read_bytes()
        looked += 1
        assert not any(secret in content for secret in secrets), path
    assert looked > 100


def fetched(store: FileStore, uri: Uri) -> bytes | None:
    """A file, or None while it is unavailable."""
    with suppress(BlockNotFoundError):
        return store.read(uri, ANY_SIZE)
    return None


def test_a_file_that_only_a_participant_keeps_is_fetched_from_it_while_it_serves(published: Machines) -> None:
    owner = published.participants["s"]
    run, account = owner.folder.opened()[0], owner.keys.account
    uri = ContentStore(run.live_store).add(b"a file that no member has")
    with published.participants["y"].run() as party:
        reader = party.federation.stores.live
        with pytest.raises(BlockNotFoundError):
            reader.read(uri, ANY_SIZE)
        with (
            serving_blocks(run, owner.keys.account_secret, "127.0.0.1", 0) as server,
            ParticipantService(owner.folder, owner.keys, ChildProcesses(MODULE), url=server.url) as service,
        ):
            service.step()
            assert published.contracts.participants.endpoint(account) == Endpoint(account, server.url)
            until(lambda: fetched(reader, uri) == b"a file that no member has")  # a moment ago it was absent
        with ParticipantService(owner.folder, owner.keys, ChildProcesses(MODULE)) as service:
            service.step()
    assert published.contracts.participants.endpoint(account) is None


@pytest.mark.slow
def test_a_participant_that_serves_shows_its_metrics_and_its_health(published: Machines) -> None:
    folder = published.participants["a"].folder
    place = ("--port", "0", "--monitor", "127.0.0.1:0", "--log-format", "json", "--json")
    words = ("--passphrase-file", str(published.folder / "passphrase"))
    process = begin(published.folder, "participant", "serve", str(folder.path), *place, *words)
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())

    def health() -> dict[str, Any]:
        found: dict[str, Any] = httpx2.get(told["monitor"] + "/healthz", timeout=600, trust_env=False).json()
        return found

    until(lambda: health()["ready"])
    assert health() == {"ready": True, "problems": {}, "epoch": 1, "paused": False}
    folder.pause()
    assert health()["paused"]
    folder.resume()
    assert httpx2.get(told["url"] + "/healthz", timeout=600, trust_env=False).json() == {"ready": True}
    text = httpx2.get(told["monitor"] + "/metrics", timeout=600, trust_env=False).text
    assert 'blockful_http_requests_total{resource="health",status="200"} 1.0' in text
    assert "blockful_epoch 1.0" in text
    outcome = end(process, signal.SIGTERM)
    assert outcome.status == 0
    assert all("message" in json.loads(line) for line in outcome.err.splitlines())


def test_a_founding_that_breaks_off_after_its_election_is_repeated_without_another(
    machines: Machines, chains: Nodes
) -> None:
    """Another could be held only once the epoch in force has had its least length, a day by default.

    The founding of `machines` breaks off.
    """
    drawn = machines.contracts.elected.election().draw
    assert machines.contracts.participants.file_digest() == uri_of(machines.file.read_bytes()).digest
    with nodes_for(chains, machines.founder.account_secret) as nodes:
        assert found(machines.folder / "founder", nodes, machines.founder.account_secret, None, None) == 1
    assert machines.contracts.elected.election().draw == drawn
