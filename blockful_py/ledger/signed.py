# SPDX-License-Identifier: Apache-2.0
"""A certificate's digest and signature, checked as the contracts check it (IQuorum)."""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.crypto import eip712, multisignature
from blockful_py.crypto.multisignature import SchnorrSignature
from blockful_py.crypto.roster import Roster
from blockful_py.errors import CryptoError, RefusedError
from blockful_py.types import Address, Bytes32, Certificate

UNSIGNED = (0, bytes(20), 0)
"""Fields `voters`, `nonce` and `s` of an unsigned certificate."""


@dataclass(frozen=True, slots=True)
class Executor:
    """The contract that executes the actions of a certificate; `address` has 20 bytes."""

    chain_id: int
    address: Address


def unsigned(epoch: int, proposal: Bytes32, content: bytes) -> Certificate:
    """A certificate without a signature."""
    return Certificate(epoch, proposal, content, *UNSIGNED)


def digest_of(certificate: Certificate, executor: Executor, domain: eip712.Domain) -> bytes:
    """The digest that a certificate's voters sign (IQuorum.certifiedDigest)."""
    certified = eip712.Certified(
        executor.chain_id,
        executor.address,
        certificate.epoch,
        certificate.proposal,
        certificate.content_hash,
        certificate.voters,
    )
    return eip712.digest(domain, certified)


def require_signed(
    certificate: Certificate, executor: Executor, roster: Roster, domain: eip712.Domain
) -> None:
    """Checks that a quorum of the roster, and nobody else, signed the certificate for `executor`.

    Raises RefusedError otherwise.
    """
    try:
        voters = roster.chosen(certificate.voters)
    except ValueError as error:
        raise RefusedError(f"a certificate names unknown voters: {error}") from None
    if len(voters) < roster.quorum:
        raise RefusedError(f"a certificate has {len(voters)} voters, {roster.quorum} are needed")
    try:
        key = multisignature.total(roster.keys[index] for index in voters)
    except CryptoError:
        raise RefusedError("the keys of a certificate's voters cancel each other") from None
    made = SchnorrSignature(certificate.nonce, certificate.s)
    if not multisignature.verify(key, digest_of(certificate, executor, domain), made):
        raise RefusedError("the signature of a certificate is not by its voters")
