# SPDX-License-Identifier: Apache-2.0
"""Code named in settings by import path, and this machine's permissions for it."""

from __future__ import annotations

from typing import Any

import pytest

from blockful_py.errors import SettingsError
from blockful_py.settings import Settings
from blockful_py.settings.code import code_of, named_code, require_allowed

NAMING: dict[str, dict[str, Any]] = {
    "learning.dataset": {"learning": {"dataset": "own:Thing"}},
    "learning.model": {"learning": {"model": "own:Thing"}},
    "learning.options.of": {"learning": {"options": {"of": "own:Thing", "width": 3}}},
    "learning.trainer": {"learning": {"trainer": "own:Thing"}},
    "unlearning.parallel": {"unlearning": {"parallel": "own:Thing"}},
    "unlearning.sequential": {"unlearning": {"sequential": "own:Thing"}},
}


@pytest.mark.parametrize("key", NAMING)
def test_code_is_refused_unless_it_is_allowed_by_name(key: str) -> None:
    settings = Settings.parse(NAMING[key])
    assert named_code(settings) == {key: "own:Thing"}
    with pytest.raises(SettingsError, match=f"{key} = 'own:Thing'.* with --allow own:Thing$"):
        require_allowed(settings)
    require_allowed(Settings.parse({**NAMING[key], "run": {"allow": ["own:Thing"]}}))
    with pytest.raises(SettingsError, match=r"with --allow own:Other --allow own:Thing$"):
        require_allowed(Settings.parse({**NAMING[key], "run": {"allow": ["own:Other"]}}))


def test_what_is_built_in_needs_no_allowance() -> None:
    settings = Settings.parse({"learning": {"model": "resnet18"}, "unlearning": {"parallel": "distill"}})
    assert named_code(settings) == {}
    require_allowed(settings)


def test_an_option_that_a_shell_would_read_is_quoted() -> None:
    settings = Settings.parse({"learning": {"model": "a:b; rm c"}})
    with pytest.raises(SettingsError, match=r"with --allow 'a:b; rm c'$"):
        require_allowed(settings)


def test_who_writes_settings_allows_what_they_name() -> None:
    written = Settings.parse(
        {**NAMING["learning.model"], "run": {"allow": ["more:Code"], "callbacks": ["x:Y"]}}
    )
    own = code_of(written)
    assert (own.allow, own.callbacks) == (("more:Code", "own:Thing"), ("x:Y",))
