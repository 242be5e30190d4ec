"""The engine's protocol and its client, against a small real server on a socket."""

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors.requests import RequestTooLarge
from core.errors.server import EngineUnavailable, StorageFull
from kb_service.engine_client.client import EngineClient
from kb_service.engine_client.protocol import (
    INGEST_SECONDS,
    MAX_FRAME_BYTES,
    QUERY_SECONDS,
    EmptyBody,
    EngineRequest,
    EngineResponse,
    MalformedFrame,
    pack_frame,
    read_frame,
)

pytestmark = pytest.mark.anyio


def reader_of(content: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(content)
    reader.feed_eof()
    return reader


@given(st.dictionaries(st.text(), st.binary() | st.integers(-(2**63), 2**64 - 1) | st.text()))
def test_frame_gives_back_its_message_when_read(body):
    request = EngineRequest(id=7, op="embed", body=body)

    async def read() -> EngineRequest:
        return await read_frame(reader_of(pack_frame(request)), EngineRequest)

    assert asyncio.run(read()) == request


async def test_frame_is_refused_when_it_is_larger_than_the_cap():
    with pytest.raises(RequestTooLarge):
        pack_frame(EngineRequest(id=1, op="x", body={"data": b"0" * MAX_FRAME_BYTES}))


async def test_frame_is_refused_when_it_has_another_shape():
    with pytest.raises(MalformedFrame):
        await read_frame(reader_of(pack_frame(EngineRequest(id=1, op="x", body={}))), EngineResponse)


async def test_call_fails_within_its_time_when_nobody_listens(tmp_path):
    client = EngineClient(tmp_path / "absent.sock")
    started = time.monotonic()
    with pytest.raises(EngineUnavailable):
        await client.call("count", EmptyBody(), EmptyBody, timeout_seconds=0.3)
    with pytest.raises(EngineUnavailable):
        await client.health()
    assert time.monotonic() - started < 8


async def test_call_times_out_and_takes_its_request_back_when_no_answer_comes(tmp_path):
    seen: asyncio.Queue[EngineRequest] = asyncio.Queue()

    async def swallow(reader, writer):
        try:
            while True:
                seen.put_nowait(await read_frame(reader, EngineRequest))
        except asyncio.IncompleteReadError:
            writer.close()

    async with await asyncio.start_unix_server(swallow, tmp_path / "s"):
        client = EngineClient(tmp_path / "s")
        with pytest.raises(EngineUnavailable):
            await client.call("count", EmptyBody(), EmptyBody, timeout_seconds=0.2)
        first, second = await seen.get(), await asyncio.wait_for(seen.get(), 5)
        assert (first.op, second.op, second.id) == ("count", "cancel", first.id)
        await client.close()


async def test_request_is_sent_once_more_when_the_connection_breaks(tmp_path):
    seen: list[str] = []

    async def hang_up_first(reader, writer):
        request = await read_frame(reader, EngineRequest)
        seen.append(request.op)
        if len(seen) > 1:
            writer.write(pack_frame(EngineResponse(id=request.id, ok=True, body={})))
            await writer.drain()
        writer.close()

    async with await asyncio.start_unix_server(hang_up_first, tmp_path / "s"):
        client = EngineClient(tmp_path / "s")
        await client.call("count", EmptyBody(), EmptyBody, timeout_seconds=5)
        await client.close()
    assert seen == ["count", "count"]


async def test_answers_reach_their_callers_when_they_come_out_of_order(tmp_path):
    async def answer_backwards(reader, writer):
        requests = [await read_frame(reader, EngineRequest) for _ in range(20)]
        for request in reversed(requests):
            body = {"echo": request.body["text"]}
            writer.write(pack_frame(EngineResponse(id=request.id, ok=True, body=body)))
        await writer.drain()
        await reader.read()
        writer.close()

    class Said(EmptyBody):
        text: str

    class Echo(EmptyBody):
        echo: str

    async with await asyncio.start_unix_server(answer_backwards, tmp_path / "s"):
        client = EngineClient(tmp_path / "s")
        echoes = await asyncio.gather(
            *(client.call("echo", Said(text=str(number)), Echo, timeout_seconds=5) for number in range(20))
        )
        await client.close()
    assert [echo.echo for echo in echoes] == [str(number) for number in range(20)]


async def test_error_of_the_engine_is_raised_as_itself_when_it_has_a_code(tmp_path):
    async def refuse(reader, writer):
        request = await read_frame(reader, EngineRequest)
        code = StorageFull.code
        writer.write(pack_frame(EngineResponse(id=request.id, ok=False, body={"free": 1}, code=code)))
        await writer.drain()
        await reader.read()
        writer.close()

    async with await asyncio.start_unix_server(refuse, tmp_path / "s"):
        client = EngineClient(tmp_path / "s")
        with pytest.raises(StorageFull) as caught:
            await client.call("upsert", EmptyBody(), EmptyBody, timeout_seconds=5)
        await client.close()
    assert caught.value.details == {"free": 1}


async def test_question_to_an_engine_that_stands_still_fails_soon(tmp_path):
    """Nothing on the connection, not even how it is; a write is waited for as long as it may take."""
    seen: list[str] = []

    async def swallow(reader, writer):
        try:
            while True:
                seen.append((await read_frame(reader, EngineRequest)).op)
        except asyncio.IncompleteReadError:
            writer.close()

    async with await asyncio.start_unix_server(swallow, tmp_path / "s"):
        client = EngineClient(tmp_path / "s")
        write = asyncio.create_task(client.call("upsert", EmptyBody(), EmptyBody, timeout_seconds=INGEST_SECONDS))
        with pytest.raises(EngineUnavailable):
            # The machine may be busy.
            async with asyncio.timeout(5):
                await client.call("search", EmptyBody(), EmptyBody, timeout_seconds=QUERY_SECONDS)
        assert not write.done()
        write.cancel()
        await asyncio.wait([write])
        await client.close()
    assert seen.count("upsert") == seen.count("search") == 1
    assert "health" in seen


async def test_question_to_an_engine_that_is_busy_is_waited_for(tmp_path):
    async def answer_late(reader, writer):
        asked: list[EngineRequest] = []
        for _ in range(3):
            request = await read_frame(reader, EngineRequest)
            asked.append(request)
            if request.op == "health":
                writer.write(pack_frame(EngineResponse(id=request.id, ok=True, body={})))
        writer.write(pack_frame(EngineResponse(id=asked[0].id, ok=True, body={})))
        await writer.drain()
        await reader.read()
        writer.close()

    async with await asyncio.start_unix_server(answer_late, tmp_path / "s"):
        client = EngineClient(tmp_path / "s")
        await client.call("search", EmptyBody(), EmptyBody, timeout_seconds=QUERY_SECONDS)
        await client.close()
