"""Periodic renewal of a lease."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeVar

from core.errors.server import DatabaseUnavailable

T = TypeVar("T")


async def renew_while(
    work: Coroutine[None, None, T], renew: Callable[[], Awaitable[bool]], *, seconds: float, lost: type[Exception]
) -> T:
    """Run ``work`` and renew its lease; cancel it and raise ``lost`` once ``renew`` returns False."""
    task = asyncio.create_task(work)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=seconds / 4)
            # The work releases the lease when it ends, which may be just now.
            if not (task.done() or await _is_renewed(renew) or task.done()):
                raise lost
        return await task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


async def _is_renewed(renew: Callable[[], Awaitable[bool]]) -> bool:
    try:
        return await renew()
    except DatabaseUnavailable:
        # It may still be ours; its end in the database decides.
        return True
