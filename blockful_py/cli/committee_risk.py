# SPDX-License-Identifier: Apache-2.0
"""Computes the probability that a random committee has too many attackers (`blockful committee risk`)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson
from blockful_py.errors import SettingsError
from blockful_py.whole_file import write_whole

if TYPE_CHECKING:
    from blockful_py.committee.risk import Pool
    from blockful_py.report.plots.risk import RiskPlot

COLUMNS = 60
"""Maximum number of pools in the plot; the largest pool has twice the requested candidates."""


def risk(
    pool: Annotated[int, typer.Option(help="Number of candidates in the pool.")],
    malicious: Annotated[int, typer.Option(help="Number of malicious candidates among them.")],
    size: Annotated[int, typer.Option(help="Number of members of the committee.")],
    rho: Annotated[str, typer.Option(help="Probability that a malicious member attacks.")] = "1",
    target: Annotated[str | None, typer.Option(help="Find the smallest committee with this risk.")] = None,
    trials: Annotated[int, typer.Option(help="Number of committees to draw as a check, or 0.")] = 10_000_000,
    seed: Annotated[int, typer.Option(help="Seed of the random check.")] = 1,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", "-p", metavar="FILE", help="Also draw risk over size and pool as a PNG file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the exact risk that more than f = floor((n - 1) / 3) members attack, and check it by
    simulation.

    The model draws members from the pool without replacement.  Malicious members attack independently with
    probability rho.  The output adds the worst case, in which every malicious member attacks.

    Example: blockful committee risk --pool 30 --malicious 10 --size 21 --rho 0.2 --target 1e-6
    """
    from blockful_py.committee.risk import (
        CONFIDENCE,
        Pool,
        attack_probability,
        simulate,
        sizes_within,
        tolerated,
    )

    out = Output(as_json)
    candidates = Pool(pool, malicious, _fraction(rho, "--rho"))
    wanted = None if target is None else _fraction(target, "--target")
    exact = attack_probability(candidates, size)
    worst = attack_probability(Pool(pool, malicious, Fraction(1)), size)
    document: dict[str, Any] = {
        "pool": pool, "malicious": malicious, "size": size, "rho": float(candidates.rho),
        "tolerated": tolerated(size), "risk": float(exact), "worstCase": float(worst),
    }  # fmt: skip
    lines = [
        f"risk       {float(exact):.3e}  more than {tolerated(size)} of {size} members attack",
        f"worst case {float(worst):.3e}  the same if every malicious member attacks (rho = 1)",
    ]
    if trials:
        simulation = simulate(candidates, size, trials, seed)
        document["simulation"] = {
            "trials": trials, "seed": seed, "hits": simulation.hits, "frequency": simulation.frequency,
            "confidence": CONFIDENCE, "interval": [simulation.low, simulation.high],
        }  # fmt: skip
        lines.append(
            f"simulated  {simulation.frequency:.3e}  {simulation.low:.3e} to {simulation.high:.3e} "
            f"({CONFIDENCE:.0%}, {trials} draws)"
        )
    if wanted is not None:
        sizes = sizes_within(candidates, wanted)
        document["target"] = {
            "risk": float(wanted), "smallest": sizes.smallest, "lasting": sizes.lasting,
        }  # fmt: skip
        lines.append(_advice(target or "", sizes.smallest, sizes.lasting, pool))
    if plot is not None:
        from blockful_py.report.plots import LIGHT
        from blockful_py.report.plots.risk import draw_risk

        write_whole(plot, draw_risk(_plotted(candidates, size, wanted), LIGHT), SettingsError)
        document["plot"] = str(plot)
        lines.append(f"plot written to {plot}")
    out.result(document)
    for line in lines:
        out.say(line)


def _advice(target: str, smallest: int | None, lasting: int | None, pool: int) -> str:
    if smallest is None:
        return f"no committee from this pool of {pool} has a risk of {target} or less: enlarge the pool"
    answer = f"smallest committee for a risk of {target}: {smallest} members"
    if lasting is None:
        return f"{answer}; some larger ones exceed it"
    return f"{answer}; every size from {lasting} on will do"


def _plotted(pool: Pool, size: int, target: Fraction | None) -> RiskPlot:
    """Plot of the requested pool, and of pools up to twice its size with the nearest malicious share."""

    from blockful_py.committee.risk import MAX_POOL, attack_probabilities
    from blockful_py.report.plots.risk import RiskCurve, RiskPlot

    def curve(pool: Pool) -> RiskCurve:
        return RiskCurve(pool.candidates, pool.malicious, attack_probabilities(pool))

    most = min(2 * pool.candidates, MAX_POOL)
    step = -(-most // COLUMNS)
    others = {*range(step, most + 1, step), pool.candidates}
    field = [
        replace(
            pool,
            candidates=each,
            malicious=(2 * each * pool.malicious + pool.candidates) // (2 * pool.candidates),
        )
        for each in sorted(others)
    ]
    return RiskPlot(
        float(pool.rho),
        size,
        curve(pool),
        tuple(curve(each) for each in field),
        None if target is None else float(target),
    )


def _fraction(text: str, option: str) -> Fraction:
    """The exact value of a decimal or a fraction: 0.2 is one fifth."""
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise SettingsError(f"{option} is a number such as 0.2, 1e-6 or 1/5, not {text!r}.") from None
