"""Names of a request's fields in refusals, as the caller spelt them."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from pydantic import JsonValue
from pydantic.alias_generators import to_camel, to_snake

from core.errors.base import AgentexError

SNAKE_KEYS = {
    "thread_id": "threadId",
    "run_id": "runId",
    "parent_run_id": "parentRunId",
    "protocol_version": "protocolVersion",
    "forwarded_props": "forwardedProps",
}
"""Keys of a run's body in snake_case, and the protocol's spelling of them."""


def is_snake_case(body: Mapping[str, JsonValue]) -> bool:
    """Whether the keys of a run's body are in snake_case; ``threadId`` decides where both are."""
    return not SNAKE_KEYS.keys().isdisjoint(body) and "threadId" not in body


@contextmanager
def spelt_as_in(body: JsonValue) -> Generator[None]:
    """Rename the ``field`` of refusals, whose parts may be in either case, to the names that the body has."""
    try:
        yield
    except AgentexError as error:
        field = error.details.get("field")
        if isinstance(field, str) and isinstance(body, dict):
            error.details["field"] = _spelt(field, body)
        raise


def _spelt(field: str, body: dict[str, JsonValue]) -> str:
    respell = to_snake if is_snake_case(body) else str
    here: JsonValue = body
    parts: list[str] = []
    for part in field.split("."):
        name = part
        if isinstance(here, dict):
            name = next((key for key in (part, to_snake(part), to_camel(part)) if key in here), respell(part))
            here = here.get(name)
        elif isinstance(here, list) and part.isdecimal() and int(part) < len(here):
            here = here[int(part)]
        else:
            here = None
        parts.append(name)
    return ".".join(parts)
