"""What a client has learnt of its endpoint's tool calling, for a while."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from agents.llm.base import ToolSpec
from agents.llm.tool_schemas import plain_description
from core.db.types import utc_now

REFUSAL_SECONDS = 3600.0
"""How long an endpoint that refused tools is given them in words before it is tried again."""


class ToolSupport:
    """Whether an endpoint refuses native tools for a model; forgotten after ``REFUSAL_SECONDS``."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until = 0.0
        self._is_learnt = False

    def note_refusal(self) -> None:
        self._is_learnt, self._until = True, self._now() + REFUSAL_SECONDS

    @property
    def is_refused(self) -> bool:
        return self._is_learnt and self._now() < self._until

    @property
    def refused_until(self) -> datetime | None:
        """When native tools are tried again; None if they are not refused."""
        return utc_now() + timedelta(seconds=self._until - self._now()) if self.is_refused else None


def plain_specs(tools: Sequence[ToolSpec]) -> list[ToolSpec]:
    """The tools, those of others without their schemas: no fault of theirs can be in the request any more."""
    return [_plain(tool) if tool.is_foreign else tool for tool in tools]


def _plain(tool: ToolSpec) -> ToolSpec:
    if not tool.parameters.get("properties"):
        return tool
    description = plain_description(tool.description, tool.parameters)
    return replace(tool, description=description, parameters={"type": "object", "properties": {}})
