"""Images in messages by their address: fetched through the guard of outgoing connections only."""

import gzip
from typing import Any
from uuid import uuid4

import pytest

from core.errors.auth import InvalidLink
from core.errors.base import AgentexError
from core.errors.requests import FileNotFetched, FileTooLarge, UnsupportedFileType, UrlNotAllowed
from tests.e2e.runs.test_message_images import (
    DIALECTS,
    FIELD,
    image_part,
    images_shown,
    picture,
    post,
    question,
    source_part,
)
from tests.fixtures.http.client import check_error
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import AguiClient, run, text_of
from tests.fixtures.servers.file_server import FileServer


def url_part(url: str, kind: str = "image") -> dict[str, Any]:
    return source_part(kind, type="url", value=url)


@pytest.mark.parametrize("path", DIALECTS)
def test_image_is_fetched_once_and_shown(
    llm_product: Server, scripted_llm: ModelServer, outside_files: FileServer, path: str
):
    user, name = llm_product.person(), f"/{uuid4()}.png"
    url = outside_files.add(name, picture(), "image/png")
    body = question("What is this? #plain", url_part(url))
    assert post(user, path, body).status_code == 200
    # The whole history with another question, and the first question once more.
    new = {"id": str(uuid4()), "role": "user", "content": "And now? #plain"}
    run(user, {**body, "runId": str(uuid4()), "messages": [*body["messages"], new]})
    run(user, {**body, "runId": str(uuid4())})

    assert [image.size for image in images_shown(scripted_llm)] == [(30, 20)]
    assert outside_files.requests[name] == 1
    assert llm_product.count("attachment", owner_id=user.user_id) == 1


def test_older_binary_part_has_an_address_too(
    llm_product: Server, scripted_llm: ModelServer, outside_files: FileServer
):
    url = outside_files.add(f"/{uuid4()}", picture(), "application/octet-stream")
    part = {"type": "binary", "mimeType": "image/png", "url": url}
    run(llm_product.person(), question("What is this? #plain", part))
    assert len(images_shown(scripted_llm)) == 1


def test_redirects_are_followed_without_cookies(
    llm_product: Server, scripted_llm: ModelServer, outside_files: FileServer
):
    user = llm_product.person()
    outside_files.redirects["/moved"] = outside_files.add("/there.png", picture(), "image/png")
    for _ in range(2):
        run(user, question("What is this? #plain", url_part(outside_files.url("/moved"))))

    assert len(images_shown(scripted_llm)) == 1
    assert outside_files.cookies == []


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/a.png",
        "http://localhost:22/a.png",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]:6379/",
        "http://10.0.0.8/a.png",
        "http://2130706433/a.png",
        "file:///etc/passwd",
        "ftp://example.com/a.png",
        "https://user:secret@example.com/a.png",
        "no address",
    ],
)
def test_private_and_other_targets_are_refused(llm_product: Server, url: str):
    user = llm_product.person()
    for path in DIALECTS[::2]:
        details = check_error(post(user, path, question("What? #plain", url_part(url))), UrlNotAllowed)
        assert details["field"] == FIELD
        assert url not in str(details)
    assert user.get("/sessions")["items"] == []


def test_own_process_is_no_target(llm_product: Server):
    user = llm_product.person()
    url = str(llm_product.http.base_url.join("/healthz"))
    check_error(post(user, "/agent", question("What? #plain", url_part(url))), UrlNotAllowed)


def test_private_target_of_models_is_not_fetched_from(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    part = url_part(f"{scripted_llm.base_url}/models")
    details = check_error(post(user, "/agent", question("What? #plain", part)), UrlNotAllowed)
    assert "setting" not in details


def test_redirect_to_a_private_target_is_refused(llm_product: Server, outside_files: FileServer):
    user = llm_product.person()
    outside_files.redirects.update({"/inside": "http://127.0.0.1:1/a.png", "/disk": "file:///etc/passwd"})
    for path in ("/inside", "/disk"):
        part = url_part(outside_files.url(path))
        assert check_error(post(user, "/agent", question("? #plain", part)), UrlNotAllowed)["field"] == FIELD


def test_what_can_not_be_fetched_is_refused(llm_product: Server, outside_files: FileServer):
    user, files = llm_product.person(), llm_product.stored
    outside_files.redirects["/circle"] = outside_files.url("/circle")
    packed = gzip.compress(picture())
    cases: list[tuple[str, type[AgentexError]]] = [
        (outside_files.url("/nothing"), FileNotFetched),
        (outside_files.url("/circle"), FileNotFetched),
        (outside_files.add("/packed", packed, "image/png", Content_Encoding="gzip"), FileNotFetched),
        ("https://no-such-host.invalid/a.png", FileNotFetched),
        (outside_files.add("/page", b"<html>", "image/png"), UnsupportedFileType),
        (outside_files.add("/large", picture() + bytes(11 * 2**20), "image/png"), FileTooLarge),
        (outside_files.add("/declared", b"", "image/png", Content_Length=str(2**40)), FileTooLarge),
    ]
    for url, error in cases:
        # An image before it, of which nothing may stay.
        answer = post(user, "/agent", question("What? #plain", image_part(), url_part(url)))
        assert check_error(answer, error)["field"] == "messages.0.content.2", url
    assert llm_product.count("attachment", owner_id=user.user_id) == 0
    assert llm_product.stored <= files


def test_link_to_an_uploaded_image_is_that_image(llm_product: Server, scripted_llm: ModelServer):
    user, stranger = llm_product.person(), llm_product.person()
    sent = user.request("POST", "/agent/attachments", files={"file": ("a.png", picture(), "image/png")}).json()
    host = str(llm_product.http.base_url).rstrip("/")
    for url in (sent["url"], f"{host}{sent['url']}"):
        run(user, question("What is this? #plain", url_part(url)))
        assert len(images_shown(scripted_llm)) == 1
    refused = post(stranger, "/agent", question("What is this? #plain", url_part(sent["url"])))

    assert check_error(refused, InvalidLink)["field"] == FIELD
    assert llm_product.count("attachment", owner_id=user.user_id) == 1
    # A run that is refused takes nothing away that was there before.
    body = question("And this? #plain", url_part(sent["url"]), image_part(b"%PDF-1.7"))
    check_error(post(user, "/agent", body), UnsupportedFileType)
    assert user.http.get(sent["url"]).status_code == 200


def test_address_that_holds_the_image_is_not_fetched(llm_product: Server, scripted_llm: ModelServer):
    source = image_part()["source"]
    run(llm_product.person(), question("? #plain", url_part(f"data:image/png;base64,{source['value']}")))
    assert len(images_shown(scripted_llm)) == 1


def test_stock_client_sends_an_address(
    agui_client: AguiClient, llm_product: Server, scripted_llm: ModelServer, outside_files: FileServer
):
    url = outside_files.add(f"/{uuid4()}.png", picture(), "image/png")
    parts = [{"type": "text", "text": "What is this? #plain"}, url_part(url)]
    talk = agui_client.talk(llm_product.person(), {"question": parts, "props": {"agent_type": "react"}})

    assert talk.runs[0].error is None
    assert text_of(talk.runs[0].events) == "Hello from the model."
    assert len(images_shown(scripted_llm)) == 1
