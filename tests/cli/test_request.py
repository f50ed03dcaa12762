# SPDX-License-Identifier: Apache-2.0
"""Accounts, and requests that are signed where the keys are; no chain is needed for either."""

from __future__ import annotations

from pathlib import Path

import pytest
from eth_account import Account

from blockful_py.chain.account_file import secret_in
from blockful_py.crypto import eip712
from blockful_py.record.request import Request, Start
from blockful_py.record.request_file import RequestFile
from tests.cli.commands import blockful

WORDS = "five words are better yet"
CONTRACT = bytes(range(20))
NOWHERE = ("--run", "nowhere")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two accounts, and a request that both have to sign."""
    folder: Path = tmp_path_factory.mktemp("request")
    (folder / "words").write_text(WORDS + "\n")
    made = blockful(folder, "account", "create", "--users", "2", "--passphrase-file", "words", "--json")
    assert made.status == 0, made.err
    request = Request(
        starts=(Start(name="r5", position="1:4"), Start(name="r7", position="2:0")),
        classes=(3,),
        paradigm="parallel",
        method="clean_increments {}",
        created=7,
    )
    RequestFile(
        chain_id=1337,
        contract="0x" + CONTRACT.hex(),
        owners=tuple(account["address"] for account in made.document),
        request=request,
        typed_data=eip712.typed_data(eip712.Domain(1337, CONTRACT), request.typed()),
    ).write(folder / "request.json")
    (folder / "unsigned.json").write_bytes((folder / "request.json").read_bytes())
    return folder


def test_accounts_that_are_there_are_kept(folder: Path) -> None:
    before = (folder / "accounts" / "user-1.json").read_bytes()
    again = blockful(folder, "account", "create", "--users", "2", "--passphrase-file", "words", "--json")
    listed = blockful(folder, "account", "list", "--json")
    assert again.document == listed.document
    assert [account["user"] for account in listed.document] == [1, 2]
    assert (folder / "accounts" / "user-1.json").read_bytes() == before
    assert listed.document[0]["address"] in blockful(folder, "account", "list").out


def test_a_request_is_signed_by_keystore_and_by_wallet(folder: Path) -> None:
    shown = blockful(folder, "request", "show", "request.json", "--json").document
    assert len(shown["missing"]) == 2
    keystore = ("--keystore", "accounts/user-1.json", "--passphrase-file", "words")
    signed = blockful(folder, "request", "sign", "request.json", *keystore, "--json")
    assert signed.document["missing"] == [shown["owners"][1]]
    waiting = blockful(folder, "request", "show", "request.json").out
    assert f"{shown['owners'][0]} signed" in waiting
    assert f"{shown['owners'][1]} has yet to sign" in waiting

    secret = secret_in(folder / "accounts" / "user-2.json", WORDS)
    document = RequestFile.read(folder / "request.json").typed_data
    signature = Account.sign_typed_data(secret.to_bytes(32, "big"), full_message=document).signature
    added = blockful(folder, "request", "add", "request.json", "0x" + signature.hex(), "--json")
    assert added.document["missing"] == []
    complete = RequestFile.read(folder / "request.json").signed()
    assert ["0x" + each.hex() for each in complete.signers(1337, CONTRACT)] == shown["owners"]


@pytest.mark.parametrize(
    ("arguments", "reason", "code"),
    [
        (("request", "show", "nothing.json"), "cannot be read", 5),
        (("request", "show", "words"), "is no request to be signed", 5),
        (("request", "add", "request.json", "0xzz"), "must be hexadecimal", 6),
        (("request", "add", "request.json", "0x" + "00" * 65), "no key gives this signature", 6),
        (("request", "sign", "request.json", "--keystore", "nothing.json"), "cannot be read", 6),
        (("request", "make", "request.json"), "exists already", 5),
        (
            ("unlearn", *NOWHERE, "--request", "request.json", "--class", "3"),
            "give either --request or the other options",
            2,
        ),
        (("unlearn", *NOWHERE, "--request", "nothing.json"), "cannot be read", 5),
        (("unlearn", *NOWHERE, "--request", "unsigned.json"), "did not sign yet", 6),
    ],
)
def test_what_cannot_be_done_is_one_error(
    folder: Path, arguments: tuple[str, ...], reason: str, code: int
) -> None:
    before = (folder / "request.json").read_bytes()
    outcome = blockful(folder, *arguments, environment={"BLOCKFUL_PASSPHRASE": WORDS})
    assert reason in outcome.error
    assert outcome.status == code
    assert (folder / "request.json").read_bytes() == before
