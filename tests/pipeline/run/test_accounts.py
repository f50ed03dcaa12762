# SPDX-License-Identifier: Apache-2.0
"""Users whose keys are in Ethereum keystores, and requests that they sign where those are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from blockful_py.chain.account_file import create
from blockful_py.errors import (
    FormatError,
    InvalidSignatureError,
    KeystoreError,
    SettingsError,
    UnknownModelError,
)
from blockful_py.forget import Forget
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.accounts import AccountFolder
from blockful_py.pipeline.run.environment import PASSPHRASE
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.request_file import RequestFile
from tests.federations import AFFECTED, GRAPH, STARTS, small

WORDS = "five words are better yet"
FORGET = Forget.of_classes([3])


@dataclass(frozen=True)
class Town:
    federation: Federation
    accounts: AccountFolder

    def wallet(self, name: str) -> Any:
        """The owner of a model, in other Ethereum software."""
        path = self.accounts.path(self.federation.catalogue()[name].node.statement.user)
        return Account.from_key(Account.decrypt(path.read_text(), WORDS))

    def draft(self) -> RequestFile:
        return self.federation.draft_request(STARTS, FORGET)


@pytest.fixture(scope="module")
def town(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    accounts = AccountFolder(folder / "accounts")
    (folder / "accounts").mkdir()
    for user in range(1, len(GRAPH) + 1):
        create(accounts.path(user), WORDS, 1 << 10)
    settings = small(federation={"accounts": str(folder / "accounts")})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PASSPHRASE, WORDS)
        with Federation.create(settings, folder / "run", nodes=chains) as federation:
            federation.train()
            yield Town(federation, accounts)


def signed_by(wallet: Any, drafted: RequestFile) -> bytes:
    signature: bytes = Account.sign_typed_data(wallet.key, full_message=drafted.typed_data).signature
    return signature


def test_models_belong_to_the_accounts(town: Town) -> None:
    live = town.federation.contracts.live
    for placed in town.federation.catalogue().models.values():
        address = town.accounts.address(placed.node.statement.user)
        assert placed.node.signer(live.chain_id, live.address) == address
        assert live.transaction(placed.position).owner == address
    assert town.accounts.users() == tuple(range(1, len(GRAPH) + 1))


def test_without_a_passphrase_or_a_file_nobody_signs(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = AccountFolder(town.accounts.path(1).parent)
    monkeypatch.delenv(PASSPHRASE)
    with pytest.raises(SettingsError, match=f"put it into .{PASSPHRASE}"):
        folder.secret(1)
    monkeypatch.setenv(PASSPHRASE, WORDS)
    with pytest.raises(KeystoreError, match=r"user-99\.json cannot be read .*`blockful account create`"):
        folder.secret(99)


def test_a_wallet_shows_what_is_signed(town: Town) -> None:
    message = town.draft().typed_data["message"]
    catalogue = town.federation.catalogue()
    assert message["starts"] == [f"{name} at {catalogue[name].position}" for name in STARTS]
    assert message["classes"] == [3]
    assert message["paradigm"] == "parallel"


def test_a_request_of_an_unknown_start_is_not_made(town: Town) -> None:
    with pytest.raises(UnknownModelError):
        town.federation.draft_request(["nobody"], FORGET)


def test_signatures_of_others_and_of_other_requests_are_refused(town: Town) -> None:
    drafted = town.draft()
    stranger, owner = town.wallet("z"), town.wallet("s")
    with pytest.raises(InvalidSignatureError, match=r"is by 0x.* or for another request"):
        drafted.with_signature(signed_by(stranger, drafted))
    other = town.federation.draft_request(STARTS, Forget.of_classes([4]))
    with pytest.raises(InvalidSignatureError, match=r"is by 0x.* or for another request"):
        drafted.with_signature(signed_by(owner, other))
    with pytest.raises(InvalidSignatureError, match="found 66"):
        drafted.with_signature(bytes(66))
    with pytest.raises(InvalidSignatureError, match="did not sign yet"):
        drafted.with_signature(signed_by(owner, drafted)).signed()


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (("request", "classes"), [5], "shows wallets another request"),
        (("typed_data", "message", "classes"), [5], "shows wallets another request"),
        (("chain_id",), 1, "shows wallets another request"),
        (("owners",), ["0x" + "11" * 20], "one owner for each start"),
        (("owners",), [], "owners"),
        (("format",), "other", "format"),
        (("request", "paradigm"), None, "paradigm"),
    ],
)
def test_an_altered_file_is_refused(
    town: Town, tmp_path: Path, place: tuple[str, ...], value: Any, reason: str
) -> None:
    path = tmp_path / "request.json"
    town.draft().write(path)
    document = json.loads(path.read_text())
    part = document
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match=reason):
        RequestFile.read(path)


def test_a_request_that_wallets_signed_is_carried_out(town: Town, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    town.draft().write(path)
    for name in STARTS:
        drafted = RequestFile.read(path)
        assert drafted.missing
        drafted.with_signature(signed_by(town.wallet(name), drafted)).write(path)
    found = RequestFile.read(path)
    assert found.missing == ()
    unlearned = town.federation.unlearn(request=found.signed())
    assert unlearned.nodes.keys() == set(AFFECTED)
    assert unlearned.request == found.signed()
    assert town.federation.verify().passed
