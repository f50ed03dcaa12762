# SPDX-License-Identifier: Apache-2.0
"""Many questions to a contract in one exchange with the node."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from typing import Any


def batch(contract: Any, calls: Sequence[tuple[str, tuple[Any, ...]]]) -> list[Any]:
    """Answers of view functions; `calls` are their names and arguments."""
    from brownie import web3

    functions = [getattr(contract, name) for name, _ in calls]
    body = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "eth_call",
            "params": [{"to": contract.address, "data": function.encode_input(*arguments)}, "latest"],
        }
        for number, (function, (_, arguments)) in enumerate(zip(functions, calls, strict=True))
    ]
    header = {"Content-Type": "application/json"}
    request = urllib.request.Request(web3.provider.endpoint_uri, json.dumps(body).encode(), header)  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        found = {each["id"]: each["result"] for each in json.load(answer)}
    return [plain(function.decode_output(found[number])) for number, function in enumerate(functions)]


def plain(value: Any) -> Any:
    """Converts brownie's values to plain Python ones, which compare without surprises."""
    for kind in (bool, str, bytes, int):
        if isinstance(value, kind):
            return kind(value)
    return tuple(plain(each) for each in value)
