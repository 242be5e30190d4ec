"""The validation rules of docs/reference/run-input.md, row by row, over HTTP."""

import io
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx
import pytest
from PIL import Image

from agents.strategies import STRATEGIES
from core.errors.auth import NotAuthenticated
from core.errors.requests import MalformedJson
from tests.fixtures.http.client import Api, check_error
from tests.fixtures.http.multipart import connection, head, read_status
from tests.fixtures.product.server import Server
from tests.fixtures.runs.async_runs import HISTORY, RUNS, run_input, start

LIMIT = 256 * 1024
JSON = {"Content-Type": "application/json"}
URL = "https://storage.example.com/agent-inputs/user-123/image.png?signature=xxx"
IMAGE = {"type": "binary", "mimeType": "image/png", "url": URL}
TIME = {
    "device_timezone": "America/Los_Angeles",
    "client_now_iso": "2026-03-16T09:12:33-07:00",
    "client_epoch_ms": 1773658353000,
}


@pytest.fixture
def caller(embedded: Server, registered: dict[str, Api]) -> Api:
    """Somebody who may share with others: what is refused leaves nothing behind."""
    if "async" not in registered:
        registered["async"] = embedded.person()
    return registered["async"]


def check_refused(api: Api, body: Any, message: str) -> dict[str, Any]:
    """The details of a body that must be refused with this message, leaving nothing behind."""
    before = api.get("/sessions")["total"]
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = api.request("POST", RUNS, content=content, headers=JSON)
    told = answer.json()
    assert (answer.status_code, told["code"], told["message"]) == (422, 42201, message), told
    assert set(told) == {"code", "message", "details"}
    assert told["details"]["field"]
    # People who read Chinese get it in Chinese, too; programs always the same words.
    assert any("\u4e00" <= letter <= "\u9fff" for letter in told["details"]["message_zh"])
    assert api.get("/sessions")["total"] == before
    return told["details"]


def input_with_content(content: Any, **fields: Any) -> dict[str, Any]:
    return run_input(messages=[{"id": "m", "role": "user", "content": content}], **fields)


def props(**given: Any) -> dict[str, Any]:
    return run_input(forwardedProps=given)


def padded(size: int) -> bytes:
    """A valid body of so many bytes."""
    body = run_input(context=[{"description": "d", "value": ""}])
    spare = size - len(json.dumps(body).encode())
    body["context"][0]["value"] = "x" * spare
    return json.dumps(body).encode()


def attach(api: Api) -> str:
    """Send an image and give its signed URL."""
    picture = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(picture, "PNG")
    files = {"file": ("red.png", picture.getvalue(), "image/png")}
    answer = api.request("POST", "/agent/attachments", files=files)
    assert answer.is_success, answer.text
    return answer.json()["url"]


# --- the table -------------------------------------------------------------------------------


def test_payload_of_256_kb_at_most(caller: Api):
    message = "RunAgentInput payload exceeds size limit"
    assert len(padded(LIMIT)) == LIMIT
    answer = caller.request("POST", RUNS, content=padded(LIMIT), headers=JSON)
    assert answer.status_code == httpx.codes.ACCEPTED
    for size in (LIMIT + 1, 4 * 2**20 + 1):
        assert check_refused(caller, b"{" * size, message)["max_bytes"] == LIMIT


