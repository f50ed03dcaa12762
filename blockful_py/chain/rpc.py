# SPDX-License-Identifier: Apache-2.0
"""JSON-RPC over HTTP with web3's provider, singly and in batches.

Calls go directly to the provider because web3 refuses batches with `eth_sendRawTransaction`.
"""

from __future__ import annotations

import logging
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import ProtocolError
from urllib3.util import Retry

from blockful_py.chain.ethereum import HTTPProvider, RPCEndpoint, Web3Exception
from blockful_py.errors import NodeError

CONNECT_SECONDS = 10.0
BATCH_SIZE = 100
"""Calls per HTTP request, unless the node accepts fewer."""
PATIENCE = 60.0
"""Seconds during which a rate-limiting node is retried."""
_PAUSE = 0.5  # seconds; it doubles

Request = tuple[str, Sequence[Any]]

_BUSY_STATUS = {429, 502, 503, 504}
_BUSY_WORDS = re.compile(
    r"rate.?limit|request.?limit|too many requests|per second|capacity|throttl", re.IGNORECASE
)
_LIMIT_CODES = range(-32_099, -32_004)
"""Codes of node-defined errors for exceeded limits, from -32005 (EIP-1474) on."""
_SENDS = "eth_sendRawTransaction"

_log = logging.getLogger(__name__)

_BAD_URL = (
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.MissingSchema,
)


@dataclass(frozen=True, slots=True)
class RpcError:
    """An error answer of a node; `data` is unchanged."""

    code: int
    message: str
    data: Any = None


class _BusyError(Exception):
    """The node is too busy; `seconds` is the delay it asks for, if any."""

    def __init__(self, words: str, seconds: float | None = None) -> None:
        super().__init__(words)
        self.seconds = seconds


class _BatchRefusedError(Exception):
    """The node refuses a batch like this one."""


class Rpc(ABC):
    """The JSON-RPC interface of one chain."""

    @property
    @abstractmethod
    def url(self) -> str:
        """URL of the node that answers."""

    @abstractmethod
    def batch(self, calls: Sequence[Request]) -> list[Any]:
        """Results in the order of the calls, with an RpcError for each refused call.

        Raises NodeError if the node is gone or does not speak JSON-RPC.
        """

    @abstractmethod
    def close(self) -> None: ...

    def leave(self, faults: Mapping[str, str]) -> None:
        """Switches to a node that is not in `faults`, which maps URLs to error messages.

        Raises NodeError with the faults if no other node is usable.
        """
        raise NodeError(" ".join(faults.values()))

    def another(self) -> Rpc:
        """Interface of another node of the chain, or of the same one if only one is configured.

        Raises NodeError if others are configured but unusable.
        """
        return self

    def call(self, method: str, *params: Any) -> Any:
        """The result of one call.

        Raises NodeError if the node is gone, does not speak JSON-RPC, or refuses the call.
        """
        return self.calls([(method, params)])[0]

    def calls(self, asked: Sequence[Request]) -> list[Any]:
        """The results of several calls.  Raises as `call`, for the first that is refused."""
        results = self.batch(asked)
        for (method, _), result in zip(asked, results, strict=True):
            if isinstance(result, RpcError):
                raise NodeError(
                    f"the node at {self.url} refused {method}: {result.message} (code {result.code})."
                )
        return results


