# SPDX-License-Identifier: Apache-2.0
"""Takes a participant out of its federation."""

from __future__ import annotations

from blockful_py.errors import RunError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.participant.serving import ParticipantService


def leave(participant: ParticipantService, keys: ReaderKeys, anyway: bool) -> dict[int, tuple[str, ...]]:
    """Removes the account from the registries; returns its models that open requests wait for, by request.

    A call after an interruption continues.  Raises RunError if requests wait for own models, unless `anyway`;
    or if the account has left already.
    """
    contracts, account = participant.contracts, keys.account
    joined = contracts.participants.participant(account).since
    reads = contracts.readers.reader(account).joined
    if not (joined or reads):
        raise RunError(f"0x{account.hex()} has left this federation already.")
    waiting = participant.owed() if joined else {}
    if waiting and not anyway:
        listed = "; ".join(f"request {number}: {', '.join(names)}" for number, names in waiting.items())
        raise RunError(
            f"requests wait for this participant's models ({listed}), and only their owner can have them "
            "forget: let it serve until they are done. With --anyway it leaves them open."
        )
    if contracts.participants.endpoint(account) is not None:
        contracts.participants.announce(None)
    if joined:
        contracts.participants.leave()
    if reads:
        contracts.readers.leave()
    return waiting
