# SPDX-License-Identifier: Apache-2.0
"""The operator's page: metrics that Prometheus reads, the whole health, at no public address."""

from __future__ import annotations

import json
import socket
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client import Counter
from prometheus_client.parser import text_string_to_metric_families

from blockful_py.errors import SettingsError, UnreachableError
from blockful_py.monitoring.health import Health
from blockful_py.monitoring.page import MonitorPage, monitor_page, registry_of


def get(page: MonitorPage, path: str) -> tuple[int, str]:
    try:
        with urlopen(page.url + path, timeout=600) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_metrics_and_health_are_served() -> None:
    registry, reasons = registry_of("member"), {"clock": ""}
    Counter("blockful_tries", "Tries.", registry=registry).inc(2)
    health = Health({"clock": lambda: reasons["clock"] or None}, lambda: {"epoch": 3})
    with MonitorPage("127.0.0.1:0", registry, health) as page:
        status, text = get(page, "/metrics")
        families = {each.name: each for each in text_string_to_metric_families(text)}
        assert status == 200
        assert families["blockful_tries"].samples[0].value == 2
        assert families["blockful_build_info"].samples[0].labels["service"] == "member"
        assert families["blockful_ready"].samples[0].value == 1
        assert "process_resident_memory_bytes" in families
        status, text = get(page, "/healthz")
        assert (status, json.loads(text)) == (200, {"ready": True, "problems": {}, "epoch": 3})
        reasons["clock"] = "it is wrong"
        status, text = get(page, "/healthz")
        assert (status, json.loads(text)["problems"]) == (503, {"clock": "it is wrong"})
        assert get(page, "/elsewhere")[0] == 404
        url = page.url
    with pytest.raises(OSError, match="refused"):
        urlopen(url + "/metrics")  # noqa: S310


def test_ipv6_is_listened_on() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with MonitorPage("[::1]:0", registry_of("member"), Health({})) as page:
        assert get(page, "/healthz")[0] == 200


@pytest.mark.parametrize(
    "place",
    [
        "9100",
        ":9100",
        "localhost:9100",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:x",
        "127.0.0.1:65536",
        "8.8.8.8:9100",
    ],
)
def test_another_form_and_a_public_address_are_refused(place: str) -> None:
    with pytest.raises(SettingsError):
        MonitorPage(place, registry_of("member"), Health({}))


def test_a_port_that_is_taken_is_named() -> None:
    with (
        MonitorPage("127.0.0.1:0", registry_of("member"), Health({})) as page,
        pytest.raises(UnreachableError, match="choose another port"),
    ):
        MonitorPage(page.url.removeprefix("http://"), registry_of("member"), Health({}))


def test_no_place_means_no_page() -> None:
    with monitor_page(None, registry_of("member"), Health({})) as page:
        assert page is None
