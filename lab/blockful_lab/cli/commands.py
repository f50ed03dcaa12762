# SPDX-License-Identifier: Apache-2.0
"""The table of the lab's commands, which `blockful` finds by the entry point `blockful.commands`."""

from __future__ import annotations

from functools import partial

from blockful_py.cli.commands import Command, Group, Sections

lab_command = partial(Command, package="blockful_lab.cli")

EXPERIMENT = Group(
    "experiment",
    "Rerun the experiments.",
    (
        lab_command("audit", "experiment_audit:audit", "Audit every method beside models that never knew."),
        lab_command(
            "attack", "experiment_attack:attack", "Tell models that forgot from ones that never knew."
        ),
        lab_command("family", "experiment_family:family", "Have small language models forget an owner."),
        lab_command("tables", "experiment_tables:tables", "Measure the paper's tables."),
        lab_command("scale", "experiment_scale:scale", "Simulate the paper's scalability section."),
    ),
)

SECTIONS: Sections = {
    "Development": (
        EXPERIMENT,
        lab_command("simulate", "simulate:simulate", "Simulate requests, committee and chains."),
    ),
}
