"""Progress of running calls as activity messages, bounded in number, rate and size."""

import asyncio
from collections.abc import Callable
from math import isfinite
from typing import Protocol

from pydantic import JsonValue

from agents.events import CALL_PROGRESS, LONGEST_CALL_MESSAGE, ActivityChanged, ActivityStarted, RunEvent
from agents.llm.base import ToolCall
from agents.tools.live_call import ProgressReport

MOST_REPORTS = 100
_PAUSE_SECONDS = 0.5


class Timer(Protocol):
    """What is about to be called."""

    def cancel(self) -> None:
        """Don't call it."""
        ...


def _after_pause(work: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(_PAUSE_SECONDS, work)


class CallProgressFeed:
    """Shows the progress of one call: at most one event in half a second, the newest report of the time between.

    ``later`` calls back after the pause.

    Its events are not the strategy's own: a replay does not repeat them.
    """

    def __init__(
        self,
        emit: Callable[[RunEvent], None],
        call: ToolCall,
        later: Callable[[Callable[[], None]], Timer] | None = None,
    ) -> None:
        self._emit = emit
        self._call = call
        self._later = later or _after_pause
        self._message_id = f"progress_{call.id}"
        self._shown: dict[str, JsonValue] = {}
        self._newest: ProgressReport | None = None
        self._highest = 0.0
        self._left = MOST_REPORTS
        self._timer: Timer | None = None
        self._is_over = False

    def show(self, progress: ProgressReport) -> None:
        """Show a report now or later; those that go back or are no numbers are left out."""
        is_number = isfinite(progress.progress) and (progress.total is None or isfinite(progress.total))
        if self._is_over or not is_number or progress.progress < self._highest:
            return
        self._highest = progress.progress
        self._newest = progress
        if self._timer is None:
            self._show_newest()

    def end(self) -> None:
        """Show nothing any more: the call has its result, or waits."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def _show_newest(self) -> None:
        self._timer = None
        if (newest := self._newest) is None or self._is_over or self._left == 0:
            return
        self._newest = None
        self._left -= 1
        content = _content(newest)
        if not self._shown:
            about: dict[str, JsonValue] = {"tool_call_id": self._call.id, "tool": self._call.name}
            self._emit(ActivityStarted(self._message_id, CALL_PROGRESS, {**about, **content}))
        elif changes := {name: content[name] for name in content if content[name] != self._shown[name]}:
            self._emit(ActivityChanged(self._message_id, CALL_PROGRESS, changes))
        self._shown = content
        self._timer = self._later(self._show_newest)


def _content(report: ProgressReport) -> dict[str, JsonValue]:
    is_known = report.total is not None and report.total > 0
    return {
        "progress": report.progress,
        "total": report.total if is_known else None,
        "message": report.message[:LONGEST_CALL_MESSAGE],
    }
