# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from blockful_py.engine.jobs import Act, JobState, Kind, PlannedStep, StepState
from blockful_py.engine.journal import Journal
from blockful_py.engine.journal_log import BrokenLogError
from blockful_py.errors import RunError
from tests.disks import small_disk

SEND = PlannedStep(Act.SEND, "s, live 1 of 1", {"data": "00ff"})
HASH = bytes(range(32))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with Journal(path) as journal:
        yield journal


def test_a_full_disk_is_not_taken_for_a_damaged_journal(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        path = disk.folder / "journal.sqlite"
        with Journal(path) as journal:
            journal.begin(Kind.TRAIN, "text")
        with disk.full(), pytest.raises(RunError, match="Make room"), Journal(path) as journal:
            journal.open_job()
            journal.plan([SEND])
        with Journal(path) as journal:
            job = journal.open_job()
    assert job is not None
    assert job.request == "text"


def states(path: Path) -> list[StepState]:
    """The states as another process sees them."""
    with Journal(path) as reading:
        job = reading.open_job()
    assert job is not None
    return [step.state for step in job.steps]


def test_nothing_is_made_before_the_first_job(journal: Journal, path: Path) -> None:
    assert journal.open_job() is None
    assert journal.jobs() == ()
    assert not path.exists()
    with pytest.raises(RunError, match="no job"):
        journal.plan([SEND])


def test_a_step_is_on_the_disk_before_it_is_taken_and_when_it_is_done(journal: Journal, path: Path) -> None:
    journal.begin(Kind.TRAIN)
    (step,) = journal.plan([SEND])
    assert states(path) == [StepState.PLANNED]
    with journal.taking(step) as entry:
        assert states(path) == [StepState.BEGUN]
        entry.transaction = HASH
        entry.plans = [PlannedStep(Act.CONFIRM, "both chains")]
    assert states(path) == [StepState.DONE, StepState.PLANNED]
    job = journal.open_job()
    assert job is not None
    assert job.steps[0].transaction == HASH
    assert job.steps[0].body == {"data": "00ff"}
    assert [each.decision for each in job.steps] == [1, 1]


def test_a_step_that_fails_stays_begun_and_can_be_taken_again(journal: Journal, path: Path) -> None:
    journal.begin(Kind.TRAIN)
    (step,) = journal.plan([SEND])
    with pytest.raises(ConnectionError), journal.taking(step):
        raise ConnectionError
    assert states(path) == [StepState.BEGUN]
    with journal.taking(step):
        pass
    assert states(path) == [StepState.DONE]


def test_each_decision_has_a_number_and_dropped_steps_do_not_count(journal: Journal) -> None:
    journal.begin(Kind.SEQUENTIAL, "{}")
    first = journal.plan([SEND, SEND])
    journal.plan([SEND])
    journal.plan([PlannedStep(Act.CONFIRM, "both chains")], 0)
    journal.plan([SEND], first[0].decision)
    journal.drop(first[:1])
    job = journal.open_job()
    assert job is not None
    assert sorted(step.decision for step in job.valid if step.decision) == [1, 1, 2]
    assert len(job.steps) == 5


def test_one_job_is_open_at_a_time(journal: Journal, path: Path) -> None:
    journal.begin(Kind.PARALLEL, "{}")
    with Journal(path) as other, pytest.raises(RunError, match=r"job 1 \(unlearn parallel\) is unfinished"):
        other.begin(Kind.TRAIN)
    journal.plan([SEND])
    journal.close_job(JobState.FAILED, "the members refused")
    assert journal.open_job() is None
    assert journal.begin(Kind.TRAIN).number == 2
    first, second = journal.jobs()
    assert (first.state, first.outcome, second.state) == (
        JobState.FAILED,
        "the members refused",
        JobState.OPEN,
    )
    assert first.ended is not None
    assert first.steps[0].body == {}  # its planned transactions are obsolete


def test_it_is_a_log_that_waits_for_the_disk(journal: Journal, path: Path) -> None:
    journal.begin(Kind.TRAIN)
    connection = journal._reached()
    assert connection is not None
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert path.stat().st_mode & 0o777 == 0o600


DIE_WITHIN = """
import os, signal, sys
from pathlib import Path
from blockful_py.engine.jobs import Act, Kind, PlannedStep
from blockful_py.engine.journal import Journal
from blockful_py.engine.journal_log import BrokenLogError
journal = Journal(Path(sys.argv[1]))
journal.begin(Kind.TRAIN)
(step,) = journal.plan([PlannedStep(Act.STORE, "s")])
with journal.taking(step):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_committed_survives_a_kill(path: Path) -> None:
    died = subprocess.run([sys.executable, "-c", DIE_WITHIN, str(path)], check=False)
    assert died.returncode == -signal.SIGKILL
    assert states(path) == [StepState.BEGUN]


def _damaged(path: Path, how: str) -> None:
    if how == "foreign":
        path.unlink()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE note (text TEXT)")
    elif how == "no SQLite":
        path.write_bytes(b'{"format": "blockful-journal/1"}' * 200)
    else:
        size = {"empty": 0, "cut in a page": 5000, "cut between pages": 8192}[how]
        os.truncate(path, size)


@pytest.mark.parametrize("how", ["empty", "cut in a page", "cut between pages", "foreign", "no SQLite"])
def test_a_file_that_is_damaged_or_foreign_is_refused_and_left_alone(path: Path, how: str) -> None:
    with Journal(path) as journal:
        journal.begin(Kind.TRAIN)
        journal.plan([SEND])
    assert states(path) == [StepState.PLANNED]
    _damaged(path, how)
    content = path.read_bytes()
    for attempt in (lambda j: j.jobs(), lambda j: j.begin(Kind.TRAIN), lambda j: j.plan([SEND])):
        with Journal(path) as journal, pytest.raises(RunError, match=r"left as it is.*blockful verify"):
            attempt(journal)
    assert path.read_bytes() == content


def test_a_file_cut_beside_its_log_is_refused_and_left_alone(path: Path) -> None:
    """The state after a crash: the last commits are in the log."""
    subprocess.run([sys.executable, "-c", DIE_WITHIN, str(path)], check=False)
    log = path.with_name(path.name + "-wal")
    assert log.stat().st_size
    path.write_bytes(path.read_bytes()[:50])
    files = (path.read_bytes(), log.read_bytes())
    with Journal(path) as journal, pytest.raises(RunError, match="left as it is"):
        journal.jobs()
    assert (path.read_bytes(), log.read_bytes()) == files


def test_a_journal_of_another_version_is_refused(path: Path) -> None:
    with Journal(path) as journal:
        journal.begin(Kind.TRAIN)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 3")
    with Journal(path) as journal, pytest.raises(RunError, match="version 3, this program knows version 2"):
        journal.jobs()


NO_ROOM = """
import resource, sys
from pathlib import Path
from blockful_py.engine.jobs import Act, Kind, PlannedStep
from blockful_py.engine.journal import Journal
from blockful_py.engine.journal_log import BrokenLogError
from blockful_py.errors import RunError
from tests.disks import small_disk
journal = Journal(Path(sys.argv[1]))
journal.begin(Kind.TRAIN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    for number in range(100):
        journal.plan([PlannedStep(Act.SEND, str(number), {"data": "ab" * 2000})])
except RunError as error:
    print(number, error)
"""


def test_no_room_is_said_and_what_was_written_stays(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(path)], check=True, capture_output=True, text=True
    )
    planned = int(done.stdout.split()[0])
    assert "Make room" in done.stdout
    assert len(states(path)) == planned > 0


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with Journal(tmp_path / "none" / "journal.sqlite") as journal, pytest.raises(RunError, match="written"):
        journal.begin(Kind.TRAIN)


def test_who_reads_beside_a_writer_does_not_end_its_locks(journal: Journal, path: Path) -> None:
    """The log stays until the writer is done, even if a reader closes last.

    First a second reader in the writer's process, then one in another process.
    """
    journal.begin(Kind.TRAIN)
    (step,) = journal.plan([SEND])
    assert states(path) == [StepState.PLANNED]
    reading = (
        "import sys; from pathlib import Path; from blockful_py.engine.journal import Journal\n"
        "with Journal(Path(sys.argv[1])) as journal: print(journal.open_job().steps[0].state)"
    )
    done = subprocess.run(
        [sys.executable, "-c", reading, str(path)], check=True, capture_output=True, text=True
    )
    assert done.stdout == "planned\n"
    assert path.with_name(path.name + "-shm").exists()
    with journal.taking(step):
        assert states(path) == [StepState.BEGUN]
    assert states(path) == [StepState.DONE]


@pytest.fixture
def written(path: Path) -> Path:
    """A journal of seven entries, closed, with an open job and a body in it."""
    with Journal(path, "ours") as journal:
        journal.begin(Kind.TRAIN)
        journal.close_job(JobState.DONE)
        journal.begin(Kind.PARALLEL, "{}")
        first, _ = journal.plan([SEND, SEND])
        with journal.taking(first):
            pass
    return path


EDITS = {
    "an altered state": (
        "UPDATE entry SET content = replace(content, '\"done\"', '\"open\"') WHERE number = 2",
        "entry 2 was altered",
    ),
    "an altered request": ("UPDATE entry SET content = '{}' WHERE number = 3", "entry 3 was altered"),
    "no JSON": ("UPDATE entry SET content = 'x' WHERE number = 1", "entry 1 was altered"),
    "a blob": ("UPDATE entry SET content = x'00ff' WHERE number = 4", "entry 4 was altered"),
    "no digest": ("UPDATE entry SET digest = x'' WHERE number = 4", "entry 4 was altered"),
    "an entry cut out": ("DELETE FROM entry WHERE number = 4", "entry 4 is missing"),
    "cut short": (
        "DELETE FROM entry WHERE number > 5",
        "its last entry is 5, and 7 were written",
    ),
    "reordered": (
        "UPDATE entry SET number = -4 WHERE number = 4; UPDATE entry SET number = 4 WHERE number = 5; "
        "UPDATE entry SET number = 5 WHERE number = -4",
        "entry 4 was altered or moved",
    ),
    "an entry added": (
        "INSERT INTO entry SELECT 8, content, digest FROM entry WHERE number = 7",
        "entry 8 was altered or moved",
    ),
    "an altered body": ('UPDATE body SET content = \'{"data": "0100"}\'', "body of step [12] was altered"),
    "a body cut out": ("DELETE FROM body WHERE step = 2", "body of step 2 was altered or is missing"),
    "another run's": ("UPDATE owner SET run = 'theirs'", "it is the journal of another run"),
    "nobody's": ("DELETE FROM owner", "entry 1 was altered or moved, or is of another journal"),
    "without its tables": ("DROP TABLE owner", "no such table"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_journal_is_one_error_that_names_the_line(written: Path, edit: str) -> None:
    script, message = EDITS[edit]
    with closing(sqlite3.connect(written)) as connection:
        connection.executescript(script)
    content = written.read_bytes()
    for attempt in (
        lambda j: j.jobs(),
        lambda j: j.open_job(),
        lambda j: j.begin(Kind.TRAIN),
        lambda j: j.close_job(JobState.DONE),
    ):
        with (
            Journal(written, "ours") as journal,
            pytest.raises(RunError, match=f"{message}.*left as it is.*blockful verify"),
        ):
            attempt(journal)
    assert written.read_bytes() == content


def test_entries_that_fit_and_make_no_sense_are_one_error(path: Path) -> None:
    """Written by somebody who computes valid digests."""
    with Journal(path) as journal:
        journal.begin(Kind.TRAIN)
        with (
            journal._transaction() as connection,
            pytest.raises(BrokenLogError, match="entry 2 does not follow"),
        ):
            journal._add(connection, entry="done", step=7)


def test_the_journal_of_another_run_is_refused(written: Path) -> None:
    with (
        Journal(written, "theirs") as journal,
        pytest.raises(RunError, match=r"of another run .ours.*left as"),
    ):
        journal.jobs()
    with Journal(written) as journal:
        assert len(journal.jobs()) == 2


def test_a_write_that_fails_leaves_the_journal_as_it_was(written: Path) -> None:
    with Journal(written) as journal:
        (before,) = journal.jobs()[1:]
        with pytest.raises(ConnectionError), journal._transaction() as connection:
            journal._add(connection, entry="drop", step=2)
            raise ConnectionError
        assert journal.open_job() == before
        journal.drop(before.steps[1:])
        assert [step.state for step in journal.jobs()[1].steps] == [StepState.DONE, StepState.DROPPED]


def test_excluded_members_stay_in_the_journal(written: Path) -> None:
    with Journal(written) as journal:
        job = journal.open_job()
        assert job is not None
        with journal.taking(job.steps[1]) as result:
            result.excluded = ("member 3: a wrong share",)
        journal.close_job(JobState.DONE)
    with Journal(written) as journal:
        assert journal.jobs()[1].excluded == ("member 3: a wrong share",)
