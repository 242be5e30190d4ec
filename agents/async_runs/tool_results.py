"""A tool's result as the events of asynchronous runs show it: status, facts, what went wrong."""

import re
from dataclasses import dataclass
from typing import Literal

import orjson
from pydantic import JsonValue

from core.json_access import as_list, as_object, as_text, parse

ResultStatus = Literal["success", "failure", "partial"]
_LONGEST = 4000
# What stands in the place of a result when a call gave none: the sentences of ``agents.tools`` and
# ``agents.strategies``, which tests make with the real ones.
_FAILURES = re.compile(
    r"There is no (tool|time zone) |The tool \S+ (needs an answer|took longer|failed|is switched off)"
    r"|The arguments are not valid: |Not run(?: again)?: |Not finished: |Not saved: |Cancelled: "
    r"|Declined: |Interrupted: |Begun again: |No passage has the number |No result was given: "
)
_UNKNOWN = "There is no tool "
_CUT = re.compile(r"\n\(cut: \d+ more characters\)\Z")


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came of a call.

    Attributes:
        result: Compact JSON text, or the tool's own words.
        error: Why there is no result; None where there is one.
        is_unknown: Whether that is because no tool has the name.
    """

    status: ResultStatus
    result: str
    error: str | None = None
    is_unknown: bool = False


def read_outcome(content: str) -> ToolOutcome:
    """Tell a result by its text, which is what a model reads too."""
    if failure := _FAILURES.match(content):
        is_unknown = failure.group() == _UNKNOWN
        return ToolOutcome("failure", "", _bounded(content), is_unknown=is_unknown)
    try:
        data = as_object(parse(content))
    except ValueError:
        data = {}
    if "passages" in data:
        return ToolOutcome("success", orjson.dumps(_facts(data)).decode())
    is_cut = bool(_CUT.search(content)) or len(content) > _LONGEST
    return ToolOutcome("partial" if is_cut else "success", _bounded(content))


def _facts(data: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Of passages where they stand, not their text: that is for the model."""
    passages = [as_object(item) for item in as_list(data["passages"])]
    places: list[JsonValue] = [
        {name: value for name, value in passage.items() if name in {"number", "document", "page"}}
        for passage in passages
    ]
    facts: dict[str, JsonValue] = {"count": len(passages), "passages": places}
    if retrieval_id := as_text(data.get("retrieval_id")):
        facts["retrieval_id"] = retrieval_id
    return facts


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
