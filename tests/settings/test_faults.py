# SPDX-License-Identifier: Apache-2.0
"""Messages about wrong settings: every fault, its place, and the probable intention."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from blockful_py.errors import SettingsError
from blockful_py.learning.partitions import AS_HELD, PARTITIONS
from blockful_py.settings import FederationSettings, Settings, Situation, TrainingSettings, UnlearningSettings

HEAVY = ("torch", "numpy", "scipy", "sklearn", "web3", "matplotlib", "blockful_py.pipeline")


def refusal(*overrides: str) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.load(None, overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("learning.epoch=3", "learning.epoch is an unknown setting (did you mean 'learning.epochs'?)."),
        ("epochs=3", "epochs is an unknown setting: `epochs` belongs to [learning]."),
        ("federation.epochs=3", "federation.epochs is an unknown setting: `epochs` belongs to [learning]."),
        ("epoch=3", "epoch is an unknown setting (did you mean 'learning.epochs'?)."),
        ("lerning.epochs=3", "lerning is an unknown section (did you mean [learning]?)."),
        ("privacy.noise=1", "privacy is an unknown section (did you mean [learning.privacy]?)."),
        ("committee.elections.reward=1", "(did you mean [committee.election]?)"),
        ("committee.election.rewards=1", "(did you mean 'committee.election.reward'?)"),
        ("seeds=1", "seeds is an unknown setting (did you mean 'seed'?)."),
        ("access.zzz=1", "access.zzz is an unknown setting: [access] has joined_by, participants."),
        ("zzz=1", "zzz is an unknown setting: there are seed, federation, learning,"),
        ("learning.seconds=1", "`seconds` belongs to [storage]"),
        ("federation.scenario=organik", "not 'organik' (did you mean 'organic'?)."),
        ("federation.situation=fewhold", "not 'fewhold' (did you mean 'few_hold'?)."),
        ("learning.together=zzz", "learning.together must be one of auto, stacked, loop, not 'zzz'."),
        ("learning.epochs=0", "learning.epochs must be at least 1, not 0."),
        ("federation.users=1", "federation.users must be at least 2 and at most 10000, not 1."),
        ("federation.rounds=1" + 400 * "0", "federation.rounds must be at least 1 and at most 1000"),
        ("federation.users=9.5", "federation.users must be a whole number, not 9.5."),
        ("learning.learning_rate=inf", "learning.learning_rate must be above 0, not inf."),
        ("learning.learning_rate=nan", "learning.learning_rate must be above 0, not nan."),
        ("learning.privacy={}", "learning.privacy.noise is missing."),
        ("learning=3", "learning must be a section, not 3."),
        ("learning.increments=some", "learning.increments must be a list or 'all', not 'some'."),
        ("learning.increments=[-1]", "learning.increments must be at least 0 or 'all', not [-1]."),
        (
            "unlearning.references='chosen again'",
            "unlearning.references = 'chosen again' repeats eq. 1 on test data that are here: it needs "
            "federation.scenario 'organic' and no learning.trainer. Otherwise leave it 'kept'.",
        ),
        (
            "unlearning.references='chosen'",
            "unlearning.references must be one of kept, chosen again, not 'chosen'",
        ),
        ("unlearning.classes=[1, 'a']", "unlearning.classes.1 must be a whole number, not 'a'."),
        ("federation.missing={a = [1]}", "federation.missing.a must be a whole number, not 'a'."),
        ("federation.accounts=3", "federation.accounts must be text, not 3."),
        ("committee.unanimous=perhaps", "committee.unanimous must be true or false, not 'perhaps'."),
    ],
)
def test_a_fault_is_said_in_one_line(override: str, said: str) -> None:
    message = refusal(override)
    assert said in message
    assert "\n" not in message


def test_all_faults_are_listed_at_once() -> None:
    message = refusal("learning.epoch=3", "federation.users=x", "seed=-1", "committee.size=0")
    first, *faults = message.splitlines()
    assert first == "4 settings are wrong:"
    keys = {"learning.epoch", "federation.users", "seed", "committee.size"}
    assert {fault.removeprefix("- ").split()[0] for fault in faults} == keys


def test_all_broken_rules_are_listed_at_once() -> None:
    message = refusal("federation.users=9", "committee.threshold=5", "unlearning.starts=[]")
    assert message.startswith("3 settings are wrong:")
    for said in ("14 users", "4 members", "unlearning.starts is empty"):
        assert said in message


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("federation.rounds=2", "14 users and 1 round, not 14 and 2"),
        ("federation.scenario=scripted", "federation.graph belongs to scenario 'scripted'"),
        ("federation.graph={a = []}", "federation.graph belongs to scenario 'scripted'"),
        ("learning.clean_references=true", "learning.increments"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(override: str, said: str) -> None:
    assert said in refusal(override)


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (("learning.epochs=5",), "learning.epochs mean nothing to learning.model 'analytic'"),
        (
            ("learning.root_factor=1", "learning.increments='all'"),
            "learning.root_factor, learning.increments",
        ),
        (("learning.privacy={noise = 1}",), "learning.privacy mean nothing"),
        (("learning.trainer='a.b:c'",), "learning.trainer mean nothing"),
        (("unlearning.alpha=0.5",), "unlearning.alpha mean nothing"),
        (
            ("unlearning.references='chosen again'", "federation.scenario=organic"),
            "unlearning.references mean",
        ),
        (("unlearning.parallel=gradient_ascent",), "has sums: choose subtract, or leave it 'auto'"),
        (("unlearning.sequential=retrain",), "has sums: choose subtract, or leave it 'auto'"),
        (("committee.roster=elected",), "shows its sums, and with them its samples, to members and readers"),
    ],
)
def test_settings_that_mean_nothing_to_sums_are_refused(overrides: tuple[str, ...], said: str) -> None:
    assert said in refusal("learning.model=analytic", *overrides)
    plain = Settings.load(None, ("learning.model=analytic", "unlearning.parallel=subtract"))
    assert plain.learning.model == "analytic"


@pytest.mark.parametrize(
    ("override", "said"),
    [
        (
            "learning.increments='all'",
            "learning.increments mean nothing to learning.model 'merged'",
        ),
        ("learning.trainer='a.b:c'", "learning.trainer mean nothing to learning.model 'merged'"),
        ("unlearning.epsilon=1", "unlearning.epsilon mean nothing"),
        ("unlearning.sequential=retrain", "'merged' has sums: choose subtract, or leave it 'auto'"),
        ("learning.reveals_samples=true", "is about the sums of learning.model 'analytic'"),
    ],
)
def test_settings_that_mean_nothing_to_merged_models_are_refused(override: str, said: str) -> None:
    assert said in refusal("learning.model=merged", override)
    trained = ("learning.model=merged", "learning.epochs=5", "learning.privacy={noise = 1}")
    assert Settings.load(None, trained).learning.epochs == 5


def test_samples_are_revealed_by_sums_alone_and_where_owners_agree() -> None:
    assert "is about the sums of learning.model 'analytic'" in refusal("learning.reveals_samples=true")
    agreed = ("learning.model=analytic", "learning.reveals_samples=true")
    assert "or say that its owners agree to that" not in refusal(*agreed, "committee.roster=elected")
    assert Settings.load(None, agreed).learning.reveals_samples


def test_sums_are_shared_among_machines_whose_liars_are_found() -> None:
    assert "is about the sums of learning.model 'analytic'" in refusal("learning.shares_sums=true")
    shared = ("learning.model=analytic", "learning.shares_sums=true")
    assert "leave it out of a laboratory" in refusal(*shared)
    machines = (*shared, "committee.roster=elected")
    assert "leave it out of a laboratory" not in refusal(*machines)
    assert "beside learning.reveals_samples" in refusal(*machines, "learning.reveals_samples=true")
    assert "needs 4 members" in refusal(*machines, "committee.size=3")
    assert "say learning.shares_sums" in refusal(*machines, "learning.options={shared = true}")


def test_a_graph_has_a_model_for_each_user() -> None:
    graph = ["federation.scenario=scripted", "federation.graph={a = [], b = ['a']}"]
    assert Settings.load(None, [*graph, "federation.users=2"]).federation.names == ("a", "b")
    assert "one model for each of the 3 users" in refusal(*graph, "federation.users=3")


def test_a_section_is_checked_whenever_it_is_made() -> None:
    assert replace(TrainingSettings(), epochs=3).epochs == 3
    with pytest.raises(SettingsError, match="epochs must be at least 1, not 0"):
        replace(TrainingSettings(), epochs=0)
    with pytest.raises(SettingsError, match=r"2 settings are wrong:\n- alpha .*\n- epsilon"):
        UnlearningSettings(alpha=0, epsilon=-1)


def test_every_situation_has_a_partition() -> None:
    assert set(get_args(Situation)) == {*PARTITIONS, AS_HELD}
    assert get_type_hints(FederationSettings)["situation"] == Situation


def refused_in_a_fresh_interpreter(text: str, path: Path) -> subprocess.CompletedProcess[str]:
    path.write_text(text, encoding="utf-8")
    program = f"""
