# SPDX-License-Identifier: Apache-2.0
"""Personal messages and checksums equal the Ethereum libraries'."""

from __future__ import annotations

from eth_account import Account
from eth_account.messages import encode_defunct
from eth_utils.address import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.crypto import signature

EIP_55 = (
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
)
"""Examples of the EIP."""


@given(st.text(), st.integers(min_value=1, max_value=2**200))
def test_a_wallets_signature_of_a_text_is_by_its_account(text: str, secret: int) -> None:
    signed = Account.sign_message(encode_defunct(text=text), secret.to_bytes(32, "big"))
    account = Account.from_key(secret.to_bytes(32, "big")).address
    found = signature.recover(signature.personal_digest(text), signature.compact(bytes(signed.signature)))
    assert found == bytes.fromhex(account[2:])


def test_addresses_are_spelt_as_in_the_eip() -> None:
    assert tuple(signature.checksummed(bytes.fromhex(each[2:])) for each in EIP_55) == EIP_55


@given(st.binary(min_size=20, max_size=20))
def test_addresses_are_spelt_as_other_libraries_do(address: bytes) -> None:
    assert signature.checksummed(address) == to_checksum_address(address)
