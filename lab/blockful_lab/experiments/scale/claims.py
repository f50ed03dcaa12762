# SPDX-License-Identifier: Apache-2.0
"""The sentences of the paper's scalability section, each confirmed or refuted by the simulated figures.

Two figures differ if the ranges of their seeds do not meet and their means are `APART` apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from blockful_lab.experiments.scale.plan import NETWORKS, PBFT, POW
from blockful_lab.experiments.scale.points import ScalePoint
from blockful_lab.simulation.summary import Figure

Curves = Mapping[tuple[str, str], Sequence[ScalePoint]]
"""By panels and curve, in the order of x."""
APART = 0.05
"""Share of the lower of two means."""
SIMPLE, COMPLEX = "alexnet-cifar100", "resnet18-tinyimagenet"


class ClaimVerdict(StrEnum):
    CONFIRMED = "confirmed"
    PARTLY = "in part"
    REFUTED = "refuted"

    @classmethod
    def of(cls, *holds: bool) -> ClaimVerdict:
        return cls.CONFIRMED if all(holds) else cls.PARTLY if any(holds) else cls.REFUTED


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim of the paper about some panels, the verdict, and the figures that it rests on."""

    panels: str
    claim: str
    verdict: ClaimVerdict
    figures: str


def curves_of(points: Sequence[ScalePoint]) -> Curves:
    found: dict[tuple[str, str], list[ScalePoint]] = {}
    for point in sorted(points, key=lambda each: each.x):
        if point.kind == "simulated":
            found.setdefault((point.panels, point.curve), []).append(point)
    return found


def judge(points: Sequence[ScalePoint]) -> list[Judged]:
    """Judges all claims, in the order of the text, by the points of a whole plan."""
    curves = curves_of(points)
    return [Judged(panels, claim, *check(curves)) for panels, claim, check in CLAIMS]


Finding = tuple[ClaimVerdict, str]


def _differ(low: Figure, high: Figure) -> bool:
    return low.most < high.least and high.mean >= (1 + APART) * low.mean


def _ends(points: Sequence[ScalePoint], name: str, unit: str) -> str:
    first, last = points[0], points[-1]
    return f"{_short(getattr(first, name))} to {_short(getattr(last, name))} {unit}"


def _short(figure: Figure) -> str:
    return f"{figure.mean:,.3g}"


def _change(points: Sequence[ScalePoint], first: int, last: int) -> float:
    """Ratio of the throughputs at two places."""
    return points[last].throughput.mean / points[first].throughput.mean


def _throughput(panels: str, falls: bool) -> Callable[[Curves], Finding]:
    def check(curves: Curves) -> Finding:
        found, holds = [], []
        for curve in (PBFT, POW):
            points = curves[panels, curve]
            low, high = (points[-1], points[0]) if falls else (points[0], points[-1])
            holds.append(_differ(low.throughput, high.throughput))
            found.append(f"{curve} {_ends(points, 'throughput', 'requests/s')}")
        return ClaimVerdict.of(*holds), "; ".join(found)

    return check


def _steeper(curves: Curves) -> Finding:
    """Ratio of PoW's throughputs at the last two numbers of requests, beside PBFT's."""
    mined, voted = (_change(curves["ab", curve], -2, -1) for curve in (POW, PBFT))
    fell = _differ(curves["ab", POW][-1].throughput, curves["ab", POW][-2].throughput)
    return ClaimVerdict.of(fell and mined < voted), f"{POW} {mined - 1:+.1%}, {PBFT} {voted - 1:+.1%}"


def _latency_rises(panels: str) -> Callable[[Curves], Finding]:
    def check(curves: Curves) -> Finding:
        both = [curves[panels, curve] for curve in (PBFT, POW)]
        texts = [f"{points[0].curve} {_ends(points, 'latency', 's')}" for points in both]
        return ClaimVerdict.of(*(_differ(each[0].latency, each[-1].latency) for each in both)), "; ".join(
            texts
        )

    return check


def _pow_is_slower(panels: str) -> Callable[[Curves], Finding]:
    def check(curves: Curves) -> Finding:
        pairs = list(zip(curves[panels, PBFT], curves[panels, POW], strict=True))
        ratios = [mined.latency.mean / voted.latency.mean for voted, mined in pairs]
        holds = [_differ(voted.latency, mined.latency) for voted, mined in pairs]
        text = f"{POW} takes {min(ratios):.3g} to {max(ratios):.3g} times as long"
        return (ClaimVerdict.CONFIRMED if all(holds) else ClaimVerdict.of(*holds)), text

    return check


def _pbft_wins(curves: Curves) -> Finding:
    voted, mined = curves["cd", PBFT], curves["cd", POW]
    holds = [_differ(mined[place].throughput, voted[place].throughput) for place in (-2, -1)]
    ratios = [v.throughput.mean / m.throughput.mean for v, m in zip(voted, mined, strict=True)]
    return ClaimVerdict.of(
        *holds
    ), f"times as many requests/s, by x: {', '.join(f'{each:.3g}' for each in ratios)}"


def _latency_drops(curves: Curves) -> Finding:
    """Per request of the whole, and from a request's arrival to its end."""
    holds, texts = [], []
    for curve in (PBFT, POW):
        points = curves["cd", curve]
        holds += [
            _differ(getattr(points[-1], name), getattr(points[0], name)) for name in ("share", "latency")
        ]
        texts.append(
            f"{curve}: whole over requests {_ends(points, 'share', 's')}, "
            f"arrival to end {_ends(points, 'latency', 's')}"
        )
    return ClaimVerdict.of(*holds), "; ".join(texts)


