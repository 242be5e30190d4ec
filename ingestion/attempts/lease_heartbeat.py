"""Holding a lease while the work that needs it goes on."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeVar

from core.errors.server import DatabaseUnavailable

T = TypeVar("T")


async def renew_while(
    work: Coroutine[None, None, T],
    renew: Callable[[], Awaitable[bool]],
    *,
    seconds: float,
    lost: type[Exception],
) -> T:
    """Renew a lease while the work goes on; end the work once the lease is lost.

    Args:
        work: what the lease is for; it is cancelled when this call is.
        renew: renews the lease, and says whether it still was there to renew.
        seconds: the life of the lease.
        lost: what is raised when it is lost.

    Returns:
        What the work gave.
    """
    task = asyncio.create_task(work)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=seconds / 4)
            # The lease also ends with the work, which may be at its end just now.
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
