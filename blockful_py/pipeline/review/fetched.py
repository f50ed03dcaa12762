# SPDX-License-Identifier: Apache-2.0
"""Weights that members fetch to review a proposal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from blockful_py.errors import BlockfulError, RefusedError, StoreUnreachableError
from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.catalogue import Catalogue
from blockful_py.storage.cid import cid_string
from blockful_py.types import Uri


class FetchedWeights:
    """Weights that members fetched for a purpose: one download serves all members."""

    def __init__(self, store: SealedWeights, counter: Counter) -> None:
        self._store = store
        self._counter = counter
        self._weights: dict[tuple[Uri, bytes], Weights] = {}

    def weights(self, uri: Uri, purpose: bytes) -> Weights:
        """The weights of a sealed file.  Raises RefusedError when they are unreadable or unusable."""
        if (uri, purpose) not in self._weights:
            with refusing(f"weights {cid_string(uri)}"):
                self._weights[uri, purpose] = self._store.read(uri)
            self._counter.downloaded()
        return self._weights[uri, purpose]


class CurrentWeights(Mapping[str, Weights]):
    """The current weights of the models, fetched on access."""

    def __init__(self, catalogue: Catalogue, fetched: FetchedWeights, purpose: bytes) -> None:
        self._catalogue = catalogue
        self._fetched = fetched
        self._purpose = purpose

    def __getitem__(self, name: str) -> Weights:
        return self._fetched.weights(self._catalogue[name].node.weights, self._purpose)

    def __contains__(self, name: object) -> bool:
        return name in self._catalogue.models

    def __iter__(self) -> Iterator[str]:
        return iter(self._catalogue.models)

    def __len__(self) -> int:
        return len(self._catalogue.models)


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turns errors into a refusal, except that of an unreachable store, which is no proposal's fault."""
    try:
        yield
    except StoreUnreachableError:
        raise
    except BlockfulError as error:
        raise RefusedError(f"{what}: {error}") from None
