"""Questions with images: shown to a model that sees, and named as unseen otherwise."""

import base64
import io
from typing import Any

import pytest
from PIL import Image

from tests.fixtures.http.client import Api
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.async_runs import answer_of, run, run_input

LONGEST_SIDE = 1568


def attach(api: Api, size: tuple[int, int], kind: str = "PNG") -> dict[str, Any]:
    """Send an image and give the block that brings it into a message."""
    picture = io.BytesIO()
    Image.new("RGBA" if kind == "PNG" else "P", size, 0).save(picture, kind)
    name = f"a.{kind.lower()}"
    sent = {"file": (name, picture.getvalue(), f"image/{kind.lower()}")}
    answer = api.request("POST", "/agent/attachments", files=sent)
    assert answer.is_success, answer.text
    url = answer.json()["url"]
    return {"type": "binary", "mimeType": f"image/{kind.lower()}", "url": url, "filename": name}


def ask_with_images(api: Api, text: str, *images: dict[str, Any], agent_type: str = "react") -> str:
    """What a run answers to a question with images."""
    body = run_input(forwardedProps={"agent_type": agent_type})
    body["messages"][0]["content"] = [{"type": "text", "text": text}, *images]
    return answer_of(run(api, body))["answer"]


def images_shown(scripted_llm: ModelServer) -> list[Image.Image]:
    """The pictures of the newest request, as they came."""
    (parts,) = [m["content"] for m in scripted_llm.requests[-1].messages if m["role"] == "user"]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    assert all(url.startswith("data:image/jpeg;base64,") for url in urls)
    return [Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) for url in urls]


@pytest.mark.parametrize("agent_type", ["react", "agentic_rag"])
def test_model_that_sees_is_shown_the_images(llm_product: Server, scripted_llm: ModelServer, agent_type: str):
    user = llm_product.person()
    images = (attach(user, (2000, 1000)), attach(user, (30, 20), "GIF"))
    stored = llm_product.stored
    answer = ask_with_images(user, "What is this? #plain", *images, agent_type=agent_type)

    large, small = images_shown(scripted_llm)
    # What is transparent is white to a model, which knows no transparency.
    assert (large.size, large.getpixel((5, 5))) == ((LONGEST_SIDE, 784), (255, 255, 255))
    assert (small.size, small.format) == ((30, 20), "JPEG")
    assert answer == "Hello from the model."
    # What other tests have left may be erased meanwhile.
    assert llm_product.stored <= stored, "nothing is stored twice"


def test_image_that_is_asked_about_later_is_not_shown_again(llm_product: Server, scripted_llm: ModelServer):
    user = llm_product.person()
    body = run_input(forwardedProps={"agent_type": "react"})
    body["messages"][0]["content"] = [
        {"type": "text", "text": "What is this? #plain"}, attach(user, (30, 20))
    ]  # fmt: skip
    run(user, body)
    again = run_input("And now? #plain", threadId=body["threadId"])
    run(user, again)

    assert "image_url" not in str(scripted_llm.requests[-1].body)


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("Which port is it?", "The attached pictures were not looked at"),
        ("这张图片里是什么内容？", "附带的图片没有被查看"),
    ],
)
def test_answer_owns_up_to_images_that_were_not_looked_at(embedded: Server, question: str, note: str):
    user = embedded.person()
    assert note in ask_with_images(user, question, attach(user, (30, 20)))
    assert note not in ask_with_images(user, question)
