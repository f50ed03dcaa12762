# SPDX-License-Identifier: Apache-2.0
"""The preparation of each page's reader, and replacements of words that every reader fills in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

RUNS = {
    "trained": ("", ".venv/bin/blockful train examples/paper14.toml --run runs/mine"),
    "forgotten": (
        "trained",
        ".venv/bin/blockful unlearn --run runs/mine --start r5 --start r7 --class 3 --paradigm parallel",
    ),
    "demo": ("", ".venv/bin/blockful demo examples/paper14.toml"),
}
"""Runs that pages presuppose: the run that each begins with, and the command that makes it of that one."""

PRINTED = """\
printed() { .venv/bin/python -m tests.walkthroughs.printed "$@"; }
"""
"""A function of the shell: values of a file that `--json` wrote, as a reader copies them from a terminal."""

KEY = """\
openssl ecparam -name prime256v1 -genkey -noout -out key.pem
openssl ec -in key.pem -pubout -out key.pub.pem
"""
"""As hand-a-certificate-on.md makes it."""


@dataclass(frozen=True)
class Walk:
    """The way to follow a page from its top.

    Attributes:
        run: name in RUNS for the content of the reader's `runs/`.
        before: commands of other pages, which this one presupposes.
        stands_for: words of the page, and their replacements here.
        says: words of the page that the commands print.
        nodes: whether the page presupposes nodes of two chains, which are at $LIVE and $ARCHIVE.
        after: the page that the reader has followed just before, in the same folder.
        ports: ports on the page, which are replaced by free ones.
        ends: exit statuses other than 0 that the page announces, by words of the command.
    """

    run: str = ""
    before: str = ""
    stands_for: Mapping[str, str] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    nodes: bool = False
    after: str = ""
    ports: tuple[str, ...] = ()
    ends: Mapping[str, int] = field(default_factory=dict)


FEDERATION = """\
mkdir -p .blockful/federation
for party in founder member-1 member-2 member-3 member-4 participant-1 participant-2; do
    (umask 077; echo "$BLOCKFUL_PASSPHRASE" >.blockful/federation/$party.words)
done
"""
"""Has `blockful up` take one passphrase for all parties, so that a reader can be each of them."""

PARTIES = """\
.venv/bin/blockful devnet status --folder .blockful/federation/chains --json >devnet.txt
LIVE=$(printed devnet.txt 0 url) ARCHIVE=$(printed devnet.txt 1 url)
ln -s .blockful/federation/participant-1 hospital
ln -s .blockful/federation/member-1 member
cp .blockful/federation/founder/run/federation.toml federation.toml
until .venv/bin/blockful participant status hospital --json >status.txt && grep -q r1 status.txt; do
    sleep 1
done
"""
"""Names on a federation's pages for files that `blockful up` made, once user 1 has published a model."""

GANACHE = "sed -i '/^devnet = /d' examples/paper14.toml"
"""Has runs take the chains of `blockful devnet up`, where several processes work on one run."""

REQUESTS_DONE = """\
until .venv/bin/blockful participant status hospital --json >status.txt &&
    [ "$(printed status.txt next)" = None ] &&
    [ "$(printed status.txt requests 1 waits_for)" = "[]" ] &&
    [ "$(printed status.txt requests 2 waits_for)" = "[]" ]; do
    sleep 1
done
"""
"""Waits for the participant's requests and trainings: only then it leaves, and its newest job is done."""

IDLE = {"blockful resume": 1, "blockful abort": 1}
"""Statuses where no job is open."""

STATUS = ".venv/bin/blockful participant status .blockful/federation/north"
"""A reader repeats it until all models are published."""

NAMES = {"LIVE": "$LIVE", "ARCHIVE": "$ARCHIVE"}

