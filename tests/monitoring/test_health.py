# SPDX-License-Identifier: Apache-2.0
"""A service is ready when every check says so, and strangers learn no more than that."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from blockful_py.monitoring.health import FREE_BYTES, Health, bare, writable


def test_a_service_is_ready_when_no_check_has_a_reason() -> None:
    reasons: dict[str, str | None] = {"chains": None, "store": "its disk is full"}
    health = Health({name: lambda name=name: reasons[name] for name in reasons}, lambda: {"epoch": 3})  # type: ignore[misc]
    assert health.report().problems == {"store": "its disk is full"}
    assert health.report().status == 503
    client = TestClient(bare(health))
    assert (client.get("/").status_code, client.get("/").json()) == (503, {"ready": False})
    reasons["store"] = None
    assert health.report().is_ready
    assert (client.get("/").status_code, client.get("/").json()) == (200, {"ready": True})


def test_a_folder_that_is_gone_or_full_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert writable(tmp_path)() is None
    assert "cannot be read" in str(writable(tmp_path / "nowhere")())
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=FREE_BYTES - 1))
    assert writable(tmp_path)() == "its disk has 63 MiB left"