def _pow_drops_beyond_five(curves: Curves) -> Finding:
    """More than the models of a request alone explain: a depth of 8 is 8/5 of one of 5."""
    points = {each.x: each for each in curves["ef", POW]}
    change = points[8].throughput.mean / points[5].throughput.mean
    return ClaimVerdict.of(
        change < 0.9 * 5 / 8
    ), f"{change:.3g} from depth 5 to 8; models alone explain {5 / 8:.3g}"


def _latency_peaks(curves: Curves) -> Finding:
    holds = [max(curves["ef", curve], key=lambda each: each.latency.mean).x == 8 for curve in (PBFT, POW)]
    texts = [f"{curve} {_ends(curves['ef', curve], 'latency', 's')}" for curve in (PBFT, POW)]
    return ClaimVerdict.of(*holds), "; ".join(texts)


def _parallel_is_better(curves: Curves) -> Finding:
    """At each depth: requests a second, and seconds from arrival to end."""
    faster, sooner, ratios = [], [], []
    for curve in (PBFT, POW):
        for one, many in zip(curves["ef", curve], curves["gh", curve], strict=True):
            faster.append(_differ(one.throughput, many.throughput))
            sooner.append(_differ(many.latency, one.latency))
            ratios.append(many.throughput.mean / one.throughput.mean)
    text = (
        f"{min(ratios):.3g} to {max(ratios):.3g} times as many requests/s; lower latency at {sum(sooner)} "
        f"of {len(sooner)} points, with ten times as many requests"
    )
    return ClaimVerdict.of(all(faster), all(sooner)), text


def _pbft_at_every_depth(curves: Curves) -> Finding:
    pairs = list(zip(curves["gh", PBFT], curves["gh", POW], strict=True))
    ratios = [voted.throughput.mean / mined.throughput.mean for voted, mined in pairs]
    always = all(_differ(mined.throughput, voted.throughput) for voted, mined in pairs)
    text = f"times as many requests/s: depth 1 {ratios[0]:.3g}, depth 8 {ratios[-1]:.3g}"
    return ClaimVerdict.of(always, ratios[-1] == max(ratios)), text


def _complex_drops(curves: Curves) -> Finding:
    points = curves["ij", COMPLEX]
    change = _change(points, -2, -1)
    drops = _differ(points[-1].throughput, points[-2].throughput)
    slowest = all(
        _differ(curves["ij", name][-1].latency, points[-1].latency) for name in NETWORKS if name != COMPLEX
    )
    text = (
        f"throughput {change - 1:+.1%} from the third to the last x; latency {_short(points[-1].latency)} s"
    )
    return ClaimVerdict.of(drops, slowest), text


def _simple_is_best(curves: Curves) -> Finding:
    """Each network beside its sequential curve; then the simple one beside the other networks."""
    better = [
        curves["kl", name][0].share.mean < curves["ij", name][-1].share.mean
        and curves["kl", name][0].throughput.mean > curves["ij", name][-1].throughput.mean
        for name in NETWORKS
    ]
    others = [curves["kl", name][-1].throughput for name in NETWORKS if name != SIMPLE]
    best = all(_differ(each, curves["kl", SIMPLE][-1].throughput) for each in others)
    texts = [f"{name} {_short(curves['kl', name][-1].throughput)}" for name in NETWORKS]
    return ClaimVerdict.of(all(better), best), f"requests/s: {', '.join(texts)}"


def _parallel_scales(curves: Curves) -> Finding:
    one, many = curves["ab", PBFT][-1], curves["cd", PBFT][-1]
    ratio = many.throughput.mean / one.throughput.mean
    return ClaimVerdict.of(
        _differ(one.throughput, many.throughput)
    ), f"{PBFT}: {ratio:,.3g} times as many requests/s"


CLAIMS: tuple[tuple[str, str, Callable[[Curves], Finding]], ...] = (
    ("a", "Sequential throughput decreases as requests grow, with both.", _throughput("ab", falls=True)),
    ("a", "PoW declines more steeply than PBFT beyond 500 requests.", _steeper),
    ("b", "Sequential latency rises with requests.", _latency_rises("ab")),
    ("b", "PoW has the highest sequential latency, PBFT the lowest.", _pow_is_slower("ab")),
    ("c", "Parallel throughput increases with requests.", _throughput("cd", falls=False)),
    ("c", "PBFT outperforms PoW beyond 5,000 requests.", _pbft_wins),
    ("d", "Parallel latency drops with more requests.", _latency_drops),
    ("d", "PoW still has the highest parallel latency.", _pow_is_slower("cd")),
    ("e", "Sequential throughput decreases with depth.", _throughput("ef", falls=True)),
    ("e", "PoW drops sharply beyond depth 5.", _pow_drops_beyond_five),
    ("f", "Sequential latency peaks at depth 8.", _latency_peaks),
    ("g, h", "Parallel processing yields higher throughput and lower latency.", _parallel_is_better),
    ("g, h", "PBFT consistently outperforms PoW, especially at depth 8.", _pbft_at_every_depth),
    ("i, j", "ResNet18 on TinyImageNet drops beyond 500 requests, with increased latency.", _complex_drops),
    ("k, l", "Parallel is better for all, particularly AlexNet on CIFAR-100 after 5,000.", _simple_is_best),
    ("a, c", "Parallel unlearning significantly improves throughput.", _parallel_scales),
)
