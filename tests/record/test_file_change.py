# SPDX-License-Identifier: Apache-2.0
"""Differences between two federation files, and the ones that the committee may decide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blockful_py.errors import RefusedError, SettingsError
from blockful_py.record.federation_file import (
    MAX_BYTES,
    ContractEntry,
    FederationFile,
    PublicFiles,
    require_carried_out,
    uri_of,
    uri_of_digest,
)
from blockful_py.record.file_change import differences, require_allowed
from blockful_py.storage.unixfs import CHUNK_SIZE
from tests.federations import small

CID = "bafkreifzjut3te7nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
ENTRY = ContractEntry("0x" + "11" * 20, "0x" + "22" * 32, 3, "0x" + "33" * 32)


URLS = tuple(f"https://192.0.2.{number}:7001" for number in range(1, 5))


def file(**sections: dict[str, Any]) -> FederationFile:
    """A federation file; keyword arguments change sections of its settings."""
    elected = {"roster": "elected", "members": URLS, "size": 4}
    sections["committee"] = {**elected, **sections.get("committee", {})}
    contracts = {"1337": {"ParticipantRegistry": ENTRY, "LiveChain": ENTRY}}
    return FederationFile.of("hospitals", small(**sections), PublicFiles(CID, CID), contracts)


BEFORE = file()


def reviewed(after: FederationFile, open_requests: tuple[int, ...] = ()) -> list[str]:
    changed = differences(BEFORE, FederationFile.parse(after.to_bytes()))
    require_allowed(changed, open_requests)
    return [str(each) for each in changed]


def test_a_change_names_what_differs_and_from_what_to_what() -> None:
    assert reviewed(file(learning={"epochs": 3}, committee={"stall_seconds": 5.0})) == [
        "learning.epochs: 1 -> 3",
        "committee.stall_seconds: 60.0 -> 5.0",
    ]
    added = file(unlearning={"options": {"retrain": {"steps": 2}}})
    assert reviewed(added) == ["unlearning.options.retrain.steps: nothing -> 2"]


@pytest.mark.parametrize(
    ("after", "key"),
    [
        (file(federation={"users": 8, "scenario": "organic", "graph": None}), "federation.users: 7 -> 8"),
        (file(learning={"model": "resnet18"}), "learning.model"),
        (file(committee={"size": 3}), "committee.size: 4 -> 3"),
        (file(committee={"election": {"epoch_length": 60}}), "committee.election.epoch_length"),
        (file(access={"participants": "admitted"}), "access.participants"),
        (replace(BEFORE, public=PublicFiles(CID, CID[:-2] + "la")), "public.initial"),
        (
            replace(
                BEFORE,
                contracts={
                    "1337": {**BEFORE.contracts["1337"], "LiveChain": replace(ENTRY, code="0x" + "44" * 32)}
                },
            ),
            "contracts.1337.LiveChain.code",
        ),
        (replace(BEFORE, contracts={"1337": {"ParticipantRegistry": ENTRY}}), "contracts.1337.LiveChain"),
    ],
)
def test_what_the_contracts_or_the_models_hold_is_never_changed(after: FederationFile, key: str) -> None:
    with pytest.raises(RefusedError, match="depend on it") as refusal:
        require_allowed(differences(BEFORE, after), ())
    assert key in str(refusal.value)


@pytest.mark.parametrize(
    "after",
    [
        file(learning={"epochs": 2}),
        file(unlearning={"alpha": 2.0}),
        file(committee={"attested": True}),
        replace(BEFORE, public=PublicFiles(CID[:-2] + "la", CID)),
    ],
)
def test_what_parts_are_checked_by_stays_while_a_request_is_open(after: FederationFile) -> None:
    assert reviewed(after)
    with pytest.raises(RefusedError, match="request 3, 5 is open"):
        reviewed(after, (3, 5))


def test_other_rules_change_while_a_request_is_open() -> None:
    assert reviewed(file(committee={"members": (*URLS, "https://192.0.2.5:7001")}), (1,))
    assert reviewed(file(federation={"patience": 5.0}), (1,))


def test_a_change_of_nothing_is_refused() -> None:
    with pytest.raises(RefusedError, match="equals the present one"):
        reviewed(file())


def test_a_key_cannot_write_to_the_operators_terminal() -> None:
    (line,) = reviewed(file(unlearning={"options": {"\x1b[2Jretrain": {"a": "\x1b[1m"}}}))
    assert line == "unlearning.options.?[2Jretrain.a: nothing -> '\\x1b[1m'"


def test_the_digest_names_the_file_that_is_fetched() -> None:
    data = BEFORE.to_bytes()
    assert uri_of_digest(uri_of(data).digest) == uri_of(data)
    assert MAX_BYTES <= CHUNK_SIZE


@pytest.mark.parametrize(
    ("field", "value"),
    [("address", "0x11"), ("address", "zz" * 21), ("code", ""), ("transaction", "0x" + "g" * 64)],
)
def test_a_contract_that_is_named_wrongly_is_told(field: str, value: str) -> None:
    entry = replace(ENTRY, **{field: value})
    wrong = replace(BEFORE, contracts={"1337": {"LiveChain": entry}})
    with pytest.raises(SettingsError, match=f"contracts.1337.LiveChain.{field}"):
        FederationFile.parse(wrong.to_bytes())


@pytest.mark.parametrize(
    ("sections", "named"),
    [
        (
            {"learning": {"increments": (3,)}},
            "learning.increments without learning.clean_references: among machines .* use a laboratory",
        ),
        (
            {
                "federation": {"scenario": "organic", "graph": None},
                "unlearning": {"references": "chosen again", "parallel": "auto"},
            },
            "unlearning.references: among machines .* use a laboratory",
        ),
        ({"unlearning": {"clients": (1,)}}, "unlearning.clients and .*`blockful participant request`"),
        ({"unlearning": {"samples": ("1:0",)}}, "unlearning.clients and .*`blockful participant request`"),
    ],
)
def test_what_machines_do_not_carry_out_is_refused_before_it_is_in_a_file(
    sections: dict[str, Any], named: str
) -> None:
    with pytest.raises(SettingsError, match=f"^{named}"):
        require_carried_out(small(**sections))
    require_carried_out(small())
    require_carried_out(small(learning={"increments": (3,), "clean_references": True}))
