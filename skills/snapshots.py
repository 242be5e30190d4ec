"""Parsed skills as JSON, and back."""

import asyncio
from typing import Any

from pydantic import TypeAdapter

from skills.schema import ParsedSkill

_PARSED = TypeAdapter(ParsedSkill)


def to_json(parsed: ParsedSkill) -> dict[str, Any]:
    """The form in which versions keep it."""
    return _PARSED.dump_python(parsed, mode="json")


async def from_json(stored: dict[str, Any]) -> ParsedSkill:
    """What :func:`to_json` wrote down; what a later field means where it is absent is its default.

    On a thread, because large ones take longer than an event loop may stand still.
    """
    return await asyncio.to_thread(_PARSED.validate_python, stored)
