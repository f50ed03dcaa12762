# SPDX-License-Identifier: Apache-2.0
"""Loads weights that stand on the record, and refuses versions that were replaced or withdrawn.

1. The folder's proof is consistent, and is of one model.
2. The weights are the ones of that model's node: sealed with the folder's data key they have its CID, or, of
   a model made elsewhere, each file has the CID that its adopter signed.
3. The contract that the caller names has that node at the model's position: the version stands.

The third step asks a node of the live chain.  If none answers, the version is refused, unless the loader has
seen it standing before (`known`), at most `max_age` ago.  A version once seen replaced stays refused.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from blockful_py.crypto.envelope import MAX_SEALED_BYTES
from blockful_py.errors import (
    FormatError,
    NodeError,
    RecalledError,
    SettingsError,
    StorageError,
    VerificationError,
)
from blockful_py.extras import needed_by
from blockful_py.keys.data_key import read_data_key
from blockful_py.recall.known import MAX_AHEAD, KnownVersions, Seen, read_known
from blockful_py.record.adopted import SAFETENSORS, AdoptedFile
from blockful_py.record.checks import require
from blockful_py.record.fields import of_octets, read_document
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, parse_node
from blockful_py.record.proofs.checking import CheckedRecord, check_record
from blockful_py.record.proofs.proof import check_weights_in, parse_proof
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Uri
from blockful_py.whole_file import read_bounded

if TYPE_CHECKING:
    from blockful_py.learning.weights import Weights
    from blockful_py.ledger.protocols import LiveReader

PROOF, KEY, WEIGHTS = "proof.json", "weights.key", "model.safetensors"

NodeOf = Callable[[Uri], ModelNode]
"""Reads a version's node, and raises StorageError if it cannot be had."""


def load(
    folder: Path | str,
    *,
    run: Path | str | None = None,
    live_url: str | None = None,
    contract: str | None = None,
    known: Path | str | None = None,
    max_age: timedelta | None = None,
) -> Weights:
    """The weights in a folder, tensors by name, if their version stands on the record.

    The folder has `proof.json`, and `model.safetensors` with `weights.key` (from `blockful export`), or the
    files of a model made elsewhere.

    Args:
        run: a run directory, whose nodes are asked.
        live_url, contract: a node of the live chain that you trust, and the address of its LiveChain
            contract; in place of `run`.
        known: a file that remembers the versions seen, for times without network.
        max_age: how long ago the version must have been seen, at most, if no node answers.  None refuses.

    Raises:
        RecalledError: the version was replaced or withdrawn.
        VerificationError: the weights are not the proof's, the record has no such version, or nobody can tell
            whether it stands (check `current`).
        SettingsError, FormatError: options or files are wrong.
    """
    folder = Path(folder)
    record = check_record(read_document(folder / PROOF, "proof", parse_proof).record)
    require("content", "the proof", len(record.nodes) == 1, "it is of more than one model")
    data = dict(_weights(folder, record))
    pinned = _pinned(run, contract, record)
    memory = Path(known) if known is not None else None
    standing = VersionStanding(record, read_known(memory, record.chain_id, pinned), memory, max_age)
    try:
        with _opened(run, live_url, record) as (live, node_of):
            seen = live.transactions([standing.position])[0]
            of_contract = (live.chain_id, of_octets(live.address))
    except NodeError as error:
        standing.require_remembered(str(error))
    else:
        standing.require_of(of_contract)
        standing.require_current(seen.version, seen.uri, node_of)
    return _tensors(data)


