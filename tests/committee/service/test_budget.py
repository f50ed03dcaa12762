# SPDX-License-Identifier: Apache-2.0
"""Bodies wait for memory in the order of their arrival."""

from __future__ import annotations

import asyncio

from blockful_py.committee.service.bodies import ByteBudget


def test_bodies_share_a_budget_in_their_order() -> None:
    async def scenario() -> list[str]:
        budget, holding = ByteBudget(10), []
        release = {name: asyncio.Event() for name in "abcd"}

        async def hold(name: str, size: int) -> None:
            async with budget.hold(size, name):
                holding.append(name)
                await release[name].wait()
            holding.remove(name)

        async def settled() -> str:
            for _ in range(10):
                await asyncio.sleep(0)
            return "".join(holding)

        sizes = {"a": 6, "b": 1000, "c": 4, "d": 6}
        tasks = [asyncio.create_task(hold(name, size)) for name, size in sizes.items()]
        seen = [await settled()]
        for name in "abcd":
            release[name].set()
            seen.append(await settled())
        await asyncio.gather(*tasks)
        return seen

    assert asyncio.run(scenario()) == ["a", "b", "cd", "d", ""]


def test_a_holder_has_one_body_at_a_time() -> None:
    async def scenario() -> list[str]:
        budget, order = ByteBudget(10), []
        release = asyncio.Event()

        async def hold(holder: str, what: str) -> None:
            async with budget.hold(1, holder):
                order.append(what)
                await release.wait()

        tasks = [asyncio.create_task(hold(what[0], what)) for what in ("a1", "a2", "b1")]
        while len(order) < 2:
            await asyncio.sleep(0)
        release.set()
        await asyncio.gather(*tasks)
        return order

    assert asyncio.run(scenario()) == ["a1", "b1", "a2"]


def test_who_gives_up_waiting_leaves_the_budget_as_it_was() -> None:
    async def scenario() -> None:
        budget = ByteBudget(10)
        async with budget.hold(10, "a"):

            async def wait() -> None:
                async with budget.hold(1, "b"):
                    raise AssertionError

            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with budget.hold(10, "a"):
            pass

    asyncio.run(scenario())
