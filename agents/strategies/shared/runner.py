"""The only way to start, read and stop a strategy."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from workflows.errors import WorkflowCancelledByUser
from workflows.events import StopEvent
from workflows.handler import WorkflowHandler

from agents.events import Failed, Finished, RunEvent, RunUsage
from agents.strategies.shared.base import Strategy, stop_event_future
from agents.strategies.shared.event_channel import EventBatch
from core.errors.base import AgentexError
from core.errors.server import ModelFailed, RunTimedOut
from core.logging import get_logger
from kb_service.text.tokenizer import is_cjk_dominant

_REPLAY_POLL_SECONDS = 0.005

_log = get_logger(__name__)


class StrategyRun:
    """A strategy about to run, running or done; without an ``agent_type`` it has no activity message.

    ``events`` raises nothing but its own reader's cancellation: every failure ends in one terminal
    event (``Finished`` or ``Failed``), with everything open closed before it.
    """

    def __init__(self, strategy: Strategy, agent_type: str | None = None) -> None:
        self._strategy = strategy
        self._agent_type = agent_type
        self._channel = strategy.channel
        self._handler: WorkflowHandler | None = None
        self._cancelling: set[asyncio.Task[None]] = set()
        self._is_stopped = False

    @property
    def usage(self) -> RunUsage:
        return self._strategy.usage

    async def events(self) -> AsyncGenerator[RunEvent, None]:
        """The run's events one by one, once; closing the generator early stops the run."""
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for event in batch.events:
                    yield event

    async def batches(self) -> AsyncGenerator[EventBatch, None]:
        """The run's events, once, in batches of all queued ones.

        Asking for the next batch confirms that the last one is stored. Closing the generator early stops
        the run.
        """
        driver = asyncio.create_task(self._drive())
        driver.add_done_callback(self._end_after)
        try:
            while True:
                batch, number = await self._channel.read()
                if batch.events or batch.effects:
                    yield batch
                self._channel.wrote(number)
                if batch.is_last:
                    return
        finally:
            await self.stop()
            await asyncio.wait({driver})

    async def stop(self, *, timeout_seconds: float = 1.0) -> None:
        """Stop; ``events`` then closes what is open and ends in ``Finished(cancelled)``.

        Async work is cancelled at once; work that does not yield within the timeout is abandoned and its
        output dropped. Does nothing if the run is over.
        """
        self._is_stopped = True
        await self._caught_up(timeout_seconds)
        if self._handler is not None and not self._handler.is_done():
            # The library's own timeout waits for work that resists cancellation.
            cancelling = asyncio.create_task(self._handler.cancel_run(timeout=timeout_seconds))
            self._cancelling.add(cancelling)
            cancelling.add_done_callback(self._cancelling.discard)
            await asyncio.wait({cancelling}, timeout=timeout_seconds)
        self._channel.finish(Finished(self._strategy.usage, outcome="cancelled"))

    async def _caught_up(self, seconds: float) -> None:
        """Wait until a replay has reached what it had left open."""
        journal = self._strategy.context.journal
        deadline = asyncio.get_running_loop().time() + seconds
        # Replay takes milliseconds; a signal would have to be set by every effect.
        while (  # noqa: ASYNC110
            journal.is_replaying and not self._channel.is_closed and asyncio.get_running_loop().time() < deadline
        ):
            await asyncio.sleep(_REPLAY_POLL_SECONDS)

    @property
    def known_ids(self) -> frozenset[str]:
        """Ids of all messages, thoughts and calls so far, including the run's past."""
        return self._channel.known_ids

    async def _drive(self) -> None:
        is_behind = self._strategy.context.journal.is_replaying and not self._channel.is_closed
        # A stop waits until the replay has reached the recorded end.
        if self._is_stopped and not is_behind:
            return
        self._strategy.emit(self._strategy.initial_event())
        if self._agent_type is not None:
            self._strategy.start_progress(self._agent_type)
        self._handler = self._strategy.run()
        outcome = stop_event_future(self._handler)
        # wait, not wait_for: its timeout would cancel the workflow's own task half-way.
        context = self._strategy.context
        left = context.limits.timeout_seconds - context.journal.live_seconds
        await asyncio.wait({outcome}, timeout=max(0.0, left))
        if not outcome.done():
            self._fail(RunTimedOut())
            await self._handler.cancel_run(timeout=1.0)
            await asyncio.wait({outcome}, timeout=1.0)
        self._conclude(outcome)

    def _end_after(self, driver: asyncio.Task[None]) -> None:
        """Never leave the reader waiting, even if the driver itself failed."""
        if not driver.cancelled() and (error := driver.exception()) is not None:
            _log.error("strategy.driver_failed", error=type(error).__name__)
        self._fail(AgentexError())

    def _conclude(self, outcome: asyncio.Future[StopEvent]) -> None:
        error = outcome.exception() if outcome.done() and not outcome.cancelled() else None
        if isinstance(error, WorkflowCancelledByUser) or self._is_stopped:
            self._channel.finish(Finished(self._strategy.usage, outcome="cancelled"))
        elif self._strategy.failure is not None:
            self._fail(self._strategy.failure)
        elif (waiting := self._strategy.waits_for) is not None:
            self._channel.finish(waiting.ending(self._strategy.usage))
        elif error is not None or not outcome.done():
            _log.error("strategy.failed", error=type(error).__name__)
            self._fail(AgentexError())
        else:
            self._channel.finish(Finished(self._strategy.usage, self._strategy.citations))

    def _fail(self, failure: AgentexError) -> None:
        is_chinese = is_cjk_dominant(self._strategy.context.question)
        self._channel.finish(failure_event(failure, self._strategy.usage, is_chinese=is_chinese))


def failure_event(failure: AgentexError, usage: RunUsage, *, is_chinese: bool) -> Failed:
    """The terminal event of a failure, in the language of the question.

    Only a model's failure says more than the code's message: its ``reason`` is ours, never the
    endpoint's own text.
    """
    message = failure.message_zh if is_chinese else failure.message
    details = failure.details
    reason = (is_chinese and details.get("reason_zh")) or details.get("reason")
    if failure.code == ModelFailed.code and isinstance(reason, str):
        message = f"{message}: {reason}"
    # docs/reference/agentex-api.md, section 12.4.1 names this code.
    name = "LLM_ERROR" if failure.code == ModelFailed.code else failure.wire_name
    return Failed(name, message, failure.code, usage)
