# SPDX-License-Identifier: Apache-2.0
"""Fetches blocks of many small files in bundles: a request for up to 256 of them, instead of one for each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from blockful_py.errors import BusyError, CommitteeError, SettingsError, StoreUnreachableError
from blockful_py.storage.bounds import MOST_BUNDLED
from blockful_py.storage.fetch import CAR, RATE, AbsentError, Keep, Machine, Sign, blocks_in, body
from blockful_py.types import Uri


def fetch_bundle(machine: Machine, names: Sequence[Uri], keep: Keep, sign: Sign, patience: float) -> None:
    """Asks a machine for up to MOST_BUNDLED blocks, and passes each on as it arrives.

    The machine has `patience` seconds, and one more for each RATE bytes of blocks that it has sent.  Raises
    BusyError if it takes no more connections, StoreUnreachableError if it is unreachable, slow or sends
    anything else.
    """
    try:
        asyncio.run(_fetched(machine, names, keep, sign, patience))
    except BusyError:
        raise
    except TimeoutError:
        raise StoreUnreachableError("it sends a bundle too slowly") from None
    except AbsentError:
        return  # a version that knows no bundles
    except (CommitteeError, SettingsError) as error:
        raise StoreUnreachableError(str(error)) from None


async def _fetched(machine: Machine, names: Sequence[Uri], keep: Keep, sign: Sign, patience: float) -> None:
    time = asyncio.get_running_loop().time
    until = time() + patience
    async with asyncio.timeout(patience) as limit, body(machine, sign, CAR, None, names) as pieces:
        async for uri, block in blocks_in(pieces, frozenset(names)):
            keep(uri, block)
            until += len(block) / RATE
            limit.reschedule(until)


def in_bundles(names: Iterable[Uri]) -> list[list[Uri]]:
    """The names, each once, in lists of at most MOST_BUNDLED."""
    each = list(dict.fromkeys(names))
    return [each[start : start + MOST_BUNDLED] for start in range(0, len(each), MOST_BUNDLED)]