class JsonRpc(Rpc):
    """The JSON-RPC interface of one node."""

    def __init__(
        self,
        url: str,
        timeout: float = 120.0,
        diagnosis: Callable[[], str | None] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """Connects a session; it makes no request yet.

        `diagnosis` returns why the node is gone, or None.  `timeout` is the seconds to wait for each HTTP
        answer, `patience` the seconds during which a rate-limiting node is retried.
        """
        self._url = url
        self._diagnosis = diagnosis
        self._timeout = timeout
        self._patience = patience
        self._batch_size = BATCH_SIZE
        with self._node_errors():
            self._session = _session(url)
        self._provider = HTTPProvider(
            url,
            request_kwargs={"timeout": (min(timeout, CONNECT_SECONDS), timeout)},
            session=self._session,
            exception_retry_configuration=None,
        )

    @property
    def url(self) -> str:
        return self._url

    def batch(self, calls: Sequence[Request]) -> list[Any]:
        results: list[Any] = []
        while len(results) < len(calls):
            some = calls[len(results) : len(results) + self._batch_size]
            try:
                results += self._patiently(some)
            except _BatchRefusedError as error:
                if len(some) == 1:
                    raise NodeError(str(error)) from None
                self._batch_size = len(some) // 2
        return results

    def close(self) -> None:
        self._session.close()

    def _patiently(self, calls: Sequence[Request]) -> list[Any]:
        """The answers, retrying calls for which the node is too busy."""
        end, pause = time.monotonic() + self._patience, _PAUSE
        results: list[Any] = [_BusyError("")] * len(calls)
        while True:
            asked = [at for at, result in enumerate(results) if isinstance(result, _BusyError)]
            try:
                answers = self._exchange([calls[at] for at in asked])
            except _BusyError as error:
                answers = [error] * len(asked)
            for at, answer in zip(asked, answers, strict=True):
                results[at] = answer
            busy = [each for each in answers if isinstance(each, _BusyError)]
            if not busy:
                return results
            wait = max(pause, *(each.seconds or 0.0 for each in busy))
            if time.monotonic() + wait > end:
                raise NodeError(
                    f"the node at {self.url} refuses more requests ({busy[-1]}): run the command "
                    "again later, raise the node's limit, or name another node beside it."
                )
            if pause == _PAUSE:
                _log.warning("retrying the node at %s, which answered: %s", self.url, busy[-1])
            time.sleep(wait)
            pause *= 2

    def _exchange(self, calls: Sequence[Request]) -> list[Any]:
        """Sends one HTTP request.  Raises _BusyError, and _BatchRefusedError if the node took no call."""
        with self._node_errors():
            answers: Any
            try:
                if len(calls) == 1:
                    method, params = calls[0]
                    answers = [self._provider.make_request(RPCEndpoint(method), params)]
                else:
                    answers = self._provider.make_batch_request([(RPCEndpoint(m), p) for m, p in calls])
            except requests.exceptions.HTTPError as error:
                if error.response is None:
                    raise
                refused = self._refusal(error.response)
                answers = refused if len(calls) > 1 else [refused]
        if isinstance(answers, dict) and "error" in answers:
            refusal = _error(answers["error"])
            if _is_busy(refusal):
                raise _BusyError(refusal.message)
            raise _BatchRefusedError(
                f"the node at {self.url} refused {_calls(calls)}: {refusal.message} (code {refusal.code})."
            )
        if not isinstance(answers, list) or len(answers) != len(calls):
            told = f"{self.url} answered {_calls(calls)} with something that is not JSON-RPC."
            if any(method == _SENDS for method, _ in calls):  # the node may have taken some
                raise NodeError(told)
            raise _BatchRefusedError(told)
        results = [self._result(answer) for answer in answers]
        return [
            _BusyError(each.message) if isinstance(each, RpcError) and _is_busy(each) else each
            for each in results
        ]

    def _refusal(self, response: requests.Response) -> dict[str, Any]:
        """The JSON-RPC error in an answer whose HTTP status is not 200.

        Raises HTTPError if it has no such error, and _BusyError if the node is too busy.
        """
        try:
            body = response.json()
        except ValueError:
            body = None
        said = body.get("error") if isinstance(body, dict) else None
        words = _error(said).message if said else f"HTTP status {response.status_code}"
        if response.status_code in _BUSY_STATUS:
            raise _BusyError(words, _seconds(response.headers.get("Retry-After")))
        if said:
            return {"error": said}
        if response.status_code == requests.codes.request_entity_too_large:
            return {"error": words}
        raise requests.exceptions.HTTPError(response=response)

    def _result(self, answer: Any) -> Any:
        if isinstance(answer, dict) and answer.get("error") is not None:
            return _error(answer["error"])
        if not isinstance(answer, dict) or "result" not in answer:
            raise NodeError(self._not_json_rpc())
        return answer["result"]

    def _not_json_rpc(self) -> str:
        return f"{self.url} does not speak Ethereum JSON-RPC: check the URL of the node."

    @contextmanager
    def _node_errors(self) -> Iterator[None]:
        try:
            yield
        except _BAD_URL as error:
            raise NodeError(f"{self.url!r} is not a URL such as http://127.0.0.1:8545.") from error
        except requests.exceptions.HTTPError as error:
            status = error.response.status_code if error.response is not None else "?"
            raise NodeError(f"{self._not_json_rpc()} It answered with HTTP status {status}.") from error
        except requests.exceptions.Timeout as error:
            raise NodeError(
                self._explained(f"the node at {self.url} did not answer within {self._timeout:g} s")
            ) from error
        except ValueError as error:
            raise NodeError(self._not_json_rpc()) from error
        except (OSError, Web3Exception) as error:
            raise NodeError(self._explained(f"no node answers at {self.url}")) from error

    def _explained(self, what: str) -> str:
        cause = self._diagnosis() if self._diagnosis else None
        return f"{what}: {cause or 'start it, or check the URL'}."


class _DroppedConnections(Retry):
    """Resends a request if the node closed the connection; retries nothing else.

    Nodes close idle connections, possibly just as a request arrives.  A transaction that arrives twice has
    one nonce, so it is executed once.
    """

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: Any = None,
        error: Exception | None = None,
        _pool: Any = None,
        _stacktrace: Any = None,
    ) -> Self:
        dropped = isinstance(error, ProtocolError)
        retries = self if dropped else self.new(total=0, read=False)
        return super(_DroppedConnections, retries).increment(method, url, response, error, _pool, _stacktrace)


def _session(url: str) -> requests.Session:
    """A session with the environment's proxies, certificates and credentials for `url`.

    Reading them once saves a quarter of each call; requests would read them every time.
    """
    requests.Request("POST", url).prepare()  # raises for a malformed URL
    session = requests.Session()
    environment = session.merge_environment_settings(url, {}, None, None, None)
    session.proxies, session.verify, session.cert = (
        environment["proxies"],
        environment["verify"],
        environment["cert"],
    )
    session.auth = requests.utils.get_netrc_auth(url)
    session.trust_env = False
    retries = _DroppedConnections(
        2, allowed_methods=None, backoff_factor=0.1, respect_retry_after_header=False
    )
    adapter = HTTPAdapter(max_retries=retries)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


def _seconds(text: str | None) -> float | None:
    """Seconds of a Retry-After header; None for a date, which would require synchronised clocks."""
    return float(text) if text is not None and text.isdecimal() else None


def _is_busy(error: RpcError) -> bool:
    return error.code == requests.codes.too_many_requests or (
        error.code in _LIMIT_CODES and _BUSY_WORDS.search(error.message) is not None
    )


def _calls(calls: Sequence[Request]) -> str:
    return f"a batch of {len(calls)} calls" if len(calls) > 1 else calls[0][0]


def _error(error: Any) -> RpcError:
    if isinstance(error, dict):
        return RpcError(int(error.get("code", 0)), str(error.get("message", "")), error.get("data"))
    return RpcError(0, str(error))
