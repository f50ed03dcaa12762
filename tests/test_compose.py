# SPDX-License-Identifier: Apache-2.0
"""The files of deploy/compose, checked without Docker."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from blockful_py.chain.signer import DEV_MNEMONIC
from blockful_py.settings import Settings
from tests.documents import refused

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "deploy" / "compose"
MEMBERS = [f"member-{number}" for number in range(1, 5)]
PARTICIPANTS = [f"participant-{number}" for number in range(1, 6)]
PARTIES = ["founder", *MEMBERS, *PARTICIPANTS]
KEYS = {
    "build",
    "cap_drop",
    "command",
    "depends_on",
    "environment",
    "healthcheck",
    "image",
    "mem_limit",
    "networks",
    "profiles",
    "read_only",
    "restart",
    "secrets",
    "security_opt",
    "tmpfs",
    "user",
    "volumes",
}
"""Keys of a service in the Compose specification."""


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    return loaded


@pytest.fixture(scope="module")
def settings() -> Settings:
    return Settings.load(FOLDER / "settings.toml")


def options(command: list[str]) -> dict[str, str]:
    """Values by option."""
    return {name: value for name, value in pairwise(command) if name.startswith("--")}


def test_there_is_a_service_for_each_party_and_chain(document: dict[str, Any], settings: Settings) -> None:
    assert document["services"].keys() == {"live", "archive", "explorer", "prometheus", *PARTIES}
    assert settings.federation.users == len(PARTICIPANTS)
    assert settings.committee.members == tuple(f"https://{name}:7001" for name in MEMBERS)


@pytest.mark.parametrize("name", ["live", "archive", "explorer", *PARTIES])
def test_a_container_has_no_privileges_and_its_own_folder_alone(document: dict[str, Any], name: str) -> None:
    service = document["services"][name]
    assert service.keys() <= KEYS | ({"ports"} if name == "explorer" else set())
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"].startswith("${PARTY_UID:?") and "0:0" not in service["user"]
    assert service.get("ports", ["127.0.0.1:8000:8000"]) == ["127.0.0.1:8000:8000"]
    written = [each for each in service["volumes"] if not each.endswith(":ro")]
    assert written == [
        f"./chains/{name}:/chain" if name in ("live", "archive") else f"./parties/{name}:/party"
    ]
    assert service["networks"] == ["federation"]
    if name in PARTIES:
        assert service["secrets"] == [{"source": name, "target": "words"}]
        assert document["secrets"][name] == {"file": f"./words/{name}"}


@pytest.mark.parametrize("name", [*MEMBERS, *PARTICIPANTS, "explorer"])
def test_services_run_commands_of_the_command_line(document: dict[str, Any], name: str) -> None:
    service = document["services"][name]
    command = service["command"]
    assert refused(command) is None
    assert refused([*command, "--sideways"]) is not None
    assert options(command)["--monitor"] == "0.0.0.0:9100"
    assert "http://127.0.0.1:9100/healthz" in service["healthcheck"]["test"][-1]
    if name in PARTIES:
        assert options(command)["--passphrase-file"] == "/run/secrets/words"


def test_the_explorer_is_for_browsers_of_this_machine(document: dict[str, Any]) -> None:
    service = document["services"]["explorer"]
    said = options(service["command"])
    assert service["ports"] == [f"127.0.0.1:8000:{said['--port']}"]
    assert said["--origin"] == "http://127.0.0.1:8000"
    assert service["profiles"] == ["explorer"]


def test_each_service_is_of_the_image_for_it(document: dict[str, Any]) -> None:
    kinds = {
        **dict.fromkeys(["live", "archive"], "chain"),
        **dict.fromkeys(MEMBERS, "member"),
        **dict.fromkeys(PARTICIPANTS, "participant"),
        "founder": "command-line",
        "explorer": "explorer",
    }
    for name, kind in kinds.items():
        service = document["services"][name]
        assert (service["build"]["target"], service["image"]) == (kind, f"blockful-{kind}")


def test_prometheus_collects_what_the_parties_serve(document: dict[str, Any]) -> None:
    scraped = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
    targets = {each["job_name"]: set(each["static_configs"][0]["targets"]) for each in scraped}
    assert targets == {
        "member": {f"{name}:9100" for name in MEMBERS},
        "participant": {f"{name}:9100" for name in PARTICIPANTS},
    }
    service = document["services"]["prometheus"]
    assert service["profiles"] == ["monitoring"]
    assert service["ports"] == ["127.0.0.1:9090:9090"]
    assert "./prometheus.yml:/prometheus.yml:ro" in service["volumes"]


def test_members_listen_where_the_settings_say(document: dict[str, Any], settings: Settings) -> None:
    for name, url in zip(MEMBERS, settings.committee.members, strict=True):
        said = options(document["services"][name]["command"])
        assert (said["--url"], said["--host"]) == (url, "0.0.0.0")  # noqa: S104  (of its container)
        assert url.endswith(":" + said["--port"])


def test_the_chains_are_those_of_the_settings(document: dict[str, Any], settings: Settings) -> None:
    chain = settings.chain
    for name, chain_id in (("live", chain.live_chain_id), ("archive", chain.archive_chain_id)):
        said = dict(
            each.removeprefix("--").partition("=")[::2] for each in document["services"][name]["command"]
        )
        assert int(said["chain.chainId"]) == chain_id
        assert said["wallet.mnemonic"] == DEV_MNEMONIC
        assert int(said["miner.blockTime"]) >= 1
        url = f"http://{name}:{said['server.port']}"
        assert all(url in document["services"][member]["command"] for member in MEMBERS)


def test_the_commands_of_the_readme_are_those_of_the_command_line() -> None:
    blocks = (FOLDER / "README.md").read_text().split("```")[1::2]
    text = "".join(blocks).replace("\\\n", " ")
    words = {
        "$words": "--passphrase-file /run/secrets/words",
        "$chains": "--live-url http://live:8545 --archive-url http://archive:8546",
        "$i": "1",
    }
    for variable, meaning in words.items():
        text = text.replace(variable, meaning)
    found = [
        (name, shlex.split(rest))
        for name, rest in re.findall(r"\bat ([\w-]+) (.+?)(?:; done)?$", text, re.MULTILINE)
    ]
    assert len(found) >= 12
    assert {name for name, _ in found} <= set(PARTIES)
    assert {" ".join(command): why for _, command in found if (why := refused(command))} == {}
