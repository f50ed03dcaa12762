# SPDX-License-Identifier: Apache-2.0
"""Settings of the federation, of unlearning, and of the record's stores and chains."""

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
        scenario: "paper14" (a scripted graph after the paper's experiment), "scripted" (the graph in
            `graph`), "organic" (selection by eq. 1) or "adopted" (models made elsewhere; nobody trains).
        situation: partition of the data: "few_hold" (only the users of the starts hold the classes to
            forget), "all_hold", "iid", "sample_non_iid", "label_non_iid", "dirichlet", "shards" or "parties"
            (each file of the data set "parties" belongs to one user).
        missing: classes that a user lacks in `label_non_iid`, by user.
        concentration: parameter of the Dirichlet distribution in `dirichlet`; small values make users unlike.
        shards: pieces that each user gets in `shards`.
        users, rounds: each user publishes one model per round (`paper14`: 14 users, one round).
        candidates, references, candidate_window: K and N of eq. 1, and the number of newest models that K is
            drawn from (`organic`).
        wave: number of models trained side by side and published together (`organic`).
        patience: seconds that a participant among machines waits for a missing candidate after the last
            publication; then it draws from the published models (`organic`).
        graph: references by model, model i by user i (`scripted`).
        parties: names of participants by number, or by account (0x...), chosen by themselves, for display.
        accounts: folder of the users' Ethereum keystores (`blockful account create`); by default, keys
            derived from the seed.
    """

    scenario: Literal["paper14", "scripted", "organic", "adopted"] = "paper14"
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
    def is_adopted(self) -> bool:
        """Whether the models were made elsewhere, so that train does not apply."""
        return self.scenario == "adopted"

    @property
    def names(self) -> tuple[str, ...]:
        """Models in the order of their users, round by round; of adopted ones nobody knows beforehand."""
        if self.is_adopted:
            return ()
        if self.scenario == "scripted" and self.graph:
            return tuple(self.graph)
        return tuple(f"r{number}" for number in range(1, self.users * self.rounds + 1))

    def party(self, user: int, account: str = "") -> str | None:
        """The name of a participant, by its number or its account (0x...); None if it gave none."""
        return self.parties.get(account.lower()) or self.parties.get(str(user))


@dataclass(frozen=True)
class UnlearningSettings(Section):
    """The request: the data to forget, its starts, the methods.

    Attributes:
        starts: models that are unlearned first, by name.
        classes: labels to forget.
        clients, samples: users, or samples as "user:row" (row from 0 in the user's training data), to forget
            instead of `classes`, which then only decide how `few_hold` divides the data.
        parallel, sequential: the method of each paradigm (listed in docs/reference/unlearning.md); "auto"
            takes the best that the request's situation allows.
        references: "kept", or "chosen again" by eq. 1, without the forgotten data, by the models that the
            request retrains (`organic`; methods retrain, retrain_ahead and clean_line).
        alpha: discount factor of eq. 7.
        epsilon: descendants whose update is at most this long (L2) stay.
        options: a method's own settings by its name, such as {clean_increments = {heal_steps = 8}}.
        blocks: number of blocks of the live chain's node in which an owner among machines must do its part
            for one model.
        unanswered: reaction to an owner that misses this deadline: members "withdraw" its model, or the
            request has to "wait".
    """

    starts: tuple[str, ...] = ("r5", "r7")
    classes: tuple[int, ...] = (3,)
    clients: tuple[int, ...] = ()
    samples: tuple[str, ...] = ()
    parallel: str = "auto"
    sequential: str = "auto"
    references: Literal["kept", "chosen again"] = "kept"
    alpha: Positive = 1.0
    epsilon: NonNegative = 0.0
    options: dict[str, dict[str, bool | int | float | str]] = field(default_factory=dict)
    blocks: Annotated[int, Range(ge=1, le=1_000_000)] = 100_000
    unanswered: Literal["withdraw", "wait"] = "withdraw"


@dataclass(frozen=True)
class AccessSettings(Section):
    """Access to models, and to the federation.

    Attributes:
        joined_by: "any" lets a registered reader read every current model; "publication" only the models
            published after it joined (heights of the live chain; a redaction does not count as publication).
        participants: "any" lets every account join a federation of machines; "admitted" only accounts that
            the committee has admitted; in force for ever once deployed.
    """

    joined_by: Literal["any", "publication"] = "any"
    participants: Literal["any", "admitted"] = "any"


@dataclass(frozen=True)
class ArchiveSettings(Section):
    """Retention of replaced versions for auditors.

    Attributes:
        retention_days: age from which `blockful expire` destroys the auditors' keys of replaced versions;
            never by default.
    """

    retention_days: NonNegative | None = None


@dataclass(frozen=True)
class ControllerSettings(Section):
    """The parties responsible for erasures, as named in attestations of erasure certificates.

    Attributes:
        name, contact: the controller (GDPR Art. 4(7)), and its contact.
        processors: processors of the data on its behalf (GDPR Art. 4(8)).
    """

    name: str | None = None
    contact: str | None = None
    processors: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChainSettings(Section):
    """The two chains; without URLs, two local devnets are started.

    Attributes:
        live_url, archive_url: JSON-RPC URLs of the nodes.  A list names further nodes of the chain, used in
            this order if one does not answer, lags or is of another chain.
        devnet: kind of local devnets: "ganache" (processes of Node.js), or "embedded" (files that each
            process executes itself, extra `embedded`); by default Ganache if it is installed.
        confirmations: blocks that must follow a block until it counts; 0 if blocks are final.
        live_chain_id, archive_chain_id: chain ids (EIP-155) that the nodes must report and local devnets use.
        max_fee_gwei: maximum price per unit of gas; a network that asks for more gets no transactions.
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
    """Custom code that a run may import, as package.module:object.

    No federation file has this section, so nobody can allow code on others' machines.

    Attributes:
        allow: models, trainers and unlearning methods that a federation file or a request may name.
        callbacks: `blockful_py.callbacks` that receive a run's events; "mlflow" is built in.
    """

    allow: tuple[str, ...] = ()
    callbacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class EngineSettings(Section):
    """The engine that runs the tasks of this machine's jobs.  No federation file has this section.

    Attributes:
        kind: "here" (in this process), "processes" (local ones) or "ray" (a cluster, extra `ray`).
        address: host:port of the Ray cluster's head.
        workers: number of local processes; by default the number of cores.
    """

    kind: Literal["here", "processes", "ray"] = "here"
    address: str | None = None
    workers: Annotated[int, Range(ge=1, le=1024)] | None = None


@dataclass(frozen=True)
class StorageSettings(Section):
    """The stores of models: in the run's folder, or on two IPFS nodes (extra `ipfs`).

    Attributes:
        api, archive_api: multiaddrs of the nodes' HTTP APIs, such as "/ip4/127.0.0.1/tcp/5001", for the
            models of the live chain and of the archive.  Each needs a node of its own, because a store keeps
            exactly its node's pins.
        seconds: how long a node may look for one block.
    """

    api: str | None = None
    archive_api: str | None = None
    seconds: Positive = 30.0
