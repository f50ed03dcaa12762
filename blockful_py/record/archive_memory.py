# SPDX-License-Identifier: Apache-2.0
"""The file in which an auditor remembers the records and the head of an archive.

The chain's own hash chain shows only that today's records fit together; an auditor's copy shows that they are
the same as before.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from blockful_py.errors import FormatError, RunError, VerificationError
from blockful_py.record.fields import Part, octets, parsed, spelt
from blockful_py.record.proofs.anchors import ArchiveSource
from blockful_py.record.proofs.checking import archived, check_history
from blockful_py.record.proofs.exporting import export_history
from blockful_py.record.proofs.record import ArchiveHistory
from blockful_py.storage.cid import cid_string
from blockful_py.types import StoredArchiveRecord
from blockful_py.whole_file import write_whole

MAX_BYTES = 1 << 30
"""Maximum size of the file in bytes, some four million records."""


class RememberedArchive(Part):
    """The file's content."""

    format: Literal["blockful-archive/1"]
    archive: ArchiveHistory


def recall(path: Path, archive: ArchiveSource) -> tuple[StoredArchiveRecord, ...]:
    """The records remembered in a file; empty if it does not exist yet.

    Raises FormatError for a damaged file, RunError for one that cannot be read or is of another archive.
    Never changes the file.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        history = parsed(RememberedArchive, data, "file of remembered records", MAX_BYTES).archive
        check_history(history, ())
    except (FormatError, VerificationError) as error:
        raise FormatError(
            f"{path} is damaged ({error}); it was left as it is: use a copy, or another file to begin anew."
        ) from None
    if (history.chain_id, octets(history.contract)) != (archive.chain_id, archive.address):
        raise RunError(
            f"{path} remembers the archive {history.contract} on chain {history.chain_id}, this one is "
            f"0x{archive.address.hex()} on chain {archive.chain_id}: use another file."
        )
    return archived(history)


def remember(path: Path, archive: ArchiveSource) -> int:
    """Writes the archive's present records atomically; returns their number.  Raises RunError."""
    history = export_history(archive)
    write_whole(path, spelt(RememberedArchive(format="blockful-archive/1", archive=history)))
    return len(history.records)


def departures(
    remembered: tuple[StoredArchiveRecord, ...], records: tuple[StoredArchiveRecord, ...]
) -> list[str]:
    """Differences of an archive from the remembered records, record by record."""
    problems = [
        f"record {old.index} was altered: it is {_shown(new)}; remembered is {_shown(old)}"
        for old, new in zip(remembered, records, strict=False)
        if old != new
    ]
    gone = remembered[len(records) :]
    return problems + [f"record {each.index} is missing; remembered is {_shown(each)}" for each in gone]


def _shown(stored: StoredArchiveRecord) -> str:
    record = stored.record
    return (
        f"version {record.version} of {record.position}, {record.reason.name.lower()} at {stored.timestamp}, "
        f"{cid_string(record.uri)}"
    )