import sys
from blockful_py import Settings
from blockful_py.errors import SettingsError
try:
    Settings.load({str(path)!r})
except SettingsError as error:
    print(error)
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", []),
        (
            "[learning]\nepoch = 3",
            ["learning.epoch is an unknown setting (did you mean 'learning.epochs'?)."],
        ),
        (
            "[federation]\nusers = 9",
            [
                "scenario 'paper14' has 14 users and 1 round, not 9 and 1: leave federation.users and "
                "federation.rounds out, or choose scenario 'organic'."
            ],
        ),
    ],
)
def test_settings_are_checked_without_what_takes_seconds_to_import(
    tmp_path: Path, text: str, said: list[str]
) -> None:
    assert refused_in_a_fresh_interpreter(text, tmp_path / "s.toml").stdout.splitlines() == [*said, "[]"]


def test_an_import_that_takes_seconds_would_be_seen() -> None:
    program = (
        f"import blockful_py.learning.training_setup, sys; print([n for n in {HEAVY!r} if n in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "'torch'" in result.stdout and "'numpy'" in result.stdout


def test_references_are_chosen_again_by_methods_that_train_from_them() -> None:
    again = ("federation.scenario=organic", "unlearning.references='chosen again'")
    assert Settings.load(None, again).unlearning.references == "chosen again"
    message = refusal(*again, "unlearning.parallel=ppnr")
    assert message.startswith("unlearning.parallel 'ppnr' does not train models from their references")
    assert "take retrain, retrain_ahead, clean_line, or leave unlearning.references 'kept'" in message
