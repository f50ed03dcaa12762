# SPDX-License-Identifier: Apache-2.0
"""The dashboard, the scrape configuration and the reference name the services' metrics."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from blockful_py.monitoring.page import registry_of
from tests.metrics import DeclaredMetric, declared

ROOT = Path(__file__).parents[1]
DASHBOARD = ROOT / "deploy" / "grafana" / "blockful.json"
SCRAPED = ROOT / "deploy" / "prometheus" / "prometheus.yml"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
REFERENCE = ROOT / "docs" / "reference" / "monitoring.md"
SERVICES = {"member", "participant", "explorer"}
ADDED = frozenset({"job", "instance", "le"})
"""Labels that Prometheus adds."""


@cache
def metrics() -> list[DeclaredMetric]:
    return declared(ROOT / "blockful_py")


def known() -> dict[str, frozenset[str]]:
    """Labels by name of a sample."""
    own = {sample: each.labels for each in metrics() for sample in each.samples}
    process = {sample.name for family in registry_of("x").collect() for sample in family.samples}
    return {**dict.fromkeys(process, frozenset[str]()), **own}


def problems(query: str) -> list[str]:
    """Unknown metrics and labels of a query."""
    labels, found = known(), []
    used = {
        *re.findall(r"(\w+)\s*!?=~?\s*\"", query),
        *(each.strip() for group in re.findall(r"by \(([^)]*)\)", query) for each in group.split(",")),
    }
    names = re.findall(r"\b(?:blockful|process)_\w+", query)
    for name in names:
        if name not in labels:
            found.append(f"there is no metric {name}")
        elif unknown := used - labels[name] - ADDED:
            found.append(f"{name} has no label {', '.join(sorted(unknown))}")
    return found if names else [f"{query!r} names no metric"]


def queries(dashboard: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"], target["legendFormat"]


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return loaded


def test_the_dashboard_asks_for_what_services_measure(dashboard: dict[str, Any]) -> None:
    asked = list(queries(dashboard))
    assert {query: found for query, _ in asked if (found := problems(query))} == {}
    assert len(asked) > 20


def test_legends_show_labels_that_the_query_keeps(dashboard: dict[str, Any]) -> None:
    for query, legend in queries(dashboard):
        kept = re.findall(r"by \(([^)]*)\)", query)
        shown = set(re.findall(r"{{(\w+)}}", legend))
        if kept:
            assert shown <= {each.strip() for each in kept[0].split(",")}, query
        elif re.match(r"sum\(", query):
            assert not shown, query


def test_alerts_ask_for_what_services_measure() -> None:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    asked = [rule["expr"] for rule in group["rules"] if not rule["expr"].startswith("up{")]
    assert {query: found for query in asked if (found := problems(query))} == {}
    assert yaml.safe_load(SCRAPED.read_text())["rule_files"] == [ALERTS.name]


@pytest.mark.parametrize(
    "query",
    [
        "blockful_nothing",
        "rate(blockful_member_votes[5m])",
        'blockful_epoch{colour="red"}',
        "sum by (colour) (blockful_epoch)",
        "1",
    ],
)
def test_a_query_for_what_nobody_measures_is_found(query: str) -> None:
    assert len(problems(query)) == 1


def test_panels_are_apart_and_have_numbers_of_their_own(dashboard: dict[str, Any]) -> None:
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    taken = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24
    numbers = [panel["id"] for panel in dashboard["panels"]]
    assert len(numbers) == len(set(numbers))


def test_the_jobs_that_are_scraped_are_those_of_the_dashboard(dashboard: dict[str, Any]) -> None:
    document = yaml.safe_load(SCRAPED.read_text())
    jobs = {each["job_name"] for each in document["scrape_configs"]}
    assert jobs == SERVICES
    named = {job for query, _ in queries(dashboard) for job in re.findall(r'job="(\w+)"', query)}
    assert named <= jobs
    targets = [t for each in document["scrape_configs"] for s in each["static_configs"] for t in s["targets"]]
    assert all(re.fullmatch(r"127\.0\.0\.1:\d{4}", each) for each in targets)
    assert len(targets) == len(set(targets))


def test_the_reference_lists_every_metric_and_its_labels() -> None:
    rows = re.findall(r"^\| `(blockful_\w+)` \|([^|]*)\|", REFERENCE.read_text(), re.MULTILINE)
    listed = {name: frozenset(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    suffix = {"Counter": "_total", "Info": "_info"}
    assert listed == {each.name + suffix.get(each.kind, ""): each.labels for each in metrics()}
