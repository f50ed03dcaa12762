# SPDX-License-Identifier: Apache-2.0
"""Logs on standard error: text for people, or one line of JSON per record.

A JSON record has `time` (UTC), `level`, `logger`, `message`, `request` while a request is processed
(`request_id`), `error` with the traceback if any, and the fields passed as `extra`.  Child processes of this
package log like their parent, through `environment`.
"""

from __future__ import annotations

import json
import logging
import os
import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from blockful_py.errors import SettingsError
from blockful_py.monitoring.request_id import current

PACKAGE = "blockful_py"
FORMAT = "BLOCKFUL_LOG_FORMAT"
LEVEL = "BLOCKFUL_LOG_LEVEL"
"""Environment variables for format and level, used without the options."""

Choice = TypeVar("Choice", bound=StrEnum)

_NAME = "blockful"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_URL = re.compile(r"\b(?:https?|wss?)://[^\s'\"]+")
_KEY = re.compile(r"(?<=://)[^/@]+(?=@)|(?:(?<=[^/:]/)|(?<==))[\w-]{24,48}(?![\w-])")
"""A key in a URL.  Providers' keys have 32 characters, some a few more; a CID has 59."""
_KNOWN = frozenset(vars(logging.makeLogRecord({}))) | {"asctime", "message", "request", "taskName"}


class LogFormat(StrEnum):
    """Output format of a record."""

    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    """The minimum level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class TextFormatter(logging.Formatter):
    """The message alone, on one line; log collectors add time and process."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return _CONTROL.sub(" ", without_keys(record.message))


class JsonFormatter(logging.Formatter):
    """One JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        document: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_keys(record.getMessage()),
        }
        if (request := current()) is not None:
            document["request"] = request
        if record.exc_info:
            document["error"] = without_keys(self.formatException(record.exc_info))
        for name, value in vars(record).items():
            if name not in _KNOWN and not name.startswith("_"):
                document.setdefault(name, value)
        return json.dumps(document, default=_plain)


def set_up(form: str | None = None, level: str | None = None, default: LogLevel = LogLevel.WARNING) -> None:
    """Sets up logging in this process; a second call replaces the first.

    None falls back to the environment, then to text and `default`.  The level applies to this package; other
    packages log warnings only, since their details may contain secrets.

    Raises SettingsError for an unknown format or level.
    """
    chosen = _chosen(LogFormat, form or os.environ.get(FORMAT) or LogFormat.TEXT, FORMAT)
    least = _chosen(LogLevel, level or os.environ.get(LEVEL) or default, LEVEL)
    handler = logging.StreamHandler()
    handler.name = _NAME
    handler.setFormatter(JsonFormatter() if chosen is LogFormat.JSON else TextFormatter())
    root = logging.getLogger()
    if (before := _handler()) is not None:
        root.removeHandler(before)
    root.addHandler(handler)
    logging.getLogger(PACKAGE).setLevel(least.upper())
    logging.getLogger("urllib3.connectionpool").setLevel(
        logging.ERROR
    )  # it warns about requests that it retries


def environment() -> dict[str, str]:
    """Environment for a child process that logs like this one."""
    handler = _handler()
    if handler is None:
        return {}
    chosen = LogFormat.JSON if isinstance(handler.formatter, JsonFormatter) else LogFormat.TEXT
    least = logging.getLevelName(logging.getLogger(PACKAGE).level)
    return {FORMAT: chosen, LEVEL: least.lower()}


def _handler() -> logging.Handler | None:
    return next((each for each in logging.getLogger().handlers if each.name == _NAME), None)


def _chosen(kind: type[Choice], value: str, variable: str) -> Choice:
    try:
        return kind(value)
    except ValueError:
        *most, last = kind
        raise SettingsError(f"{variable} is {value!r}: give {', '.join(most)} or {last}.") from None


def without_keys(text: str) -> str:
    """Masks credentials in URLs of nodes: user names and passwords, and keys in paths and queries."""
    return _URL.sub(lambda url: _KEY.sub("***", url[0]), text)


def _plain(value: object) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)
