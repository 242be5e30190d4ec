"""Runner of trials of skills on models: concurrency and token accounting."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from agents.llm.base import TokenUsage
from agents.llm_registry import usage
from agents.llm_registry.selection import SelectedModel
from agents.llm_registry.usage import SpentTokens
from core.db.database import Database
from core.db.unit_of_work import unit_of_work

# Endpoints limit how many requests they answer at once.
_AT_ONCE = 4
_LOOK_SECONDS = 1.0


async def run_concurrently(trials: Sequence[Callable[[], Awaitable[None]]]) -> AsyncGenerator[int]:
    """Run trials, some at once; closing the generator cancels the rest, and so does the first failure, which is raised.

    Yields how many are done at least once a second, so that a waiting caller can leave.
    """
    free = asyncio.Semaphore(_AT_ONCE)

    async def made(trial: Callable[[], Awaitable[None]]) -> None:
        async with free:
            await trial()

    tasks = [asyncio.create_task(made(trial)) for trial in trials]
    try:
        pending = set(tasks)
        while pending:
            finished, pending = await asyncio.wait(pending, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            for task in finished:
                task.result()
            yield len(tasks) - len(pending)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def record_usage(database: Database, user_id: str, chosen: SelectedModel, spent: Sequence[TokenUsage]) -> None:
    """Record the tokens of a trial as a user's usage."""
    tokens = SpentTokens(sum(u.prompt_tokens for u in spent), sum(u.completion_tokens for u in spent))
    if tokens.prompt_tokens or tokens.completion_tokens:
        trial = usage.TrialUsage(user_id, chosen.id, chosen.model.name)
        async with unit_of_work(database) as work:
            await usage.record(work.session, trial, tokens)
