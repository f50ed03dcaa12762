# SPDX-License-Identifier: Apache-2.0
"""Mail of runs on shares: kept for runs that begin later, bounded, and dropped after their end."""

from __future__ import annotations

import pytest

from blockful_py.committee.service import shared_mail
from blockful_py.committee.service.shared_mail import Mailbox, packed
from blockful_py.errors import MessageError, RefusedError

ANN, BEN = b"a" * 20, b"b" * 20
RUN, OTHER = b"r" * 32, b"o" * 32


def test_mail_waits_for_its_run_and_no_other() -> None:
    box = Mailbox()
    box.put(ANN, RUN, packed([b"one", b""]))
    box.put(BEN, OTHER, packed([b"other"]))
    with box.run(RUN):
        assert [box.take(RUN, 0.0) for _ in range(3)] == [b"one", b"", None]
    with box.run(OTHER):
        assert box.take(OTHER, 0.0) == b"other"


def test_a_run_begins_once_and_late_mail_of_it_is_dropped() -> None:
    box = Mailbox()
    with box.run(RUN), pytest.raises(RefusedError, match="began before"), box.run(RUN):
        pass
    box.put(ANN, RUN, packed([b"late"]))
    assert box.take(RUN, 0.0) is None
    with pytest.raises(RefusedError, match="began before"), box.run(RUN):
        pass


def test_a_sender_fills_its_own_place_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_mail, "MOST_UNREAD", shared_mail.MESSAGE_BYTES + 10)
    box = Mailbox()
    box.put(ANN, RUN, packed([bytes(10)]))
    with pytest.raises(RefusedError, match="too many unread"):
        box.put(ANN, OTHER, packed([bytes(10)]))
    box.put(BEN, RUN, packed([bytes(10)]))
    with box.run(RUN):
        assert box.take(RUN, 0.0) == bytes(10)
    box.put(ANN, OTHER, packed([bytes(10)]))


def test_mail_of_a_run_that_does_not_begin_is_dropped_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_mail, "MOST_UNREAD", shared_mail.MESSAGE_BYTES + 10)
    box = Mailbox()
    box.put(ANN, RUN, packed([bytes(10)]))
    monkeypatch.setattr(shared_mail, "KEPT_SECONDS", 0.0)
    box.put(ANN, OTHER, packed([bytes(10)]))
    assert box.take(RUN, 0.0) is None


@pytest.mark.parametrize("data", [b"abc", b"\x05\x00\x00\x00abc", packed([b"x"]) + b"\x01"])
def test_malformed_mail_is_refused(data: bytes) -> None:
    with pytest.raises(MessageError, match="end too early"):
        Mailbox().put(ANN, RUN, data)
