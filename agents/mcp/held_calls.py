"""Calls that stay open on their connections while a person is asked, between two runs of a task."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from agents.mcp.elicitation import Elicitation, ElicitationAnswer
from agents.mcp.exchange import AnswerTooLate, CallFeed, CallHooks, CallReply, InputNeeded, McpProgress
from agents.mcp.results import McpResult

_MOST_OF_OWNER = 20
# After that nobody can answer an interrupt any more, and its result is only for who gives up on it.
_KEPT_SECONDS = 3600
_CANCEL = ElicitationAnswer("cancel")
MakeCall = Callable[[CallHooks], Awaitable[McpResult]]


class HeldCall:
    """A call in a task of its own, which waits where its server asks."""

    def __init__(self, feed: CallFeed, make: MakeCall, hold_seconds: float) -> None:
        self.feed = feed
        self._hold_seconds = hold_seconds
        self._question: Elicitation | None = None
        self._answer: asyncio.Future[ElicitationAnswer] | None = None
        self._asks = asyncio.Event()
        self.task = asyncio.create_task(self._make(make))

    async def _make(self, make: MakeCall) -> McpResult:
        try:
            return await make(CallHooks(self._show, self._ask))
        finally:
            self.answer(_CANCEL)

    def _show(self, progress: McpProgress) -> None:
        if self.feed.on_progress is not None:
            self.feed.on_progress(progress)

    async def _ask(self, question: Elicitation) -> ElicitationAnswer:
        if not self._hold_seconds:
            return _CANCEL
        self._answer = asyncio.get_running_loop().create_future()
        self._question = question
        self._asks.set()
        try:
            async with asyncio.timeout(self._hold_seconds):
                return await self._answer
        except TimeoutError:
            return _CANCEL
        finally:
            self._question = None
            self._asks.clear()

    def answer(self, answer: ElicitationAnswer) -> None:
        """Give the answer to the open question, if there is one."""
        if self._answer is not None and not self._answer.done():
            # From here on the call runs, until it asks again.
            self._asks.clear()
            self._answer.set_result(answer)

    async def outcome(self) -> McpResult:
        """The result; raises ``InputNeeded`` at the next question. A caller that goes away ends the call."""
        while not self.task.done():
            asks = asyncio.create_task(self._asks.wait())
            try:
                await asyncio.wait({self.task, asks}, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                self.task.cancel()
                raise
            finally:
                asks.cancel()
            if not self.task.done() and (question := self._question) is not None:
                raise InputNeeded(question, seconds=self._hold_seconds)
        return self.task.result()


class HeldCalls:
    """The calls of all runs of this process that may ask, by the run's key for them."""

    def __init__(self, hold_seconds: float) -> None:
        self._hold_seconds = hold_seconds
        self._calls: dict[str, HeldCall] = {}
        self._owners: dict[str, str] = {}

    async def begin(self, owner_id: str, feed: CallFeed, make: MakeCall) -> McpResult:
        """Make a call; raises ``InputNeeded`` where a person has to answer first."""
        is_full = Counter(self._owners.values())[owner_id] >= _MOST_OF_OWNER
        call = HeldCall(feed, make, 0 if is_full else self._hold_seconds)
        self._calls[feed.key], self._owners[feed.key] = call, owner_id
        call.task.add_done_callback(lambda _: self._ended(feed.key, call))
        return await self._outcome(feed.key, call)

    async def go_on(self, feed: CallFeed, reply: CallReply) -> McpResult:
        """Answer the question of a call that is still open; raises ``AnswerTooLate`` if none is."""
        call = self._calls.get(feed.key)
        if call is None:
            raise AnswerTooLate
        call.feed = feed
        call.answer(reply.answer)
        return await self._outcome(feed.key, call)

    async def close(self) -> None:
        tasks = [call.task for call in self._calls.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _outcome(self, key: str, call: HeldCall) -> McpResult:
        try:
            result = await call.outcome()
        except InputNeeded as needed:
            if needed.seconds is None:
                self._forget(key, call)
            raise
        except BaseException:
            self._forget(key, call)
            raise
        self._forget(key, call)
        return result

    def _ended(self, key: str, call: HeldCall) -> None:
        """Keep the result of a call that nobody waited for, for who comes back too late to answer."""
        if not call.task.cancelled():
            # Else a failure that nobody comes back for would be logged as one that was never looked at.
            call.task.exception()
        asyncio.get_running_loop().call_later(_KEPT_SECONDS, self._forget, key, call)

    def _forget(self, key: str, call: HeldCall) -> None:
        if self._calls.get(key) is call:
            del self._calls[key], self._owners[key]
