"""The event stream of docs/reference/run-events.md over HTTP: frames, events, resuming, ends."""

import json
from collections.abc import Callable
from uuid import uuid4

import pytest
from jsonschema import Draft202012Validator

from agents.async_runs.ui_schema import UiSchemaRenderer
from core.errors.auth import RunNotFound, SessionNotFound
from core.errors.conflicts import RunIdTaken, ThreadBusy
from core.errors.requests import InvalidCursor
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.runs.agent_runs import GUIDE, GuideKb
from tests.fixtures.runs.async_runs import (
    RUNS,
    Follower,
    Sent,
    answer_of,
    check_keys,
    frames_of,
    read,
    run,
    run_input,
    start,
)

QUESTION = "Which port does the relay server listen on?"
CARD = Draft202012Validator(UiSchemaRenderer.model_json_schema())
PRIVATE = (
    "inputTokens",
    "outputTokens",
    "prompt_tokens",
    "totalTokens",
    "cost",
    "latencyMs",
    "usage",
)


def thread_with(api: Api, *documents: tuple[str, str], **config: object) -> str:
    """A session whose settings name a knowledge base with these documents."""
    kb_id = api.create_kb()
    for name, content in documents:
        api.ingest(kb_id, name, content)
    settings = {"knowledge_base_ids": [kb_id], **config}
    return api.post("/sessions", {"title": "t", "config": settings})["id"]


@pytest.fixture
def library(server: Server, guide_kb_of: Callable[[Server], GuideKb]) -> GuideKb:
    """The English and the Chinese document, indexed once for all who only ask."""
    return guide_kb_of(server)


@pytest.fixture
def user(library: GuideKb) -> Api:
    """Who has these documents; their threads are each test's own."""
    return library.owner


@pytest.fixture
def thread(user: Api, library: GuideKb) -> str:
    """A session over these documents."""
    config = {"knowledge_base_ids": [library.kb_id]}
    return user.post("/sessions", {"title": "t", "config": config})["id"]


@pytest.fixture
def reader(llm_product: Server) -> Api:
    return llm_product.person()


def worker(question: str, thread_id: str, **fields: object) -> dict:
    return run_input(question, threadId=thread_id, **fields)


def types_of(events: list[dict]) -> list[str]:
    return [event["type"] for event in events]


