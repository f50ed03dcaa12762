# SPDX-License-Identifier: Apache-2.0
"""Each promise of the histories is looked at: events that break it are found, and named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from blockful_py.chain.abi import logged_records
from blockful_py.chain.contract import Contract
from blockful_py.chain.logs import PastEvent
from blockful_py.pipeline.federation import Federation
from blockful_py.record.events import PROMISES, CheckedHistory
from blockful_py.record.history import check_promises
from blockful_py.types import ArchiveReason, Codec, Position, Uri
from tests.packed_records import SIZE, packed
from tests.record.conftest import Scene

C = TypeVar("C", bound=Contract)
Log = list[PastEvent]
Found = set[tuple[str, str]]
"""Promise and subject of each violation."""


def told(contract: C, alter: Callable[[Log], Sequence[PastEvent]]) -> C:
    """The contract, with a node that tells other events."""
    other, log = copy(contract), tuple(alter(list(contract.log())))
    other.log = lambda: log  # type: ignore[method-assign]
    return other


def same(log: Log) -> Log:
    return log


def check(
    federation: Federation,
    live: Callable[[Log], Sequence[PastEvent]] = same,
    archive: Callable[[Log], Sequence[PastEvent]] = same,
    unfinished: bool = False,
) -> CheckedHistory:
    contracts = federation.contracts
    return check_promises(told(contracts.live, live), told(contracts.archive, archive), unfinished=unfinished)


def found(checked: CheckedHistory) -> Found:
    return {(each.promise, each.subject) for each in checked.violations}


def places(log: Log, name: str) -> list[int]:
    return [number for number, each in enumerate(log) if each.name == name]


def changed(name: str, number: int, **arguments: Any) -> Callable[[Log], Log]:
    """The event of this name and number (from 0, or from the end) with other arguments."""

    def alter(log: Log) -> Log:
        place = places(log, name)[number]
        log[place] = replace(log[place], arguments={**log[place].arguments, **arguments})
        return log

    return alter


def without(name: str, number: int) -> Callable[[Log], Log]:
    def alter(log: Log) -> Log:
        del log[places(log, name)[number]]
        return log

    return alter


def other_record(**fields: Any) -> Callable[[Log], Log]:
    """The first archived record with other fields."""

    def alter(log: Log) -> Log:
        arguments = log[places(log, "Archived")[0]].arguments
        first = packed(replace(logged_records(arguments)[0].record, **fields))
        return changed("Archived", 0, records=first + arguments["records"][SIZE:])(log)

    return alter


def counted(number: int, done: int, chunks: int, certified: bool = True) -> Callable[[Log], Log]:
    """The archive's decision of this number as one of several chunks, with or without its certificate."""

    def alter(log: Log) -> Log:
        place = places(log, "RecordsCertified")[number]
        proposal = log[place].arguments["proposal"]
        arguments = {"proposal": proposal, "done": done, "chunks": chunks}
        executed = replace(log[place], name="ChunkExecuted", arguments=arguments)
        log[place : place + 1] = [executed, log[place]] if certified else [executed]
        return log

    return alter


def again(name: str, number: int, transaction: bytes | None = None) -> Callable[[Log], Log]:
    """The event twice, the second time in another transaction where one is given."""

    def alter(log: Log) -> Log:
        place = places(log, name)[number]
        log.insert(place, replace(log[place], transaction_hash=transaction or log[place].transaction_hash))
        return log

    return alter


def certificate(**fields: Any) -> Callable[[Log], Log]:
    """Other fields of the first certificate."""

    def alter(log: Log) -> Log:
        place = places(log, "RecordsCertified")[0]
        given = {**log[place].arguments["certificate"], **fields}
        return changed("RecordsCertified", 0, certificate=given)(log)

    return alter


def cut(name: str, number: int) -> Callable[[Log], Log]:
    """The events before this one."""

    def alter(log: Log) -> Log:
        return log[: places(log, name)[number]]

    return alter


def test_what_was_promised_is_there(scene: Scene) -> None:
    assert check(scene.federation) == CheckedHistory((), ())
    assert scene.federation.verify().passed


