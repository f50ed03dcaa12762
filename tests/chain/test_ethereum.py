# SPDX-License-Identifier: Apache-2.0
"""BLS signatures, which no chain here needs, are loaded by whoever calls them."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from blockful_py.chain import rpc, signer
assert not any("bls12_381.optimized_pairing" in name for name in sys.modules)
from eth_keyfile import create_keyfile_json, decode_keyfile_json
made = create_keyfile_json(b"\\1" * 32, b"words", 4, "pbkdf2", 2)
assert decode_keyfile_json(made, b"words") == b"\\1" * 32
from py_ecc.bls import G2ProofOfPossession
assert made["pubkey"] == G2ProofOfPossession.SkToPk(int.from_bytes(b"\\1" * 32, "big")).hex()
"""


def test_pairings_are_computed_for_nobody_but_who_asks() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
