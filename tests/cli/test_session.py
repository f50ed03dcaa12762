# SPDX-License-Identifier: Apache-2.0
"""A session on two chains that outlive the commands, with power cuts in the middle."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from blockful_py.chain.node import Node, connect
from blockful_py.chain.persistent import DevnetState, status
from blockful_py.engine.jobs import JobState
from blockful_py.pipeline.resume import jobs_of
from blockful_py.pipeline.run.directory import RunDirectory
from tests.cli.commands import Outcome, begin, blockful, end, nodes_of
from tests.federations import AFFECTED, GRAPH, TOML, UNTOUCHED

RUN = ("--run", "runs/mine")


@dataclass(frozen=True)
class Session:
    folder: Path

    def run(self, *arguments: str) -> Outcome:
        return blockful(self.folder, *arguments)

    def states(self) -> dict[int, DevnetState]:
        return {state.chain_id: state for state in status(self.folder / ".blockful" / "devnet")}

    def kill_when(self, chain_id: int, blocks: int, *arguments: str) -> Outcome:
        """Kills a command as soon as the node of a chain has `blocks` more blocks than before."""
        node: Node = connect(self.states()[chain_id].url)
        wanted = node.block_number() + blocks
        process = begin(self.folder, *arguments)
        while node.block_number() < wanted:
            assert process.poll() is None, process.communicate()
        outcome = end(process, signal.SIGKILL)
        node.close()
        assert outcome.status == -signal.SIGKILL
        return outcome


def verdict(decrypted: int) -> dict[str, object]:
    return {"checked": len(GRAPH), "known": 0, "decrypted": decrypted, "failed": [], "pending": []}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Two chains, and a run on them whose training and unlearning were each killed and repeated."""
    folder = tmp_path_factory.mktemp("session")
    (folder / "small.toml").write_text(TOML)
    session = Session(folder)
    up = session.run("devnet", "up", "--json")
    assert up.status == 0, up.err
    assert [entry["chain"] for entry in up.document] == [1337, 1338]
    try:
        yield session
    finally:
        down = session.run("devnet", "down", "--json")
        assert down.document == {"stopped": [1337, 1338]}
        assert nodes_of(folder) == []


