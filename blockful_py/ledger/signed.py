# SPDX-License-Identifier: Apache-2.0
"""A certificate's digest and signature, checked as the contracts check it (IQuorum)."""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.crypto import eip712, multisignature
from blockful_py.crypto.multisignature import SchnorrSignature
from blockful_py.crypto.roster import Roster
from blockful_py.errors import CryptoError, RefusedError
from blockful_py.types import Address, Certificate

UNSIGNED = (0, bytes(20), 0)
"""`voters`, `nonce` and `s` of a certificate that nobody has signed yet."""


@dataclass(frozen=True, slots=True)
class Executor:
    """A contract that executes what a certificate for it allows; `address` has 20 bytes."""

    chain_id: int
    address: Address


def unsigned(epoch: int, proposal: bytes, content: bytes) -> Certificate:
    """The certificate that is to be signed."""
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
    """Raises RefusedError unless a quorum of the roster, and nobody else, signed the certificate for
    `executor`.
    """
    try:
        voters = roster.chosen(certificate.voters)
    except ValueError as error:
        raise RefusedError(f"a certificate names voters that there are not: {error}") from None
    if len(voters) < roster.quorum:
        raise RefusedError(f"a certificate has {len(voters)} voters, {roster.quorum} are needed")
    try:
        key = multisignature.total(roster.keys[index] for index in voters)
    except CryptoError:
        raise RefusedError("the keys of a certificate's voters cancel each other") from None
    made = SchnorrSignature(certificate.nonce, certificate.s)
    if not multisignature.verify(key, digest_of(certificate, executor, domain), made):
        raise RefusedError("the signature of a certificate is not that of its voters")
