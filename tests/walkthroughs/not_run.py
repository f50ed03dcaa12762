# SPDX-License-Identifier: Apache-2.0
"""Commands of the documentation that no test runs, each with the reason; all others are run."""

from __future__ import annotations

SETS_UP = "sets the checkout up, or is what runs the tests"
DOCKER = "needs Docker and its images"
MEASURES = "measures for minutes"
UP = "`blockful up` types it for each party, with options of its own"
MACHINES = (
    "needs a motion of a federation of machines; tests/participant/test_file_changes.py has a quorum agree"
)
ELECTED = "holds elections for minutes, as tests/member/test_elections.py and `blockful up` do"
LOGS = "reads logs of other machines; tests/monitoring/test_logs.py reads such"
HOURS = "takes hours"
INSTALLS = "downloads packages"
UPLOADS = "needs an account at a service"

PAGES = {
    "CONTRIBUTING.md": SETS_UP,
    "RELEASING.md": "publishes; tests/test_release.py runs the script",
    "benchmarks/results/tuning.md": HOURS,
    "deploy/compose/README.md": DOCKER,
    "docs/reference/dependencies.md": INSTALLS,
    "docs/reference/contracts.md": "rewrites what the tests use; `make contracts` and tests/contracts run it",
    "docs/how-to/replay-trainings.md": "needs a motion; tests/participant/test_processes.py has an auditor "
    "replay",
    "docs/how-to/run-on-a-cluster.md": "needs several hosts; tests/engine/clusters.py starts Ray on one",
    "docs/reference/gas.md": MEASURES,
    "docs/how-to/audit-language-models.md": "measures for minutes; tests/experiments/test_family.py has a "
    "family forget",
    "docs/explanation/shared-sums.md": "takes minutes; tests/participant/test_sums_processes.py types it",
}
"""Pages none of whose commands is run."""

ELSEWHERE = {
    "docs/how-to/adopt-a-registry.md": "adopt/test_how_to.py",
    "docs/how-to/find-models-that-data-reached.md": "adopt/test_how_to.py",
    "docs/how-to/train-language-models.md": "learning/test_language_page.py",
    "docs/how-to/use-flower.md": "flower/test_documented.py",
    "docs/tutorial/your-own.md": "cli/test_wheel.py",
}
"""Pages that other tests follow: with an app of Flower's, modules of the page, or an installed wheel."""

COMMANDS = {
    "README.md": {
        "make demo": "the demo, with smaller settings, is what the page's walk begins with",
        "make test ": SETS_UP,
        "pip install": "tests/cli/test_wheel.py installs the wheel",
        "blockful demo    ": "tests/cli/test_wheel.py runs the demo of the wheel",
    },
    "deploy/besu/README.md": {
        "docker compose --project-name live --env-file": DOCKER,
        "docker compose --project-name archive --env-file networks/archive/network.env -f "
        "deploy/besu/compose.yaml": DOCKER,
        "curl": DOCKER,
        "docker compose --project-name live logs": DOCKER,
        "HOST=192.0.2.11": DOCKER,
    },
    "docs/how-to/bring-your-own-files.md": {
        "participant init hospital": UP,
        "federation create founder": UP,
        "participant join hospital": UP,
    },
    "docs/how-to/forget-a-person.md": {"participant init hospital": UP, "participant join hospital": UP},
    "docs/how-to/check-proofs-and-erasures.md": {
        "auditor add": "typed before: an auditor reads what was published after it was named",
        "--live-url": "the walk's run has chains in its folder, which no URL reaches",
    },
    "docs/how-to/export-to-hugging-face.md": {"hf upload": UPLOADS},
    "docs/how-to/federate-machines.md": {"federation found": UP},
    "docs/how-to/forget.md": {"experiment audit": "takes minutes a seed"},
    "docs/how-to/join-a-federation.md": {
        "participant init": UP,
        "--archive-url ARCHIVE\n": UP,
        "--disclose": UP,
        "--replay-by": UP,
        "participant serve hospital\n": UP,
        "--host 0.0.0.0": "opens a port to other hosts, under a name that is theirs",
    },
    "docs/how-to/monitor-a-federation.md": {
        "committee serve member --federation federation.toml --port 7001": UP,
        "participant serve hospital": UP,
        "curl": "asks the member of a command that is not run; tests/member/test_monitoring.py asks one",
        "--log-format json": LOGS,
        "BLOCKFUL_LOG_FORMAT": LOGS,
        "jq": LOGS,
    },
    "docs/how-to/run-a-committee.md": {
        "committee init pool": ELECTED,
        "committee.roster=elected": ELECTED,
        "committee serve pool": ELECTED,
        "committee join pool": ELECTED,
        "lets the archive chain follow": ELECTED,
        "train --run runs/elected": ELECTED,
        "a day later": ELECTED,
        "committee leave pool": ELECTED,
        "federation change": MACHINES,
        "participant admit": MACHINES,
        "participant bar": MACHINES,
        "participant readmit": MACHINES,
    },
    "docs/how-to/run-a-member.md": {"committee init": UP, "committee serve": UP, "committee join": UP},
    "docs/how-to/watch-a-federation.md": {"--federation": UP},
    "docs/how-to/rerun-experiments.md": {
        "--data digits --level class": HOURS,
        "--data shapes --level class": HOURS,
        "--data fashion_mnist_small": HOURS,
        "--data cifar10_small": HOURS,
        "--method cheats": HOURS,
        "audit_errors cheats": "needs the rows of a command that is not run",
        "requests_in_turn --data": MEASURES,
        "benchmarks.pair --seeds": HOURS,
        "--ask class": HOURS,
        "--ask canaries": HOURS,
        "single_model --output": MEASURES,
        "experiment family": MEASURES,
        "--scale small --seeds 5-9 --output tables": HOURS,
        "--table Fashion-MNIST --seeds": HOURS,
        "--network alexnet": HOURS,
        "--network resnet18": HOURS,
        "--table TinyImageNet": HOURS,
        "--requests 1000 --": HOURS,
    },
    "docs/how-to/track-with-mlflow.md": {"pip install": INSTALLS},
    "docs/how-to/use-your-own-nodes.md": {"storage.api": "needs two IPFS nodes; tests/ipfs has them"},
    "docs/reference/simulation.md": {"simulation_constants\n": MEASURES, "--only requests": MEASURES},
    "docs/tutorial/first-certificate.md": {"make setup": SETS_UP},
}
"""By page: words that stand in exactly one of its commands, a newline at its end, and why it is not run."""


def is_excused(page: str, command: str) -> bool:
    return any(words in f"{command}\n" for words in COMMANDS.get(page, ()))
