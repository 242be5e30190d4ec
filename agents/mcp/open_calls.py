"""Calls that are open in a session, and which of them a server's question belongs to."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from agents.mcp.elicitation import Elicitation, ElicitationAnswer
from agents.mcp.exchange import CallHooks

_MOST_QUESTIONS = 8
_CANCEL = ElicitationAnswer("cancel")

_current: ContextVar["OpenCall | None"] = ContextVar("mcp_call", default=None)


class OpenCall:
    """A call with its time limit, which does not run while a person is asked."""

    def __init__(self, hooks: CallHooks, seconds: float) -> None:
        self._hooks = hooks
        self._seconds = seconds
        self._asked = 0
        self.is_over = False
        self._turn = asyncio.Lock()
        self.limit = asyncio.timeout(seconds)

    async def ask(self, question: Elicitation) -> ElicitationAnswer:
        """A person's answer, one question at a time; declined where nobody is there, cancelled after too many."""
        if self._hooks.ask is None:
            return ElicitationAnswer("decline")
        async with self._turn:
            self._asked += 1
            if self._asked > _MOST_QUESTIONS:
                return _CANCEL
            self.limit.reschedule(None)
            try:
                return await self._hooks.ask(question)
            finally:
                if not self.is_over:
                    self.limit.reschedule(asyncio.get_running_loop().time() + self._seconds)


class OpenCalls:
    """The open calls of a session."""

    def __init__(self) -> None:
        self._calls: list[OpenCall] = []

    @contextmanager
    def opened(self, hooks: CallHooks, seconds: float) -> Generator[OpenCall]:
        call = OpenCall(hooks, seconds)
        self._calls.append(call)
        token = _current.set(call)
        try:
            yield call
        finally:
            call.is_over = True
            _current.reset(token)
            self._calls.remove(call)

    def asking(self) -> OpenCall | None:
        """The call in whose answer a question came; else the only open call. None if it can't be told."""
        call = _current.get()
        if call in self._calls:
            return call
        return self._calls[0] if len(self._calls) == 1 else None
