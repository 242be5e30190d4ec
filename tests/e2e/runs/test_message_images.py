"""Images in messages of AG-UI clients: taken in as attachments, shown to models that see, refused by name."""

import base64
import io
import json
import zlib
from typing import Any
from uuid import uuid4

import httpx
import pytest
from PIL import Image

from core.errors.base import AgentexError
from core.errors.requests import (
    CorruptImage,
    FileTooLarge,
    ImageTooLarge,
    InvalidRunInput,
    RequestTooLarge,
    UnsupportedFileType,
)
from tests.fixtures.http.client import Api, check_error
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import AguiClient, camel, run, run_body, text_of

DIALECTS = ("/agent", "/api/v1/agent", "/api/v1/agent/run")
FIELD = "messages.0.content.1"


def picture(size: tuple[int, int] = (30, 20), kind: str = "PNG") -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, "teal").save(written, kind)
    return written.getvalue()


def image_part(content: bytes | None = None, mime_type: str = "image/png") -> dict[str, Any]:
    """An image as AG-UI 1.0 writes it."""
    value = base64.b64encode(picture() if content is None else content).decode()
    return {"type": "image", "source": {"type": "data", "value": value, "mimeType": mime_type}}


def source_part(kind: str, **source: str) -> dict[str, Any]:
    """A part of any kind and source."""
    return {"type": kind, "source": source}


def binary_part(content: bytes | None = None, **fields: Any) -> dict[str, Any]:
    """The same as clients before 1.0 write it."""
    value = base64.b64encode(picture() if content is None else content).decode()
    return {"type": "binary", "mimeType": "image/png", "data": value, **fields}


def question(text: str, *parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A run in camelCase whose question has parts."""
    body = camel(run_body(text, forwarded_props={"agent_type": "react"}, **fields))
    body["messages"][0]["content"] = [*([{"type": "text", "text": text}] if text else []), *parts]
    return body


def post(api: Api, path: str, body: dict[str, Any]) -> httpx.Response:
    return api.http.post(path, headers=api.headers, json=body)


def images_shown(scripted_llm: ModelServer) -> list[Image.Image]:
    """The pictures of an agent's newest request to the model; what is remembered is asked without tools, and later."""
    newest = [request for request in scripted_llm.requests if request.body.get("tools")][-1]
    contents = [m["content"] for m in newest.messages if m["role"] == "user"]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) for url in urls]


@pytest.mark.parametrize("path", DIALECTS)
@pytest.mark.parametrize("part", [image_part(), binary_part()], ids=["image", "binary"])
def test_model_that_sees_is_shown_an_image_of_a_message(
    llm_product: Server, scripted_llm: ModelServer, path: str, part: dict[str, Any]
):
    user = llm_product.person()
    answer = post(user, path, question("What is this? #plain", part))

    assert answer.status_code == 200, answer.text
    assert [image.size for image in images_shown(scripted_llm)] == [(30, 20)]
    assert llm_product.count("attachment", owner_id=user.user_id) == 1


