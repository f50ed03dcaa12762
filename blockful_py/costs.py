# SPDX-License-Identifier: Apache-2.0
"""The paper's cost and energy model (section "Analysis and Comparison"), exact in integers.

    K  models that the request updates, starts included, models under epsilon excluded
    L  blocks of the live chain that hold these models
    N  mean number of references of these K models, without the first start (`mean_references`)
    M  members of the committee
    Q  starts;  d  depth;  |D|  samples;  |S|  parameters

                 chameleon hashes     consensus   transfers
    parallel     K + L                1           K up + K down
    sequential   K + K                K           K up + K down + N (K - 1) down

The N (K - 1) downloads serve re-aggregation (eq. 17): the owner of each updated model fetches its references.
The first start needs none, because its owner already holds its starting weights.  Every further start
re-aggregates like the other models, because its references may have changed before it.  N is the mean over
exactly these K - 1 models, so N (K - 1) is the number of their references: the formula is an equality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from blockful_py.errors import UnknownModelError
from blockful_py.types import Paradigm


@dataclass(frozen=True, slots=True)
class Operations:
    """Counts of the cost model's operations; counts add up with `+`.

    Attributes:
        ch_transactions: chameleon hash collisions of transactions.
        ch_blocks: chameleon hash collisions of block headers.
        consensus: certificates agreed on.
        uploads: models sent to storage.
        downloads: models fetched from storage.
    """

    ch_transactions: int = 0
    ch_blocks: int = 0
    consensus: int = 0
    uploads: int = 0
    downloads: int = 0

    def __post_init__(self) -> None:
        counts = (self.ch_transactions, self.ch_blocks, self.consensus, self.uploads, self.downloads)
        if min(counts) < 0:
            raise ValueError(f"operations are counted from 0, not {counts}")

    def __add__(self, other: Operations) -> Operations:
        return Operations(
            self.ch_transactions + other.ch_transactions,
            self.ch_blocks + other.ch_blocks,
            self.consensus + other.consensus,
            self.uploads + other.uploads,
            self.downloads + other.downloads,
        )

    @property
    def chameleon_hashes(self) -> int:
        return self.ch_transactions + self.ch_blocks

    @property
    def transfers(self) -> int:
        return self.uploads + self.downloads


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per operation: costs in one unit (s, wei) for `blockchain_cost`, J for `blockchain_energy`.

    Attributes:
        chameleon_hash: one chameleon hash; as energy, E_CH, one member's share of it.
        consensus: one certificate; as energy, E_con, one member's share of it.
        transfer: one model sent or fetched; as energy, E_tran, one parameter of it.
    """

    chameleon_hash: float
    consensus: float
    transfer: float


@dataclass(frozen=True, slots=True)
class RedactionGas:
    """Gas of a request on both chains, linear in its hashes and records.

    Attributes:
        live, archive: of a transaction on each chain, without its models.
        hash: of a chameleon hash on the live chain, of a model or a header.
        record: of a replaced version in the archive.
    """

    live: float
    hash: float
    archive: float
    record: float

    def of(self, paradigm: Paradigm, models: int, blocks: int, chunk: int) -> int:
        """Gas to replace `models` in `blocks` of the live chain, `chunk` models a transaction at most."""
        calls, headers = ceil(models / chunk), blocks
        if paradigm is Paradigm.SEQUENTIAL:
            calls = headers = models
        hashes = models + headers
        return round(calls * (self.live + self.archive) + hashes * self.hash + models * self.record)


MEASURED_GAS = RedactionGas(live=46_815, hash=16_641, archive=96_280, record=11_257)
"""The lines through transactions of 10 and of 100 models of docs/reference/gas.md, slots not declared."""


def expected_parallel(models: int, blocks: int) -> Operations:
    """Expected operations of a parallel request: (K + L) CH, 1 consensus, K uploads and K downloads.

    Raises ValueError unless 1 <= blocks <= models.
    """
    _check_models(models)
    if not 1 <= blocks <= models:
        raise ValueError(f"{models} models lie in 1 to {models} blocks, not in {blocks}")
    return Operations(models, blocks, 1, models, models)


def expected_sequential(models: int, references: Fraction | int) -> Operations:
    """Expected operations of a sequential request: 2K CH, K consensus, K uploads, K + N (K - 1) downloads.

    `references` is N.

    Raises ValueError if there is no model, or N (K - 1) is not a whole number of downloads.
    """
    _check_models(models)
    fetched = Fraction(references) * (models - 1)
    if fetched < 0 or fetched.denominator != 1:
        raise ValueError(
            f"N (K - 1) = {references} * {models - 1} is not a whole number: pass mean_references(...)"
        )
    return Operations(models, models, models, models, models + int(fetched))


def mean_references(references: Mapping[str, Sequence[str]], updated: Sequence[str]) -> Fraction:
    """N: mean number of references of the updated models, without the first of them (the first start).

    Args:
        references: the references of every model, by name.
        updated: the K models in the order of their update; the first start comes first.

    Raises:
        UnknownModelError: if an updated model is not in `references`.
        ValueError: if `updated` is empty or names a model twice.
    """
    _check_models(len(updated))
    if len(set(updated)) != len(updated):
        raise ValueError("a request updates each model once, but one is named twice")
    for name in updated:
        if name not in references:
            raise UnknownModelError(name, tuple(references))
    rest = updated[1:]
    return Fraction(sum(len(references[name]) for name in rest), len(rest) or 1)


def blockchain_cost(operations: Operations, prices: Prices) -> float:
    """The paper's overhead, CH C_CH + consensus C_con + transfers C_tran, in the unit of `prices`."""
    return (
        operations.chameleon_hashes * prices.chameleon_hash
        + operations.consensus * prices.consensus
        + operations.transfers * prices.transfer
    )


def blockchain_energy(operations: Operations, members: int, parameters: int, prices: Prices) -> float:
    """The paper's energy, CH M E_CH + consensus M E_con + transfers |S| E_tran, in J.

    parallel    (K + L) M E_CH +   M E_con + 2K |S| E_tran
    sequential      2K  M E_CH + K M E_con + 2K |S| E_tran + N (K - 1) |S| E_tran
    """
    return (
        operations.chameleon_hashes * members * prices.chameleon_hash
        + operations.consensus * members * prices.consensus
        + operations.transfers * parameters * prices.transfer
    )


def _check_models(models: int) -> None:
    if models < 1:
        raise ValueError(f"a request updates at least its start, not {models} models")
