# SPDX-License-Identifier: Apache-2.0
"""Operations a second of the chameleon hash, single and shared, on one core.

    python -m benchmarks.crypto [--output crypto.json]

CPU time of one process, median of `--repeats` runs.  A committee makes collisions for a batch of messages;
the same core does the work of all t members and of the coordinator, which is:

    member       draw: nonces and their commitments (round 1)         sum: D and E of all signers
                 sign: rho, R = D + rho E, its share (round 2)
    coordinator  sum, and combine: rho, R, the sum of the shares, and each opening verified in full

    together     t (draw + sum + sign) + sum + combine: each signer adds the nonces up itself, as members do
    a member     1 / (draw + sum + sign), on a core of its own;  the coordinator: 1 / (sum + combine)

    a session    of one message, what binds its nonces to one use: pledge, with a signature; attest, every
                 pledge checked and noted; accept, a quorum's attestations checked, and sign

Encoding, transport, the disk and the checks of the request are not in it.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import process_time

from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.cosigner import Cosigner
from blockful_py.committee.memory import VolatileMemory
from blockful_py.committee.pledges import (
    AttestedNonces,
    CollisionSession,
    SignedAttestation,
    pairs_digest,
)
from blockful_py.crypto import chameleon, curve, eip712
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.roster import Roster, bits
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.crypto.threshold.local import generate_key
from blockful_py.crypto.threshold.messages import Task
from blockful_py.crypto.threshold.signing import ThresholdSigner, aggregate, combine

COMMITTEES = ((3, 4), (7, 10), (15, 21), (67, 100))
STEPS = ("draw", "sum", "sign", "combine")


def seconds_per_call(operation: Callable[[], object], count: int, repeats: int) -> float:
    found = []
    for _ in range(repeats):
        start = process_time()
        for _ in range(count):
            operation()
        found.append((process_time() - start) / count)
    return median(found)


def single(repeats: int) -> dict[str, float]:
    """Operations a second of one holder of the trapdoor."""
    secret, key = chameleon.keygen()
    label, message = chameleon.label(1337, bytes(20), 1), chameleon.message(1, keccak(b"payload"))
    h, opening = chameleon.hash_message(key, label, message)
    key_id = curve.key_id(key)
    operations: dict[str, Callable[[], object]] = {
        "hash": lambda: chameleon.hash_message(key, label, message),
        "verify": lambda: chameleon.verify(key, label, message, h, opening),
        "collide": lambda: chameleon.collide(secret, label, message, h),
        "multiply a point": lambda: curve.multiply(key, h),
        "collide, key id known": lambda: chameleon.collide_with(secret, key_id, label, message, h),
    }
    return {name: 1 / seconds_per_call(run, 300, repeats) for name, run in operations.items()}


def steps(shares: Sequence[KeyShare], batch: int, repeats: int) -> dict[str, float]:
    """CPU seconds a message of each step, of one member or the coordinator."""
    key = shares[0].public
    threshold = key.threshold
    signers = [ThresholdSigner(share) for share in shares[:threshold]]
    digests = [[keccak(bytes([kind]) + i.to_bytes(4, "big")) for kind in range(3)] for i in range(batch)]
    tasks = [Task(at, to, int.from_bytes(h, "big") % curve.N) for at, to, h in digests]
    times: list[tuple[float, ...]] = []
    for attempt in range(repeats):
        session = attempt.to_bytes(4, "big")
        marks = [process_time()]
        commitments = [signer.commit(session, batch) for signer in signers]
        marks.append(process_time())
        nonces = aggregate(key, commitments)
        marks.append(process_time())
        answers = [signer.sign(tasks, nonces) for signer in signers]
        marks.append(process_time())
        combine(key, tasks, commitments, nonces, answers)
        marks.append(process_time())
        taken = [(end - begin) / batch for begin, end in pairwise(marks)]
        times.append((taken[0] / threshold, taken[1], taken[2] / threshold, taken[3]))
    return dict(zip(STEPS, map(median, zip(*times, strict=True)), strict=True))


def shared(threshold: int, size: int, batch: int, repeats: int) -> dict[str, float]:
    """Collisions a second by `threshold` of `size` members, and CPU seconds of all in key generation."""
    start = process_time()
    shares = generate_key(threshold, size, b"benchmark")
    generation = process_time() - start
    taken = steps(shares, batch, repeats)
    member = taken["draw"] + taken["sign"]
    return {
        **binding(shares, repeats),
        "together": 1 / (threshold * member + taken["sum"] + taken["combine"]),
        "a member": 1 / member,
        "the coordinator": 1 / (taken["sum"] + taken["combine"]),
        **{f"{step} (us)": 1e6 * seconds for step, seconds in taken.items()},
        "key generation (s)": generation,
    }


def cosigner(secret: int, share: KeyShare, roster: Roster) -> Cosigner:
    """The member with this voting key, whose memory is not on disk."""
    memory = VolatileMemory()
    voter = CertificateSigner(secret, roster, eip712.Domain(1337, bytes(20)), memory, system_rng)
    return Cosigner(voter, share, system_rng, memory)


def binding(shares: Sequence[KeyShare], repeats: int) -> dict[str, float]:
    """CPU microseconds a session of one member: commit to one message, attest, and sign."""
    secrets = [curve.random_scalar(system_rng) for _ in shares]
    keys = tuple(map(curve.multiply_base, secrets))
    roster = Roster(keys, shares[0].threshold, False, shares[0].public.group_key)
    members = [cosigner(secret, share, roster) for secret, share in zip(secrets, shares, strict=True)]
    signers, quorum = members[: shares[0].threshold], roster.quorum
    task = Task(bytes(32), bytes(32), 1)
    times: list[tuple[float, ...]] = []
    for attempt in range(repeats):
        chosen = bits(range(1, len(signers) + 1))
        session = CollisionSession(1, bytes(32), bytes(32), bytes(20), chosen, keccak(bytes([attempt])))
        marks = [process_time()]
        pledged = [signer.commit(session, 1) for signer in signers]
        marks.append(process_time())
        pledges = [each.pledge for each in pledged]
        sums = aggregate(shares[0].public, [each.commitments for each in pledged]).pairs
        digest = pairs_digest(sums)
        given = [
            SignedAttestation(i, members[i - 1].attest(session, pledges, digest))
            for i in range(1, quorum + 1)
        ]
        marks.append(process_time())
        nonces = AttestedNonces(session, tuple(each.pledge for each in pledges), sums, tuple(given))
        signers[0].sign([task], nonces)
        marks.append(process_time())
        taken = [1e6 * (end - begin) for begin, end in pairwise(marks)]
        times.append((taken[0] / len(signers), taken[1] / quorum, taken[2]))
    names = ("pledge (us)", "attest (us)", "accept (us)")
    return dict(zip(names, map(median, zip(*times, strict=True)), strict=True))


def show(figures: dict[str, dict[str, float]]) -> None:
    for name, rates in figures.items():
        print(name)
        for operation, value in rates.items():
            if operation.endswith(")"):
                print(f"  {operation:24}{value:10.1f}")
            else:
                print(f"  {operation:24}{value:10.0f} /s {1e6 / value:9.1f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--batch", type=int, default=100, help="messages in a batch (default 100)")
    parser.add_argument("--repeats", type=int, default=9, help="runs, of which the median counts (default 9)")
    options = parser.parse_args()
    figures: dict[str, dict[str, float]] = {"single": single(options.repeats)}
    for threshold, size in COMMITTEES:
        figures[f"{threshold} of {size}"] = shared(threshold, size, options.batch, options.repeats)
    show(figures)
    if options.output:
        machine = {"python": platform.python_version(), "machine": platform.machine()}
        report = {"machine": machine, "batch": options.batch, "repeats": options.repeats, "rates": figures}
        options.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
