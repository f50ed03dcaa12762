# SPDX-License-Identifier: Apache-2.0
"""A member keeps the first word of each finding, by auditor and training, across restarts."""

from __future__ import annotations

from pathlib import Path

from blockful_py.committee.words import HeardWords
from blockful_py.crypto.eip712 import Domain
from blockful_py.ledger.replay import ReplayFinding, ReplayWord, SignedWord

DOMAIN = Domain(1, bytes(20))
AUDITOR, OTHER = b"auditor".ljust(20), b"other".ljust(20)


def word(finding: ReplayFinding, interval: int = 0, commitment: bytes = bytes(32)) -> SignedWord:
    return ReplayWord(bytes(32), 1, commitment, finding, interval).signed(7, DOMAIN)


def test_words_stay_and_the_first_of_each_finding_counts(tmp_path: Path) -> None:
    words = HeardWords(tmp_path / "heard")
    assert words.on(bytes(32)) == ()
    first, second = word(ReplayFinding.DIFFERS, 3), word(ReplayFinding.DIFFERS, 4)
    unusable, same = word(ReplayFinding.UNUSABLE), word(ReplayFinding.SAME)
    for each in (unusable, first, second):
        words.keep(AUDITOR, each)
    words.keep(OTHER, same)
    assert {*HeardWords(tmp_path / "heard").on(bytes(32))} == {unusable, first, same}
    assert words.on(b"another training".ljust(32)) == ()


def test_a_damaged_file_hides_no_other(tmp_path: Path) -> None:
    words = HeardWords(tmp_path)
    words.keep(AUDITOR, word(ReplayFinding.SAME))
    (tmp_path / f"{bytes(32).hex()}-damaged-0").write_text("{}")
    assert words.on(bytes(32)) == (word(ReplayFinding.SAME),)
