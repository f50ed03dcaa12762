# SPDX-License-Identifier: Apache-2.0
"""A member's secrets at rest: voting key, VRF key and account key.

Encryption: `crypto.passphrase`.  The caller supplies the passphrase.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from blockful_py.committee import codec
from blockful_py.crypto import curve, passphrase
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.keccak import words as words_of
from blockful_py.crypto.passphrase import KdfCost
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.secret_file import read_own
from blockful_py.errors import KeystoreError, MessageError
from blockful_py.types import Address, Rng
from blockful_py.whole_file import write_secret

DST_ELECTION = tag("election-secret")


@dataclass(frozen=True, slots=True)
class MemberKeys:
    """The secrets of a member.

    The account registers, holds the stake and pays gas.  The voting key signs decisions; keys derived from it
    encrypt everything else that the member stores.

    Raises ValueError for secrets out of range and for one secret in two roles.
    """

    voting_secret: int = field(repr=False)
    vrf_secret: int = field(repr=False)
    account_secret: int = field(repr=False)

    def __post_init__(self) -> None:
        secrets = (self.voting_secret, self.vrf_secret, self.account_secret)
        if not all(0 < secret < N for secret in secrets):
            raise ValueError("voting, VRF and account secret are in [1, n), the order of secp256k1")
        if len(set(secrets)) != len(secrets):
            raise ValueError("the voting key, the VRF key and the account's key must be three keys")

    @classmethod
    def generate(cls, rng: Rng = system_rng) -> MemberKeys:
        """Fresh keys for a new member."""
        return cls(curve.random_scalar(rng), curve.random_scalar(rng), curve.random_scalar(rng))

    @property
    def address(self) -> Address:
        """Voting address, 20 bytes."""
        return curve.address(curve.multiply_base(self.voting_secret))

    @property
    def account(self) -> Address:
        """Address of the account, 20 bytes."""
        return curve.address(curve.multiply_base(self.account_secret))

    def election_secret(self, chain_id: int, committee: Address, epoch: int, draw: int, seed: bytes) -> bytes:
        """The secret to commit to in a draw after `seed`: H(DST || place || draw || seed || VRF secret).

        Derived from the keystore, so that a restart between commit and reveal loses nothing.
        """
        bound = words_of(DST_ELECTION, chain_id, committee, epoch, draw, seed, self.vrf_secret)
        return keccak(bound)


def lock(keys: MemberKeys, words: str, cost: KdfCost | None = None, rng: Rng = system_rng) -> bytes:
    """Encrypts `keys` under the passphrase `words`; the keystore shows the voting address."""
    return passphrase.lock(codec.encode(keys), words, "0x" + keys.address.hex(), cost, rng)


def unlock(data: bytes, words: str) -> MemberKeys:
    """Decrypts a keystore.

    Raises KeystoreError, which says whether the file or the passphrase is at fault.
    """
    plain = passphrase.unlock(data, words)
    try:
        return codec.decode(MemberKeys, plain)
    except MessageError as error:
        raise KeystoreError(f"the keystore does not hold a member's secrets: {error}") from None


def create(path: Path, keys: MemberKeys, words: str, cost: KdfCost | None = None) -> None:
    """Writes a new keystore.  Raises KeystoreError when the file exists."""
    write_secret(path, lock(keys, words, cost), KeystoreError)


def load(path: Path, words: str) -> MemberKeys:
    """Reads the secrets from a file.  Raises KeystoreError, also when other users can read the file."""
    data = read_own(path, passphrase.MAX_SIZE, "make a member with `blockful committee init`.")
    return unlock(data, words)
