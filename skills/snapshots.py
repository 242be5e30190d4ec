"""Parsed skills as JSON, and back."""

from typing import Any

from pydantic import TypeAdapter

from skills.models import ParsedSkill

_PARSED = TypeAdapter(ParsedSkill)


def to_json(parsed: ParsedSkill) -> dict[str, Any]:
    """The form in which versions keep it."""
    return _PARSED.dump_python(parsed, mode="json")


def from_json(stored: dict[str, Any]) -> ParsedSkill:
    """What :func:`to_json` wrote down; what a later field means where it is absent is its default."""
    return _PARSED.validate_python(stored)
