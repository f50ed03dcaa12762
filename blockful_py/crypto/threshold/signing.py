# SPDX-License-Identifier: Apache-2.0
"""Collisions by t of n members in two rounds, many messages at once (after FROST3).

Round 1: signer i sends (D_i, E_i) = (d_i G, e_i G) for each message.  With D, E their sums over the signers,
both sides compute

    rho   = H(DST_frost-rho || keyId || H(signers) || D || E || L || m' || h)
    R     = D + rho E,  sigma = 1 if R.y is even, otherwise -1
    r'    = h + phi(R),  c' = challenge(keyId, L, m', r')

Round 2: z_i = sigma (d_i + rho e_i) + lambda_i x_i c'^-1, and s' = c' * sum of z_i opens h with R.x.

Security argument and its limits: docs/explanation/chameleon-hash.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from blockful_py.crypto import chameleon, curve
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.threshold.keys import CommitteeKey, KeyShare, lagrange
from blockful_py.crypto.threshold.messages import AggregatedNonces, NonceCommitments, SignatureShares, Task
from blockful_py.crypto.threshold.nonces import OWN_PROCESS, NonceStore, commitment, draw
from blockful_py.crypto.threshold.response import Responder
from blockful_py.crypto.workspace import Workspace
from blockful_py.errors import CheaterError, CryptoError, InvalidKeyError, QuorumError
from blockful_py.types import Address, Opening, Point, Rng

DST_RHO = chameleon.tag("frost-rho")
SESSIONS = 4
"""Unanswered sessions that a signer keeps per leader; a leader runs one at a time."""


class _Round(NamedTuple):
    """Values of one message that both sides compute; `weight` is c'^-1, `negated` means sigma = -1."""

    rho: int
    px: int
    negated: bool
    challenge: int
    weight: int


class ThresholdSigner:
    """A member with its share, and the nonces of the batches that it has committed to.

    Before `sign` the caller must check each task's h against the chain and its message against the request,
    and must ensure that this process is never restored to a state before an answer; the signer checks
    everything else.
    """

    def __init__(self, share: KeyShare, rng: Rng = system_rng) -> None:
        self._share = share
        self._public = share.public
        self._rng = rng
        self.nonces = NonceStore[tuple[bytes, int]](SESSIONS)

    @property
    def index(self) -> int:
        return self._share.index

    def commit(
        self, session: bytes, count: int, generation: int = 0, leader: Address = OWN_PROCESS
    ) -> NonceCommitments:
        """Round 1: nonce pairs for `count` messages.

        `session` and `generation` (the signer's count of its sessions) identify the use of the pairs: another
        session or generation gets other pairs, even from a repeating source of randomness.  `leader` is the
        requester; its newest SESSIONS sessions are kept.
        Raises NonceReuseError if the session has begun, ValueError for fewer than one message.
        """
        if count < 1:
            raise ValueError(f"a batch has one message or more, not {count}")
        context = keccak(generation.to_bytes(32, "big") + session)
        pairs = draw(self._share.secret, context, count, self._rng)
        self.nonces.put(leader, (session, generation), pairs)
        return NonceCommitments(self.index, session, tuple(map(commitment, pairs)))

    def sign(
        self,
        tasks: Sequence[Task],
        nonces: AggregatedNonces,
        leader: Address = OWN_PROCESS,
        generation: int = 0,
    ) -> SignatureShares:
        """Round 2: the signer's share of every collision; its nonces are deleted before it answers.

        `nonces` need not be the sums of the signers' nonces: wrong sums only give a wrong opening.

        Raises QuorumError for fewer than t signers, NonceReuseError if the session's nonces are used or were
        never made, CryptoError for a batch that is not the one committed to.
        """
        _check_signers(self._public, nonces.signers)
        if self.index not in nonces.signers:
            raise CryptoError(f"signer {self.index} is not among the signers {list(nonces.signers)}.")
        if not all(curve.on_curve(point) for pair in nonces.pairs for point in pair):
            raise CryptoError("a sum of nonces is no point of the curve.")
        pairs = self.nonces.take(leader, (nonces.session, generation))
        if not len(tasks) == len(nonces.pairs) == len(pairs):
            raise CryptoError(
                f"committed to {len(pairs)} messages, asked for {len(tasks)} with {len(nonces.pairs)} nonce "
                "pairs; begin a new session."
            )
        rounds = _rounds(self._public, tasks, nonces)
        responder = Responder(self._share.secret, lagrange(nonces.signers, self.index))
        values = tuple(
            responder.answer(pair, round_.rho, round_.negated, round_.weight)
            for pair, round_ in zip(pairs, rounds, strict=True)
        )
        return SignatureShares(self.index, nonces.session, values)


def aggregate(key: CommitteeKey, commitments: Sequence[NonceCommitments]) -> AggregatedNonces:
    """Sums the signers' nonces of one session.

    Raises QuorumError for fewer than t signers, CheaterError naming signers whose message has another session
    or length, or holds a point off the curve.
    """
    ordered = sorted(commitments, key=lambda each: each.signer)
    signers = tuple(each.signer for each in ordered)
    _check_signers(key, signers)
    kinds = [(each.session, len(each.pairs)) for each in ordered]
    session, count = max(kinds, key=kinds.count)
    wrong = [each.signer for each in ordered if (each.session, len(each.pairs)) != (session, count)]
    if wrong:
        raise CheaterError(wrong, "the nonce commitment")
    workspace = Workspace(len(signers))
    columns = zip(*(each.pairs for each in ordered), strict=True)
    sums = tuple(
        (_sum(workspace, signers, [d for d, _ in column]), _sum(workspace, signers, [e for _, e in column]))
        for column in columns
    )
    return AggregatedNonces(session, signers, sums)


