"""The action that puts a text, or what an address gives, into a knowledge base."""

import io
from collections.abc import AsyncGenerator
from typing import ClassVar

import httpx
import orjson
from pydantic import JsonValue

from core.auth.permissions import Permission
from core.auth.principal import Action as AccessAction
from core.errors.base import AgentexError
from core.errors.requests import UrlNotAllowed
from ingestion.upload import UploadFile
from kb_service.knowledge_bases import service as knowledge_bases
from rules.actions.base import (
    ActionCall,
    ActionFailed,
    ActionServices,
    Reason,
    address_refused,
    no_answer,
    reason_of,
    text_of,
)

_LONGEST_NAME = 255
_LONGEST_TEXT = 256 * 1024
_LONGEST_URL = 2048
_SECONDS = 60
_OK = 200
FIRING_ATTRIBUTE = "rule_firing"
"""The metadata of a document that names the firing which made it."""


class IngestHandler:
    """Makes the document ``name``, or its next revision, of ``text`` or of what ``url`` gives.

    The same bytes under the same name change nothing.
    """

    TYPE: ClassVar[str] = "ingest"
    IS_REPEATABLE: ClassVar[bool] = True

    async def missing(self, services: ActionServices, call: ActionCall) -> list[Reason]:
        try:
            call.owner.require(Permission.KB_WRITE)
            base_id = text_of(call.params, "knowledge_base_id", longest=100)
            async with services.database.reading() as session:
                await knowledge_bases.get(session, call.owner, base_id, AccessAction.WRITE)
            _source(call)
        except ActionFailed as failure:
            return [failure.reason]
        except AgentexError as error:
            return [reason_of(error)]
        return []

    async def execute(self, services: ActionServices, call: ActionCall) -> JsonValue:
        call.owner.require(Permission.KB_WRITE)
        name = text_of(call.params, "name", longest=_LONGEST_NAME)
        text, url = _source(call)
        target = await services.uploads.open(call.owner, text_of(call.params, "knowledge_base_id", longest=100))
        content = text.encode() if url is None else await _download(services.http, url, target.max_bytes)
        (result,) = await services.uploads.upload(target, [_file(call, name, content)])
        if isinstance(result, AgentexError):
            raise result
        return {"document_id": result.document.id, "outcome": str(result.outcome)}


def _source(call: ActionCall) -> tuple[str, str | None]:
    """The text, or the address."""
    if ("text" in call.params) == ("url" in call.params):
        raise ActionFailed("Give either `params.text` or `params.url`", "请在 `params.text` 和 `params.url` 中填写一个")
    if "url" in call.params:
        return "", text_of(call.params, "url", longest=_LONGEST_URL)
    return text_of(call.params, "text", longest=_LONGEST_TEXT), None


def _file(call: ActionCall, name: str, content: bytes) -> UploadFile:
    async def blocks() -> AsyncGenerator[bytes]:
        yield content

    # A name without an ending is text, which is what most events hold.
    full = name if "." in name.rsplit("/", 1)[-1] else f"{name}.md"
    # By this, what the document leads to is known as the rule's consequence.
    metadata = orjson.dumps({FIRING_ATTRIBUTE: call.firing_id}).decode()
    return UploadFile(full, len(content), io.BytesIO(content), blocks, "replace", metadata)


async def _download(http: httpx.AsyncClient, url: str, most: int) -> bytes:
    try:
        async with http.stream("GET", url, timeout=_SECONDS) as response:
            if response.status_code != _OK:
                raise ActionFailed(
                    f"The address answered {response.status_code}", f"该地址返回了 {response.status_code}"
                )
            content = bytearray()
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > most:
                    raise ActionFailed(
                        f"The address gives more than {most} bytes, the limit of an upload",
                        f"该地址的内容超过上传限制（{most} 字节）",
                    )
    except UrlNotAllowed as refusal:
        raise address_refused(refusal) from refusal
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise no_answer(error) from error
    return bytes(content)
