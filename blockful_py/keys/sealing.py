# SPDX-License-Identifier: Apache-2.0
"""Encrypts and decrypts stored weights: each version is sealed under a data key of its own.

Access rights: docs/explanation/threat-model.md.
The model node is not encrypted and names the sealed file: everybody can verify a model, but only holders of
its data key can read it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from blockful_py.crypto import envelope
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import CryptoError, FormatError, KeyDestroyedError
from blockful_py.learning.form import WeightsForm, read_weights
from blockful_py.learning.weights import Weights, digest_of, pieces_of
from blockful_py.ledger.protocols import Store
from blockful_py.on_demand import OnDemand
from blockful_py.storage.cid import cid_string
from blockful_py.storage.pieces import stream_of
from blockful_py.storage.segments import Segments
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Bytes32, Uri

Content = Callable[[], Iterable[bytes]]
"""Gives the plain bytes of a file in pieces, the same whenever it is called."""

NewKey = Callable[[Bytes32], bytes]
"""Returns the data key for a content of this SHA-256; keys and contents correspond one to one."""


ERASED = "no member has it, as this version was erased; remaining copies are unreadable."


@dataclass(frozen=True, slots=True)
class FoundKeys:
    """The data keys of sealed files that a keyring found.

    Attributes:
        keys: data keys by sealed file.
        reason: why the others were not found.
    """

    keys: Mapping[Uri, bytes] = field(repr=False)
    reason: str = ERASED

    def __getitem__(self, uri: Uri) -> bytes:
        """The key of a file.  Raises KeyDestroyedError if it was not found."""
        if uri not in self.keys:
            raise KeyDestroyedError(f"there is no key of the weights {cid_string(uri)}: {self.reason}")
        return self.keys[uri]

    def require(self, uris: Iterable[Uri]) -> None:
        """Checks that all keys were found.  Raises KeyDestroyedError for the first missing one."""
        for uri in uris:
            self[uri]


class Keyring(Protocol):
    """A source of data keys: one member's vault, or all members."""

    def find(self, uris: Collection[Uri]) -> FoundKeys:
        """Finds the data keys of sealed files, in one query."""

    def holds(self, uri: Uri) -> bool:
        """Whether the keyring has the key itself, without asking others."""


class CommitteeKeyring(Keyring, Protocol):
    """The keyring of a committee: the members that store data keys."""

    def deliver(self, keys: Mapping[Uri, bytes]) -> None:
        """Gives data keys to every member.  Raises QuorumError if too few accept."""

    def withdraw(self, uris: Collection[Uri]) -> None:
        """Withdraws the keys of unpublished versions."""

    def destroy(self, uris: Collection[Uri]) -> Destruction:
        """Has every member destroy the keys of replaced versions."""


@dataclass(frozen=True, slots=True)
class Destruction:
    """The outcome of destroying keys.

    Attributes:
        destroyed: members (voting addresses) that no longer have any of the keys.
        silent: members that did not answer, with the reason; they destroy the keys once they are back.
    """

    destroyed: tuple[bytes, ...] = ()
    silent: Mapping[bytes, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SealedFile:
    """A file to be stored encrypted, which is sealed whenever it is read, so that no copy is in memory."""

    uri: Uri
    key: bytes = field(repr=False)
    content: Content = field(repr=False)

    def pieces(self) -> Iterator[bytes]:
        """The bytes of the file."""
        return _sealed(self.content, self.key)


def random_keys(content: Bytes32) -> bytes:
    return system_rng(envelope.KEY_BYTES)


def seal_weights(weights: Weights, new_key: NewKey) -> SealedFile:
    """The weights must not change until they are stored."""
    return seal(partial(pieces_of, weights), new_key(digest_of(weights)))


def is_sealed(uri: Uri, weights: Weights, key: bytes) -> bool:
    """Whether sealing `weights` under `key` gives `uri`; fetches nothing."""
    return seal(partial(pieces_of, weights), key).uri == uri


def seal(content: Content, key: bytes) -> SealedFile:
    """The file of a content, under its data key."""
    return SealedFile(file_uri(stream_of(_sealed(content, key))), key, content)


class SealedWeights:
    """Reads weights from a store and decrypts them with the keys of a keyring."""

    def __init__(self, store: Store, keyring: Keyring, form: WeightsForm) -> None:
        """Reads files whose weights have the federation's `form`."""
        self._store = store
        self.keyring = keyring
        self._form = form

    def read(self, uri: Uri) -> Weights:
        """The weights in a sealed file.  Raises as `read_each`."""
        return next(self.read_each((uri,)))

    def read_each(self, uris: Sequence[Uri]) -> Iterator[Weights]:
        """Yields the weights in sealed files, in order; finds all keys first, then reads file by file.

        Raises KeyDestroyedError without a file's key, StorageError if a file cannot be read,
        UnusableWeightsError for weights of another form.
        """
        keys = self.keyring.find(uris)
        for uri in uris:
            yield self._opened(keys[uri], uri)

    def read_disclosure(self, uri: Uri) -> Weights:
        """The tensors of an owner's disclosure of a training.  Raises as `read_each`."""
        return opened(self._store, uri, self.keyring.find((uri,))[uri])

    def on_demand(self, uris: Sequence[Uri]) -> Mapping[Uri, Weights]:
        """Like `read_each`, but reads each file when its weights are accessed."""
        keys = self.keyring.find(uris)
        return OnDemand(uris, lambda uri: self._opened(keys[uri], uri))

    def _opened(self, key: bytes, uri: Uri) -> Weights:
        return self._form.read(
            plain_file(self._store, uri, key, envelope.sealed_size(self._form.most_bytes)),
            f"the file {cid_string(uri)}",
        )


def plain_file(store: Store, uri: Uri, key: bytes, limit: int) -> Segments:
    """The content of a sealed file of at most `limit` bytes, decrypted where it is read.

    A longer file is refused before its content is read.  Its reading raises FormatError for segments that are
    not authentic, StorageError if the file cannot be read.
    """

    def read_from(index: int) -> Iterator[bytes]:
        begin = envelope.segment_begin(index) if index else 0
        return plain(key, store.stream(uri, limit, begin), uri, index)

    return Segments(read_from, limit)


def opened(store: Store, uri: Uri, key: bytes) -> Weights:
    """The tensors of a sealed file of any form.  Raises as `SealedWeights.read_each`."""
    return read_weights(plain_file(store, uri, key, envelope.MAX_SEALED_BYTES), f"the file {cid_string(uri)}")


def require_key(key: bytes, pieces: Iterable[bytes], uri: Uri) -> None:
    """Checks that the file is sealed under the key; reads only its beginning.  Raises FormatError."""
    try:
        next(envelope.unseal(key, pieces))
    except CryptoError as error:
        raise FormatError(f"the weights {cid_string(uri)} cannot be decrypted: {error}") from None


def plain(key: bytes, sealed: Iterable[bytes], uri: Uri, first: int = 0) -> Iterator[bytes]:
    """The content in the pieces of a sealed file, from a segment on.  Raises FormatError."""
    segments = envelope.unseal(key, sealed, first)
    while True:
        try:
            segment = next(segments, None)
        except CryptoError as error:
            raise FormatError(f"the weights {cid_string(uri)} cannot be decrypted: {error}") from None
        if segment is None:
            return
        yield segment


def _sealed(content: Content, key: bytes) -> Iterator[bytes]:
    return envelope.seal(key, stream_of(content()))