OTHER = b"\x07" * 32
LAST_URI = {"uri": OTHER}

LIVE = {
    "a block that no event has": (without("BlockAppended", 1), ("order", "block 2")),
    "a height twice": (changed("BlockAppended", 1, height=1), ("order", "block 2")),
    "a model that no event has": (without("ModelPublished", 0), ("order", "model at 1:0")),
    "a model twice at one place": (again("ModelPublished", 0), ("order", "model at 1:0")),
    "a model beyond its block": (
        changed("ModelPublished", 1, position=Position(1, 9).packed),
        ("order", "model at 1:9"),
    ),
    "a version that was left out": (changed("ModelRedacted", 0, version=2), ("version", "model at 2:0")),
    "a version of a header that was left out": (
        changed("HeaderRedacted", 0, version=2),
        ("version", "model at 2:4294967295"),
    ),
    "a replacement of nothing": (
        changed("ModelRedacted", 0, position=Position(9, 0).packed),
        ("version", "model at 9:0"),
    ),
    "another CID than was archived": (changed("ModelPublished", 0, **LAST_URI), ("archived", "model at 1:0")),
    "another CID than was superseded": (
        changed("ModelPublished", 2, **LAST_URI),
        ("archived", "model at 2:0"),
    ),
    "a block twice": (again("BlockAppended", 0), ("once", "decision ")),
    "a decision in two transactions": (again("HeaderRedacted", 0, OTHER), ("once", "decision ")),
    "a block of a decision without a certificate": (
        changed("BlockAppended", 0, proposal=OTHER),
        ("certified", "block 1"),
    ),
    "an opening that no certificate covers": (
        changed("ModelRedacted", 0, opening={"px": 1, "s": 1}),
        ("certified", "decision "),
    ),
    "a replacement that no certificate covers": (
        changed("ModelRedacted", -1, **LAST_URI),
        ("certified", "decision "),
    ),
    "another URI than is stored": (changed("ModelRedacted", -1, **LAST_URI), ("state", "model at 4:0")),
    "a version that is not stored": (without("ModelRedacted", -1), ("state", "model at 4:0")),
    "a re-opening that is not stored": (without("HeaderRedacted", -1), ("state", "block 4")),
    "another hash of a block": (changed("BlockAppended", 0, blockHash=OTHER), ("state", "block 1")),
    "a height that is not told": (cut("BlockAppended", -1), ("state", "the live chain")),
}

ARCHIVE = {
    "a published model without a record": (without("Archived", 0), ("archived", "model at 1:0")),
    "a replaced model without a record": (without("Archived", -1), ("archived", "model at 4:0")),
    "a record with another CID": (
        other_record(uri=Uri(OTHER, Codec.RAW)),
        ("archived", "model at 1:0"),
    ),
    "a record for another reason": (
        other_record(reason=ArchiveReason.SUPERSEDED),
        ("archived", "model at 1:0"),
    ),
    "a record of no model": (other_record(position=Position(9, 0)), ("archived", "model at 9:0")),
    "a record twice": (again("Archived", 0), ("chain", "model at 1:0")),
    "records that do not continue the ones before": (
        changed("Archived", 0, timestamp=1),
        ("chain", "the archive"),
    ),
    "a head in between that is not the records'": (
        changed("Archived", 0, head=OTHER),
        ("chain", "the archive"),
    ),
    "a head that is not the logged one": (changed("Archived", -1, head=OTHER), ("chain", "the archive")),
    "records that are not told": (cut("RecordsCertified", -1), ("chain", "the archive")),
    "a decision twice": (again("RecordsCertified", 0), ("once", "decision ")),
    "a chunk that was left out": (counted(0, done=2, chunks=2), ("once", "decision ")),
    "records before any decision": (without("RecordsCertified", 0), ("once", "the archive")),
    "records without a certificate": (
        counted(0, done=1, chunks=1, certified=False),
        ("certified", "model at 1:0"),
    ),
    "a certificate of another decision": (certificate(proposal=OTHER), ("certified", "block 1")),
    "a certificate of other content": (certificate(contentHash=OTHER), ("certified", "block 1")),
    "an archive part that is not whole": (counted(0, done=1, chunks=2), ("certified", "block 1")),
}