@pytest.mark.slow
def test_a_session(session: Session) -> None:
    """In the order of a user's day; each step needs the one before."""
    shown = session.run("devnet", "status", "--json")
    assert [entry["running"] for entry in shown.document] == [True, True]
    again = session.run("devnet", "up", "--json")
    assert [entry["pid"] for entry in again.document] == [entry["pid"] for entry in shown.document]

    deployed = session.run("deploy", "small.toml", *RUN, "--json")
    assert deployed.status == 0, deployed.err
    assert {c["chain"] for c in deployed.document["contracts"].values()} == {1337, 1338}
    twice = session.run("deploy", "small.toml", *RUN)
    assert "holds a run already" in twice.error
    assert twice.status == 1

    session.kill_when(1337, 2, "train", *RUN)
    foreign = session.run("train", "small.toml", *RUN)
    assert "has settings of its own" in foreign.error
    trained = session.run("train", *RUN, "--json")
    assert trained.status == 0, trained.err
    models = trained.document["models"]
    assert models.keys() == GRAPH.keys()
    assert session.run("train", *RUN, "--json").document["models"] == models
    assert session.run("verify", *RUN, "--json").document == verdict(0)

    _refused_requests(session)

    session.kill_when(1338, 1, "unlearn", *RUN)
    unlearned = _resumed(session)
    by_name = {model["name"]: model for model in unlearned["models"]}
    assert {name for name in by_name if by_name[name]["affected"]} == set(AFFECTED)
    assert {by_name[name]["parallel"]["version"] for name in AFFECTED} == {1}
    assert all(by_name[name]["parallel"] is None for name in UNTOUCHED)
    assert all(model["learning_curve"] for model in by_name.values())

    erased = unlearned["erasure"]["parallel"]
    assert {version["name"] for version in erased["versions"]} == set(AFFECTED)
    assert (len(erased["destroyed"]), erased["silent"]) == (4, {})
    assert "were destroyed at 4 member(s)" in erased["said"]

    _trained_again(session)
    _certificates(session, unlearned["certificates"]["parallel"])
    verified = session.run("verify", *RUN, "--json")
    assert verified.document == verdict(0)
    assert session.run("verify", *RUN, "--decrypt", "--json").document == verdict(len(GRAPH))
    one = session.run("verify", *RUN, "s", "x")
    assert "weights: 0 decrypted, 2 checked as sealed bytes" in one.out
    assert one.out.splitlines()[-1] == "2 models checked, 0 failed"

    audited = session.run("audit", *RUN, "--model", "x", "--json")
    assert audited.document["problems"] == []
    reasons = [(r["version"], r["reason"], r["readable"]) for r in audited.document["records"]]
    assert reasons == [(0, "published", True), (0, "superseded", True)]
    for known in (0, len(GRAPH) + len(AFFECTED)):
        seen = session.run("audit", *RUN, "--remember", "seen.json", "--json")
        assert seen.status == 0, seen.err
        assert seen.document["remembered"] == known
    assert "on the live chain" in session.run("audit", *RUN, "--remember", "seen.json").out
    memory = session.folder / "seen.json"
    memory.write_text(memory.read_text().replace('"version": 0', '"version": 1', 1))
    assert "is damaged" in session.run("audit", *RUN, "--remember", "seen.json").error
    nobody = session.run("audit", *RUN, "--model", "nobody")
    assert "there is no model 'nobody'" in nobody.error
    assert nobody.status == 2

    graph = session.run("graph", *RUN, "--json").document
    assert {name: tuple(entry["references"]) for name, entry in graph["models"].items()} == GRAPH
    assert {name: entry["version"] for name, entry in graph["models"].items()} == {
        **dict.fromkeys(UNTOUCHED, 0),
        **dict.fromkeys(AFFECTED, 1),
    }
    assert "start" in session.run("graph", *RUN, "--start", "a").out

    report = session.run("report", *RUN, "--json")
    assert report.document == unlearned
    assert "report" in session.run("report", *RUN).out

    _places(session)
    _scores(session, by_name)
    _proofs(session)
    _a_truncated_model(session)


def _trained_again(session: Session) -> None:
    """Nothing is left to train; the opted-out user is named; rounds beyond the graph are refused."""
    again = session.run("train", *RUN, "--json")
    assert again.document["models"].keys() == GRAPH.keys()
    assert again.document["opted_out"] == {"3": ["class 3"], "4": ["class 3"]}
    more = session.run("train", *RUN, "--rounds", "2")
    assert "it has 7 models and 2 rounds" in more.error
    assert more.status == 2
    jobs = session.run("jobs", *RUN, "--json").document["jobs"]
    assert {job["state"] for job in jobs} <= {"done", "aborted", "failed"}


def _resumed(session: Session) -> dict[str, Any]:
    """The job that was killed with the archive's transaction sent: not to be given up, but finished."""
    job = session.run("jobs", *RUN, "--json").document["jobs"][-1]
    assert (job["kind"], job["state"]) == ("unlearn parallel", "open")
    number = str(job["job"])
    for arguments, reason, code in (
        (("abort", *RUN), "cannot be given up: transactions of it may be on the chains already", 1),
        (("train", *RUN), "is unfinished: finish it with `blockful resume`", 1),
        (("resume", "99", *RUN), "there is no job 99", 1),
        (("resume", "1", *RUN), "job 1 is done, not unfinished", 1),
        (("resume", "--run", "runs/none"), "there is no run", 1),
    ):
        outcome = session.run(*arguments)
        assert reason in outcome.error, arguments
        assert outcome.status == code, arguments
    resumed = session.run("resume", number, *RUN, "--json")
    assert resumed.status == 0, resumed.err
    ended, report = resumed.document["job"], resumed.document["report"]
    assert (ended["job"], ended["state"]) == (job["job"], "done")
    sent = [step["transaction"] for step in ended["steps"] if step["act"] == "send"]
    assert sent
    shown = session.run("jobs", *RUN, "--steps").out
    assert all(name in shown for name in sent)
    assert "no job is unfinished" in session.run("abort", *RUN).error
    assert isinstance(report, dict)
    return report


