# SPDX-License-Identifier: Apache-2.0
"""Settings of the federation, of unlearning, and of the stores and chains of the record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from blockful_py.settings.section import Count, NonNegative, Positive, Range, Section

Urls = str | tuple[str, ...] | None
Situation = Literal[
    "few_hold", "all_hold", "iid", "sample_non_iid", "label_non_iid", "dirichlet", "shards", "parties"
]


@dataclass(frozen=True)
class FederationSettings(Section):
    """The federation: users, the references of their models, their data.

    Attributes:
        scenario: "paper14" (a scripted graph after the paper's experiment), "scripted" (the graph in `graph`)
            or "organic" (eq. 1 chooses).
        situation: how the data is shared out: "few_hold" (only the users of the starts hold the classes to
            forget), "all_hold", "iid", "sample_non_iid", "label_non_iid", "dirichlet", "shards" or "parties"
            (each file of the data set "parties" is a user's).
        missing: classes that a user lacks in `label_non_iid`, by user.
        concentration: of the Dirichlet distribution in `dirichlet`; small values make users unlike.
        shards: pieces that each user gets in `shards`.
        users, rounds: each user publishes one model a round (`paper14`: 14 users, one round).
        candidates, references, candidate_window: K and N of eq. 1, and how many of the newest models K is
            drawn from (`organic`).
        wave: models that train side by side and are published together (`organic`).
        patience: seconds that a participant among machines waits for a model that it may draw from, once no
            other is published any more; then it draws from those that are there (`organic`).
        graph: references by model, model i by user i (`scripted`).
        parties: names of participants by number, or by account (0x...): each its own word, for people.
        accounts: folder of the users' Ethereum keystores (`blockful account create`); without one, keys that
            derive from the seed.
    """

    scenario: Literal["paper14", "scripted", "organic"] = "paper14"
    situation: Situation = "few_hold"
    missing: dict[int, tuple[int, ...]] = field(default_factory=dict)
    concentration: Positive = 0.5
    shards: Count = 2
    users: Annotated[int, Range(ge=2, le=10_000)] = 14
    rounds: Annotated[int, Range(ge=1, le=1000)] = 1
    candidates: Count = 5
    references: Count = 2
    candidate_window: Count = 7
    wave: Count = 2
    patience: Positive = 3600.0
    graph: dict[str, tuple[str, ...]] | None = None
    parties: dict[str, str] = field(default_factory=dict)
    accounts: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Models in the order of their users, round by round."""
        if self.scenario == "scripted" and self.graph:
            return tuple(self.graph)
        return tuple(f"r{number}" for number in range(1, self.users * self.rounds + 1))

    def party(self, user: int, account: str = "") -> str | None:
        """The name of a participant, by its number or its account (0x...); None where it gave none."""
        return self.parties.get(account.lower()) or self.parties.get(str(user))


@dataclass(frozen=True)
class UnlearningSettings(Section):
    """The request: the data to forget, its starts, the methods.

    Attributes:
        starts: models that are unlearned first, by name.
        classes: labels to forget.
        clients, samples: users, or samples as "user:row" (row from 0 in the user's training data), to forget
            instead of `classes`, which then only decide how `few_hold` shares the data out.
        parallel, sequential: the method of each paradigm (docs/reference/unlearning.md lists them); "auto"
            takes the best that the request's situation allows.
        alpha: discount factor of eq. 7.
        epsilon: descendants whose update is at most this long (L2) stay.
        options: a method's own settings by its name, such as {clean_increments = {heal_steps = 8}}.
        blocks: of the live chain's node, in which an owner among machines does its part for one model.
        unanswered: what becomes of a model whose owner has not retrained it by then: members "withdraw" it,
            or the request has to "wait".
    """

    starts: tuple[str, ...] = ("r5", "r7")
    classes: tuple[int, ...] = (3,)
    clients: tuple[int, ...] = ()
    samples: tuple[str, ...] = ()
    parallel: str = "auto"
    sequential: str = "auto"
    alpha: Positive = 1.0
    epsilon: NonNegative = 0.0
    options: dict[str, dict[str, bool | int | float | str]] = field(default_factory=dict)
    blocks: Annotated[int, Range(ge=1, le=1_000_000)] = 100_000
    unanswered: Literal["withdraw", "wait"] = "withdraw"


@dataclass(frozen=True)
class AccessSettings(Section):
    """Access to models, and to the federation.

    Attributes:
        joined_by: "any" registered reader reads every current model; by "publication", those only that
            were published after it had joined (heights of the live chain; a redaction does not count as
            publication).
        participants: "any" account joins a federation of machines, or those that the committee has
            "admitted"; in force for ever once deployed.
    """

    joined_by: Literal["any", "publication"] = "any"
    participants: Literal["any", "admitted"] = "any"


@dataclass(frozen=True)
class ArchiveSettings(Section):
    """Retention of replaced versions for auditors.

    Attributes:
        retention_days: `blockful expire` destroys the auditors' keys of versions replaced longer ago; never
            unless set.
    """

    retention_days: NonNegative | None = None


@dataclass(frozen=True)
class ControllerSettings(Section):
    """Who answers for erasures, as attestations of erasure certificates name them.

    Attributes:
        name, contact: the controller (GDPR Art. 4(7)), and where to reach it.
        processors: who processes the data on its behalf (GDPR Art. 4(8)).
    """

    name: str | None = None
    contact: str | None = None
    processors: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChainSettings(Section):
    """The two chains; without URLs, two devnets of our own are started.

    Attributes:
        live_url, archive_url: of the nodes' JSON-RPC; a list names further nodes of the chain, which are used
            in this order where one does not answer, lags or is of another chain.
        devnet: the kind of devnets of our own: "ganache" (processes of Node.js), or "embedded" (files that
            each process executes itself, extra `embedded`); Ganache where it is installed unless set.
        confirmations: blocks that must follow a block until it counts; 0 where blocks are final.
        live_chain_id, archive_chain_id: that the nodes must report (EIP-155), and devnets of our own take.
        max_fee_gwei: most for a unit of gas; where a network asks for more, nothing is sent.
        packaging_interval: seconds between blocks.
        block_size: bytes of transactions in a block.
        chunk_models: models redacted or archived in one transaction.
    """

    live_url: Urls = None
    archive_url: Urls = None
    devnet: Literal["ganache", "embedded"] | None = None
    confirmations: Annotated[int, Range(ge=0, le=100)] = 0
    max_fee_gwei: Positive | None = None
    live_chain_id: Count = 1337
    archive_chain_id: Count = 1338
    packaging_interval: NonNegative = 15.0
    block_size: Annotated[int, Range(ge=1_000)] = 1_000_000
    chunk_models: Annotated[int, Range(ge=1, le=128)] = 100


@dataclass(frozen=True)
class RunSettings(Section):
    """Code of one's own that a run may import, as package.module:object.  No federation file has this
    section, so nobody names code for others.

    Attributes:
        allow: models, trainers and unlearning methods that a federation file or a request may name.
        callbacks: `blockful_py.callbacks` to be told what happens; "mlflow" is one that is built in.
    """

    allow: tuple[str, ...] = ()
    callbacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class EngineSettings(Section):
    """Where the tasks of this machine's jobs are carried out.  No federation file has this section.

    Attributes:
        kind: "here" (in this process), "processes" (local ones) or "ray" (a cluster, extra `ray`).
        address: host:port of the Ray cluster's head.
        workers: how many local processes; as many as there are cores unless set.
    """

    kind: Literal["here", "processes", "ray"] = "here"
    address: str | None = None
    workers: Annotated[int, Range(ge=1, le=1024)] | None = None


@dataclass(frozen=True)
class StorageSettings(Section):
    """The stores of models: in the run's folder, or on two IPFS nodes (extra `ipfs`).

    Attributes:
        api, archive_api: multiaddrs of the nodes' HTTP APIs, such as "/ip4/127.0.0.1/tcp/5001", for the
            models of the live chain and of the archive; a node each, as what it pins is what the store keeps.
        seconds: how long a node may look for one block.
    """

    api: str | None = None
    archive_api: str | None = None
    seconds: Positive = 30.0
