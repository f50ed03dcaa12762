# SPDX-License-Identifier: Apache-2.0
"""The names of web3 and eth-account that the chains' adapters use.

eth-account loads py_ecc's BLS signatures for a kind of key file that nobody uses here, and py_ecc computes
constants of pairings when it is imported, which takes longer than all of web3.  So it is loaded when it is
called.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

BLS = "py_ecc.bls"


class _Late:
    """A name of py_ecc.bls, which is imported for the first of its attributes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(getattr(import_module(BLS), self._name), attribute)


class _LateModule(ModuleType):
    def __getattr__(self, name: str) -> _Late:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Late(name)


@contextmanager
def _bls_when_called() -> Iterator[None]:
    if BLS in sys.modules:
        yield
        return
    sys.modules[BLS] = _LateModule(BLS)
    try:
        yield
    finally:
        del sys.modules[BLS]


with _bls_when_called():
    from eth_account import Account
    from eth_account.hdaccount import key_from_seed, seed_from_mnemonic
    from web3 import HTTPProvider
    from web3.exceptions import Web3Exception
    from web3.types import RPCEndpoint

__all__ = ["Account", "HTTPProvider", "RPCEndpoint", "Web3Exception", "key_from_seed", "seed_from_mnemonic"]
