# SPDX-License-Identifier: Apache-2.0
"""All settings of a job, read from one TOML file, with `section.key=value` overrides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from blockful_py.errors import SettingsError
from blockful_py.pipeline.settings_rules import check
from blockful_py.pipeline.settings_text import apply_override, described, read_document

NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


Situation = Literal["few_hold", "all_hold", "iid", "sample_non_iid", "label_non_iid", "dirichlet", "shards"]


class FederationSettings(Section):
    """Who trains, on whose models, with which data.

    scenario: "paper14" (a scripted graph after the paper's experiment), "scripted" (the graph in
    `graph`: references by model, model i by user i) or "organic" (eq. 1 chooses).
    situation: how the data is shared out: "few_hold" (only the users of the starts hold the classes to
    forget), "all_hold", "iid", "sample_non_iid", "label_non_iid" (`missing`: classes a user lacks, by user),
    "dirichlet" (`concentration`: small values make users unlike) or "shards" (`shards`: pieces a user gets).
    rounds: models a user publishes (organic; paper14 has one each).
    candidates, references: K and N of eq. 1; candidate_window: newest models that K are drawn from.
    accounts: folder of the users' Ethereum keystores (`blockful account create`); without one, keys that
    derive from the seed.
    """

    scenario: Literal["paper14", "scripted", "organic"] = "paper14"
    situation: Situation = "few_hold"
    missing: dict[int, tuple[int, ...]] = {}
    concentration: Positive = 0.5
    shards: int = Field(2, ge=1)
    users: int = Field(14, ge=2, le=10_000)
    rounds: int = Field(1, ge=1, le=1000)
    candidates: int = Field(5, ge=1)
    references: int = Field(2, ge=1)
    candidate_window: int = Field(7, ge=1)
    graph: dict[str, tuple[str, ...]] | None = None
    accounts: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Models in the order of their users, round by round."""
        if self.scenario == "scripted" and self.graph:
            return tuple(self.graph)
        return tuple(f"r{number}" for number in range(1, self.users * self.rounds + 1))


class PrivacySettings(Section):
    """Differential privacy of training (DP-SGD), by the extra `privacy`.

    noise: standard deviation of the noise over `clip`, the longest gradient (L2) that a sample may have.
    delta: probability that epsilon, which is computed, does not hold.
    """

    noise: Positive
    clip: Positive = 1.0
    delta: float = Field(1e-5, gt=0, lt=1)


class LearningSettings(Section):
    """Data, model and training recipe (phi of eq. 3).

    dataset, model: names (docs/learning.md lists them), or package.module:object for one's own.
    data_files: folder with the files of a data set that does not come with the package, or a hub id.
    data_limit: at most so many samples of each split.
    text_length, tokenizer: tokens of a text, and "words" or a BERT tokenizer's hub id or folder.
    options: the model's own, such as {norm = "group"}.
    root_factor: how many times as long a model without references trains.
    increments: classes, or "all", without which each owner that holds them trains its models once more, and
    stores what comes of it for requests by `clean_increments`; not together with `privacy`.
    clean_references: this starts from the references' own clean models, for requests by `retrain_ahead`, and
    is done for all models that the classes have reached.
    together: "stacked", "loop", or "auto", the faster one (docs/learning.md, "Speed").
    precision: "float32" or "bfloat16"; channels_last, compiled: memory format, torch.compile.
    threads: CPU threads of torch; the bits of a run depend on it, and small models gain nothing from more.
    """

    dataset: str = "digits"
    data_files: str | None = None
    data_limit: int | None = Field(None, ge=1)
    text_length: int = Field(64, ge=1, le=512)
    tokenizer: str = "words"
    model: str = "cnn"
    options: dict[str, bool | int | float | str] = {}
    privacy: PrivacySettings | None = None
    epochs: int = Field(20, ge=1)
    root_factor: int = Field(3, ge=1)
    increments: tuple[Annotated[int, Field(ge=0)], ...] | Literal["all"] = ()
    clean_references: bool = False
    batch_size: int = Field(32, ge=1)
    learning_rate: Positive = 0.1
    momentum: float = Field(0.9, ge=0, lt=1)
    weight_decay: NonNegative = 1e-4
    together: Literal["auto", "stacked", "loop"] = "auto"
    precision: Literal["float32", "bfloat16"] = "float32"
    channels_last: bool = False
    compiled: bool = False
    device: str = "auto"
    threads: int = Field(1, ge=1, le=1024)


class UnlearningSettings(Section):
    """What to forget, from where, and how.

    clients, samples: users, or samples as "user:row" (row from 0 in the user's training data), to forget
    instead of `classes`, which then only decide how `few_hold` shares the data out.
    parallel, sequential: the method of each paradigm (docs/unlearning.md lists them).
    alpha: discount factor of eq. 7; epsilon: descendants whose update is at most this long (L2) stay.
    options: a method's own settings by its name, such as {clean_increments = {heal_steps = 8}}.
    """

    starts: tuple[str, ...] = Field(("r5", "r7"), min_length=1)
    classes: tuple[int, ...] = Field((3,), min_length=1)
    clients: tuple[int, ...] = ()
    samples: tuple[str, ...] = ()
    parallel: str = "gradient_ascent"
    sequential: str = "retrain"
    alpha: Positive = 1.0
    epsilon: NonNegative = 0.0
    options: dict[str, dict[str, bool | int | float | str]] = {}


