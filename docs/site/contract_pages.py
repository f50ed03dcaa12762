# SPDX-License-Identifier: Apache-2.0
"""A page for each interface of the contracts, from the NatSpec and ABI that the compiler left."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

INTERFACES = Path("contracts") / "interfaces"
KINDS = {"function": "Functions", "event": "Events", "error": "Errors"}


def contract_pages(build: Path) -> dict[str, str]:
    """Markdown by path on the site.

    Raises:
        FileNotFoundError: the contracts were not compiled (`make contracts`).
    """
    builds = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(build.glob("I*.json"))]
    interfaces = [each for each in builds if Path(each["sourcePath"]).parent == INTERFACES]
    if not interfaces:
        raise FileNotFoundError(f"{build} has no compiled interfaces: run 'make contracts' first.")
    return {f"reference/contracts/{each['contractName']}.md": _page(each) for each in interfaces}


def _page(build: Mapping[str, Any]) -> str:
    natspec = build.get("natspec", {})
    parts = [f"# {build['contractName']}", *_notes(natspec), f"Source: `{build['sourcePath']}`"]
    for kind, heading in KINDS.items():
        entries = [each for each in build["abi"] if each["type"] == kind]
        if entries:
            parts.append(f"## {heading}")
        for entry in sorted(entries, key=lambda each: each["name"]):
            parts += _entry(entry, _noted(natspec, kind, _signature(entry)))
    return "\n\n".join(parts)


def _entry(entry: Mapping[str, Any], notes: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {entry['name']}"
    yield f"```solidity\n{_declaration(entry)}\n```"
    yield from _notes(notes)
    for name, text in {**notes.get("params", {}), **notes.get("returns", {})}.items():
        yield f"- `{name}`: {text}"


def _notes(notes: Mapping[str, Any]) -> Iterator[str]:
    yield from (notes[key] for key in ("title", "notice", "details") if key in notes)


def _noted(natspec: Mapping[str, Any], kind: str, signature: str) -> Mapping[str, Any]:
    """NatSpec of one entry.  The compiler lists errors as there may be several of one signature."""
    section = {"function": "methods", "event": "events", "error": "errors"}[kind]
    found: list[Any] | dict[str, Any] = natspec.get(section, {}).get(signature, {})
    notes: dict[str, Any] = found[0] if isinstance(found, list) else found
    return notes


def _signature(entry: Mapping[str, Any]) -> str:
    return f"{entry['name']}({','.join(map(_selector_type, entry['inputs']))})"


def _selector_type(parameter: Mapping[str, Any]) -> str:
    """The canonical type of a parameter, structs as tuples."""
    kind: str = parameter["type"]
    if not kind.startswith("tuple"):
        return kind
    return f"({','.join(map(_selector_type, parameter['components']))}){kind.removeprefix('tuple')}"


def _declaration(entry: Mapping[str, Any]) -> str:
    words = [f"{entry['type']} {entry['name']}({', '.join(map(_parameter, entry['inputs']))})"]
    if entry.get("stateMutability") in {"view", "pure", "payable"}:
        words.append(entry["stateMutability"])
    if entry.get("outputs"):
        words.append(f"returns ({', '.join(map(_parameter, entry['outputs']))})")
    return " ".join(words)


def _parameter(parameter: Mapping[str, Any]) -> str:
    kind = parameter["internalType"].removeprefix("struct ").removeprefix("contract ").removeprefix("enum ")
    indexed = "indexed " if parameter.get("indexed") else ""
    return f"{kind} {indexed}{parameter['name']}".strip()
