# SPDX-License-Identifier: Apache-2.0
"""Keys in a member's folder: shares, their origins, and the settled key."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.committee.service.folder import DST_SHARE, MemberFolder, keys_in
from blockful_py.committee.service.generation import Charter, Origin
from blockful_py.crypto import secretbox
from blockful_py.crypto.passphrase import KdfCost
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.crypto.threshold.local import generate_key
from blockful_py.errors import KeystoreError, RefusedError
from tests.member.processes import QUICK, WORDS

MEMBERS = tuple(bytes([number]) * 20 for number in range(1, 5))
CHARTER = Charter(1337, bytes([9]) * 20, 2, 5, 1, MEMBERS, (1, 2, 3, 4), 3, bytes(32))


def share(name: bytes) -> KeyShare:
    return generate_key(3, 4, name, [SeededRng(name, n) for n in range(4)])[0]


FIRST, SECOND = share(b"first"), share(b"second")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[MemberFolder]:
    made = MemberFolder.create(tmp_path / "member", WORDS, QUICK)
    yield made
    made.close()


def test_a_share_stays_with_what_it_is_for(folder: MemberFolder) -> None:
    origin = Origin(CHARTER, FIRST.public)
    assert folder.origin(FIRST.public.key_id) is None
    folder.keep(FIRST, origin)
    assert folder.share(FIRST.public.key_id) == FIRST
    assert folder.origin(FIRST.public.key_id) == origin
    assert folder.key_ids() == (FIRST.public.key_id,)


def test_a_share_is_read_with_the_keys_of_its_member_and_under_its_own_name_alone(
    folder: MemberFolder, tmp_path: Path
) -> None:
    for kept in (FIRST, SECOND):
        folder.keep(kept, Origin(CHARTER, kept.public))
    first, second = (folder.path / "shares" / f"{s.public.key_id.hex()}.box" for s in (FIRST, SECOND))
    assert FIRST.secret.to_bytes(32, "big") not in first.read_bytes()
    for another in (second.read_bytes(), first.read_bytes()[:-1], b""):
        first.write_bytes(another)
        with pytest.raises(KeystoreError, match="is damaged, or holds the share of another key or member"):
            folder.share(FIRST.public.key_id)
    key = secretbox.derive(folder.voting_secret, DST_SHARE)
    first.write_bytes(secretbox.lock(key, FIRST.public.key_id, b"{}"))
    with pytest.raises(KeystoreError, match="holds no share of a group key"):
        folder.share(FIRST.public.key_id)
    with closing(MemberFolder.create(tmp_path / "other", WORDS, QUICK)) as other:
        shutil.copy(second, other.path / "shares")
        with pytest.raises(KeystoreError, match="or member"):
            other.share(SECOND.public.key_id)
    assert folder.share(SECOND.public.key_id) == SECOND


def test_the_keystore_costs_what_was_asked_for(folder: MemberFolder) -> None:
    kdf = json.loads((folder.path / "keystore.json").read_bytes())["kdf"]
    assert KdfCost(kdf["n"], kdf["r"], kdf["p"]) == QUICK != KdfCost()


def test_one_key_is_settled_on_in_an_attempt_and_another_in_the_next(folder: MemberFolder) -> None:
    assert folder.settled() is None
    with pytest.raises(RefusedError, match="no share"):
        folder.settle(FIRST.public.key_id)
    folder.keep(FIRST, Origin(CHARTER, FIRST.public))
    folder.keep(SECOND, Origin(CHARTER, SECOND.public))
    for _ in range(2):
        folder.settle(FIRST.public.key_id)
    with pytest.raises(RefusedError, match="settled another key"):
        folder.settle(SECOND.public.key_id)
    later = Origin(replace(CHARTER, attempt=2), SECOND.public)
    folder.keep(SECOND, later)
    folder.settle(SECOND.public.key_id)
    assert folder.settled() == later


def test_what_is_kept_is_there_after_a_restart(folder: MemberFolder) -> None:
    origin = Origin(CHARTER, FIRST.public)
    folder.keep(FIRST, origin)
    folder.settle(FIRST.public.key_id)
    keys = folder.keys
    folder.close()
    again = MemberFolder.open(folder.path, WORDS)
    assert (again.settled(), again.keys, again.share(FIRST.public.key_id)) == (origin, keys, FIRST)
    again.close()


def test_damage_is_named(folder: MemberFolder) -> None:
    folder.keep(FIRST, Origin(CHARTER, FIRST.public))
    (path,) = (folder.path / "origins").iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(KeystoreError, match="is damaged"):
        folder.origin(FIRST.public.key_id)


def test_the_secrets_can_be_read_while_the_member_serves(folder: MemberFolder, tmp_path: Path) -> None:
    assert keys_in(folder.path, WORDS) == folder.keys
    with pytest.raises(KeystoreError, match="there is no member in"):
        keys_in(tmp_path / "nobody", WORDS)


def test_election_secrets_repeat_for_one_draw_and_differ_otherwise(folder: MemberFolder) -> None:
    place = (1337, bytes([9]) * 20, 2, 5, bytes(32))
    secret = folder.keys.election_secret(*place)
    assert keys_in(folder.path, WORDS).election_secret(*place) == secret
    changed = [
        (1, *place[1:]),
        (*place[:2], 3, *place[3:]),
        (*place[:3], 6, place[4]),
        (*place[:4], b"\1" * 32),
    ]
    others = {folder.keys.election_secret(*each) for each in changed}
    assert len(others | {secret}) == 5
