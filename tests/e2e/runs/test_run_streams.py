"""Run streams that are left and resumed, from any place and by anybody who may."""

from typing import Any
from uuid import uuid4

import pytest

from agents.agui.verifier import verify
from core.errors.auth import RunNotFound
from core.errors.requests import InvalidCursor
from tests.fixtures.http.client import Api
from tests.fixtures.http.event_streams import events_of, frames_of, log_path, read_log, streaming
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.runs.agent_runs import RUN, Run, camel, run, run_body


@pytest.fixture
def reader(llm_product: Server) -> Api:
    return llm_product.person()


def test_every_place_of_a_run_gives_the_rest_of_it(user: Api):
    body = camel(run_body("hello"))
    with Run(user, body) as whole:
        whole.finish()
    run_id = body["runId"]
    sent = [(frame.id, frame.data) for frame in whole.frames]
    assert [(f.id, f.data) for f in read_log(user, run_id)] == sent
    for index, (cursor, _) in enumerate(sent[:-1], start=1):
        by_header = read_log(user, run_id, headers={"Last-Event-ID": cursor})
        assert [(f.id, f.data) for f in by_header] == sent[index:]
    by_query = read_log(user, run_id, params={"after": sent[1][0]})
    assert [(f.id, f.data) for f in by_query] == sent[2:]


def test_reader_who_comes_back_to_a_live_run_misses_nothing(reader: Api, scripted_llm: ModelServer):
    body = camel(run_body("Hello #slow"))
    with Run(reader, body) as left:
        left.until("TEXT_MESSAGE_CONTENT")
        last = left.frames[-1].id
    with streaming(
        reader,
        "GET",
        log_path(body["runId"]),
        headers={"Last-Event-ID": last},
    ) as response:
        scripted_llm.release.set()
        rest = list(frames_of(response))

    verify([*left.events, *events_of(rest)], thread_id=body["threadId"], run_id=body["runId"])
    assert rest[-1].event == "RUN_FINISHED"


def test_snake_case_is_kept_when_it_is_asked_for(user: Api):
    body = run_body("hello")
    events = run(user, body)
    again = read_log(user, body["run_id"], params={"spelling": "snake"})

    assert events_of(again) == events


@one_shape
@pytest.mark.parametrize("cursor", ["x", "other-run:1", "{run}:9999", "{run}:-1", "{run}:"])
def test_place_that_is_none_is_refused(user: Api, cursor: str):
    body = camel(run_body("hello"))
    run(user, body)
    path = f"{RUN}/{body['runId']}/events"
    given = cursor.format(run=body["runId"])
    user.refused(InvalidCursor, "GET", path, params={"after": given})


def test_run_of_another_can_be_followed_by_nobody(user: Api, embedded: Server):
    body = camel(run_body("hello"))
    run(user, body)
    stranger = embedded.person()

    stranger.refused(RunNotFound, "GET", f"{RUN}/{body['runId']}/events")
    refused = stranger.http.post("/agent/connect", headers=stranger.headers, json={"threadId": body["threadId"]})
    assert refused.status_code == 404


def connect(api: Api, thread_id: str) -> list[dict[str, Any]]:
    with streaming(api, "POST", "/agent/connect", json={"threadId": thread_id}) as response:
        return events_of(list(frames_of(response)))


def test_late_client_gets_a_finished_thread_as_a_run_that_is_over(user: Api):
    body = camel(run_body("hello"))
    run(user, body)
    events = connect(user, body["threadId"])

    verify(events, thread_id=body["threadId"], run_id=body["runId"])
    kinds = [event["type"] for event in events]
    assert kinds == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    roles = [message["role"] for message in events[2]["messages"]]
    assert (roles[0], roles[-1]) == ("user", "assistant")


def test_late_client_gets_open_interrupts_again(user: Api):
    body = camel(run_body('/tool confirm_action {"message": "Sure?"}'))
    body["forwardedProps"] = {"agent_type": "react"}
    asked = run(user, body)
    events = connect(user, body["threadId"])

    assert events[-1]["outcome"] == asked[-1]["outcome"]
    assert events[-1]["outcome"]["interrupts"][0]["message"] == "Sure?"


def test_late_client_joins_a_live_run(reader: Api, scripted_llm: ModelServer):
    body = camel(run_body("Hello #slow"))
    with Run(reader, body) as first:
        first.until("TEXT_MESSAGE_CONTENT")
        given = {"json": {"threadId": body["threadId"]}}
        with streaming(reader, "POST", "/agent/connect", **given) as response:
            scripted_llm.release.set()
            joined = list(frames_of(response))
        first.finish()

    events = events_of(joined)
    verify(events, thread_id=body["threadId"], run_id=body["runId"])
    snapshot = next(event for event in events if event["type"] == "MESSAGES_SNAPSHOT")
    assert snapshot["messages"][-1]["content"] == "Hel"
    said = "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")
    assert said == "lo"
    cursors = [frame.id for frame in joined if frame.id]
    # The last frame of what it missed carries the place; from there on none is left out.
    last = len(first.frames)
    assert cursors == [f"{body['runId']}:{n}" for n in range(last - len(cursors) + 1, last + 1)]


@pytest.mark.parametrize("path", ["/agent", "/api/v1/agent"])
def test_seed_001_path_runs_the_agent_without_ids(user: Api, path: str):
    ask = {"messages": [{"id": "msg-1", "role": "user", "content": "你好"}]}
    with streaming(user, "POST", path, json=ask) as response:
        events = events_of(list(frames_of(response)))

    verify(events)
    assert events[-1]["type"] == "RUN_FINISHED"


def test_failure_on_seed_001_path_carries_the_documents_error(reader: Api):
    ask = {"messages": [{"id": str(uuid4()), "role": "user", "content": "Hi #unauthorized"}]}
    with streaming(reader, "POST", "/agent", json=ask) as response:
        last = events_of(list(frames_of(response)))[-1]

    assert last["type"] == "RUN_ERROR"
    assert last["error"] == {"code": "MODEL_ERROR", "message": last["message"]}


def test_capabilities_tell_what_a_client_may_use(user: Api):
    answer = user.http.get("/agent/capabilities", headers=user.headers).json()

    assert answer["humanInTheLoop"]["interrupts"] is True
    assert answer["transport"]["resumable"] is True
    assert {one["name"] for one in answer["multiAgent"]["subagents"]} >= {"react", "agentic_rag"}
    taken_in = {kind for kind, is_taken in answer["multimodal"]["input"].items() if is_taken}
    assert taken_in == {"image", "pdf", "file"}
    assert {"text/markdown", "application/pdf"} <= set(answer["custom"]["attachments"]["documentTypes"])
    assert answer["custom"]["attachments"]["sources"] == ["data", "url"]
    assert answer["custom"]["attachments"]["imageTypes"] == ["image/png", "image/jpeg", "image/webp", "image/gif"]


@pytest.mark.parametrize("path", ["/agent", "/agent/connect", "/agent/capabilities"])
def test_strangers_are_refused(embedded: Server, path: str):
    method = "GET" if path.endswith("capabilities") else "POST"
    assert embedded.http.request(method, path, content=b"{").status_code == 401
