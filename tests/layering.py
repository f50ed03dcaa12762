# SPDX-License-Identifier: Apache-2.0
"""Finds imports of this project's packages that break the rules of the house.

A room is a folder or a file of a package; folders within rooms have floors as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = "blockful_py"
LAB = "blockful_lab"

FLOORS: Mapping[str, tuple[frozenset[str], ...]] = {
    PACKAGE: (
        frozenset({"cli"}),
        frozenset({"explorer", "flower"}),
        frozenset({"adopt", "export", "member", "participant", "recall", "report"}),
        frozenset({"pipeline"}),
        frozenset({"keys"}),
        frozenset({"callbacks", "committee", "record", "unlearning"}),
        frozenset({"chain", "learning"}),
        frozenset({"engine"}),
        frozenset({"costs", "graph", "ledger", "storage", "verdicts"}),
        frozenset({"pinned_http"}),
        frozenset({"crypto"}),
        frozenset({"child_process", "detached", "file_lock", "settings"}),
        frozenset({"monitoring"}),
        frozenset(
            {
                *("bounded_json", "closable", "extras", "forget", "html_table", "names", "on_demand"),
                *("terminal", "types", "whole_file"),
            }
        ),
        frozenset({"errors"}),
    ),
    f"{PACKAGE}.pipeline": (
        frozenset({"attesting", "founding", "party", "proving", "recalls", "replaying", "resume"}),
        frozenset({"federation"}),
        frozenset({"administration", "verifying"}),
        frozenset({"operated", "reader"}),
        frozenset({"jobs"}),
        frozenset({"review"}),
        frozenset({"coordination"}),
        frozenset({"run"}),
    ),
    f"{PACKAGE}.record": (
        frozenset(
            {"audit", "built_on_old", "docket", "file_change", "reach", "request_file", "training_trace"}
        ),
        frozenset({"request_state"}),
        frozenset({"commitments", "parts"}),
        frozenset({"archive_memory", "checkpoint"}),
        frozenset({"catalogue"}),
        frozenset({"archive_reader", "known_transactions"}),
        frozenset({"attestation", "chain_readers"}),
        frozenset({"shown"}),
        frozenset({"certificates"}),
        frozenset({"ahead", "proofs", "recall"}),
        frozenset({"verify"}),
        frozenset({"chain_view", "checks", "decryption", "history"}),
        frozenset({"model_node", "state"}),
        frozenset({"request", "statement"}),
        frozenset({"adopted", "events", "federation_file", "known", "openings", "statement_parts"}),
        frozenset({"fields", "waves"}),
    ),
    LAB: (
        frozenset({"cli"}),
        frozenset({"experiments"}),
        frozenset({"simulation"}),
        frozenset({"energy"}),
    ),
}
"""By folder, its rooms from the top floor down: a room imports only from floors below its own."""

OWNERS: Mapping[str, frozenset[str]] = {
    "flwr": frozenset({"flower"}),
    LAB: frozenset(),
    "torch": frozenset({"experiments", "export", "flower", "learning", "unlearning"}),
    "ray": frozenset({"engine"}),
    "sklearn": frozenset({"learning"}),
    "mlflow": frozenset({"adopt", "callbacks"}),
    "matplotlib": frozenset({"report", "experiments"}),
    "web3": frozenset({"chain"}),
    "eth_abi": frozenset({"chain"}),
    "eth_account": frozenset({"chain"}),
    "brownie": frozenset(),
    "ipfshttpclient": frozenset({"storage"}),
    "simpy": frozenset({"simulation"}),
    "coincurve": frozenset({"crypto"}),
    "Crypto": frozenset({"crypto"}),
    "cryptography": frozenset({"crypto"}),
    "in_toto_attestation": frozenset({"record"}),
    "securesystemslib": frozenset({"record"}),
    "model_signing": frozenset({"export"}),
    "huggingface_hub": frozenset({"export", "learning"}),
}
"""Packages that only some rooms may import; the lab may import any room, and no room the lab."""


@dataclass(frozen=True, slots=True)
class Import:
    """A module of `package`, the line, and the module that it imports there."""

    package: str
    module: str
    line: int
    target: str


def violations(root: Path, package: str = PACKAGE) -> list[str]:
    """Every import below `root` (the folder of the package) that breaks a rule, and every circle."""
    modules = dict(_modules(root, package))
    imports = [
        Import(package, module, line, target)
        for module, path in modules.items()
        for line, target in _imports(path, modules, package)
    ]
    broken = [f"{each.module}:{each.line}: {problem}" for each in imports for problem in _problems(each)]
    folders = sorted({package} | {module.rpartition(".")[0] for module in modules if "." in module})
    return broken + [circle for folder in folders for circle in _circles(folder, imports)]


def _modules(root: Path, package: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        yield ".".join((package, *parts)).removesuffix(".__init__"), path


def _imports(path: Path, modules: Mapping[str, Path], package: str) -> Iterator[tuple[int, str]]:
    """Line and full name of every module that a file imports, at any depth of nesting."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            inner = names if node.module == package else names & modules.keys()
            yield from ((node.lineno, name) for name in sorted(inner or {node.module}))


def _problems(each: Import) -> Iterator[str]:
    top, room = each.target.split(".")[0], _room(each.package, each.module)
    if top in OWNERS and top != each.package and room not in OWNERS[top]:
        yield f"{room} imports {top}, which only {sorted(OWNERS[top]) or 'nobody'} may"
    for folder, floors in FLOORS.items():
        room, target = _room(folder, each.module), _room(folder, each.target)
        if room is None or target is None or room == target:
            continue
        depth = {name: number for number, floor in enumerate(floors) for name in floor}
        homeless = [name for name in (room, target) if name not in depth]
        if homeless:
            yield f"{folder} has no floor for {homeless[0]}"
        elif depth[target] <= depth[room]:
            yield f"{room} imports {target}, which is not below it"


def _room(folder: str, module: str) -> str | None:
    """The room of a module: `blockful_py.chain.node` is in room `chain`; a folder's own module is in none."""
    if not module.startswith(f"{folder}."):
        return None
    return module.removeprefix(f"{folder}.").split(".")[0]


def _circles(folder: str, imports: Iterable[Import]) -> Iterator[str]:
    """Rooms of a folder that import each other in a loop, regardless of other rules."""
    above: dict[str, set[str]] = {}
    for each in imports:
        room, target = _room(folder, each.module), _room(folder, each.target)
        if room and target and room != target:
            above.setdefault(room, set()).add(target)
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        yield f"{folder}: {' <- '.join(error.args[1])} is a circle"
