# SPDX-License-Identifier: Apache-2.0
"""Commands of the documentation that no test runs, each with the reason; all others are run."""

from __future__ import annotations

SETS_UP = "sets the checkout up, or is what runs the tests"

PAGES: dict[str, str] = {}
"""Pages none of whose commands is run."""

ELSEWHERE = {"docs/tutorial/your-own.md": "cli/test_wheel.py"}
"""Pages that other tests follow: they need an installed wheel."""

COMMANDS = {
    "README.md": {
        "make demo": "the demo, with smaller settings, is what the page's walk begins with",
        "make test ": SETS_UP,
        "pip install": "tests/cli/test_wheel.py installs the wheel",
        "blockful demo    ": "tests/cli/test_wheel.py runs the demo of the wheel",
    },
    "docs/tutorial/first-certificate.md": {"make setup": SETS_UP},
}
"""By page: words that stand in exactly one of its commands, which is not run, and why."""
