# SPDX-License-Identifier: Apache-2.0
"""Posts notices of recall to recipients' webhooks.

A webhook may answer at once: with a signed answer as the body of its response.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from blockful_py.errors import UnreachableError
from blockful_py.extras import needed_by
from blockful_py.record.recall.documents import SignedAnswer, parse_answer
from blockful_py.record.recall.notice import Notice

if TYPE_CHECKING:
    from requests import Session

ATTEMPTS = 4
"""Maximum number of repetitions after a broken connection, or an answer that says to try later."""
LATER = (429, 500, 502, 503, 504)
SECONDS = (5, 20)
"""Time to connect, and between two bytes of a response."""
MAX_ANSWER_BYTES = 1 << 16


@contextmanager
def webhook_session() -> Iterator[Session]:
    """A session that repeats posts, with pauses that grow, and follows no redirect."""
    with needed_by("`blockful recall notify --webhooks`"):
        from requests import Session
        from requests.adapters import HTTPAdapter
        from urllib3 import Retry
    retry = Retry(
        total=ATTEMPTS,
        redirect=0,
        allowed_methods=("POST",),
        status_forcelist=LATER,
        backoff_factor=0.2,
        raise_on_status=False,
    )
    with Session() as session:
        session.trust_env = False
        for scheme in ("https://", "http://"):
            session.mount(scheme, HTTPAdapter(max_retries=retry))
        yield session


def post(session: Session, url: str, notice: Notice) -> SignedAnswer | None:
    """Posts a notice; returns the recipient's answer if the response is one.

    Raises UnreachableError if nobody answers, or the status is not 2xx; FormatError if the response is JSON
    and no answer.
    """
    from requests import RequestException

    try:
        with session.post(
            url,
            data=notice.to_bytes(),
            headers={"content-type": "application/json"},
            timeout=SECONDS,
            allow_redirects=False,
            stream=True,
        ) as response:
            if not 200 <= response.status_code < 300:
                raise UnreachableError(f"{url} answered with status {response.status_code}")
            if not response.headers.get("content-type", "").startswith("application/json"):
                return None
            body = response.raw.read(MAX_ANSWER_BYTES + 1, decode_content=True)
    except RequestException as error:
        raise UnreachableError(f"{url} does not answer ({type(error).__name__})") from None
    return parse_answer(body) if body.strip() else None
