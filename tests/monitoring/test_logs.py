# SPDX-License-Identifier: Apache-2.0
"""Logs are lines that people or programs read, on standard error, at the level that was asked for."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blockful_py.child_process import ChildProcesses
from blockful_py.errors import SettingsError
from blockful_py.monitoring import logs, request_id
from blockful_py.monitoring.logs import LogLevel
from tests.cli.commands import blockful

LOG = logging.getLogger("blockful_py.tests")
ID = request_id.of_job("run", 1)


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Other tests log as if these had not been."""
    for variable in (logs.FORMAT, logs.LEVEL):
        monkeypatch.delenv(variable, raising=False)
    package, root = logging.getLogger(logs.PACKAGE), logging.getLogger()
    level, handlers = package.level, root.handlers[:]
    yield
    package.setLevel(level)
    root.handlers[:] = handlers


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def documents(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(capsys)]


def test_text_is_the_message_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up()
    LOG.warning("a member said: %s", "one\nWARNING two\x1b[31m")
    LOG.info("not asked for")
    assert lines(capsys) == ["a member said: one WARNING two [31m"]


def test_json_has_the_time_the_fields_and_the_request(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("json", "info")
    with request_id.bound(ID):
        LOG.info("voted on %d", 3, extra={"proposal": b"\x01\xff", "seconds": 0.5, "message_": "x\ny"})
    LOG.debug("not asked for")
    (document,) = documents(capsys)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", document.pop("time"))
    assert document == {
        "level": "info",
        "logger": "blockful_py.tests",
        "message": "voted on 3",
        "request": ID,
        "proposal": "0x01ff",
        "seconds": 0.5,
        "message_": "x\ny",
    }


def test_what_other_packages_note_in_a_record_is_no_field(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("json", "info")
    LOG.info("voted", extra={"_noted": 1, "models": 3})
    (document,) = documents(capsys)
    assert document["models"] == 3
    assert "_noted" not in document


def test_a_field_cannot_take_the_place_of_the_message(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("json", "info")
    LOG.info("true", extra={"level": "error", "time": "never", "logger": "none"})
    (document,) = documents(capsys)
    assert (document["level"], document["logger"]) == ("info", "blockful_py.tests")
    assert document["time"] != "never"


def test_an_error_comes_with_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("json")
    try:
        raise ZeroDivisionError("a slip")
    except ZeroDivisionError:
        LOG.exception("it failed")
    (document,) = documents(capsys)
    assert document["error"].endswith("ZeroDivisionError: a slip")


def test_a_second_set_up_replaces_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("json", "debug")
    logs.set_up("text", "warning")
    LOG.info("not asked for")
    LOG.warning("once")
    assert lines(capsys) == ["once"]


def test_connections_that_are_made_anew_are_not_worth_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up()
    pool = logging.getLogger("urllib3.connectionpool")
    pool.warning("Retrying after connection broken")
    pool.error("gone")
    assert [line.split()[-1] for line in capsys.readouterr().err.splitlines()] == ["gone"]


def test_packages_of_others_log_no_details(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("text", "debug")
    logging.getLogger("urllib3").debug("authorization: secret")
    LOG.debug("ours")
    assert lines(capsys) == ["ours"]


KEY = "0123456789abcdef0123456789ABCDEF"
CID = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"https://rpc.example/v3/{KEY}", "https://rpc.example/v3/***"),
        (f"wss://rpc.example/{KEY}/ws?x=1", "wss://rpc.example/***/ws?x=1"),
        (f"https://rpc.example/?apikey={KEY}", "https://rpc.example/?apikey=***"),
        ("https://me:secret@rpc.example:8545/", "https://***@rpc.example:8545/"),
        ("http://127.0.0.1:8545", "http://127.0.0.1:8545"),
        (f"https://{'a' * 30}.example/ipfs/{CID}", f"https://{'a' * 30}.example/ipfs/{CID}"),
    ],
)
def test_keys_in_the_urls_of_nodes_are_masked(
    capsys: pytest.CaptureFixture[str], url: str, shown: str
) -> None:
    for form in ("text", "json"):
        logs.set_up(form)
        LOG.warning("no node answers at %s: start it", url)
        (line,) = lines(capsys)
        assert (line if form == "text" else json.loads(line)["message"]) == (
            f"no node answers at {shown}: start it"
        )


@pytest.mark.parametrize("values", [("yaml", None), (None, "loud")])
def test_what_does_not_exist_is_refused(values: tuple[str | None, str | None]) -> None:
    with pytest.raises(SettingsError, match=r"give (text or json|debug, info)"):
        logs.set_up(*values)


def test_the_environment_decides_where_no_option_does(monkeypatch: pytest.MonkeyPatch) -> None:
    logs.set_up(default=LogLevel.INFO)
    assert logs.environment() == {logs.FORMAT: "text", logs.LEVEL: "info"}
    monkeypatch.setenv(logs.FORMAT, "json")
    monkeypatch.setenv(logs.LEVEL, "error")
    logs.set_up(default=LogLevel.INFO)
    assert logs.environment() == {logs.FORMAT: "json", logs.LEVEL: "error"}
    logs.set_up("text", "debug")
    assert logs.environment() == {logs.FORMAT: "text", logs.LEVEL: "debug"}


def test_a_child_process_logs_as_its_parent_does(capfd: pytest.CaptureFixture[str]) -> None:
    logs.set_up("json", "info")
    with ChildProcesses("tests.monitoring.chatty") as processes:
        assert processes.run("a task")
    (document,) = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert document["message"] == "doing a task"
    assert "tests.monitoring.chatty" not in sys.modules


def test_options_say_how_a_service_logs_and_what_is_wrong_is_named(tmp_path: Path) -> None:
    served = ("committee", "serve", "member", "--run", "run")
    outcome = blockful(tmp_path, *served, "--log-format", "yaml")
    assert outcome.status == 2
    assert "--log-format" in outcome.err and "json" in outcome.err
    outcome = blockful(tmp_path, "cid", "no-file", environment={logs.LEVEL: "loud"})
    assert outcome.status == 2
    assert outcome.error == "BLOCKFUL_LOG_LEVEL is 'loud': give debug, info, warning or error."
