"""Filters of ``agentex search`` as a person writes them: ``team=ops``, ``year>=2020``."""

import json
import re
from collections.abc import Sequence

from pydantic import JsonValue

from cli.client.schemas import JsonObject
from cli.errors import CommandFailed
from cli.ui.i18n.search_messages import FILTER_UNREADABLE
from core.errors import InvalidRequest

_WRITTEN = re.compile(r"(?P<key>[^=<>:]+?)\s*(?P<sign>>=|<=|=|>|<|:)\s*(?P<value>.+)", re.DOTALL)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?")
_BOUNDS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_WORDS: dict[str, JsonValue] = {"true": True, "false": False}


def read_filters(written: Sequence[str]) -> JsonObject:
    """The filters of a search request.

    Args:
        written: ``key=value`` for metadata (the same key again: any of the values),
            ``key>=value`` and the like for ranges, ``type:pdf`` and ``name:guide*`` for the
            document itself.

    Raises:
        CommandFailed: one can't be read.
    """
    filters: JsonObject = {}
    metadata: dict[str, JsonValue] = {}
    types: list[JsonValue] = []
    for one in written:
        found = _WRITTEN.fullmatch(one.strip())
        if found is None:
            raise CommandFailed(InvalidRequest("filter", one), FILTER_UNREADABLE)
        key, sign, value = found["key"].strip(), found["sign"], found["value"].strip()
        if sign != ":":
            metadata[key] = _with(metadata.get(key), sign, _value(value))
        elif key == "type":
            types.append(value)
        elif key == "name":
            filters["name"] = value
        else:
            raise CommandFailed(InvalidRequest("filter", one), FILTER_UNREADABLE)
    if metadata:
        filters["metadata"] = metadata
    if types:
        filters["file_types"] = types
    return filters


def _with(present: JsonValue, sign: str, value: JsonValue) -> JsonValue:
    if sign in _BOUNDS:
        return {**(present if isinstance(present, dict) else {}), _BOUNDS[sign]: value}
    if present is None or isinstance(present, dict):
        return value
    return [*(present if isinstance(present, list) else [present]), value]


def _value(word: str) -> JsonValue:
    """A number as JSON has it, or a truth value; quotes keep it a word, as 00123 and inf are."""
    if len(word) > 1 and word[0] == word[-1] == '"':
        return word[1:-1]
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    return json.loads(word) if _NUMBER.fullmatch(word) else word
