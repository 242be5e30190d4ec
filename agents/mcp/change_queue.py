"""Queue of looks at servers whose lists have changed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from agents.mcp.config import McpTarget
from core.errors.base import AgentexError
from core.logging import get_logger

ListKind = Literal["tools", "resources", "prompts"]

_log = get_logger(__name__)


class ChangeQueue:
    """Looks again at servers whose tools have changed: one look at a time for each, with a pause behind it.

    However often a server says so, it is asked once a pause.
    """

    def __init__(self, look: Callable[[McpTarget], Awaitable[None]], pause_seconds: float) -> None:
        self._look = look
        self._pause_seconds = pause_seconds
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed: set[str] = set()

    def note(self, target: McpTarget) -> None:
        key = target.connection_id
        self._changed.add(key)
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(self._follow(target))

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, target: McpTarget) -> None:
        key = target.connection_id
        try:
            while key in self._changed:
                self._changed.discard(key)
                try:
                    await self._look(target)
                except AgentexError as error:
                    # Its next use finds the same, and says it.
                    _log.warning("mcp.change_not_followed", error=type(error).__name__)
                await asyncio.sleep(self._pause_seconds)
        finally:
            del self._tasks[key]
