"""Work that nobody waits for any more once its client has hung up."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

T = TypeVar("T")
_PAUSE_SECONDS = 0.5


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of work that is cancelled when the client goes away, which a handler is not.

    Args:
        request: whose body was read, or is not wanted.

    Raises:
        ClientDisconnect: the client has gone, and the work has ended; otherwise whatever the work raises.
    """
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            await asyncio.wait((task,), timeout=_PAUSE_SECONDS)
            if not task.done() and await request.is_disconnected():
                raise ClientDisconnect
        return task.result()
    finally:
        # What it works on is removed after this.
        task.cancel()
        await asyncio.wait((task,))