def _certificates(session: Session, written: str) -> None:
    """Certificates are signed at the end of unlearning, and verified on the chains and from a block and a
    roster."""
    path = session.folder / "runs" / "mine" / written
    page = path.with_suffix(".html").read_text()
    assert "Erasure certificate" in page
    assert "Data keys destroyed: 4." in page
    file = str(path)
    verified = session.run("certificate", "verify", file, *RUN, "--json")
    assert verified.status == 0, verified.err
    assert set(verified.document["models"]) == set(AFFECTED)
    assert len(verified.document["keys_destroyed"]) == len(AFFECTED)
    shown = session.run("certificate", "show", file, "--html", "page.html").out
    told = (session.folder / "page.html").read_text()  # by the certificate alone
    assert "Erasure certificate" in told and "Data keys destroyed: 4." in told
    assert "(before)" in page and "(before)" in told  # members measured both versions
    words = shown.split()
    (block, roster, head) = (word for word in words if word.startswith("0x") and len(word) == 66)
    known = ("--block-hash", block, "--roster-id", roster, "--archive-head", head)
    assert session.run("certificate", "verify", file, *known).status == 0
    again = session.run("certificate", "issue", *RUN, "--model", "x", "--json")
    assert Path(again.document["file"]).name == path.name
    for arguments, reason, code in (
        (("verify", file), "nobody said that the roster of epoch 1", 3),
        (("verify", "small.toml", *known), "this is no certificate", 5),
        (("show", "nothing.json"), "cannot be read", 5),
        (("issue", *RUN, "--model", "a"), "model a was never replaced", 1),
        (("issue", *RUN, "--audit", "small.toml"), "is not an audit", 5),
    ):
        outcome = session.run("certificate", *arguments)
        assert reason in outcome.error, arguments
        assert outcome.status == code, arguments


def _places(session: Session) -> None:
    """run.json says where the chains are."""
    document = json.loads((session.folder / "runs" / "mine" / "run.json").read_text())
    states = session.states()
    assert document["chains"]["live_url"] == states[1337].url
    assert document["chains"]["archive_url"] == states[1338].url


def _scores(session: Session, reported: dict[str, Any]) -> None:
    """The models as they stand have the figures of the report, class by class."""
    everyone = session.run("evaluate", *RUN, "--plot", "classes.png", "--json").document["models"]
    assert everyone.keys() == GRAPH.keys()
    for name, found in everyone.items():
        stands = reported[name]["parallel"] or reported[name]["before"]
        assert stands["per_class"] == pytest.approx([100 * share for share in found["per_class"]], abs=1e-3)
        assert stands["calibration_error"] == pytest.approx(100 * found["calibration_error"], abs=1e-3)
        assert sum(samples for _, _, samples in found["confusion"]) == 400
    one = session.run("evaluate", "x", *RUN, "--plot", "x.png")
    assert one.out.startswith("x     accuracy")
    drawn = [(session.folder / name).read_bytes() for name in ("classes.png", "x.png")]
    assert drawn[0] != drawn[1] and all(png.startswith(b"\x89PNG") for png in drawn)
    assert "there is no model 'nobody'" in session.run("evaluate", "nobody", *RUN).error
    unwritable = session.run("evaluate", "x", *RUN, "--plot", "no/such/folder.png")
    assert "cannot be written" in unwritable.error and unwritable.status == 1


