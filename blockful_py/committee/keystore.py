# SPDX-License-Identifier: Apache-2.0
"""A member's secrets at rest: voting key, VRF key, account, and its share of each epoch's trapdoor.

Encryption: `crypto.passphrase`.  Whoever calls gets the passphrase from the environment, a file or a prompt.
"""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from blockful_py.committee import codec
from blockful_py.crypto import curve, passphrase
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.keccak import words as words_of
from blockful_py.crypto.passphrase import Cost
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.errors import KeystoreError, MessageError
from blockful_py.types import Point, Rng

DST_ELECTION = tag("election-secret")


@dataclass(frozen=True, slots=True)
class EpochShare:
    """What a member holds of the key of one epoch.  Raises ValueError when it is not a share of that key."""

    epoch: int
    share: KeyShare = field(repr=False)

    def __post_init__(self) -> None:
        share = self.share
        if not (0 < share.index <= share.size == len(share.verification_shares) and 0 < share.secret < N):
            raise ValueError("the index or the secret of a share is out of range")
        if curve.multiply_base(share.secret) != share.verification_shares[share.index - 1]:
            raise ValueError(f"the share of epoch {self.epoch} does not fit its group key")


@dataclass(frozen=True, slots=True)
class MemberKeys:
    """Every secret of a member; `shares` by ascending epoch, none before its first key generation.

    The account registers, holds the stake and pays gas; the voting key signs what the committee decides.

    Raises ValueError for secrets out of range, for one secret in two roles, and for shares out of order.
    """

    voting_secret: int = field(repr=False)
    vrf_secret: int = field(repr=False)
    account_secret: int = field(repr=False)
    shares: tuple[EpochShare, ...] = ()

    def __post_init__(self) -> None:
        secrets = (self.voting_secret, self.vrf_secret, self.account_secret)
        if not all(0 < secret < N for secret in secrets):
            raise ValueError("voting, VRF and account secret are in [1, n), the order of secp256k1")
        if len(set(secrets)) != len(secrets):
            raise ValueError("the voting key, the VRF key and the account's key must be three keys")
        epochs = [held.epoch for held in self.shares]
        if epochs != sorted(set(epochs)):
            raise ValueError("shares are listed by ascending epoch, one for each")

    @classmethod
    def generate(cls, rng: Rng = system_rng) -> MemberKeys:
        """The keys of a member that joins."""
        return cls(curve.random_scalar(rng), curve.random_scalar(rng), curve.random_scalar(rng))

    @property
    def address(self) -> bytes:
        """Voting address, 20 bytes."""
        return curve.address(curve.multiply_base(self.voting_secret))

    @property
    def account(self) -> bytes:
        """Address of the account, 20 bytes."""
        return curve.address(curve.multiply_base(self.account_secret))

    @property
    def vrf_key(self) -> Point:
        return curve.multiply_base(self.vrf_secret)

    def election_secret(self, chain_id: int, committee: bytes, epoch: int, draw: int, seed: bytes) -> bytes:
        """What the member commits to in a draw that follows `seed`: H(DST || place || draw || VRF secret).

        It follows from the keystore, so that a restart between commit and reveal loses nothing.
        """
        bound = words_of(DST_ELECTION, chain_id, committee, epoch, draw, seed, self.vrf_secret)
        return keccak(bound)

    def share_of(self, epoch: int) -> KeyShare:
        """Its share of an epoch's key.  Raises KeystoreError when it holds none."""
        for held in self.shares:
            if held.epoch == epoch:
                return held.share
        listed = ", ".join(str(held.epoch) for held in self.shares) or "no epoch"
        raise KeystoreError(
            f"the keystore has no share of epoch {epoch} (it has one of {listed}): take part in its key "
            "generation."
        )

    def with_share(self, epoch: int, share: KeyShare) -> MemberKeys:
        """With the share that key generation gave.  Raises KeystoreError when it would replace another."""
        for held in self.shares:
            if held.epoch == epoch and held.share != share:
                raise KeystoreError(
                    f"the keystore has another share of epoch {epoch}, which is never replaced."
                )
        others = [held for held in self.shares if held.epoch != epoch]
        held_now = sorted([*others, EpochShare(epoch, share)], key=lambda each: each.epoch)
        return replace(self, shares=tuple(held_now))

    def from_epoch(self, epoch: int) -> MemberKeys:
        """Without the shares of epochs before this one: what is destroyed cannot be stolen."""
        return replace(self, shares=tuple(held for held in self.shares if held.epoch >= epoch))


@dataclass(frozen=True, slots=True)
class _KeysWithoutAccount:
    """What keystores held before members had accounts."""

    voting_secret: int = field(repr=False)
    vrf_secret: int = field(repr=False)
    shares: tuple[EpochShare, ...]


def lock(keys: MemberKeys, words: str, cost: Cost | None = None, rng: Rng = system_rng) -> bytes:
    """The keystore of `keys` under the passphrase `words`, labelled with the voting address."""
    return passphrase.lock(codec.encode(keys), words, "0x" + keys.address.hex(), cost, rng)


def unlock(data: bytes, words: str) -> MemberKeys:
    """The secrets.  Raises KeystoreError, saying whether the file or the passphrase is at fault."""
    plain = passphrase.unlock(data, words)
    try:
        return codec.decode(MemberKeys, plain)
    except MessageError as error:
        if _is_without_account(plain):
            raise KeystoreError(
                "this keystore was made before members had an account on the home chain, so it holds none: "
                "make a new member with `blockful committee init` and generate another key with it."
            ) from None
        raise KeystoreError(f"what the keystore holds are no secrets of a member: {error}") from None


def _is_without_account(plain: bytes) -> bool:
    try:
        codec.decode(_KeysWithoutAccount, plain)
    except MessageError:
        return False
    return True


def create(path: Path, keys: MemberKeys, words: str, cost: Cost | None = None) -> None:
    """Writes a new keystore.  Raises KeystoreError when there is a file already."""
    _write(path, lock(keys, words, cost), new=True)


def save(path: Path, keys: MemberKeys, words: str, cost: Cost | None = None) -> None:
    """Replaces a keystore, wholly or not at all.

    Raises KeystoreError unless `path` is a keystore of the same member that `words` opens.
    """
    if load(path, words).address != keys.address:
        raise KeystoreError(f"{path} holds the secrets of another member; it was left as it is.")
    _write(path, lock(keys, words, cost), new=False)


def load(path: Path, words: str) -> MemberKeys:
    """The secrets in a file.  Raises KeystoreError also when others than its user may read the file."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read(passphrase.MAX_SIZE + 1)
    except OSError as error:
        raise KeystoreError(f"the keystore {path} cannot be read: {error.strerror}.") from None
    if mode & 0o077:
        raise KeystoreError(
            f"others than its user may read or write {path} (mode {mode:o}): chmod 600 {path}"
        )
    return unlock(data, words)


def _write(path: Path, data: bytes, new: bool) -> None:
    """Write, fsync, link or rename: a crash leaves the file as it was or as it should be."""
    try:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            draft = Path(folder) / path.name
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if new:
                path.hardlink_to(draft)
            else:
                draft.replace(path)
        folder_descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder_descriptor)
        finally:
            os.close(folder_descriptor)
    except FileExistsError:
        raise KeystoreError(f"{path} exists already; a keystore is never replaced by a new one.") from None
    except OSError as error:
        raise KeystoreError(f"the keystore {path} cannot be written: {error.strerror}.") from None
