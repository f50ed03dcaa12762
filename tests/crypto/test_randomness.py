# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from blockful_py.crypto import curve
from blockful_py.crypto.randomness import SeededRng, gathered_rng, system_rng
from blockful_py.errors import CryptoError
from tests.crypto.vectors import scripted


def test_one_seed_gives_the_same_bytes() -> None:
    a, b = SeededRng(b"seed", "client", 3), SeededRng(b"seed", "client", 3)
    assert [a(32), a(5), a(100)] == [b(32), b(5), b(100)]


def test_calls_and_labels_and_seeds_give_other_bytes() -> None:
    rng = SeededRng(b"seed", "a", 1)
    drawn = [rng(32), rng(32)]
    others: list[tuple[str | int | bytes, ...]] = [
        ("a", 2),
        ("a1",),
        ("a", "1"),
        ("a", b"\x01"),
        (),
        ("", "a", 1),
    ]
    drawn += [SeededRng(b"seed", *labels)(32) for labels in others]
    drawn += [SeededRng(b"see", "da", 1)(32), SeededRng(b"seed", "a", 1).derive("a")(32)]
    assert len(set(drawn)) == len(drawn)


def test_labels_do_not_run_into_each_other() -> None:
    assert SeededRng(b"", "a", "b")(32) != SeededRng(b"", "asb")(32)


def test_a_derived_generator_does_not_depend_on_calls_made() -> None:
    fresh, used = SeededRng(b"seed"), SeededRng(b"seed")
    used(1000)
    assert fresh.derive("x", 1)(32) == used.derive("x", 1)(32)


def test_sizes() -> None:
    for source in (system_rng, gathered_rng, SeededRng(b"")):
        assert [len(source(n)) for n in (0, 1, 32, 1000)] == [0, 1, 32, 1000]


def test_system_randomness_differs() -> None:
    assert system_rng(32) != system_rng(32)


def test_gathered_randomness_differs_where_the_system_repeats_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", bytes)
    assert gathered_rng(32) != gathered_rng(32)


def test_gathered_randomness_differs_where_the_clocks_stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    for clock in ("time_ns", "monotonic_ns", "process_time_ns", "perf_counter_ns"):
        monkeypatch.setattr(f"time.{clock}", int)
    assert gathered_rng(32) != gathered_rng(32)


def test_a_scalar_out_of_range_is_drawn_again() -> None:
    assert curve.random_scalar(scripted(0, curve.N, 2**256 - 1, curve.N - 1)) == curve.N - 1


def test_a_broken_generator_is_an_error_and_not_a_loop() -> None:
    with pytest.raises(CryptoError, match="randomness"):
        curve.random_scalar(bytes)