def _proofs(session: Session) -> None:
    """Written on one machine, checked on another that knows a block hash and a key id, or has a node."""
    exported = session.run("export-proof", *RUN, "x", "--json")
    assert exported.status == 0, exported.err
    made = exported.document
    assert made["bytes"] < 100_000
    known = ["--block-hash", made["block_hash"], "--archive-head", made["archive_head"]]
    known += [word for key_id in made["key_ids"].values() for word in ("--key-id", key_id)]
    checked = session.run("verify-proof", "x.proof.json", *known, "--json")
    assert [(m["model"], m["version"]) for m in checked.document["models"]] == [("x", 1)]
    assert "x at 3:0, version 1: on the record" in session.run("verify-proof", "x.proof.json", *RUN).out
    proof = session.folder / "x.proof.json"
    contract = json.loads(proof.read_text())["record"]["contract"]
    node = ("--live-url", session.states()[1337].url, "--contract", contract)
    assert session.run("verify-proof", "x.proof.json", *node).status == 0

    for arguments, reason, code in (
        ((), "nobody said that the group key of epoch 1", 3),
        ((*known, "--weights", "small.toml"), "check 'content' failed", 3),
        (("--key-id", "0x12"), "--key-id takes 32 bytes", 2),
        (node[:2], "give --live-url and --contract", 2),
        ((*node[:3], "0x" + "00" * 20), "", 4),
    ):
        outcome = session.run("verify-proof", "x.proof.json", *arguments)
        assert reason in outcome.error, arguments
        assert outcome.status == code, (arguments, outcome.err)
    proof.write_text(proof.read_text().replace('"version": 1', '"version": 0', 1))
    assert session.run("verify-proof", "x.proof.json", *known).status == 3
    proof.write_bytes(proof.read_bytes()[:-2])
    cut = session.run("verify-proof", "x.proof.json", *known)
    assert "this is no proof" in cut.error
    assert cut.status == 5
    assert "cannot be read" in session.run("verify-proof", "nothing.json").error
    nobody = session.run("export-proof", *RUN, "nobody")
    assert nobody.status == 2
    assert not list(session.folder.glob("nobody*"))


def _refused_requests(session: Session) -> None:
    """Each with one clear error, and nothing left behind."""
    run = session.folder / "runs" / "mine"
    files = sorted(path for path in run.rglob("*"))
    for arguments, reason, code in (
        (("--start", "nobody"), "there is no model 'nobody'", 2),
        (("--class", "11"), "11", 2),
        (("--class", "-1"), "-1", 2),
        (tuple(word for c in range(10) for word in ("--class", str(c))), "class", 2),
        (("--start", "s", "--start", "s"), "s", 2),
        (("--method", "wish"), "wish", 2),
    ):
        outcome = session.run("unlearn", *RUN, *arguments)
        assert reason in outcome.error, arguments
        assert outcome.status == code, arguments
        assert sorted(path for path in run.rglob("*")) == files, arguments
    as_json = session.run("unlearn", *RUN, "--start", "nobody", "--json")
    assert as_json.document["error"]["kind"] == "UnknownModelError"


def _a_truncated_model(session: Session) -> None:
    """Verification names it; unlearning from it stops with one error and leaves nothing behind."""
    graph = session.run("graph", *RUN, "--json").document
    run = RunDirectory.open(session.folder / "runs" / "mine")
    largest = sorted(run.live_store.glob("blocks/*/*"), key=lambda path: path.stat().st_size)[-1]
    content = largest.read_bytes()
    largest.write_bytes(content[:1000])
    try:
        verified = session.run("verify", *RUN, "--json")
        assert verified.status == 3
        (failed,) = verified.document["failed"]
        assert failed["check"] == "content"
        stopped = session.run("unlearn", *RUN, "--start", "a", "--start", "b")
        assert stopped.status == 5
        assert largest.name in stopped.error
        assert JobState.OPEN not in {job.state for job in jobs_of(run)}
    finally:
        largest.write_bytes(content)
    assert session.run("verify", *RUN, "--json").status == 0
    assert session.run("graph", *RUN, "--json").document == graph


def test_a_chain_that_was_started_with_another_id(session: Session) -> None:
    url = session.states()[1338].url
    both = ("--set", f'chain.live_url="{url}"', "--set", f'chain.archive_url="{url}"')
    outcome = session.run("train", "small.toml", "--run", "runs/other", *both)
    assert "is on chain 1338, but chain 1337 was expected" in outcome.error
    assert outcome.status == 4
    assert not (session.folder / "runs" / "other").exists()


def test_a_chain_that_is_no_development_chain(session: Session) -> None:
    ids = ("--set", "chain.live_chain_id=1", "--set", "chain.archive_chain_id=2")
    outcome = session.run("train", "small.toml", "--run", "runs/other", *ids)
    assert "chain 1 is not a development chain" in outcome.error
    assert outcome.status == 2
    assert not (session.folder / "runs" / "other").exists()
