# SPDX-License-Identifier: Apache-2.0
"""Made-up reports of 14 and 60 models."""

from __future__ import annotations

import pytest

from blockful_py.report.schema import Report
from tests.report.made_up import organic_references, paper_references, report_of


@pytest.fixture(scope="session")
def paper14() -> Report:
    return report_of(paper_references(), starts=("r5", "r7"))


@pytest.fixture(scope="session")
def organic60() -> Report:
    return report_of(organic_references(60), starts=("r5", "r7"), scenario="organic")
