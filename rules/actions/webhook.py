"""The action that posts to an address."""

from collections.abc import Mapping
from typing import ClassVar

import httpx
import orjson
from pydantic import JsonValue

from core.errors.base import AgentexError
from core.errors.requests import UrlNotAllowed
from rules.actions.base import ActionCall, ActionFailed, ActionServices, OutcomeUnknown, reason_of

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

    async def missing(self, services: ActionServices, call: ActionCall) -> list[str]:
        if not call.target.startswith(("https://", "http://")):
            return ["`target` is no address: begin it with https://"]
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
            raise ActionFailed(f"The address must not be called: {reason_of(refusal)}") from refusal
        except AgentexError as error:
            raise ActionFailed(reason_of(error)) from error
        except _IN_DOUBT as error:
            raise OutcomeUnknown(f"The address took the request and did not answer: {type(error).__name__}") from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise ActionFailed(f"The address did not answer: {type(error).__name__}") from error
        if response.status_code not in _SUCCESS:
            raise ActionFailed(f"The address answered {response.status_code}: {text}")
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
