"""Server-sent events, cut anywhere."""

import time
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sse import EventTooLarge, ServerSentEvent, SseDecoder, read_events

STREAM = (
    "\ufeff: hello\n\n"
    "event: RUN_STARTED\nid: r:1\ndata: {}\n\n"
    'data: {"delta": "镜像\u2028 – 🪞"}\r\n\r\n'
    "event:TEXT\rdata:one\rdata: two\r\r"
    "data: three\r\ndata: four\r\n\r\n"
    "retry: 5\nevent: ignored\n\n"
    "id: 7\nid: a\0b\n\n"
    "data\n\n"
    "id: 9\ndata: last\r\n\n"
    "event: cut\ndata: never finished"
).encode()
EVENTS = [
    ServerSentEvent("RUN_STARTED", "r:1", "{}"),
    ServerSentEvent("message", "r:1", '{"delta": "镜像\u2028 – 🪞"}'),
    ServerSentEvent("TEXT", "r:1", "one\ntwo"),
    ServerSentEvent("message", "r:1", "three\nfour"),
    ServerSentEvent("message", "7", ""),
    ServerSentEvent("message", "9", "last"),
]
CUT = ServerSentEvent("cut", "9", "never finished")


def read(pieces: list[bytes]) -> list[ServerSentEvent]:
    decoder = SseDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


def test_events_are_read_when_the_stream_comes_whole():
    assert read([STREAM]) == EVENTS


@given(st.lists(st.integers(0, len(STREAM))))
def test_events_are_the_same_when_the_stream_is_cut_anywhere(cuts: list[int]):
    edges = [0, *sorted(cuts), len(STREAM)]
    assert read([STREAM[a:b] for a, b in pairwise(edges)]) == EVENTS


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_events_are_the_same_when_each_byte_comes_alone(line_end: str):
    stream = STREAM.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", line_end.encode())
    assert read([stream[i : i + 1] for i in range(len(stream))]) == EVENTS


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_event_is_given_at_its_blank_line_whatever_ends_the_lines(line_end: str):
    decoder = SseDecoder()
    assert decoder.feed(f"data: x{line_end}".encode()) == []
    assert decoder.feed(line_end.encode()) == [ServerSentEvent("message", "", "x")]


@given(st.integers(0, len(STREAM)))
def test_closing_gives_the_event_that_lacks_its_blank_line(cut: int):
    decoder = SseDecoder()
    events = [*decoder.feed(STREAM[:cut]), *decoder.feed(STREAM[cut:])]
    assert events + decoder.close() == [*EVENTS, CUT]
    assert decoder.close() == []


def test_byte_order_mark_is_data_anywhere_but_at_the_start():
    assert read(["data: \ufeffx\n\n".encode()])[0].data == "\ufeffx"


@given(st.binary())
def test_reading_never_fails_on_any_bytes(noise: bytes):
    assert isinstance(read([noise, b"\n\n"]), list)


def test_event_is_refused_when_larger_than_the_limit():
    decoder = SseDecoder(max_event_bytes=100)
    decoder.feed(b"data: " + b"x" * 90)
    with pytest.raises(EventTooLarge):
        decoder.feed(b"y" * 90)


def test_limit_is_for_one_event_when_many_come():
    decoder = SseDecoder(max_event_bytes=100)
    for _ in range(50):
        assert [e.data for e in decoder.feed(b"data: " + b"x" * 50 + b"\n\n")] == ["x" * 50]


def test_time_is_linear_when_a_long_line_comes_in_small_pieces():
    def seconds(size: int) -> float:
        decoder, started = SseDecoder(), time.process_time()
        for _ in range(size):
            decoder.feed(b"data")
        return time.process_time() - started

    # Eight times as much; a quadratic reader takes 64 times as long.
    assert min(seconds(80_000) for _ in range(3)) < 24 * min(seconds(10_000) for _ in range(3))


@pytest.mark.anyio
async def test_event_cut_off_by_the_end_of_a_body_is_not_given():
    async def body() -> AsyncIterator[bytes]:
        for place in range(0, len(STREAM), 7):
            yield STREAM[place : place + 7]

    assert [event async for event in read_events(body())] == EVENTS