def test_events_are_the_documented_ones(user: Api, thread: str):
    body = worker(QUESTION, thread)
    events = run(user, body)

    check_keys(events)
    kinds = types_of(events)
    assert (kinds[0], kinds[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    steps = [(e["type"], e["stepName"]) for e in events if e["type"].startswith("STEP")]
    assert steps == [
        ("STEP_STARTED", "router"),
        ("STEP_FINISHED", "router"),
        ("STEP_STARTED", "worker"),
        ("STEP_FINISHED", "worker"),
    ]
    assert {event["threadId"] for event in events} == {thread}
    assert {event["runId"] for event in events} == {body["runId"]}
    assert not any(f'"{name}"' in json.dumps(events) for name in PRIVATE)


@one_shape
def test_tool_call_is_told_from_its_start_to_its_result(user: Api, thread: str):
    events = run(user, worker(QUESTION, thread))

    first = next(place for place, e in enumerate(events) if e["type"] == "TOOL_CALL_START")
    begun, args, ended, result = events[first : first + 4]
    assert types_of([begun, args, ended, result]) == [
        "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
    ]  # fmt: skip
    for event in (begun, args, ended):
        assert event["toolCallId"] == result["tool_call_id"]
        assert event["messageId"] == begun["messageId"]
        assert (event["toolCallName"], event["stage"]) == ("search_knowledge_base", "worker")
    assert args["args"] == result["tool_call_args"] == {"query": QUESTION}
    assert (result["role"], result["stage"], result["status"]) == ("tool", "worker", "success")
    assert (result["tool_name"], result["error"]) == ("search_knowledge_base", None)
    facts = json.loads(result["result"])
    assert facts["count"] == len(facts["passages"]) >= 1
    # Facts, not the passages' text, and nothing of what was asked.
    assert "7070" not in result["result"]
    assert QUESTION not in result["result"]


@one_shape
def test_answer_comes_whole_and_once(user: Api, thread: str):
    answer = answer_of(run(user, worker(QUESTION, thread)))

    assert (answer["role"], answer["stage"], answer["status"]) == ("assistant", "worker", "success")
    assert (answer["result_type"], answer["error"]) == ("execution_report", None)
    assert "7070" in answer["answer"]
    assert any("7070" in point for point in answer["key_points"])
    assert answer["metadata"]["citations"][0]["document_name"] == "relay.md"
    CARD.validate(answer["ui_schema"])
    shown = json.dumps(answer["ui_schema"])
    assert (answer["ui_schema"]["status"], answer["ui_schema"]["locale"]) == ("success", "en-US")
    assert '"type": "citation"' in shown
    assert "7070" in shown


@one_shape
def test_chinese_answer_has_a_chinese_card(user: Api, thread: str):
    answer = answer_of(run(user, worker("中继服务器监听哪个端口？", thread)))

    assert (answer["ui_schema"]["locale"], answer["status"]) == ("zh-CN", "success")
    assert "7070" in answer["answer"]


@one_shape
def test_abstention_is_a_clarification_with_what_to_do(user: Api, thread: str):
    answer = answer_of(run(user, worker("Who invented the zeppelin?", thread)))

    assert (answer["status"], answer["result_type"]) == ("success", "clarification")
    assert answer["suggested_actions"]
    assert answer["key_points"] == []
    assert answer["ui_schema"]["status"] == "info"


def test_failure_is_an_error_report(reader: Api):
    thread_id = thread_with(reader, ("relay.md", GUIDE))
    events = run(reader, worker("#worker-drop", thread_id))

    check_keys(events)
    answer, error = answer_of(events), events[-1]
    assert error["type"] == "RUN_ERROR"
    assert error["code"] == "LLM_ERROR"
    assert (answer["status"], answer["result_type"]) == ("failed", "error_report")
    assert answer["error"] == error["message"]
    assert (answer["ui_schema"]["status"], answer["answer"]) == ("error", "Hel")
    assert answer["suggested_actions"]


def test_failed_tools_say_what_went_wrong(reader: Api):
    thread_id = thread_with(reader, ("relay.md", GUIDE))
    events = run(reader, worker("#worker-failing", thread_id))

    results = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert [result["status"] for result in results] == ["failure", "failure", "success"]
    assert [bool(result["error"]) for result in results] == [True, True, False]
    assert results[1]["tool_call_args"] == {"query": 7}
    assert answer_of(events)["status"] == "success"


@one_shape
@pytest.mark.parametrize("agent_type", ["agentic_rag", "react", "plan_execute", "reflexion"])
def test_other_agent_types_work_in_one_stage(user: Api, thread: str, agent_type: str):
    body = worker(QUESTION, thread, forwardedProps={"agent_type": agent_type})
    events = run(user, body)

    check_keys(events)
    steps = [(e["type"], e["stepName"]) for e in events if e["type"].startswith("STEP")]
    assert steps == [("STEP_STARTED", "worker"), ("STEP_FINISHED", "worker")]
    assert answer_of(events)["result_type"] == "execution_report"


@one_shape
def test_stream_is_framed_as_documented(user: Api, thread: str):
    body = worker(QUESTION, thread)
    start(user, body)
    answer = user.request("GET", f"{RUNS}/{thread}/events")

    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["cache-control"].startswith("no-cache")
    assert answer.headers["x-accel-buffering"] == "no"
    assert b"\r" not in answer.content
    assert answer.content.endswith(b"\n\n")
    for frame in frames_of(answer.content):
        assert frame.name == frame.event["type"]
        assert frame.id is not None
        assert frame.id.startswith(f"{body['runId']}:")
    first = answer.content.decode().split("\n")[:3]
    assert first[:2] == [f"id: {body['runId']}:1", "event: RUN_STARTED"]
    assert first[2].startswith('data: {"type":"RUN_STARTED",')


def check_resuming(user: Api, thread: str) -> list[Sent]:
    """All frames of a thread: each has an id of its own, which gives exactly the rest."""
    whole = read(user, thread)
    assert len({frame.id for frame in whole}) == len(whole)
    for place, frame in enumerate(whole[:-1]):
        assert frame.id
        rest = whole[place + 1 :]
        assert read(user, thread, headers={"Last-Event-ID": frame.id}) == rest
        assert read(user, thread, params={"after": frame.id}) == rest
    return whole


def test_run_without_a_router_goes_on_behind_its_step(user: Api):
    body = run_input("hello", forwardedProps={"agent_type": "react"})
    start(user, body)
    whole = check_resuming(user, body["threadId"])
    assert types_of([frame.event for frame in whole])[-2:] == ["STEP_FINISHED", "RUN_FINISHED"]


def test_failed_run_goes_on_behind_the_answer_that_says_so(reader: Api):
    body = run_input("Hi #unauthorized")
    start(reader, body)
    whole = check_resuming(reader, body["threadId"])
    assert types_of([frame.event for frame in whole])[-2:] == ["TEXT_MESSAGE_END", "RUN_ERROR"]


def test_place_inside_an_event_that_has_no_such_part_is_refused(user: Api):
    body = run_input("hello", forwardedProps={"agent_type": "react"})
    start(user, body)
    ids = [frame.id or "" for frame in read(user, body["threadId"])]
    path = f"{RUNS}/{body['threadId']}/events"
    for cursor in (f"{ids[0]}.1", f"{ids[-1]}.1", f"{ids[-2]}1", f"{body['runId']}:1.", f"{body['runId']}:1.0"):
        user.refused(InvalidCursor, "GET", path, headers={"Last-Event-ID": cursor})
    # The run's own stream has no such places.
    user.refused(InvalidCursor, "GET", f"/agent/run/{body['runId']}/events", headers={"Last-Event-ID": ids[-2]})


def test_stream_goes_on_behind_any_event(user: Api, thread: str):
    start(user, worker(QUESTION, thread))
    whole = check_resuming(user, thread)
    # Nothing is left: an EventSource must not come back again and again.
    done = user.request("GET", f"{RUNS}/{thread}/events", headers={"Last-Event-ID": whole[-1].id})
    assert (done.status_code, done.content) == (204, b"")


def test_header_wins_over_the_query(user: Api, thread: str):
    start(user, worker(QUESTION, thread))
    whole = read(user, thread)
    options = {"headers": {"Last-Event-ID": whole[2].id}, "params": {"after": whole[0].id}}

    assert read(user, thread, **options) == whole[3:]


def test_stream_goes_on_through_later_runs(user: Api, thread: str):
    first, second = worker(QUESTION, thread), worker("hello", thread)
    start(user, first)
    of_first = read(user, thread)
    start(user, second)
    of_second = read(user, thread)

    assert {frame.event["runId"] for frame in of_second} == {second["runId"]}
    resumed = read(user, thread, headers={"Last-Event-ID": of_first[3].id})
    assert resumed == [*of_first[4:], *of_second]
    behind = read(user, thread, headers={"Last-Event-ID": of_first[-1].id})
    assert behind == of_second


@one_shape
@pytest.mark.parametrize("cursor", ["nonsense", "7", "no-such-run:1", "{run}:999", "{run}:-1", "{run}:"])
def test_place_that_is_none_of_this_stream_is_refused(user: Api, thread: str, cursor: str):
    body = worker("hello", thread)
    start(user, body)
    place = cursor.format(run=body["runId"])

    path = f"{RUNS}/{thread}/events"
    user.refused(InvalidCursor, "GET", path, headers={"Last-Event-ID": place})
    user.refused(InvalidCursor, "GET", path, params={"after": place})


def test_place_of_another_thread_or_person_is_refused(user: Api, other: Api):
    mine, elsewhere, theirs = run_input(), run_input(), run_input()
    start(user, mine)
    start(user, elsewhere)
    start(other, theirs)

    path = f"{RUNS}/{mine['threadId']}/events"
    for body in (elsewhere, theirs):
        headers = {"Last-Event-ID": f"{body['runId']}:1"}
        user.refused(InvalidCursor, "GET", path, headers=headers)


def test_thread_of_somebody_else_is_not_found(user: Api, other: Api):
    body = run_input()
    start(user, body)
    path = f"{RUNS}/{body['threadId']}/events"

    other.refused(SessionNotFound, "GET", path)
    user.refused(SessionNotFound, "GET", f"{RUNS}/{uuid4()}/events")


def test_thread_on_which_nothing_ran_has_no_stream(user: Api, thread: str):
    user.refused(RunNotFound, "GET", f"{RUNS}/{thread}/events")


def test_run_goes_on_without_a_reader_and_is_read_live(reader: Api, scripted_llm: ModelServer):
    thread_id = thread_with(reader, ("relay.md", GUIDE))
    body = worker("#worker-slow", thread_id)
    start(reader, body)
    assert scripted_llm.waiting.wait(30)

    with Follower(reader, thread_id) as one:
        seen = one.until("TOOL_CALL_RESULT")
        scripted_llm.release.set()
        assert one.until("RUN_FINISHED").id
    assert types_of([json.loads(frame.data) for frame in one.frames])[-1] == "RUN_FINISHED"
    rest = read(reader, thread_id, headers={"Last-Event-ID": seen.id})
    place = one.frames.index(seen) + 1
    assert [frame.event for frame in rest] == [json.loads(f.data) for f in one.frames[place:]]


def test_stopped_run_ends_with_what_it_had_said(reader: Api, scripted_llm: ModelServer):
    thread_id = thread_with(reader, ("relay.md", GUIDE))
    body = worker("#worker-slow", thread_id)
    start(reader, body)
    assert scripted_llm.waiting.wait(30)
    reader.post(f"/agent/run/{body['runId']}/stop")
    events = [frame.event for frame in read(reader, thread_id)]

    check_keys(events)
    assert events[-1]["outcome"] == {"type": "cancelled"}
    answer = answer_of(events)
    assert (answer["status"], answer["answer"]) == ("partial_success", "The port")
    assert answer["ui_schema"]["status"] == "warning"


def test_runs_of_a_busy_thread_and_used_ids_are_refused(reader: Api, scripted_llm: ModelServer):
    thread_id = thread_with(reader, ("relay.md", GUIDE))
    body = worker("#worker-slow", thread_id)
    start(reader, body)
    assert scripted_llm.waiting.wait(30)

    reader.refused(ThreadBusy, "POST", RUNS, json=worker("hello", thread_id))
    again = {**run_input(), "runId": body["runId"]}
    reader.refused(RunIdTaken, "POST", RUNS, json=again)
    scripted_llm.release.set()
    read(reader, thread_id)


def test_created_tells_whether_the_run_made_its_thread(user: Api, thread: str):
    first = run_input()

    assert start(user, first)["created"] is True
    read(user, first["threadId"])
    assert start(user, {**run_input(), "threadId": first["threadId"]})["created"] is False
    # Made by somebody before anything was asked.
    assert start(user, worker("hello", thread))["created"] is False


def test_settings_of_the_thread_count(user: Api):
    found = thread_with(user, ("relay.md", GUIDE))
    empty = user.create_kb()
    elsewhere = user.post("/sessions", {"config": {"knowledge_base_ids": [empty]}})["id"]

    assert "7070" in answer_of(run(user, worker(QUESTION, found)))["answer"]
    assert "7070" not in answer_of(run(user, worker(QUESTION, elsewhere)))["answer"]


def test_tools_of_the_caller_register_nothing(reader: Api):
    tool = {"name": "get_weather", "description": "x", "parameters": {"type": "object"}}
    thread_id = thread_with(reader, ("relay.md", GUIDE))
    events = run(reader, worker("#worker-react", thread_id, tools=[tool]))

    assert {e["toolCallName"] for e in events if "toolCallName" in e} == {"search_knowledge_base"}
    assert events[-1]["type"] == "RUN_FINISHED"


def test_run_id_may_be_any_text(user: Api):
    for run_id in ("a:b:7", "x y", "镜像:1", "line\nfeed\r\nid: x", "%41", "\u2028"):
        body = run_input(runId=run_id)
        start(user, body)
        frames = read(user, body["threadId"])
        assert {frame.event["runId"] for frame in frames} == {run_id}
        path = {"headers": {"Last-Event-ID": frames[1].id}}
        assert read(user, body["threadId"], **path) == frames[2:]


def test_other_dialects_runs_are_shown_too(user: Api, thread: str):
    body = {"threadId": thread, "runId": str(uuid4()), "messages": [
        {"id": "m", "role": "user", "content": QUESTION}
    ]}  # fmt: skip
    answer = user.request("POST", "/agent/run", json=body)
    assert answer.is_success
    events = [frame.event for frame in eventually(lambda: read(user, thread))]

    check_keys(events)
    assert "7070" in answer_of(events)["answer"]
