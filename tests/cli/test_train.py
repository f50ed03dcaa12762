# SPDX-License-Identifier: Apache-2.0
"""What `blockful train` says before it trains."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.errors import RunError
from tests.cli.commands import blockful


def test_a_report_that_cannot_be_made_is_known_before_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_built() -> None:
        raise RunError("the report's page is not built.")

    (tmp_path / "mine").touch()
    warning = "warning: requests will have no report.html: the report's page is not built."
    assert warning not in blockful(tmp_path, "train", "--run", "mine").err
    monkeypatch.setattr("blockful_py.report.assets.page_assets", not_built)
    assert blockful(tmp_path, "train", "--run", "mine").err.startswith(warning)
