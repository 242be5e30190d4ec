"""Which form of a run's events a client gets: server-sent events, or protobuf for who names it."""

import re
from typing import Annotated

from fastapi import Depends, Request

from agents.agui.protobuf.encoder import MEDIA_TYPE as PROTOBUF

EVENT_STREAM = "text/event-stream"
OCTET_STREAM = "application/octet-stream"
# The first of those that a client likes best is taken.
_BINARY = (PROTOBUF, OCTET_STREAM)
_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


def choose_media_type(accept: str) -> str:
    """The media type that an ``Accept`` header asks for (RFC 9110, section 12.5.1).

    Of what it likes equally, a binary type that it names comes first, server-sent events next:
    ``*/*`` stands for clients that read text. An answer that fits nothing is text, too.

    Args:
        accept: the header's value; of several lines, joined by commas. Empty admits all.
    """
    ranges = _read_ranges(accept or "*/*")
    named = [kind for kind in _BINARY if kind in ranges]
    offered = [*named, EVENT_STREAM, *(kind for kind in _BINARY if kind not in named)]
    best = max(offered, key=lambda kind: _quality(ranges, kind))
    return best if _quality(ranges, best) > 0 else EVENT_STREAM


def _quality(ranges: dict[str, float], kind: str) -> float:
    """How much a type is liked: as its most specific range says."""
    for media_range in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        if media_range in ranges:
            return ranges[media_range]
    return 0.0


def _read_ranges(accept: str) -> dict[str, float]:
    """The ranges with their weights; parameters that are no weight are not looked at."""
    ranges: dict[str, float] = {}
    for item in accept.split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        weights = [p.partition("=")[2].strip() for p in parameters if p.startswith("q=")]
        weight = weights[0] if weights else "1"
        if name and _QUALITY.fullmatch(weight):
            ranges[name] = float(weight)
    return ranges


async def _of_request(request: Request) -> str:
    return choose_media_type(",".join(request.headers.getlist("accept")))


AskedMediaType = Annotated[str, Depends(_of_request)]
EVENT_CONTENT: dict[str, dict[str, object]] = {
    EVENT_STREAM: {},
    **{kind: {"schema": {"type": "string", "format": "binary"}} for kind in _BINARY},
}
"""The forms of a run's events, for OpenAPI."""