def quorum_of(size: int) -> int:
    """ceil(2n/3): two quorums share more than the third that may be faulty."""
    return -(-2 * size // 3)


class ElectionSettings(Section):
    """Rules of the elected committee, in force for ever once deployed; reasons in IStakes.

    min_stake, forfeit: wei.  min_trust: parts per million.  reward: percent.
    minimum: fewer candidates elect nobody; 4, or the size of a smaller committee, unless set.
    epoch_length, unbonding_delay and the periods: seconds.
    """

    min_stake: int = Field(10**18, ge=1, lt=2**96)
    forfeit: int = Field(10**17, ge=0, lt=2**96)
    min_trust: int = Field(400_000, ge=0, le=500_000)
    minimum: int | None = Field(None, ge=1, le=100)
    max_candidates: int = Field(64, ge=1, le=256)
    reward: int = Field(20, ge=0, le=50)
    credited_votes: int = Field(8, ge=0, lt=2**8)
    withholding: int = Field(2, ge=0, lt=2**8)
    attempts: int = Field(3, ge=1, lt=2**8)
    epoch_length: int = Field(86_400, ge=0, lt=2**32)
    commit_period: int = Field(600, ge=1, lt=2**32)
    reveal_period: int = Field(600, ge=1, lt=2**32)
    prove_period: int = Field(600, ge=1, lt=2**32)
    confirm_period: int = Field(3_600, ge=1, lt=2**32)
    unbonding_delay: int = Field(7 * 86_400, ge=0, lt=2**32)


class CommitteeSettings(Section):
    """Who decides.

    roster: "appointed" (members of this process whose keys derive from the seed), "services" (processes
    started with `blockful committee serve`, at the URLs in `members`; the appointed ones hand over to them)
    or "elected" (of the processes at `members`, those that the chain elects).
    size, threshold, unanimous: of the committee; the threshold is the quorum unless set.
    attested: members sign what only the models' owners attest, too: that clients and single samples were
    forgotten by methods that no member can recompute (docs/unlearning.md).
    review_seconds, round_seconds: how long a service may take to review a proposal, and for all else.
    stall_seconds: how long members wait for a certified proposal to get on before they finish it themselves.
    takeover_seconds: how long they leave a request alone that nobody leads any more, before they lead it.
    """

    roster: Literal["appointed", "services", "elected"] = "appointed"
    members: tuple[str, ...] = ()
    review_seconds: Positive = 120.0
    round_seconds: Positive = 20.0
    stall_seconds: Positive = 60.0
    takeover_seconds: Positive = 300.0
    size: int = Field(4, ge=1, le=256)
    threshold: int | None = Field(None, ge=1)
    unanimous: bool = False
    attested: bool = False
    election: ElectionSettings = ElectionSettings()

    @property
    def quorum(self) -> int:
        """ceil(2n/3) votes, or all when unanimous."""
        return self.size if self.unanimous else quorum_of(self.size)

    @property
    def shares(self) -> int:
        """Shares needed for a collision; the quorum unless set."""
        return self.threshold if self.threshold is not None else self.quorum


class AccessSettings(Section):
    """Who may read models.

    joined_by: "any" registered reader reads every model that stands; by "publication", those only that were
    published after it had joined (heights of the live chain; a redaction does not count as publication).
    """

    joined_by: Literal["any", "publication"] = "any"


class ArchiveSettings(Section):
    """How long replaced versions stay readable for auditors.

    retention_days: `blockful expire` destroys the auditors' keys of versions replaced longer ago; never
    unless set.
    """

    retention_days: NonNegative | None = None


class ChainSettings(Section):
    """The two chains; without URLs, two devnets of our own are started.

    packaging_interval: seconds between blocks; block_size: bytes of transactions in a block.
    chunk_models: models redacted or archived in one transaction.
    """

    live_url: str | None = None
    archive_url: str | None = None
    live_chain_id: int = Field(1337, ge=1)
    archive_chain_id: int = Field(1338, ge=1)
    packaging_interval: NonNegative = 15.0
    block_size: int = Field(1_000_000, ge=1_000)
    chunk_models: int = Field(100, ge=1, le=128)


class StorageSettings(Section):
    """Where models are kept: in the run's folder, or on two IPFS nodes (extra `ipfs`).

    api, archive_api: multiaddrs of the nodes' HTTP APIs, such as "/ip4/127.0.0.1/tcp/5001", for the models of
    the live chain and of the archive; a node each, as what it pins is what the store keeps.
    seconds: how long a node may look for one block.
    """

    api: str | None = None
    archive_api: str | None = None
    seconds: Positive = 30.0


class Settings(Section):
    """Every setting of a job; `seed` makes it reproducible."""

    seed: int = Field(0, ge=0, lt=2**32)
    federation: FederationSettings = FederationSettings()
    learning: LearningSettings = LearningSettings()
    unlearning: UnlearningSettings = UnlearningSettings()
    committee: CommitteeSettings = CommitteeSettings()
    access: AccessSettings = AccessSettings()
    archive: ArchiveSettings = ArchiveSettings()
    chain: ChainSettings = ChainSettings()
    storage: StorageSettings = StorageSettings()

    @classmethod
    def load(cls, path: str | Path | None = None, overrides: Sequence[str] = ()) -> Settings:
        """Reads a TOML file and applies overrides such as `learning.epochs=5`.

        Raises:
            SettingsError: names the file or the key, what was found, and what is allowed.
        """
        document: dict[str, Any] = {}
        if path is not None:
            document = read_document(Path(path))
        for override in overrides:
            apply_override(document, override)
        return cls.parse(document)

    @classmethod
    def parse(cls, document: dict[str, Any]) -> Settings:
        try:
            settings = cls.model_validate(document)
        except ValidationError as error:
            raise SettingsError(described(error)) from None
        check(settings)
        return settings