@pytest.mark.parametrize("what", LIVE)
def test_events_of_the_live_chain_that_break_a_promise(scene: Scene, what: str) -> None:
    alter, expected = LIVE[what]
    assert named(check(scene.federation, live=alter), expected)


@pytest.mark.parametrize("what", ARCHIVE)
def test_events_of_the_archive_that_break_a_promise(scene: Scene, what: str) -> None:
    alter, expected = ARCHIVE[what]
    assert named(check(scene.federation, archive=alter), expected)


def named(checked: CheckedHistory, expected: tuple[str, str]) -> bool:
    promise, subject = expected
    assert {each.promise for each in checked.violations} <= {*PROMISES}
    return any(each.promise == promise and each.subject.startswith(subject) for each in checked.violations)


def test_a_decision_archives_what_it_does_on_the_live_chain(scene: Scene) -> None:
    """Whatever its certificate covers."""
    checked = check(scene.federation, archive=without("Archived", -1))
    (broken,) = (each for each in checked.violations if each.promise == "certified")
    assert broken.detail == "its archive records differ from its changes on the live chain"


def test_a_decision_that_the_live_chain_lacks_may_be_the_newest_only(scene: Scene) -> None:
    """Of a middle block: later decisions went by."""
    proposal = scene.federation.contracts.live.events("BlockAppended")[1].arguments["proposal"]
    checked = check(scene.federation, live=without("BlockAppended", 1), unfinished=True)
    assert checked.pending == (proposal,)
    assert named(checked, ("archived", f"decision 0x{proposal.hex()[:8]}"))


def test_a_chunk_of_the_live_chain_that_is_missing_is_pending(scene: Scene) -> None:
    """Two chunks were announced, and one was executed."""
    (proposal,) = scene.federation.contracts.live.redacted()

    def halfway(log: Log) -> Log:
        place = places(log, "HeaderRedacted")[0]
        arguments = {"proposal": proposal, "done": 1, "chunks": 2}
        log.insert(place, replace(log[place], name="ChunkExecuted", arguments=arguments))
        return log

    assert check(scene.federation, live=halfway, unfinished=True) == CheckedHistory((), (proposal,))
    lacking = check(scene.federation, live=halfway, archive=without("Archived", -1), unfinished=True)
    assert "it replaced versions that it did not archive" in {each.detail for each in lacking.violations}
    assert found(check(scene.federation, live=halfway)) == {("archived", f"decision 0x{proposal.hex()[:8]}")}


def test_chains_that_grow_are_read_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first reading of the archive lacks entries that the live chain already has."""
    contracts, readings = scene.federation.contracts, []
    lagging, blocks = told(contracts.archive, without("Archived", -1)), iter("ab")
    whole, lacking = contracts.archive.log, lagging.log

    def newest() -> str:
        readings.append(1)
        return next(blocks, "b")

    monkeypatch.setattr(lagging, "log", lambda: whole() if len(readings) > 1 else lacking())
    monkeypatch.setattr(lagging, "newest_block", newest)
    assert check_promises(contracts.live, lagging, unfinished=False).kept


def test_verify_names_a_model_without_its_archive_record(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every single model verifies by itself: only the other chain tells."""
    federation = scene.federation
    archive = federation.contracts.archive
    whole = archive.log()
    place = federation.catalogue()["y"].position
    altered = without("Archived", -1)([*whole])
    monkeypatch.setattr(archive, "log", lambda: altered)
    outcome = federation.verify()
    failures = {each.model: each for each in outcome.failures}
    assert not outcome.passed
    lacking = failures[f"model y at {place}"]
    assert (lacking.position, lacking.check) == (place, "archived")
    assert "version 0 is SUPERSEDED" in lacking.detail
    assert "do not rely on this model" in lacking.detail
    assert federation.verify(["a"]).failures == tuple(
        each for each in outcome.failures if each.position is None
    )
