# SPDX-License-Identifier: Apache-2.0
"""Random histories of contracts: possible actions, drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test


@dataclass(frozen=True)
class Action:
    """An action that somebody may take, and its condition for being worth a try."""

    when: Callable[[Any], Any]
    arguments: dict[str, st.SearchStrategy[Any]]
    run: Callable[..., None]

    def __repr__(self) -> str:
        return self.run.__name__


def action(
    when: Callable[[Any], Any], **arguments: st.SearchStrategy[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a method of Histories an action.

    It is not a separate rule, because hypothesis switches some rules off in each example.
    """

    def marked(method: Callable[..., None]) -> Callable[..., None]:
        method.action = Action(when, arguments, method)  # type: ignore[attr-defined]
        return method

    return marked


class Histories(RuleBasedStateMachine):
    """Runs one action a step."""

    @rule(data=st.data())
    def somebody_acts(self, data: st.DataObject) -> None:
        listed = (getattr(method, "action", None) for method in vars(type(self)).values())
        chosen = data.draw(st.sampled_from([each for each in listed if each and each.when(self)]))
        chosen.run(self, **data.draw(st.fixed_dictionaries(chosen.arguments)))


def run(machine: Callable[[], Histories], examples: int, steps: int) -> None:
    """Runs the same histories every time.

    Hypothesis limits the first ten examples to a step or two.
    """
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=HealthCheck.all(),
    )
    run_state_machine_as_test(machine, settings=chosen)