class VersionStanding:
    """Whether a proven version stands: by a look at the chain, or by an earlier one."""

    def __init__(
        self,
        record: CheckedRecord,
        known: KnownVersions,
        path: Path | None,
        max_age: timedelta | None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Judges by the looks in `known`; `path` is its file, or None to forget them."""
        ((self.position, self._node),) = record.nodes.items()
        self._transaction = record.transactions[self.position]
        self._of = (record.chain_id, of_octets(record.address))
        self._known = known
        self._path = path
        self._max_age = max_age
        self._now = now

    def require_of(self, contract: tuple[int, str]) -> None:
        """Checks that the chain asked is the proof's.  Raises VerificationError (`anchor`)."""
        require(
            "anchor",
            "the proof",
            contract == self._of,
            f"it is of contract {self._of[1]} on chain {self._of[0]}, you trust {contract[1]} on chain "
            f"{contract[0]}",
        )

    def require_current(self, version: int, uri: Uri, node_of: NodeOf) -> None:
        """Checks against the chain's current version, and remembers it.

        Raises RecalledError, or VerificationError (`current`) for a version that the chain never had, or a
        node that lags behind the last look.
        """
        self._require_not_behind(version)
        if self._path is not None:
            seen = Seen(version=version, node=cid_string(uri), at=int(self._now()))
            self._known.with_seen(str(self.position), seen).write(self._path)
        self._require(version, uri, node_of)

    def require_remembered(self, why: str) -> None:
        """Checks against the last look, as no node answers (`why`).  Raises as `require_current`."""
        subject, seen = self._subject, self._known.seen.get(str(self.position))
        if seen is None:
            raise VerificationError(
                "current", subject, f"{why} Nobody can tell whether it stands, and it was never seen standing"
            )
        self._require(seen.version, parse_cid(seen.node), _unknown)
        age = timedelta(seconds=int(self._now()) - seen.at)
        allowed = timedelta(0) if self._max_age is None else self._max_age
        if self._max_age is None or age > allowed or age < -timedelta(seconds=MAX_AHEAD):
            raise VerificationError(
                "current",
                subject,
                f"{why} It was last seen standing {age} ago, and at most {allowed} is allowed (max_age)",
            )

    @property
    def _subject(self) -> str:
        return f"version {self._transaction.version} of {self._node.name}"

    def _require_not_behind(self, version: int) -> None:
        seen = self._known.seen.get(str(self.position))
        require(
            "current",
            self._subject,
            seen is None or version >= seen.version,
            f"the node has version {version}, and version {seen and seen.version} was seen before: it lags, "
            "or is of another chain",
        )

    def _require(self, version: int, uri: Uri, node_of: NodeOf) -> None:
        mine = self._transaction
        if (version, uri) == (mine.version, mine.uri):
            return
        require(
            "current",
            self._subject,
            version > mine.version,
            f"the newest version seen is {version}, and its node is {cid_string(uri)}",
        )
        try:
            withdrawn = node_of(uri).is_withdrawn
        except StorageError:
            withdrawn = None
        raise RecalledError(self._node.name, mine.version, version, cid_string(uri), withdrawn)


def _unknown(uri: Uri) -> ModelNode:
    raise StorageError("the node is not here.")


def _pinned(run: Path | str | None, contract: str | None, record: CheckedRecord) -> str:
    """The contract that the caller trusts; a run's is compared when it is opened."""
    if (run is None) == (contract is None):
        raise SettingsError(
            "load needs `run`, or `live_url` and `contract`: nobody else can say what stands."
        )
    own = of_octets(record.address)
    if contract is not None and contract.lower() != own:
        raise VerificationError("anchor", "the proof", f"it is of contract {own}, you trust {contract}")
    return own


@contextmanager
def _opened(
    run: Path | str | None, live_url: str | None, record: CheckedRecord
) -> Iterator[tuple[LiveReader, NodeOf]]:
    """The live chain, and a reader of nodes."""
    if run is not None:
        from blockful_py.pipeline.run.opened import OpenedRun

        with OpenedRun.attach(Path(run)) as opened:
            store = opened.stores.live
            yield opened.contracts.live, lambda uri: parse_node(store.read(uri, MAX_NODE_BYTES))
        return
    if live_url is None:
        raise SettingsError("`contract` needs `live_url`, a node of the live chain that you trust.")
    from blockful_py.pipeline.proving import opened_url

    with opened_url(live_url, record.address, record.chain_id) as sources:
        yield sources.live, _unknown


def _weights(folder: Path, record: CheckedRecord) -> Iterator[tuple[str, bytes]]:
    """The checked bytes of each safetensors file, by name.  Raises VerificationError (`content`)."""
    (node,) = record.nodes.values()
    require("content", f"model {node.name}", not node.is_withdrawn, "the proof is of a withdrawn version")
    if node.statement.adopted is None:
        data = read_bounded(folder / WEIGHTS, MAX_SEALED_BYTES, f"the file {folder / WEIGHTS}")
        key = read_data_key(folder / KEY)
        check_weights_in(record, io.BytesIO(data), f"the weights {folder / WEIGHTS}", key)
        yield WEIGHTS, data
        return
    files = [each for each in node.statement.adopted.files if each.path.endswith(SAFETENSORS)]
    if not files:
        raise FormatError(
            f"the record knows no safetensors file of {node.name}: its weights cannot be checked."
        )
    for each in files:
        yield each.path, _adopted(folder, each)


def _adopted(folder: Path, file: AdoptedFile) -> bytes:
    path = PurePosixPath(file.path)
    if path.is_absolute() or ".." in path.parts:
        raise FormatError(f"the record names a file outside the model's folder, {file.path!r}.")
    data = read_bounded(folder / path, file.size, f"the file {folder / path}")
    found = cid_string(file_uri(data))
    require(
        "content", f"the weights {folder / path}", found == file.cid, f"their CID is {found}, not {file.cid}"
    )
    return data


def _tensors(files: Mapping[str, bytes]) -> Weights:
    with needed_by("blockful_py.load"):
        from safetensors import SafetensorError
        from safetensors.torch import load as parse
    parts = []
    for name, data in files.items():
        try:
            parts.append(parse(data))
        except SafetensorError as error:
            raise FormatError(f"{name} is no whole safetensors file ({error}).") from None
    return {name: tensor for part in parts for name, tensor in part.items()}