def combine(
    key: CommitteeKey,
    tasks: Sequence[Task],
    commitments: Sequence[NonceCommitments],
    nonces: AggregatedNonces,
    shares: Sequence[SignatureShares],
) -> tuple[Opening, ...]:
    """Combines the shares to openings, each of them verified.

    Shares are checked one by one only if an opening is wrong.  `nonces` is `aggregate(key, commitments)`,
    which the signers used.  Raises CheaterError naming the signers whose share is missing or wrong.
    """
    by_signer = {each.signer: each for each in shares}
    missing = [index for index in nonces.signers if not _is_complete(by_signer.get(index), nonces)]
    if missing:
        raise CheaterError(missing, "the signature share")
    rounds = _rounds(key, tasks, nonces)
    columns = zip(*(by_signer[index].values for index in nonces.signers), strict=True)
    openings = tuple(
        Opening(round_.px, round_.challenge * sum(column) % N)
        for round_, column in zip(rounds, columns, strict=True)
    )
    for item, (task, opening) in enumerate(zip(tasks, openings, strict=True)):
        if not chameleon.verify(key.group_key, task.label, task.message, task.h, opening):
            _blame(key, rounds[item], item, commitments, by_signer)
    return openings


def _blame(
    key: CommitteeKey,
    round_: _Round,
    item: int,
    commitments: Sequence[NonceCommitments],
    shares: dict[int, SignatureShares],
) -> NoReturn:
    """Finds the signers whose share of message `item` is wrong, and raises CheaterError naming them.

    z_i G = sigma (D_i + rho E_i) + c'^-1 lambda_i Y_i
    """
    signers = [each.signer for each in commitments]
    cheaters = [
        each.signer
        for each in commitments
        if not _holds(
            shares[each.signer].values[item],
            round_,
            each.pairs[item],
            key.verification_shares[each.signer - 1],
            round_.weight * lagrange(signers, each.signer) % N,
        )
    ]
    if cheaters:
        raise CheaterError(cheaters, "the signature share")
    raise CryptoError("all shares check out but the opening does not hold; is this their group key?")


def _holds(value: int, round_: _Round, pair: tuple[Point, Point], share: Point, scaled: int) -> bool:
    try:
        nonce = curve.add(pair[0], curve.multiply(pair[1], round_.rho))
        signed = curve.negate(nonce) if round_.negated else nonce
        expected = curve.add(signed, curve.multiply(share, scaled))
        return curve.multiply_base(value) == expected
    except InvalidKeyError:
        return False


def _sum(workspace: Workspace, signers: tuple[int, ...], points: list[Point]) -> Point:
    """The sum of the signers' nonces, with G in place of infinity.

    Infinity can only be caused by a signer that does not know its own nonce.  With G instead (as in MuSig2),
    its share is found wrong, and the error names it.
    """
    try:
        return workspace.total(points)
    except InvalidKeyError:
        wrong = [index for index, point in zip(signers, points, strict=True) if not curve.on_curve(point)]
        if wrong:
            raise CheaterError(wrong, "the nonce commitment") from None
        return curve.G


def _rounds(key: CommitteeKey, tasks: Sequence[Task], nonces: AggregatedNonces) -> list[_Round]:
    signers = keccak(b"".join(index.to_bytes(4, "big") for index in nonces.signers))
    bound = DST_RHO + key.key_id + signers
    workspace = Workspace(2)
    bases = [_nonce(workspace, bound, task, d, e) for task, (d, e) in zip(tasks, nonces.pairs, strict=True)]
    challenges = [
        chameleon.challenge(key.key_id, task.label, task.message, (task.h + chameleon.phi(px)) % N)
        for task, (_, px, _) in zip(tasks, bases, strict=True)
    ]
    if 0 in challenges or any(px >= N for _, px, _ in bases):
        raise CryptoError("these nonces give no opening; begin a new session.")
    return [
        _Round(rho, px, negated, c, inverse)
        for (rho, px, negated), c, inverse in zip(bases, challenges, curve.inverses(challenges), strict=True)
    ]


def _nonce(workspace: Workspace, bound: bytes, task: Task, d: Point, e: Point) -> tuple[int, int, bool]:
    """Returns, for one message, rho, the x of R = D + rho E, and whether R's y is odd."""
    if not 0 <= task.h < N or len(task.label) != 32 or len(task.message) != 32:
        raise CryptoError(
            "a task is a label and a message of 32 bytes each and a hash below the group order."
        )
    both = curve.compress(d) + curve.compress(e)
    data = b"".join((bound, both, task.label, task.message, task.h.to_bytes(32, "big")))
    rho = int.from_bytes(keccak(data), "big") % N
    nonce = workspace.add_multiple(d, rho, e)
    return rho, int.from_bytes(nonce[1:], "big"), nonce[0] == 3


def _check_signers(key: CommitteeKey, signers: tuple[int, ...]) -> None:
    if len(signers) < key.threshold:
        raise QuorumError(f"{key.threshold} signers are needed, {len(signers)} are there; ask more members.")
    if list(signers) != sorted(set(signers)) or not all(1 <= index <= key.size for index in signers):
        raise CryptoError(
            f"signers are distinct indices from 1 to {key.size}, ascending, not {list(signers)}."
        )


def _is_complete(share: SignatureShares | None, nonces: AggregatedNonces) -> bool:
    return share is not None and share.session == nonces.session and len(share.values) == len(nonces.pairs)
