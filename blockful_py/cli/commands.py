# SPDX-License-Identifier: Apache-2.0
"""The table of all commands, in the order and under the headings of `blockful --help`.

A command's arguments, help and example come from its function, whose module is imported only when the command
runs or prints its own help.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from blockful_py.monitoring.logs import LogLevel
from blockful_py.terminal import printable

INFO, WARNING = LogLevel.INFO, LogLevel.WARNING


@dataclass(frozen=True)
class Command:
    """A command of the table.

    Attributes:
        function: "module:function" within `package`.
        summary: fits a line of 80 columns.
        log: default log level; None for commands without log options, which neither serve nor lead proposals.
    """

    name: str
    function: str
    summary: str
    log: LogLevel | None = None
    package: str = "blockful_py.cli"


@dataclass(frozen=True)
class Group:
    """Commands that share their first word."""

    name: str
    summary: str
    commands: tuple[Command, ...]


ACCOUNT = Group(
    "account",
    "Make and list the Ethereum keystores of users.",
    (
        Command("create", "account:create", "Make accounts for users who have none."),
        Command("list", "account:list_", "Show the addresses of all users with an account."),
    ),
)

REQUEST = Group(
    "request",
    "Make a request to forget and have its owners sign it.",
    (
        Command("make", "request:make", "Write an unsigned request."),
        Command("sign", "request:sign", "Add the signature of an owner's keystore."),
        Command("add", "request:add", "Add a signature that a wallet made."),
        Command("show", "request:show", "Show a request and its missing signatures."),
    ),
)

CERTIFICATE = Group(
    "certificate",
    "Issue, show, verify and attest erasure certificates.",
    (
        Command("issue", "certificate:issue", "Have a quorum sign the outcome of a request.", WARNING),
        Command("show", "certificate:show", "Print the contents of a certificate."),
        Command("verify", "certificate_verify:verify", "Check a certificate."),
        Command("attest", "certificate_attest:attest", "Write a certificate as a signed in-toto statement."),
    ),
)

RECALL = Group(
    "recall",
    "Tell recipients of models of recalls, record their answers.",
    (
        Command("deliver", "recall:deliver", "State who received a version of a model."),
        Command("status", "recall:status", "List recipients and their answers."),
        Command("notify", "recall:notify", "Write notices and a feed; post to webhooks."),
        Command("answer", "recall_recipient:answer", "Check a notice and sign an answer."),
        Command("record", "recall:record", "Put recipients' answers on the record."),
        Command("card", "recall_recipient:card", "Mark the card of a recalled model's hub folder."),
    ),
)

READER = Group(
    "reader",
    "Make a reader's keys, register, leave, bar and readmit.",
    (
        Command("keygen", "reader:keygen", "Make the secrets of a new reader or auditor."),
        Command("register", "reader:register", "Register a reader, or replace its encryption key."),
        Command("leave", "reader:leave", "Remove a reader from the live chain."),
        Command("bar", "reader:bar", "Have the committee bar an account from reading.", WARNING),
        Command("readmit", "reader:readmit", "Have the committee readmit a barred account.", WARNING),
    ),
)

AUDITOR = Group(
    "auditor",
    "Add and remove auditors, sign in, replay trainings.",
    (
        Command("add", "auditor:add", "Have the committee register an auditor.", WARNING),
        Command("remove", "auditor:remove", "Have the committee remove an auditor.", WARNING),
        Command("sign-in", "auditor:sign_in", "Sign in to an explorer as an auditor."),
        Command("replay", "auditor:replay", "Replay the trainings that an auditor is drawn for.", INFO),
    ),
)

COMMITTEE = Group(
    "committee",
    "Run members as processes; elect, agree, leave, weigh the risk.",
    (
        Command("init", "committee_member:init", "Make a member: a folder with fresh keys."),
        Command("serve", "committee_serve:serve", "Run a member until it is stopped.", INFO),
        Command("status", "committee:status", "Show epoch, election, members and alarms."),
        Command("fund", "committee:fund", "Give members gas money on development chains."),
        Command("join", "committee_member:join", "Register a member with a stake, or raise its stake."),
        Command("enter", "committee_member:enter", "Give a member a new federation file."),
        Command("rotate", "committee:rotate", "Elect the next committee.", WARNING),
        Command("leave", "committee_member:leave", "Take a member out of elections, then its stake."),
        Command("keygen", "committee:keygen", "Have the members generate a new group key.", WARNING),
        Command("agree", "committee_member:agree", "Agree that a member votes for a motion."),
        Command("risk", "committee_risk:risk", "Compute the risk that too many members attack."),
    ),
)

MACHINES = Group(
    "federation",
    "Make a federation of machines, and change its file.",
    (
        Command("create", "federation:create", "Deploy the contracts and write the federation file."),
        Command("found", "federation:found", "Elect the first committee and complete the file.", WARNING),
        Command("change", "federation:change", "Have the committee change the file.", WARNING),
    ),
)

PARTICIPANT = Group(
    "participant",
    "Take part in a federation of machines with one's own data.",
    (
        Command("init", "participant:init", "Make a participant's folder with fresh keys."),
        Command("join", "participant:join", "Check a federation file and register."),
        Command("serve", "participant:serve", "Train, publish and do one's part of requests.", INFO),
        Command("status", "participant:status", "Show own models, and the requests that wait."),
        Command("log", "participant:log", "Show what a participant did."),
        Command("request", "participant_requests:request", "File a request, or draft it.", WARNING),
        Command("sign", "participant_requests:sign", "Sign a request that several owners make.", WARNING),
        Command(
            "certificate", "participant_requests:certificate", "Have a finished request certified.", WARNING
        ),
        Command(
            "forget-person",
            "participant_persons:forget_person",
            "File a request for a person's rows.",
            WARNING,
        ),
        Command("persons", "participant_persons:persons", "List the cases of persons, with deadlines."),
        Command("answer", "participant_persons:answer", "Write the answer to a person.", WARNING),
        Command("pause", "participant:pause", "Start no new work."),
        Command("resume", "participant:resume", "Go on after a pause."),
        Command("leave", "participant:leave", "Leave the federation."),
        Command("admit", "participant_admission:admit", "Have the committee let an account join.", WARNING),
        Command("bar", "participant_admission:bar", "Have the committee bar a participant.", WARNING),
        Command("readmit", "participant_admission:readmit", "Have the committee readmit one.", WARNING),
    ),
)

DEVNET = Group(
    "devnet",
    "Start, show and stop two development chains.",
    (
        Command("up", "devnet:up", "Start both chains in the background."),
        Command("status", "devnet:status", "Show which chains run."),
        Command("down", "devnet:down", "Stop both chains and keep their data."),
    ),
)

Sections = Mapping[str, tuple[Command | Group, ...]]
"""Commands by the heading of `blockful --help` that lists them."""

SECTIONS: Sections = {
    "Federation": (
        Command("up", "up:up", "Start a federation of processes on this machine.", INFO),
        Command("ps", "up:ps", "Show the processes of the federation that `up` started."),
        Command("down", "up:down", "Stop the federation that `up` started."),
        Command("follower", "follower:follower", "Ask the chains once for all processes of a machine.", INFO),
        Command("init", "init:init", "Write example settings to start from."),
        Command("demo", "demo:demo", "Train, publish, forget, verify and report.", WARNING),
        Command("deploy", "train:deploy", "Deploy the contracts and make a run directory."),
        Command("data", "data:data", "Show what each user has, or where to get data sets."),
        Command("train", "train:train", "Train the users' models and publish them.", WARNING),
        Command(
            "unlearn", "unlearn:unlearn", "Make models forget, with all that inherit from them.", WARNING
        ),
        REQUEST,
        Command("adopt", "adopt:adopt", "Put models made elsewhere on the record.", WARNING),
        Command("recompute", "adopt:recompute", "Compute withdrawn merges again.", WARNING),
        Command("reach", "adopt:reach", "List the models that a data set reached."),
        ACCOUNT,
        Command("evaluate", "models:evaluate", "Score models on the held-out data."),
        Command("report", "report:report", "Print and draw a finished run's report again."),
        Command("explorer", "explorer:explorer", "Show a federation in the browser.", INFO),
    ),
    "Jobs": (
        Command("jobs", "jobs:jobs", "List the training and unlearning jobs of a run."),
        Command("resume", "jobs:resume", "Finish an interrupted job.", WARNING),
        Command("abort", "jobs:abort", "Give up an interrupted job."),
    ),
    "Record": (
        Command("graph", "models:graph", "List the models and their references."),
        Command("verify", "verify:verify", "Check models on the record."),
        Command("audit", "audit:audit", "List the archive and check that it is whole."),
        Command("export-proof", "proof:export_proof", "Write a proof that models are on the record."),
        Command("export", "export:export", "Write a model, with card, proof and certificate, for others."),
        Command("verify-proof", "proof:verify_proof", "Check a proof without a node."),
        CERTIFICATE,
        RECALL,
        Command("cid", "files:cid", "Print the CID of a file."),
        Command("sweep", "files:sweep", "Remove what a crash left in a store."),
    ),
    "Readers and auditors": (
        Command("read", "reader:read", "Decrypt a model for a registered reader."),
        READER,
        AUDITOR,
        Command("expire", "auditor:expire", "Destroy keys whose retention is over."),
    ),
    "Committee": (COMMITTEE,),
    "Machines": (MACHINES, PARTICIPANT),
    "Development": (DEVNET,),
}


ENTRY_POINTS = "blockful.commands"
"""The group of entry points; each is a `Sections`."""

LAB = "blockful-lab"
PACKAGES = {"experiment": LAB, "simulate": LAB}
"""The package of each command of this project that `blockful` leaves out."""


@cache
def added_sections() -> Sections:
    """The commands that installed packages add.

    Warns about a package that cannot be imported, and leaves it out.
    """
    found: dict[str, tuple[Command | Group, ...]] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            sections: Sections = entry.load()
        except ImportError as error:
            sys.stderr.write(
                printable(f"warning: {entry.value} has commands and cannot be loaded: {error}\n")
            )
            continue
        found |= {heading: (*found.get(heading, ()), *rows) for heading, rows in sections.items()}
    return found