def test_question_may_be_an_image_alone(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    body = question("", {**image_part(), "metadata": {"filename": "plan #plain.png"}})
    run(user, body)

    assert len(images_shown(scripted_llm)) == 1
    (stored, _) = user.get(f"/sessions/{body['threadId']}/messages")["items"]
    assert stored["content"] == "plan #plain.png"


def test_snake_case_body_carries_images_too(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    body = run_body("x", forwarded_props={"agent_type": "react"})
    body["messages"][0]["content"] = [
        {"type": "text", "text": "What is this? #plain"},
        {"type": "binary", "mime_type": "image/png", "data": image_part()["source"]["value"]},
    ]
    run(user, body)
    assert len(images_shown(scripted_llm)) == 1


def test_answer_owns_up_to_an_image_that_was_not_looked_at(embedded: Server):
    user = embedded.person()
    note = "The attached pictures were not looked at"
    assert note in text_of(run(user, question("Which port is it?", image_part())))


def test_image_of_a_message_is_read_in_the_history(llm_product: Server):
    user = llm_product.person()
    body = question("What is this? #plain", image_part())
    run(user, body)

    history = user.request("GET", "/agent/history", params={"threadId": body["threadId"]}).json()
    (attached,) = history["messages"][0]["attachments"]
    assert attached["mimeType"] == "image/png"
    assert Image.open(io.BytesIO(user.http.get(attached["url"]).content)).size == (30, 20)


def test_image_that_is_sent_again_is_stored_once(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    body = question("What is this? #plain", image_part())
    run(user, body)
    # The whole history, as stock clients send it, with another question; then the first question once more.
    new = {"id": str(uuid4()), "role": "user", "content": "And now? #plain"}
    run(user, {**body, "runId": str(uuid4()), "messages": [*body["messages"], new]})
    run(user, {**body, "runId": str(uuid4())})

    assert len(images_shown(scripted_llm)) == 1
    assert llm_product.count("attachment", owner_id=user.user_id) == 1


def test_same_image_twice_in_a_message_is_stored_once(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    run(user, question("What is this? #plain", image_part(), binary_part(filename="again.png")))

    assert len(images_shown(scripted_llm)) == 1
    assert llm_product.count("attachment", owner_id=user.user_id) == 1


def flood() -> bytes:
    """A PNG that claims more pixels than are drawn."""
    content = bytearray(picture((1, 1)))
    content[16:24] = (60_000).to_bytes(4, "big") * 2
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    return bytes(content)


@pytest.mark.parametrize(
    ("part", "field", "error"),
    [
        (image_part(b"%PDF-1.7"), FIELD, UnsupportedFileType),
        (image_part(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"), FIELD, UnsupportedFileType),
        (image_part(picture()[:60]), FIELD, CorruptImage),
        (image_part(picture() + bytes(11 * 2**20)), FIELD, FileTooLarge),
        (image_part(flood()), FIELD, ImageTooLarge),
        (source_part("image", type="data", value="no base64!", mimeType="image/png"), FIELD, InvalidRunInput),
        (source_part("image", type="file", value="f-1"), FIELD, InvalidRunInput),
        (source_part("audio", type="data", value="QQ==", mimeType="audio/mp3"), FIELD, InvalidRunInput),
        ({"type": "binary", "mimeType": "image/png", "id": "f-1"}, FIELD, InvalidRunInput),
    ],
)
def test_what_is_no_image_is_refused_by_its_place_and_leaves_nothing(
    llm_product: Server, part: dict[str, Any], field: str, error: type[AgentexError]
):
    user, files = llm_product.person(), llm_product.stored
    for path in DIALECTS[::2]:
        body = question("What is this? #plain", part)
        assert check_error(post(user, path, body), error)["field"] == field
    assert llm_product.count("attachment", owner_id=user.user_id) == 0
    assert llm_product.stored <= files
    assert user.get("/sessions")["items"] == []


def test_fault_of_the_last_image_leaves_nothing_of_the_others(llm_product: Server):
    user, files = llm_product.person(), llm_product.stored
    body = question("What is this? #plain", image_part(), image_part(b"%PDF-1.7"))
    details = check_error(post(user, "/agent", body), UnsupportedFileType)

    assert details["field"] == "messages.0.content.2"
    assert llm_product.count("attachment", owner_id=user.user_id) == 0
    assert llm_product.stored <= files


def test_run_that_is_refused_leaves_no_image(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    body = question("What is this? #plain", image_part())
    run(user, body)
    # The id of the run was used before.
    again = post(user, "/agent", {**question("And this? #plain", image_part()), "runId": body["runId"]})

    assert again.status_code == 409
    assert llm_product.count("attachment", owner_id=user.user_id) == 1


def test_message_has_three_attachments_at_most(llm_product: Server):
    user = llm_product.person()
    parts = [image_part(picture((n, n))) for n in range(1, 5)]
    details = check_error(post(user, "/agent", question("What? #plain", *parts)), InvalidRunInput)
    assert (details["field"], details["error"]) == ("messages.0.content", "has more than 3 pictures and files")


def test_large_photo_fits_into_a_run_but_into_no_other_body(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    noise = Image.effect_noise((2600, 2600), 90)
    written = io.BytesIO()
    noise.save(written, "PNG")
    assert len(written.getvalue()) > llm_product.settings.max_request_bytes
    run(user, question("What is this? #plain", image_part(written.getvalue())))

    assert [image.size for image in images_shown(scripted_llm)] == [(1568, 1568)]
    body = {"name": "x" * (llm_product.settings.max_request_bytes + 1)}
    user.refused(RequestTooLarge, "POST", "/sessions", json=body)
    huge = question("x" * (llm_product.settings.max_run_request_bytes + 1))
    check_error(post(user, "/agent", huge), RequestTooLarge)


def test_images_of_messages_count_against_the_quota(llm_product: Server):
    user = llm_product.person()
    used = user.get("/users/me/storage")
    run(user, question("What is this? #plain", image_part()))
    assert user.get("/users/me/storage")["used_bytes"] > used["used_bytes"]


@pytest.mark.parametrize("part", [image_part(), binary_part()], ids=["image", "binary"])
def test_stock_client_sends_an_image(
    agui_client: AguiClient, llm_product: Server, scripted_llm: ModelServer, part: dict[str, Any]
):
    user = llm_product.person()
    step = {"question": [{"type": "text", "text": "What is this? #plain"}, part], "props": {"agent_type": "react"}}
    more = {"question": "And now? #plain", "props": {"agent_type": "react"}}
    talk = agui_client.talk(user, step, more)

    assert [made.error for made in talk.runs] == [None, None]
    assert text_of(talk.runs[0].events) == "Hello from the model."
    assert llm_product.count("attachment", owner_id=user.user_id) == 1


def test_image_beside_an_answer_is_shown_and_kept_out_of_the_run(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    calls = json.dumps([["confirm_action", {"message": "Delete?"}]])
    first = run(user, question(f"Please. #calls {calls}"))
    (interrupt,) = first[-1]["outcome"]["interrupts"]
    body = question("What is this? #plain", image_part(), thread_id=first[0]["threadId"])
    body["resume"] = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"confirmed": True}}]
    run(user, body)

    assert [image.size for image in images_shown(scripted_llm)] == [(30, 20)]
    messages = user.get(f"/sessions/{first[0]['threadId']}/messages")["items"]
    assert [bool(message["metadata"].get("attachments")) for message in messages if message["role"] == "user"] == [
        False,
        True,
    ]
    content = base64.b64encode(picture()).decode()
    assert not [row for row in llm_product.sql("SELECT request FROM agent_run") if content[:60] in str(row)]


def test_image_of_a_message_that_was_never_answered_is_shown_with_the_next(
    llm_product: Server, scripted_llm: ModelServer
):
    user = llm_product.person()
    body = question("Look at this.", image_part())
    body["messages"].append({"id": "next", "role": "user", "content": "What is it? #plain"})
    run(user, body)
    assert [image.size for image in images_shown(scripted_llm)] == [(30, 20)]


def test_large_body_may_hold_bytes_but_not_more_values(llm_product: Server):
    user = llm_product.person()
    values = llm_product.settings.max_request_bytes
    body = question("? #plain") | {"state": {"items": [[]] * values}}
    check_error(post(user, "/agent", body), RequestTooLarge)
