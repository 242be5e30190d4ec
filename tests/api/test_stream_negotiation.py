"""The choice of the event format by the ``Accept`` header."""

import pytest

from api.streaming.framing import choose_media_type

PROTO = "application/vnd.ag-ui.event+proto"
OCTETS = "application/octet-stream"
SSE = "text/event-stream"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", SSE),
        ("*/*", SSE),
        (SSE, SSE),
        ("text/*", SSE),
        # What curl, browsers and libraries send that know nothing of it.
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", SSE),
        ("application/json, text/plain, */*", SSE),
        # Nothing that there is: an answer all the same.
        ("application/json", SSE),
        ("text/event-stream;q=0", SSE),
        (PROTO, PROTO),
        (OCTETS, OCTETS),
        ("Application/VND.AG-UI.Event+Proto", PROTO),
        (f"{PROTO};v=1", PROTO),
        # Equally liked: who names it can read it.
        (f"{SSE}, {PROTO}", PROTO),
        (f"{SSE}, {OCTETS}", OCTETS),
        (f"{OCTETS}, {PROTO}", PROTO),
        (f"{PROTO}, */*", PROTO),
        (f"{SSE};q=0.9, {PROTO};q=0.8", SSE),
        (f"{SSE};q=0.8, {OCTETS};q=0.9, {PROTO};q=0.85", OCTETS),
        (f"{PROTO};q=0.5, */*", SSE),
        (f"{PROTO};q=0, */*", SSE),
        (f"{PROTO}; q=0.3, text/*;q=0.2", PROTO),
        # Text is not admitted.
        ("application/*", PROTO),
        (f"application/*, {PROTO};q=0", OCTETS),
        ("application/*, text/*", SSE),
        # A weight that is none says nothing.
        (f"{PROTO};q=2, {SSE}", SSE),
        (f"{PROTO};q=high", SSE),
        (",;,", SSE),
    ],
)
def test_form_of_the_events(accept: str, chosen: str):
    assert choose_media_type(accept) == chosen
