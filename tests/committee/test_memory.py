# SPDX-License-Identifier: Apache-2.0
"""Both memories keep the first answer; the durable one survives kill -9 and refuses damaged files."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.committee.durable import DurableMemory
from blockful_py.committee.memory import Ballot, Memory, VolatileMemory
from blockful_py.errors import MemoryLostError, NonceReuseError
from tests.committee.remember import BALLOT, CONTENT, SESSION

OWNER = b"\x55" * 20
OTHER = b"\x66" * 32


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture(params=["volatile", "durable"])
def memory(request: pytest.FixtureRequest, path: Path) -> Iterator[Memory]:
    if request.param == "volatile":
        yield VolatileMemory()
        return
    with DurableMemory.create(path, OWNER) as durable:
        yield durable


def test_the_first_content_of_a_ballot_stands(memory: Memory) -> None:
    assert memory.approved(BALLOT) is None
    for record in (memory.approve, memory.vote):
        assert [record(BALLOT, CONTENT), record(BALLOT, OTHER), record(BALLOT, CONTENT)] == [CONTENT] * 3
    assert memory.approved(BALLOT) == CONTENT


def test_approvals_and_votes_are_apart(memory: Memory) -> None:
    memory.vote(BALLOT, CONTENT)
    assert memory.approved(BALLOT) is None
    assert memory.approve(BALLOT, OTHER) == OTHER


@pytest.mark.parametrize(
    "other",
    [
        replace(BALLOT, chain_id=1338),
        replace(BALLOT, committee=bytes(20)),
        replace(BALLOT, epoch=5),
        replace(BALLOT, proposal=bytes(32)),
    ],
    ids=["chain", "committee", "epoch", "proposal"],
)
def test_another_ballot_is_another_question(memory: Memory, other: Ballot) -> None:
    memory.vote(BALLOT, CONTENT)
    assert memory.vote(other, OTHER) == OTHER


def test_a_session_is_used_once(memory: Memory) -> None:
    memory.use_session(SESSION)
    with pytest.raises(NonceReuseError, match="begun before"):
        memory.use_session(SESSION)
    memory.use_session(OTHER)


def test_sessions_are_numbered_from_1(memory: Memory) -> None:
    assert [memory.use_session(bytes([number]) * 32) for number in range(3)] == [1, 2, 3]


def test_a_generation_has_one_use_in_an_epoch(memory: Memory) -> None:
    assert memory.attest(BALLOT, [(1, 7), (2, 9)], CONTENT) == ()
    assert memory.attest(BALLOT, [(1, 7), (2, 9)], CONTENT) == ()
    assert memory.attest(BALLOT, [(1, 7), (2, 10), (3, 1)], OTHER) == (1,)
    assert memory.attest(replace(BALLOT, proposal=bytes(32)), [(2, 9), (1, 7)], OTHER) == (2, 1)
    assert memory.attest(BALLOT, [(2, 10), (3, 1)], CONTENT) == (), "the refused ones were not recorded"
    for other in (replace(BALLOT, epoch=5), replace(BALLOT, chain_id=1338)):
        assert memory.attest(other, [(1, 7)], OTHER) == ()


def test_of_threads_that_vote_at_once_one_is_recorded(memory: Memory) -> None:
    start = threading.Barrier(8)
    recorded: list[bytes] = []

    def vote(n: int) -> None:
        start.wait()
        recorded.append(memory.vote(BALLOT, bytes([n]) * 32))

    threads = [threading.Thread(target=vote, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recorded) == 8
    assert len(set(recorded)) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("chain_id", -1),
        ("chain_id", 2**63),
        ("epoch", 2**63),
        ("committee", bytes(19)),
        ("proposal", bytes(33)),
    ],
)
def test_a_ballot_that_cannot_be_kept_is_an_error(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"chain id and epoch|a ballot has"):
        replace(BALLOT, **{name: value})  # type: ignore[arg-type]


def test_a_memory_outlives_its_process_object(path: Path) -> None:
    with DurableMemory.create(path, OWNER) as memory:
        memory.approve(BALLOT, CONTENT)
        memory.vote(BALLOT, CONTENT)
        memory.use_session(SESSION)
        memory.attest(BALLOT, [(1, 1)], CONTENT)
    with DurableMemory(path, OWNER) as memory:
        assert memory.approved(BALLOT) == CONTENT
        assert memory.attest(BALLOT, [(1, 1)], OTHER) == (1,)
        assert memory.use_session(OTHER) == 2
        assert memory.vote(BALLOT, OTHER) == CONTENT
        with pytest.raises(NonceReuseError):
            memory.use_session(SESSION)


def test_the_largest_numbers_are_kept(path: Path) -> None:
    ballot = replace(BALLOT, chain_id=2**63 - 1, epoch=2**63 - 1)
    with DurableMemory.create(path, OWNER) as memory:
        memory.vote(ballot, CONTENT)
    with DurableMemory(path, OWNER) as memory:
        assert memory.vote(ballot, OTHER) == CONTENT


def test_only_its_user_may_read_it(path: Path) -> None:
    with DurableMemory.create(path, OWNER) as memory:
        memory.vote(BALLOT, CONTENT)
        files = list(path.parent.iterdir())
        assert {file.name for file in files} >= {"memory.db", "memory.db-wal", "memory.db.lock"}
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def killed_after_recording(path: Path, what: str) -> None:
    command = [sys.executable, "-m", "tests.committee.remember", str(path), OWNER.hex(), what]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "recorded\n"
        with pytest.raises(MemoryLostError, match="in use by another process"):
            DurableMemory(path, OWNER)
        process.kill()
        assert process.wait(30) == -signal.SIGKILL


def test_a_vote_survives_kill_9_before_the_answer(path: Path) -> None:
    DurableMemory.create(path, OWNER).close()
    killed_after_recording(path, "vote")
    with DurableMemory(path, OWNER) as memory:
        assert memory.vote(BALLOT, OTHER) == CONTENT
        assert memory.approved(BALLOT) is None


def test_an_approval_survives_kill_9_before_the_answer(path: Path) -> None:
    DurableMemory.create(path, OWNER).close()
    killed_after_recording(path, "approval")
    with DurableMemory(path, OWNER) as memory:
        assert memory.approve(BALLOT, OTHER) == CONTENT


def test_a_session_that_kill_9_interrupts_is_burnt(path: Path) -> None:
    DurableMemory.create(path, OWNER).close()
    killed_after_recording(path, "session")
    with DurableMemory(path, OWNER) as memory, pytest.raises(NonceReuseError):
        memory.use_session(SESSION)


def test_pledges_seen_survive_kill_9_before_the_answer(path: Path) -> None:
    DurableMemory.create(path, OWNER).close()
    killed_after_recording(path, "pledge")
    with DurableMemory(path, OWNER) as memory:
        assert memory.attest(BALLOT, [(1, 1), (2, 1)], OTHER) == (1, 2)


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.parent.iterdir()) if file.suffix != ".lock"}


def refused(path: Path, match: str, owner: bytes = OWNER) -> None:
    """Opening fails twice and changes no byte of the folder."""
    before = contents(path)
    for _ in range(2):
        with pytest.raises(MemoryLostError, match=match):
            DurableMemory(path, owner)
    assert contents(path) == before


def cut(size: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:size]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": cut(0),
    "cut in the header": cut(50),
    "cut after the header": cut(100),
    "cut in the first page": cut(4000),
    "cut after the first page": cut(4096),
    "cut in the second page": cut(5000),
    "cut by a byte": lambda data: data[:-1],
    "cut by a page": lambda data: data[:-4096],
    "another file": lambda data: b"votes: none\n" * 1000,
    "zeros": lambda data: bytes(len(data)),
    "no application's": lambda data: data[:68] + bytes(4) + data[72:],
    "of another version": lambda data: data[:60] + (1).to_bytes(4, "big") + data[64:],
    "a page overwritten": lambda data: data[:4096] + b"\xff" * 4096 + data[8192:],
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_memory_is_refused_with_advice_and_left_alone(path: Path, how: str) -> None:
    with DurableMemory.create(path, OWNER) as memory:
        memory.vote(BALLOT, CONTENT)
    path.write_bytes(DAMAGE[how](path.read_bytes()))
    refused(path, "damaged or not a member's memory: .*left alone.*create a new memory for the next")


def test_a_truncated_memory_with_a_log_beside_it_is_left_alone(path: Path) -> None:
    DurableMemory.create(path, OWNER).close()
    killed_after_recording(path, "vote")
    log = path.with_name("memory.db-wal")
    assert log.stat().st_size > 0
    path.write_bytes(path.read_bytes()[:4096])
    log.write_bytes(log.read_bytes()[:32])
    refused(path, "damaged")


def test_an_empty_database_is_no_memory(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE owner (address BLOB)")
    connection.close()
    refused(path, "damaged or not a member's memory")


def test_a_missing_memory_is_not_created(path: Path) -> None:
    refused(path, "is missing.*could vote twice")
    assert list(path.parent.iterdir()) == []


def test_the_memory_of_another_member_is_refused(path: Path) -> None:
    DurableMemory.create(path, OWNER).close()
    refused(path, "is the memory of 0x5555.*, not of 0x0000", bytes(20))


def test_a_memory_is_never_replaced(path: Path) -> None:
    DurableMemory.create(path, OWNER).close()
    before = contents(path)
    with pytest.raises(MemoryLostError, match="never replaced"):
        DurableMemory.create(path, OWNER)
    assert contents(path) == before


def test_two_uses_of_one_file_are_refused(path: Path) -> None:
    with DurableMemory.create(path, OWNER):
        with pytest.raises(MemoryLostError, match="a member runs once"):
            DurableMemory(path, OWNER)
        path.with_name("memory.db.lock").unlink()
        with pytest.raises(MemoryLostError, match="a member runs once"):
            DurableMemory(path, OWNER)
    DurableMemory(path, OWNER).close()


def test_what_cannot_be_written_is_not_answered(path: Path) -> None:
    memory = DurableMemory.create(path, OWNER)
    memory.close()
    for record in (memory.vote, memory.approve):
        with pytest.raises(MemoryLostError, match="nothing was answered"):
            record(BALLOT, CONTENT)
    with pytest.raises(MemoryLostError, match="nothing was answered"):
        memory.use_session(SESSION)
    with pytest.raises(MemoryLostError, match="nothing was answered"):
        memory.attest(BALLOT, [(1, 1)], CONTENT)
    with pytest.raises(MemoryLostError, match="nothing was answered"):
        memory.approved(BALLOT)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MemoryLostError, match="cannot be created"):
        DurableMemory.create(tmp_path / "none" / "memory.db", OWNER)