def test_payload_without_a_declared_length_is_counted(caller: Api):
    def pieces():
        for _ in range(5):
            yield b" " * (LIMIT // 4)

    answer = caller.request("POST", RUNS, content=pieces(), headers=JSON)
    assert answer.json()["message"] == "RunAgentInput payload exceeds size limit"


@pytest.mark.parametrize(
    "thread_id",
    ["", "session-1", 7, None, "550e8400e29b41d4a716446655440000", "{" + str(uuid4()) + "}",
     str(uuid4()) + "\n", "550e8400-e29b-41d4-a716-44665544000g"],
)  # fmt: skip
def test_thread_id_must_be_a_uuid(caller: Api, thread_id: Any):
    check_refused(caller, run_input(threadId=thread_id), "threadId must be a valid UUID")


def test_run_id_of_128_characters_at_most(caller: Api):
    start(caller, run_input(runId="é" * 64 + uuid4().hex * 2))
    check_refused(caller, run_input(runId="x" * 129), "runId exceeds length limit")


def test_messages_of_200_at_most(caller: Api):
    extra = [{"id": f"s{n}", "role": "system", "content": "x"} for n in range(200)]
    body = run_input()
    start(caller, {**body, "messages": body["messages"] + extra[:199]})
    again = run_input()
    again["messages"] += extra
    check_refused(caller, again, "RunAgentInput.messages exceeds limit")


def test_user_text_of_10000_characters_at_most(caller: Api):
    message = "RunAgentInput user message text exceeds limit"
    start(caller, input_with_content("é" * 10_000))
    check_refused(caller, input_with_content("x" * 10_001), message)
    blocks = [{"type": "text", "text": "x" * 5000}] * 3
    check_refused(caller, input_with_content(blocks), message)


@pytest.mark.parametrize(
    "given",
    [None, "worker", [], {}, {"agent_type": None}, {"agent_type": ""}, {"agent_type": 7},
     {"agent_type": "worker", "knowledge_base_ids": []}, {"agent_type": "worker", "agentType": "x"}],
)  # fmt: skip
def test_agent_type_is_required(caller: Api, given: Any):
    check_refused(caller, run_input(forwardedProps=given), "invalid RunAgentInput.forwardedProps")


def test_forwarded_props_left_out_are_refused(caller: Api):
    body = run_input()
    del body["forwardedProps"]
    check_refused(caller, body, "invalid RunAgentInput.forwardedProps")


@pytest.mark.parametrize("count", [0, 2, 3])
def test_messages_hold_exactly_one_user_message(caller: Api, count: int):
    messages = [{"id": f"m{n}", "role": "user", "content": "x"} for n in range(count)]
    messages.append({"id": "a", "role": "assistant", "content": "x"})
    message = "RunAgentInput.messages must contain exactly one user message"
    assert check_refused(caller, run_input(messages=messages), message)["user_messages"] == count


@pytest.mark.parametrize("messages", [[], None])
def test_messages_that_are_none_hold_no_user_message(caller: Api, messages: Any):
    message = "RunAgentInput.messages must contain exactly one user message"
    check_refused(caller, run_input(messages=messages), message)


def test_user_message_comes_first(caller: Api):
    body = run_input()
    body["messages"].insert(0, {"id": "s", "role": "system", "content": "Be brief."})
    check_refused(caller, body, "RunAgentInput.messages[0].role must be user")


@pytest.mark.parametrize("mime_type", ["application/pdf", "", None, 7, "image", "image/", "xmage/png"])
def test_binary_is_an_image(caller: Api, mime_type: Any):
    check_refused(
        caller, input_with_content([{**IMAGE, "mimeType": mime_type}]), "binary content requires image mimeType"
    )


@pytest.mark.parametrize("url", [None, "", 7])
def test_binary_has_a_url(caller: Api, url: Any):
    check_refused(caller, input_with_content([{**IMAGE, "url": url}]), "binary content requires url")


@pytest.mark.parametrize("image", [{**IMAGE, "data": "aGk="}, {**IMAGE, "url": None, "data": "aGk="}])
def test_binary_has_no_data(caller: Api, image: dict):
    check_refused(caller, input_with_content([image]), "binary content data is not allowed")


def test_message_has_3_attachments_at_most(caller: Api):
    blocks = [{"type": "text", "text": "what is this?"}, *[IMAGE] * 4]
    assert check_refused(caller, input_with_content(blocks), "Too many attachments")["max_attachments"] == 3


def test_url_that_this_server_did_not_sign_for_the_caller_is_refused(embedded: Server, caller: Api):
    theirs = attach(embedded.person())
    forged = attach(caller)[:-4] + "0000"
    for url in (URL, theirs, forged, "/etc/passwd", "file:///etc/passwd"):
        check_refused(caller, input_with_content([{**IMAGE, "url": url}]), "binary content requires url")


# --- constraints in the text -----------------------------------------------------------------


@pytest.mark.parametrize("agent_type", ["telepathy", "memory", "Worker"])
def test_agent_type_must_be_registered_and_not_internal(caller: Api, agent_type: str):
    details = check_refused(caller, props(agent_type=agent_type), "invalid RunAgentInput.forwardedProps")
    assert (details["agent_type"], details["known"]) == (agent_type, sorted(STRATEGIES))


def test_further_field_of_forwarded_props_is_named(caller: Api):
    given = {"agent_type": "worker", "client_time": TIME, "model_id": "default"}
    details = check_refused(caller, props(**given), "invalid RunAgentInput.forwardedProps")
    assert details["field"] == "forwardedProps.model_id"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", None, 7, "../etc/passwd", "UTC+8"])
def test_device_timezone_is_an_iana_name(caller: Api, zone: Any):
    given = {**TIME, "device_timezone": zone}
    check_refused(caller, props(agent_type="worker", client_time=given), "invalid client_time.device_timezone")


@pytest.mark.parametrize("now", ["2026-03-16T09:12:33", "yesterday", "", None, 7, "2026-13-16T09:12:33Z"])
def test_client_now_iso_is_rfc_3339_with_an_offset(caller: Api, now: Any):
    given = {**TIME, "client_now_iso": now}
    check_refused(caller, props(agent_type="worker", client_time=given), "invalid client_time.client_now_iso")


@pytest.mark.parametrize("epoch", [1.5, "1773658353000", None, True])
def test_client_epoch_ms_is_a_whole_number(caller: Api, epoch: Any):
    given = {**TIME, "client_epoch_ms": epoch}
    check_refused(caller, props(agent_type="worker", client_time=given), "invalid client_time.client_epoch_ms")


# --- what the document allows ----------------------------------------------------------------

GET_WEATHER = {
    "name": "get_weather",
    "description": "获取指定城市的天气信息",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "城市名称"}},
        "required": ["city"],
    },
}
ALLOWED: dict[str, Callable[[], dict[str, Any]]] = {
    "text": lambda: run_input("帮我查一下北京今天的天气"),
    "blocks of text": lambda: input_with_content([{"type": "text", "text": "北京"}, {"type": "text", "text": "?"}]),
    "tools": lambda: run_input(tools=[GET_WEATHER]),
    "client time": lambda: props(agent_type="worker", client_time=TIME),
    "no client time": lambda: props(agent_type="worker", client_time=None),
    "state of any kind": lambda: run_input(state=[1, "two"]),
    "nulls": lambda: run_input(state=None, tools=None, context=None, parentRunId=None),
    "parent run": lambda: run_input(parentRunId="run-000"),
    "every role": lambda: run_input(
        messages=[
            {"id": "1", "role": "user", "content": "x", "name": "Ann", "encryptedValue": "e"},
            {"id": "2", "role": "assistant", "content": None, "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ]},
            {"id": "3", "role": "tool", "content": "r", "toolCallId": "c", "error": None},
            {"id": "4", "role": "system", "content": "s", "name": None},
            {"id": "5", "role": "developer", "content": "d"},
            {"id": "6", "role": "reasoning", "content": "t"},
            {"id": "7", "role": "activity", "activityType": "p", "content": {}},
        ]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_input_is_accepted(caller: Api, name: str):
    body = ALLOWED[name]()
    told = start(caller, body)
    assert set(told) == {"taskId", "threadId", "runId", "created"}
    assert (told["threadId"], told["runId"]) == (body["threadId"], body["runId"])
    assert told["created"] is True


@pytest.mark.parametrize("text", ["这张图片里的内容是什么？", ""])
def test_image_of_the_caller_is_kept_with_its_message(caller: Api, text: str):
    url = attach(caller)
    blocks = [{"type": "text", "text": text}] if text else []
    whole = str(caller.http.base_url).rstrip("/") + url
    for given in (url, whole):
        body = input_with_content([*blocks, {**IMAGE, "url": given, "filename": "red.png"}])
        start(caller, body)
        shown = caller.request("GET", HISTORY, params={"threadId": body["threadId"]}).json()
        message = shown["messages"][0]
        assert message["content"] == (text or "red.png")
        (image,) = message["attachments"]
        assert image["mimeType"] == "image/png"
        # Signed anew: it opens without a login.
        opened = caller.http.get(image["url"])
        assert (opened.status_code, opened.headers["content-type"]) == (200, "image/png")


def test_snake_case_is_read_too(caller: Api):
    body = run_input()
    names = {"threadId": "thread_id", "runId": "run_id", "forwardedProps": "forwarded_props"}
    told = start(caller, {names.get(name, name): value for name, value in body.items()})
    assert (told["threadId"], told["runId"]) == (body["threadId"], body["runId"])
    snake_image = {"type": "binary", "mime_type": "text/plain", "url": URL}
    check_refused(caller, input_with_content([snake_image]), "binary content requires image mimeType")


# --- what the table has no row for -----------------------------------------------------------

MALFORMED = {
    "body is a list": ([], ""),
    "run id left out": ({"runId": None}, "runId"),
    "empty run id": ({"runId": ""}, "runId"),
    "run id is a number": ({"runId": 7}, "runId"),
    "NUL in the run id": ({"runId": "a\0b"}, "runId"),
    "messages is text": ({"messages": "hello"}, "messages"),
    "message is text": ({"messages": ["hello"]}, "messages"),
    "content left out": ({"messages": [{"id": "m", "role": "user"}]}, "messages"),
    "empty question": ({"messages": [{"id": "m", "role": "user", "content": " "}]}, "messages"),
    "no message id": ({"messages": [{"role": "user", "content": "x"}]}, "messages"),
    "unknown block": (
        {"messages": [{"id": "m", "role": "user", "content": [{"type": "audio"}]}]},
        "messages",
    ),
    "unknown role": (
        {"messages": [{"id": "m", "role": "user", "content": "x"}, {"id": "n", "role": "robot"}]},
        "messages",
    ),
    "tool without parameters of an object": ({"tools": [{"name": "f"}]}, "tools"),
    "context value": ({"context": [{"description": "d", "value": 1}]}, "context"),
    "two spellings": ({"run_id": "another"}, "runId"),
    "parent run": ({"parentRunId": 7}, "parentRunId"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_fault_without_a_row_names_its_field(caller: Api, name: str):
    fields, field = MALFORMED[name]
    body = {**run_input(), **fields} if isinstance(fields, dict) else fields
    message = f"invalid RunAgentInput.{field}" if field else "invalid RunAgentInput"
    check_refused(caller, body, message)


def test_body_that_is_no_json_is_40002(caller: Api):
    for content in (b"", b"{", b"\xff", b'{"threadId": NaN}'):
        answer = caller.request("POST", RUNS, content=content, headers=JSON)
        check_error(answer, MalformedJson)


def test_message_is_the_same_in_every_language(caller: Api):
    headers = {"Accept-Language": "zh-CN"}
    answer = caller.request("POST", RUNS, json=run_input(threadId="x"), headers=headers)
    assert answer.json()["message"] == "threadId must be a valid UUID"


def test_authentication_comes_before_the_body(embedded: Server, caller: Api):
    nobody = embedded.api()
    nobody.refused(NotAuthenticated, "POST", RUNS, content=b"{", headers=JSON)
    # The body never comes: it is not waited for.
    with connection(embedded) as link:
        headers = {"Host": "x", "Content-Type": "application/json", "Content-Length": str(10**9)}
        link.sendall(head("POST", f"/api/v1{RUNS}", headers))
        assert read_status(link) == 401
