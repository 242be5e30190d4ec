"""Runs in AG-UI's protobuf framing, on every route of a run."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from agents.agui.protobuf.encoder import encode
from agents.agui.verifier import verify
from tests.fixtures.http.client import Api
from tests.fixtures.http.event_streams import events_of, read_log
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import RUN, AguiClient, camel, run_body

PROTO = "application/vnd.ag-ui.event+proto"
OCTETS = "application/octet-stream"
BINARY = pytest.mark.parametrize("media_type", [PROTO, OCTETS])


@pytest.fixture
def caller(embedded: Server, registered: dict[str, Api]) -> Api:
    if "binary" not in registered:
        registered["binary"] = embedded.person()
    return registered["binary"]


def send(api: Api, method: str, path: str, accept: str, **given: Any) -> httpx.Response:
    headers = {**api.headers, "Accept": accept, **given.pop("headers", {})}
    return api.http.request(method, path, headers=headers, **given)


def read_json_log(api: Api, run_id: str) -> list[dict[str, Any]]:
    return events_of(read_log(api, run_id))


def frames_of(body: bytes) -> list[bytes]:
    frames: list[bytes] = []
    while body:
        end = 4 + int.from_bytes(body[:4], "big")
        frames.append(body[:end])
        assert len(frames[-1]) == end, "cut in the middle of a frame"
        body = body[end:]
    return frames


@BINARY
@pytest.mark.parametrize("path", [f"/api/v1{RUN}", "/agent", "/api/v1/agent"])
def test_run_is_answered_in_the_form_that_was_asked_for(caller: Api, path: str, media_type: str):
    body = camel(run_body("hello"))
    answer = send(caller, "POST", path, media_type, json=body)

    assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
    assert answer.headers["vary"] == "Accept"
    assert answer.content == b"".join(map(encode, read_json_log(caller, body["runId"])))


def test_snake_case_body_gets_the_same_messages(caller: Api):
    body = run_body("hello")
    answer = send(caller, "POST", f"/api/v1{RUN}", OCTETS, json=body)

    assert answer.content == b"".join(map(encode, read_json_log(caller, body["run_id"])))


@BINARY
def test_reader_goes_on_behind_the_frames_that_it_counted(caller: Api, media_type: str):
    body = camel(run_body("hello"))
    whole = frames_of(send(caller, "POST", f"/api/v1{RUN}", media_type, json=body).content)
    path = f"/api/v1{RUN}/{body['runId']}/events"
    for count in (1, len(whole) // 2, len(whole) - 1):
        after = {"after": f"{body['runId']}:{count}"}
        rest = send(caller, "GET", path, media_type, params=after)
        assert rest.headers["content-type"] == media_type
        assert frames_of(rest.content) == whole[count:]


@BINARY
def test_late_client_joins_in_the_form_that_it_asks_for(caller: Api, media_type: str):
    body = camel(run_body("hello"))
    send(caller, "POST", f"/api/v1{RUN}", PROTO, json=body)
    thread = {"threadId": body["threadId"]}
    answer = send(caller, "POST", "/agent/connect", media_type, json=thread)

    assert answer.headers["content-type"] == media_type
    # RUN_STARTED, STATE_SNAPSHOT, MESSAGES_SNAPSHOT, RUN_FINISHED, by the numbers of their arms.
    assert [frame[4] >> 3 for frame in frames_of(answer.content)] == [12, 7, 9, 13]


@pytest.mark.parametrize("accept", ["*/*", "text/event-stream", f"{PROTO};q=0.5, */*"])
def test_who_does_not_ask_for_it_gets_text(caller: Api, accept: str):
    answer = send(caller, "POST", f"/api/v1{RUN}", accept, json=camel(run_body("hello")))
    assert answer.headers["content-type"] == "text/event-stream"


@BINARY
def test_refusal_is_the_same_for_everybody(caller: Api, media_type: str):
    answer = send(caller, "POST", f"/api/v1{RUN}", media_type, json={"messages": []})
    assert (answer.status_code, answer.json()["code"]) == (400, 40019)


def test_stock_client_reads_a_conversation_in_protobuf(agui_client: AguiClient, caller: Api):
    """Its own parser, chosen by the media type; it would warn of whatever it had to drop."""
    question = {"question": '/tool request_input {"prompt": "Where?"}'}
    asking = {**question, "props": {"agent_type": "react"}}
    place = {"name": "get_location", "description": "", "parameters": {"type": "object"}}
    calling = {"question": "/tool get_location {}", "tools": [place], "props": asking["props"]}
    thread = str(uuid4())
    talk = agui_client.talk(
        caller,
        asking,
        {"resume": {"input": "a@example.com"}},
        calling,
        {"answer": "In Ulm.", "tools": [place]},
        threadId=thread,
        binary=True,
    )

    asked, answered, called, done = (run.events for run in talk.runs)
    assert [run.error for run in talk.runs] == [None] * 4
    for events in (asked, answered, called, done):
        assert events == read_json_log(caller, events[0]["runId"])
    verify([*asked, *answered, *called, *done], thread_id=thread)
    assert asked[-1]["outcome"]["interrupts"][0]["message"] == "Where?"
    assert called[-1]["outcome"]["type"] == "success"
    assert "In Ulm." in talk.messages[-1]["content"]
