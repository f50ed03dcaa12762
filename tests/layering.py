# SPDX-License-Identifier: Apache-2.0
"""Reads the imports of a package as text and tells which of them break the house rules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "blockful_py"

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"cli", "explorer", "experiments"}),
    frozenset({"pipeline"}),
    frozenset(
        {"engine", "graph", "learning", "unlearning", "storage", "committee", "chain", "report", "costs"}
    ),
    frozenset({"crypto"}),
    frozenset({"types", "errors", "closing", "shallow"}),
)
"""Imports point only downward; rooms of one layer do not know each other."""

SIDEWAYS = {("unlearning", "learning"), ("types", "errors"), ("cli", "experiments")}
SIDEWAYS_TARGETS = {"graph"}

OWNERS: dict[str, frozenset[str]] = {
    "torch": frozenset({"learning", "unlearning"}),
    "sklearn": frozenset({"learning"}),
    "web3": frozenset({"chain"}),
    "eth_abi": frozenset({"chain"}),
    "eth_account": frozenset({"chain"}),
    "brownie": frozenset(),
    "ipfshttpclient": frozenset({"storage"}),
    "coincurve": frozenset({"crypto"}),
    "Crypto": frozenset({"crypto"}),
    "cryptography": frozenset({"crypto"}),
}
"""Third-party packages that only some rooms may import."""

LAYER_OF = {room: depth for depth, layer in enumerate(LAYERS) for room in layer}


def room_of(module: str) -> str | None:
    """`blockful_py.chain.node` is in room `chain`; the package itself is in none."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == PACKAGE else None


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of every module that a file imports, at any depth of nesting."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            if node.module == PACKAGE:
                for alias in node.names:
                    yield node.lineno, f"{PACKAGE}.{alias.name}"
            else:
                yield node.lineno, node.module


def violations(root: Path) -> list[str]:
    """Every import below `root` (the folder of the package) that breaks a rule."""
    found = []
    for path in sorted(root.rglob("*.py")):
        module = ".".join((PACKAGE, *path.relative_to(root).with_suffix("").parts))
        room = room_of(module)
        for line, name in imports(path):
            problem = _problem(room, name)
            if problem:
                found.append(f"{path.relative_to(root)}:{line}: {problem}")
    return found


def _problem(room: str | None, name: str) -> str | None:
    top = name.split(".")[0]
    if top in OWNERS and room not in OWNERS[top]:
        return f"{room} imports {top}, which only {sorted(OWNERS[top]) or 'nobody'} may"
    target = room_of(name)
    if room in (None, "__init__") or target is None or target == room:
        return None
    if room not in LAYER_OF:
        return f"room {room} has no layer"
    if target not in LAYER_OF:
        return f"{room} imports {target}, which has no layer"
    if target in SIDEWAYS_TARGETS or (room, target) in SIDEWAYS:
        return None
    if LAYER_OF[target] <= LAYER_OF[room]:
        return f"{room} imports {target}, which is not below it"
    return None