WALKS = {
    "README.md": Walk("demo", before=GANACHE),
    "deploy/besu/README.md": Walk(
        stands_for={
            **{f"0xMEMBER{number}": "0x" + 40 * str(number) for number in range(1, 5)},
            "0xPAYER": "0x" + 40 * "5",
        }
    ),
    "docs/explanation/linear-inheritance.md": Walk(says=("the record verifies",)),
    "docs/how-to/recall-a-model.md": Walk(
        "trained",
        before=PRINTED
        + """\
.venv/bin/blockful account create --users 1 --json >accounts.txt
printf 'name,account\\nClinic Nord,\\n,%s\\n' $(printed accounts.txt 0 address) >recipients.csv
""",
        stands_for={
            "notice.json": "$(grep -il $(printed accounts.txt 0 address | cut -c3-) recall/notices/*)",
            "mine.json": "accounts/user-1.json",
        },
        ends={"recall status": 1},
    ),
    "docs/how-to/add-models-data-and-methods.md": Walk("trained"),
    "docs/how-to/check-proofs-and-erasures.md": Walk(
        before=PRINTED
        + """\
.venv/bin/blockful deploy examples/paper14.toml --run runs/mine --set archive.retention_days=365
.venv/bin/blockful reader keygen auditor.json --json >auditor.txt
.venv/bin/blockful auditor add $(printed auditor.txt account) --key $(printed auditor.txt encryption_key) \\
    --run runs/mine
.venv/bin/blockful train --run runs/mine
.venv/bin/blockful unlearn --run runs/mine --start r5 --start r7 --class 3 --paradigm parallel
.venv/bin/blockful export-proof --run runs/mine r6 --json >proof.txt
cp runs/mine/certificates/erasure-*.json erasure.json
.venv/bin/blockful certificate show erasure.json >shown.txt
.venv/bin/python -m tests.walkthroughs.made_up_audit erasure.json >audit.json
""",
        stands_for={
            "r6.proof.json --block-hash 0x2d95": "r6.proof.json --block-hash $(printed proof.txt block_hash)",
            "--key-id 0xbb65": "--key-id $(printed proof.txt key_ids 1)",
            "--archive-head 0x4246": "--archive-head $(printed proof.txt archive_head)",
            "erasure.json --block-hash 0x2d95": "erasure.json --block-hash $(printed proof.txt block_hash)",
            "--roster-id 0x23e7": "--roster-id $(grep -A1 '^Roster of epoch 1' shown.txt | tail -n 1)",
        },
    ),
    "docs/how-to/bring-your-own-files.md": Walk(
        stands_for={STATUS: f"until {STATUS} --json | grep -q '\"federation\": 6'; do sleep 1; done"},
        says=("the certificate holds", 'by "south"'),
    ),
    "docs/how-to/forget-a-person.md": Walk(
        stands_for={STATUS: f"until {STATUS} --json | grep -q '\"federation\": 6'; do sleep 1; done"},
        says=("the certificate holds",),
    ),
    "docs/how-to/export-to-hugging-face.md": Walk("forgotten", before=KEY),
    "docs/how-to/forget.md": Walk("trained", ends=IDLE),
    "docs/how-to/hand-a-certificate-on.md": Walk(
        "forgotten", before="cp runs/mine/certificates/erasure-*.json erasure.json"
    ),
    "docs/how-to/read-a-report.md": Walk("demo"),
    "docs/how-to/rerun-experiments.md": Walk(),
    "docs/how-to/sign-requests.md": Walk(
        stands_for={
            "0x1f2e": "$(.venv/bin/python -m tests.walkthroughs.wallet request.json accounts/user-7.json)"
        }
    ),
    "docs/how-to/track-with-mlflow.md": Walk(before="cp examples/paper14.toml settings.toml"),
    "docs/how-to/use-your-own-nodes.md": Walk(
        nodes=True, stands_for={"http://127.0.0.1:8545": "$LIVE", "http://127.0.0.1:8546": "$ARCHIVE"}
    ),
    "docs/how-to/federate-machines.md": Walk(before=PRINTED + FEDERATION, nodes=True, stands_for=NAMES),
    "docs/how-to/ask-to-be-forgotten.md": Walk(before=PARTIES, after="docs/how-to/federate-machines.md"),
    "docs/how-to/run-a-member.md": Walk(
        before=REQUESTS_DONE, after="docs/how-to/ask-to-be-forgotten.md", stands_for=NAMES
    ),
    "docs/how-to/monitor-a-federation.md": Walk(
        after="docs/how-to/run-a-member.md", stands_for=NAMES, ports=("9301",)
    ),
    "docs/how-to/join-a-federation.md": Walk(after="docs/how-to/monitor-a-federation.md", stands_for=NAMES),
    "docs/how-to/run-a-committee.md": Walk(
        before=GANACHE,
        ports=("7001", "7002", "7003", "7004"),
        ends={"# makes the motion": 6},
    ),
    "docs/how-to/watch-a-federation.md": Walk(
        "forgotten",
        before=PRINTED
        + """\
.venv/bin/blockful reader keygen auditor.json --json >auditor.txt
.venv/bin/blockful auditor add $(printed auditor.txt account) --key $(printed auditor.txt encryption_key) \\
    --run runs/mine
""",
        stands_for={"http://127.0.0.1:8000": "$(grep -o 'http://[0-9.:]*' terminal-0.log)"},
    ),
    "docs/reference/jobs.md": Walk("trained", ends=IDLE),
    "docs/reference/simulation.md": Walk(),
    "docs/reference/learning.md": Walk("demo"),
    "docs/tutorial/first-certificate.md": Walk(
        says=(
            "14 models checked, 0 failed",
            "the certificate holds: 9 models, class 3",
            "the members who signed no longer hold the data keys of 9 sealed files",
        )
    ),
}
