# SPDX-License-Identifier: Apache-2.0
"""Prints a wallet's signature of a request: `python -m tests.walkthroughs.wallet REQUEST KEYSTORE`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from eth_account import Account

if __name__ == "__main__":
    request, keystore = (json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:])
    key = Account.decrypt(keystore, os.environ["BLOCKFUL_PASSPHRASE"])
    signed = Account.sign_typed_data(key, full_message=request["typed_data"])
    sys.stdout.write("0x" + signed.signature.hex().removeprefix("0x"))
