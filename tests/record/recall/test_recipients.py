# SPDX-License-Identifier: Apache-2.0
"""Recipients by declared files: who counts as declaring what, and which answers count."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from blockful_py.crypto import curve, eip712
from blockful_py.errors import BlockNotFoundError, FormatError, VerificationError
from blockful_py.record.fields import of_octets
from blockful_py.record.recall.documents import (
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    UNSIGNED,
    DeclaredAnswers,
    Deliveries,
    Did,
    Recipient,
    SignedAnswer,
    of_account,
    of_name,
    parse_declared,
    together,
)
from blockful_py.record.recall.listed import ListedRecipient, check_listed, listed
from blockful_py.record.recall.recipients import (
    MAX_ANSWERS,
    MAX_RECIPIENT_FILES,
    MAX_UNREAD,
    Recipients,
    RecordedModel,
    recipients,
    require_answer,
)
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Position, Uri

DOMAIN = eip712.Domain(1337, b"live contract".ljust(20, b"."))
OWNER, ANN, BEN = 11, 12, 13
PLACE = Position(3, 1)
NODES = [cid_string(file_uri(f"node {version}".encode())) for version in range(3)]


def account(secret: int) -> bytes:
    return curve.address(curve.multiply_base(secret))


def model(version: int = 1) -> RecordedModel:
    return RecordedModel("r6", of_octets(account(OWNER)), version, dict(enumerate(NODES[: version + 1])))


@dataclass(frozen=True)
class File:
    position: Position
    by: bytes
    uri: Uri
    block_number: int


class Record:
    """Files declared on one model at version `version`."""

    def __init__(self, version: int = 1) -> None:
        self.models = {PLACE: model(version)}
        self.files: dict[Uri, bytes] = {}
        self.declared: list[File] = []

    def declare(self, by: int, file: Deliveries | DeclaredAnswers | bytes, place: Position = PLACE) -> Uri:
        data = file if isinstance(file, bytes) else file.to_bytes()
        uri = file_uri(data)
        self.files[uri] = data
        self.declared.append(File(place, account(by), uri, len(self.declared)))
        return uri

    def read(self, uri: Uri, limit: int) -> bytes:
        if uri not in self.files:
            raise BlockNotFoundError("not here.")
        assert len(self.files[uri]) <= limit
        return self.files[uri]

    def found(self) -> Recipients:
        return recipients(self.declared, self.models, self.read, DOMAIN)

    def words(self) -> list[str | None]:
        """What each recipient said, in their order."""
        given = [each.answered for each in self.found().delivered]
        return [None if each is None else each.answer.did.value for each in given]


def delivered(*to: int, version: int = 0) -> Deliveries:
    entries = [
        Recipient(recipient=of_account(account(each)), account=of_octets(account(each))) for each in to
    ]
    entries.sort(key=lambda each: each.recipient)
    return Deliveries(position=str(PLACE), version=version, recipients=tuple(entries))


def answered(
    by: int,
    did: Did = Did.DELETED,
    *,
    of: int | None = None,
    version: int = 0,
    stands: int = 1,
    at: int = 100,
    domain: eip712.Domain = DOMAIN,
) -> SignedAnswer:
    return SignedAnswer(
        position=str(PLACE),
        version=version,
        replacement=NODES[stands],
        recipient=of_account(account(by if of is None else of)),
        did=did,
        at=at,
        signature=UNSIGNED,
    ).signed(domain, by)


def one(answer: SignedAnswer) -> DeclaredAnswers:
    return together(answer.position, [answer])


def test_a_recipient_is_open_until_it_answers() -> None:
    record = Record()
    record.declare(OWNER, delivered(ANN, BEN))
    assert record.words() == [None, None]
    assert len(record.found().open) == 2
    record.declare(OWNER, one(answered(ANN)))
    assert sorted(record.words(), key=str) == [None, "deleted"]
    (open_one,) = record.found().open
    assert open_one.account == of_octets(account(BEN))


def test_nobody_is_open_before_a_recall() -> None:
    record = Record(version=0)
    record.declare(OWNER, delivered(ANN))
    assert not record.found().open
    assert [each.recalled for each in record.found().delivered] == [False]


def test_only_the_owner_says_who_received_a_model() -> None:
    record = Record()
    record.declare(ANN, delivered(ANN))
    record.declare(OWNER, delivered(BEN), place=Position(9, 9))
    assert not record.found().delivered


def test_a_recipient_answers_by_itself_if_its_publisher_keeps_silent() -> None:
    record = Record()
    record.declare(OWNER, delivered(ANN))
    record.declare(ANN, one(answered(ANN)))
    assert record.words() == ["deleted"]


WRONG: dict[str, Callable[[], tuple[int, SignedAnswer]]] = {
    "signed by another": lambda: (OWNER, answered(BEN, of=ANN)),
    "declared by a stranger": lambda: (99, answered(ANN)),
    "declared by another recipient": lambda: (BEN, answered(ANN)),
    "on a version that was not delivered": lambda: (OWNER, answered(ANN, version=1, stands=2)),
    "before the recall": lambda: (OWNER, answered(ANN, stands=0)),
    "to a recall that is yet to come": lambda: (OWNER, answered(ANN, stands=2)),
    "on another chain": lambda: (OWNER, answered(ANN, domain=eip712.Domain(1, DOMAIN.contract))),
    "of another contract": lambda: (OWNER, answered(ANN, domain=eip712.Domain(1337, bytes(20)))),
    "changed after it was signed": lambda: (
        OWNER,
        answered(ANN, Did.KEPT).model_copy(update={"did": Did.DELETED}),
    ),
    "unsigned": lambda: (OWNER, answered(ANN).model_copy(update={"signature": UNSIGNED})),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_answer_does_not_count(wrong: Callable[[], tuple[int, SignedAnswer]]) -> None:
    record = Record()
    record.declare(OWNER, delivered(ANN))
    by, answer = wrong()
    record.declare(by, one(answer))
    assert record.words() == [None]


def test_an_answer_to_one_recall_is_none_to_the_next() -> None:
    """Version 0 was answered for; the recipient then got version 1, which is recalled too."""
    record = Record(version=2)
    record.declare(OWNER, delivered(ANN))
    record.declare(OWNER, delivered(ANN, version=1))
    first = answered(ANN)
    record.declare(OWNER, one(first))
    record.declare(OWNER, one(first))
    assert record.words() == ["deleted", None]
    record.declare(OWNER, one(answered(ANN, version=1, stands=2)))
    assert not record.found().open


def test_the_latest_word_stands_even_if_an_older_one_is_declared_again() -> None:
    record = Record()
    record.declare(OWNER, delivered(ANN))
    gone = answered(ANN, Did.DELETED, at=100)
    record.declare(OWNER, one(gone))
    record.declare(ANN, one(answered(ANN, Did.KEPT, at=200)))
    record.declare(OWNER, one(gone))
    (found,) = record.found().delivered
    assert record.words() == ["kept"]
    assert found.contradicts
    assert [each.answer.did for each in found.given] == [Did.DELETED, Did.KEPT]


def test_a_name_without_an_account_is_vouched_for() -> None:
    record, salt = Record(), bytes(range(32))
    named = Recipient(recipient=of_name("Clinic Nord", salt), account=None)
    record.declare(OWNER, Deliveries(position=str(PLACE), version=0, recipients=(named,)))
    answer = answered(BEN).model_copy(update={"recipient": named.recipient}).signed(DOMAIN, BEN)
    record.declare(BEN, one(answer))
    assert record.words() == [None], "nobody but the owner knows who BEN is"
    record.declare(OWNER, one(answer))
    (found,) = record.found().delivered
    assert found.answered is not None
    assert found.answered.vouched
    assert found.answered.signer == of_octets(account(BEN))
    assert b"Clinic" not in b"".join(record.files.values())


def test_what_cannot_be_read_is_said_and_spoils_nothing() -> None:
    record = Record()
    lost = record.declare(OWNER, delivered(BEN))
    del record.files[lost]
    junk = record.declare(OWNER, b'{"format": "blockful-deliveries/1"}')
    record.declare(OWNER, delivered(ANN))
    assert record.words() == [None]
    assert set(record.found().unread) == {cid_string(lost), cid_string(junk)}


def test_an_owner_cannot_make_others_try_for_ever() -> None:
    record, tried = Record(), []

    def read(uri: Uri, limit: int) -> bytes:
        tried.append(uri)
        raise BlockNotFoundError("not here.")

    for number in range(20):
        record.declare(OWNER, f"lost {number}".encode())
    found = recipients(record.declared, record.models, read, DOMAIN)
    assert len(tried) == MAX_UNREAD
    assert len(found.unread) == 20, "what was not tried is listed too"


def test_a_recipient_has_so_many_words() -> None:
    record = Record()
    record.declare(OWNER, delivered(ANN))
    for number in range(MAX_ANSWERS + 9):
        record.declare(OWNER, one(answered(ANN, at=number)))
    (found,) = record.found().delivered
    assert len(found.given) == MAX_ANSWERS
    record.declare(ANN, one(answered(ANN, Did.KEPT, at=1000)))
    assert record.words() == ["kept"], "its publisher cannot use up a recipient's own words"


def test_a_certificate_lists_the_open_ones_first_and_counts_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    record = Record()
    record.declare(OWNER, delivered(ANN, BEN, 14))
    record.declare(OWNER, together(str(PLACE), [answered(ANN), answered(BEN, Did.KEPT)]))
    whole = listed(record.found(), {str(PLACE): 1}, 7)
    assert whole is not None
    assert [each.answer is None for each in whole.recipients] == [True, False, False]
    assert whole.counts == {"deleted": 1, "kept": 1, "open": 1}
    check_listed(whole, record.models, DOMAIN)
    assert listed(record.found(), {"9:9": 1}, 7) is None, "of other models there is nothing to list"
    monkeypatch.setattr("blockful_py.record.recall.listed.MAX_LISTED", 2)
    cut = listed(record.found(), {str(PLACE): 1}, 7)
    assert cut is not None
    assert (len(cut.recipients), cut.more) == (2, 1)
    assert "1 more" in str(cut)


LIES: dict[str, Callable[[ListedRecipient], ListedRecipient]] = {
    "of another model": lambda each: each.model_copy(update={"position": "9:9"}),
    "of the version that stands": lambda each: each.model_copy(update={"version": 1}),
    "another's answer": lambda each: each.model_copy(update={"recipient": "0x" + "77" * 32}),
    "another account": lambda each: each.model_copy(update={"account": of_octets(account(BEN))}),
    "another word": lambda each: each.model_copy(
        update={"answer": each.answer and each.answer.model_copy(update={"did": Did.REPLACED})}
    ),
    "another recall": lambda each: each.model_copy(update={"answer": answered(ANN, stands=2)}),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_list_that_lies_is_refused(lie: Callable[[ListedRecipient], ListedRecipient]) -> None:
    record = Record()
    record.declare(OWNER, delivered(ANN))
    record.declare(OWNER, one(answered(ANN)))
    whole = listed(record.found(), {str(PLACE): 1}, 7)
    assert whole is not None
    (each,) = whole.recipients
    with pytest.raises(VerificationError):
        check_listed(whole.model_copy(update={"recipients": (lie(each),)}), record.models, DOMAIN)
    with pytest.raises(VerificationError, match="twice"):
        check_listed(whole.model_copy(update={"recipients": (each, each)}), record.models, DOMAIN)


def test_strangers_and_recipients_cannot_make_others_read_for_ever() -> None:
    record = Record()
    record.declare(OWNER, delivered(ANN))
    reads = []

    def read(uri: Uri, limit: int) -> bytes:
        reads.append(uri)
        return record.read(uri, limit)

    for number in range(50):
        record.declare(99, f"spam {number}".encode())
        record.declare(ANN, f"spam of a recipient {number}".encode())
    recipients(record.declared, record.models, read, DOMAIN)
    assert len(reads) == 1 + MAX_UNREAD
    assert len(record.found().unread) == MAX_RECIPIENT_FILES
    record.declare(OWNER, delivered(BEN))
    assert len(record.found().delivered) == 2, "a recipient cannot keep the owner's files from being read"


def test_a_refused_answer_says_why() -> None:
    record = Record()
    record.declare(OWNER, delivered(ANN))
    found = record.found()
    require_answer(answered(ANN), account(OWNER), found, record.models, DOMAIN)
    with pytest.raises(VerificationError, match="no such recipient"):
        require_answer(answered(BEN), account(OWNER), found, record.models, DOMAIN)
    require_answer(answered(ANN), account(ANN), found, record.models, DOMAIN)
    with pytest.raises(VerificationError, match="neither the model's owner nor"):
        require_answer(answered(ANN), account(BEN), found, record.models, DOMAIN)
    with pytest.raises(VerificationError, match="recipient's account is"):
        require_answer(answered(BEN, of=ANN), account(OWNER), found, record.models, DOMAIN)
    with pytest.raises(VerificationError, match="answers another recall"):
        require_answer(answered(ANN, stands=2), account(OWNER), found, record.models, DOMAIN)


def test_the_largest_files_can_be_read() -> None:
    first = answered(ANN, Did.NOT_RECEIVED, at=2**40)
    many = [first.model_copy(update={"recipient": f"0x{n:064x}"}) for n in range(MAX_ENTRIES)]
    assert parse_declared(together(str(PLACE), many).to_bytes())
    to = tuple(
        Recipient(recipient=f"0x7{number:063x}", account="0x" + "ee" * 20) for number in range(MAX_ENTRIES)
    )
    assert parse_declared(Deliveries(position=str(PLACE), version=2**31, recipients=to).to_bytes())


def test_files_are_bounded_and_spelt_in_one_way() -> None:
    data = delivered(ANN, BEN).to_bytes()
    assert parse_declared(data) == delivered(ANN, BEN)
    with pytest.raises(FormatError, match="not spelt"):
        parse_declared(data + b"\n")
    with pytest.raises(FormatError, match="at most"):
        parse_declared(data.ljust(MAX_FILE_BYTES + 1))
    with pytest.raises(ValidationError, match="ascending"):
        Deliveries(position=str(PLACE), version=0, recipients=delivered(ANN, BEN).recipients[::-1])
    with pytest.raises(ValidationError, match="answers with that account"):
        Recipient(recipient=of_account(account(ANN)), account=of_octets(account(BEN)))


@given(
    st.lists(st.tuples(st.sampled_from([ANN, BEN]), st.sampled_from(Did), st.integers(0, 9)), max_size=8),
    st.randoms(),
)
def test_the_order_of_declarations_changes_nothing(
    said: list[tuple[int, Did, int]], stream: random.Random
) -> None:
    """Answers of different times, declared by their owner in any order, once or twice."""
    latest: dict[int, tuple[int, Did]] = {}
    unique = {(who, at): (who, did, at) for who, did, at in said}.values()
    for who, did, at in unique:
        if who not in latest or at > latest[who][0]:
            latest[who] = (at, did)
    files = [one(answered(who, did, at=at)) for who, did, at in unique]
    record = Record()
    record.declare(OWNER, delivered(ANN, BEN))
    for each in stream.sample([*files, *files], 2 * len(files)):
        record.declare(OWNER, each)
    found = {each.account: each.answered for each in record.found().delivered}
    for who in (ANN, BEN):
        given = found[of_octets(account(who))]
        assert (given and given.answer.did) == (latest[who][1] if who in latest else None)
