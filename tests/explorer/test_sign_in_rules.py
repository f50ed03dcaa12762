# SPDX-License-Identifier: Apache-2.0
"""The rules of signing in, and of sessions, with a clock that is set."""

from __future__ import annotations

from typing import Any

import pytest

from blockful_py.crypto import signature
from blockful_py.crypto.randomness import SeededRng
from blockful_py.explorer.sign_in import SignIn, SignInError
from blockful_py.explorer.sign_in_message import SIGN_IN_SECONDS, SignInMessage
from blockful_py.explorer.sign_in_routes import MAX_SESSIONS, SESSION_SECONDS, Sessions
from blockful_py.keys.reader_keys import ReaderKeys

AUDITOR, STRANGER = (ReaderKeys.generate(SeededRng(name)) for name in (b"auditor", b"stranger"))
ACCOUNT = AUDITOR.account
PAGE = ("http", "explorer.test")
NO_KEY = (0, 0)


class Registry:
    """An archive's registry with one auditor."""

    chain_id, address = 1338, bytes(range(20))

    def __init__(self) -> None:
        self.keys = {ACCOUNT: (1, 2)}

    def auditor_key(self, auditor: bytes) -> tuple[int, int]:
        return self.keys.get(auditor, NO_KEY)


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def rules(registry: Registry, clock: Clock) -> SignIn:
    return SignIn(lambda: registry, clock)


def require(rules: SignIn, made: SignInMessage, **changed: Any) -> None:
    values: dict[str, Any] = {
        "scheme": made.scheme,
        "domain": made.domain,
        "address": made.address,
        "issued": made.issued,
        "nonce": made.nonce,
        "signed": signature.sign(AUDITOR.account_secret, made.digest),
    }
    rules.require_signed(**{**values, **changed})


def test_a_good_message_passes(rules: SignIn) -> None:
    """Nothing is raised, where each test below has one field that is wrong refused."""
    require(rules, rules.message(*PAGE, ACCOUNT))


def test_its_text_is_that_of_the_standard(rules: SignIn) -> None:
    text = rules.message("https", "explorer.example", ACCOUNT).text
    lines = text.split("\n")
    assert lines[0] == "explorer.example wants you to sign in with your Ethereum account:"
    assert lines[1].lower() == "0x" + ACCOUNT.hex()
    assert (lines[2], lines[4]) == ("", "")
    assert [each.partition(": ")[0] for each in lines[5:]] == [
        "URI",
        "Version",
        "Chain ID",
        "Nonce",
        "Issued At",
        "Expiration Time",
    ]
    assert lines[5:8] == ["URI: https://explorer.example/", "Version: 1", "Chain ID: 1338"]
    assert lines[9:] == ["Issued At: 2027-01-15T08:00:00Z", "Expiration Time: 2027-01-15T08:05:00Z"]


@pytest.mark.parametrize(
    "changed",
    [
        {"domain": "evil.example"},
        {"scheme": "https"},
        {"issued": 1_800_000_001},
        {"address": STRANGER.account},
    ],
)
def test_a_message_of_another_page_time_or_account_is_refused(rules: SignIn, changed: dict[str, Any]) -> None:
    with pytest.raises(SignInError, match="another page or account"):
        require(rules, rules.message(*PAGE, ACCOUNT), **changed)


def test_a_signature_for_another_domain_is_refused(rules: SignIn) -> None:
    made = rules.message(*PAGE, ACCOUNT)
    foreign = SignInMessage(
        "http", "evil.example", ACCOUNT, made.chain_id, made.registry, made.nonce, made.issued
    )
    with pytest.raises(SignInError, match="key of another account"):
        require(rules, made, signed=signature.sign(AUDITOR.account_secret, foreign.digest))


def test_a_message_of_another_process_is_refused(rules: SignIn, registry: Registry, clock: Clock) -> None:
    other = SignIn(lambda: registry, clock)
    with pytest.raises(SignInError, match="another page or account"):
        require(rules, other.message(*PAGE, ACCOUNT))


def test_a_message_expires(rules: SignIn, clock: Clock) -> None:
    made = rules.message(*PAGE, ACCOUNT)
    clock.now += SIGN_IN_SECONDS
    with pytest.raises(SignInError, match="expired"):
        require(rules, made)


def test_a_used_message_is_refused_until_it_expires_and_then_as_well(rules: SignIn, clock: Clock) -> None:
    made = rules.message(*PAGE, ACCOUNT)
    require(rules, made)
    clock.now += SIGN_IN_SECONDS - 1
    require(rules, rules.message(*PAGE, ACCOUNT))
    with pytest.raises(SignInError, match="used already"):
        require(rules, made)
    clock.now += 1
    with pytest.raises(SignInError, match="expired"):
        require(rules, made)


def test_a_refused_message_is_not_used_up(rules: SignIn) -> None:
    made = rules.message(*PAGE, ACCOUNT)
    with pytest.raises(SignInError):
        require(rules, made, signed=bytes(64))
    require(rules, made)


def test_a_session_ends_by_itself(clock: Clock) -> None:
    sessions = Sessions(clock)
    token = sessions.begin(ACCOUNT)
    clock.now += SESSION_SECONDS - 1
    found = sessions.find(token)
    assert found is not None
    assert found.auditor == ACCOUNT
    clock.now += 1
    assert sessions.find(token) is None
    assert sessions.find("x" + token) is None


def test_there_are_so_many_sessions_and_the_oldest_goes(clock: Clock) -> None:
    sessions = Sessions(clock)
    tokens = [sessions.begin(ACCOUNT) for _ in range(MAX_SESSIONS + 1)]
    assert sessions.find(tokens[0]) is None
    assert all(sessions.find(each) for each in tokens[1:])
