# SPDX-License-Identifier: Apache-2.0
"""Members as processes bar readers and name auditors, after a quorum of their operators has agreed."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.committee.motions import AGREED, Agreements, Matter, Motion
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import ContractError, QuorumError, RefusedError, SettingsError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.weights import equal
from blockful_py.pipeline.coordination.motions import OpenMotions, read_motion
from blockful_py.pipeline.reader import ReaderSession
from tests.member.conftest import Crew

READER, AUDITOR, OTHER = (ReaderKeys.generate(SeededRng(name)) for name in (b"barred", b"auditor", b"other"))


def session(crew: Crew, keys: ReaderKeys) -> ReaderSession:
    return ReaderSession(crew.federation.run.path, keys, crew.federation.nodes)


def agree(crew: Crew, members: int) -> Motion:
    """Has the operators of the first members agree to the only open motion."""
    (path,) = crew.federation.run.motions.glob("*.json")
    motion = read_motion(path)
    for member in crew.members[:members]:
        Agreements(member.folder / AGREED).agree(motion)
    return motion


def test_a_reader_is_barred_when_a_quorum_of_operators_has_agreed_and_not_before(crew: Crew) -> None:
    administration, reader = crew.federation.administration(), session(crew, READER)
    reader.register()
    for members in (0, 2):
        with pytest.raises(QuorumError, match=f"{members} of 4 members agree, 3 are needed") as refusal:
            administration.set_barred(READER.account, True)
        assert f"its operator has not agreed to bar 0x{READER.account.hex()}" in str(refusal.value)
        assert "blockful committee agree" in str(refusal.value)
        assert reader.read("a")
        agree(crew, members + 2)
    agreed = agree(crew, 3)
    administration.set_barred(READER.account, True)
    with pytest.raises(RefusedError, match="was barred by the committee"):
        reader.read("a")
    assert not list(crew.federation.run.motions.glob("*.json"))
    with pytest.raises(QuorumError, match="has not agreed to let"):
        administration.set_barred(READER.account, False)
    assert agree(crew, 4).proposal != agreed.proposal
    administration.set_barred(READER.account, False)
    assert reader.register().key == READER.encryption_key


def test_what_was_agreed_to_once_is_decided_once(crew: Crew) -> None:
    administration = crew.federation.administration()
    for _ in range(2):
        with pytest.raises(QuorumError, match="0 of 4 members agree"):
            administration.set_barred(OTHER.account, True)
    agree(crew, 4)
    administration.set_barred(OTHER.account, True)
    with pytest.raises(QuorumError, match="0 of 4 members agree"):
        administration.set_barred(OTHER.account, True)
    agree(crew, 4)
    with pytest.raises(ContractError, match="NothingToChange"):
        administration.set_barred(OTHER.account, True)
    assert not list(crew.federation.run.motions.glob("*.json"))


def test_an_auditor_is_named_and_has_the_keys_of_what_stands(crew: Crew) -> None:
    administration, auditor = crew.federation.administration(), session(crew, AUDITOR)
    with pytest.raises(QuorumError, match=f"has not agreed to register 0x{AUDITOR.account.hex()}"):
        administration.set_auditor(AUDITOR.account, AUDITOR.encryption_key)
    motion = agree(crew, 3)
    for member in crew.members[:2]:
        assert Agreements(member.folder / AGREED).withdraw(motion)
    with pytest.raises(QuorumError, match="1 of 4 members agree"):
        administration.set_auditor(AUDITOR.account, AUDITOR.encryption_key)
    agree(crew, 3)
    administration.set_auditor(AUDITOR.account, AUDITOR.encryption_key)
    model = crew.federation.models()["a"]
    assert equal(auditor.read_archived("a", 0), model.weights)
    with pytest.raises(QuorumError, match="has not agreed to remove the auditor"):
        administration.set_auditor(AUDITOR.account, None)
    agree(crew, 4)
    administration.set_auditor(AUDITOR.account, None)
    with pytest.raises(RefusedError, match="is not wrapped to"):
        auditor.read_archived("a", 0)


def test_participants_are_admitted_barred_and_readmitted(crew: Crew) -> None:
    administration, registry = crew.federation.administration(), crew.federation.contracts.participants
    for decide, words, expected in (
        (lambda: administration.admit_participant(OTHER.account), "admit", (False, True)),
        (lambda: administration.set_participant_barred(OTHER.account, True), "bar the", (True, True)),
        (lambda: administration.set_participant_barred(OTHER.account, False), "let", (False, True)),
    ):
        with pytest.raises(QuorumError, match=f"has not agreed to {words}"):
            decide()
        agree(crew, 3)
        decide()
        entry = registry.participant(OTHER.account)
        assert (entry.barred, entry.admitted) == expected
    with pytest.raises(QuorumError, match="0 of 4 members agree"):
        administration.admit_participant(OTHER.account)
    agree(crew, 3)
    with pytest.raises(ContractError, match="NothingToChange"):
        administration.admit_participant(OTHER.account)


def test_a_laboratory_has_no_federation_file_to_change(crew: Crew) -> None:
    with pytest.raises(RefusedError, match="a laboratory has no federation file"):
        crew.federation.administration().change_file(b"anything")
    administration = crew.federation.administration()
    with pytest.raises(QuorumError, match="0 of 4 members agree"):
        administration._carry(Matter.CHANGE_FILE, bytes(range(32)))
    agree(crew, 4)
    with pytest.raises(QuorumError, match="a laboratory has no federation file"):
        administration._carry(Matter.CHANGE_FILE, bytes(range(32)))
    assert crew.federation.contracts.participants.file_digest() is None


def test_the_subject_of_a_motion_has_the_length_of_its_kind() -> None:
    for matter, subject in ((Matter.CHANGE_FILE, bytes(20)), (Matter.BAR_PARTICIPANT, bytes(32))):
        with pytest.raises(ValueError, match="the subject of this motion"):
            Motion.about(1, matter, subject, bytes(32))


def test_motions_of_an_epoch_that_is_over_are_removed(tmp_path: Path) -> None:
    motions = OpenMotions(tmp_path / "motions")
    first = motions.find(1, Matter.BAR, OTHER.account, None)
    assert motions.find(1, Matter.BAR, OTHER.account, None) == first
    assert motions.find(1, Matter.READMIT, OTHER.account, None) != first
    later = motions.find(2, Matter.BAR, OTHER.account, None)
    assert [read_motion(path) for path in (tmp_path / "motions").iterdir()] == [later]


@pytest.mark.parametrize("content", [b"", b"{}", b'{"epoch":"0x1"}'])
def test_a_file_that_is_no_motion_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "motion.json"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match="holds no motion"):
        read_motion(path)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_motion(tmp_path / "nothing.json")


def test_a_key_belongs_to_an_auditor_that_is_named() -> None:
    for matter, key in ((Matter.BAR, AUDITOR.encryption_key), (Matter.NAME_AUDITOR, None)):
        with pytest.raises(ValueError, match="a motion has a key"):
            Motion.about(1, matter, AUDITOR.account, bytes(32), key)
