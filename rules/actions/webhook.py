"""The action that posts to an address."""

from collections.abc import Mapping
from typing import ClassVar

import httpx
import orjson
from pydantic import JsonValue

from core.errors.base import AgentexError
from core.errors.requests import UrlNotAllowed
from rules.actions.base import (
    ActionCall,
    ActionFailed,
    ActionServices,
    OutcomeUnknown,
    Reason,
    address_refused,
    no_answer,
    reason_of,
)

_SECONDS = 15
_SHOWN_CHARACTERS = 1000
_SUCCESS = range(200, 300)
_IN_DOUBT = (httpx.ReadTimeout, httpx.ReadError, httpx.WriteTimeout, httpx.WriteError, httpx.RemoteProtocolError)
CHAIN_HEADER = "agentex-rule-chain"
"""Names the rules that led to a request, so that what comes back of it is known as their consequence."""


class WebhookHandler:
    """Posts ``body`` as JSON to the address ``target``; redirects are not followed."""

    TYPE: ClassVar[str] = "webhook"
    IS_REPEATABLE: ClassVar[bool] = False

    async def missing(self, services: ActionServices, call: ActionCall) -> list[Reason]:
        if not call.target.startswith(("https://", "http://")):
            return [Reason("`target` is no address: begin it with https://", "`target` 不是地址：请以 https:// 开头")]
        return []

    async def execute(self, services: ActionServices, call: ActionCall) -> JsonValue:
        headers = {
            **_own_headers(call.params.get("headers")),
            "content-type": "application/json",
            "user-agent": "Agentex",
            "webhook-id": call.key,
            CHAIN_HEADER: ",".join(call.chain),
        }
        try:
            async with services.http.stream(
                "POST", call.target, content=orjson.dumps(call.params.get("body")), headers=headers, timeout=_SECONDS
            ) as response:
                text = await _beginning(response)
        except UrlNotAllowed as refusal:
            raise address_refused(refusal) from refusal
        except AgentexError as error:
            reason = reason_of(error)
            raise ActionFailed(reason.error, reason.error_zh) from error
        except _IN_DOUBT as error:
            kind = type(error).__name__
            raise OutcomeUnknown(
                f"The address took the request and did not answer: {kind}", f"该地址接收了请求但没有响应：{kind}"
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise no_answer(error) from error
        if response.status_code not in _SUCCESS:
            status = response.status_code
            raise ActionFailed(f"The address answered {status}: {text}", f"该地址返回了 {status}：{text}")
        return {"status": response.status_code, "text": text}


async def _beginning(response: httpx.Response) -> str:
    read = bytearray()
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) >= _SHOWN_CHARACTERS:
            break
    return bytes(read[:_SHOWN_CHARACTERS]).decode("utf-8", "replace").replace("\x00", "")


def _own_headers(value: JsonValue) -> Mapping[str, str]:
    return {str(name): str(text) for name, text in value.items()} if isinstance(value, dict) else {}
