"""File downloads: ranges, file names, files that stay open until they are sent."""

import re
import unicodedata
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import quote

from fastapi.responses import FileResponse
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from api.http.errors import error_response, error_responses
from core.errors.base import AgentexError
from core.errors.requests import InvalidRequest, NoSuchPart
from core.text.graphemes import grapheme_boundary

_FILE = {"schema": {"type": "string", "format": "binary"}}
_ERRORS = {error.status: error for error in (InvalidRequest, NoSuchPart)}


def file_responses(description: str, *media_types: str) -> dict[int | str, dict[str, Any]]:
    """OpenAPI entries for a file in one of these media types, whole or in parts."""
    kinds = dict.fromkeys(media_types, _FILE)
    return {
        **error_responses(*_ERRORS.values()),
        200: {"description": description, "content": kinds},
        206: {
            "description": "The part that was asked for by `Range`; several ones as one body",
            "content": {**kinds, "multipart/byteranges": _FILE},
        },
    }


class RangeFileResponse(FileResponse):
    """A file that serves ranges; ``exit_stack`` is closed after the answer."""

    exit_stack: AsyncExitStack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self.exit_stack:
            refused = _Refused(send)
            await super().__call__(scope, receive, refused.send)
            if refused.error is not None:
                language = Headers(scope=scope).get("accept-language", "")
                answer = error_response(refused.error, {"field": "Range"}, language=language)
                if refused.whole:
                    answer.headers["Content-Range"] = refused.whole
                await answer(scope, receive, send)


class _Refused:
    """Replaces Starlette's plain-text range errors by our envelope."""

    def __init__(self, send: Send) -> None:
        self.error: type[AgentexError] | None = None
        self.whole = ""
        self._send = send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] in _ERRORS:
            self.error = _ERRORS[message["status"]]
            self.whole = Headers(raw=message["headers"]).get("content-range", "")
        if self.error is None:
            await self._send(message)


_LONGEST = 80
# What one of the usual file systems does not take in a name, and what hides in it.
_FORBIDDEN = re.compile(r'[\\/:*?"<>|]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


def content_disposition(title: str, *, fallback: str, extension: str) -> str:
    """The header that saves an answer under any title; ``fallback`` is an ASCII name, the extension has no dot."""
    return _attachment(f"{safe_name(title) or fallback}.{extension}", f"{fallback}.{extension}")


def file_disposition(path: str, *, fallback: str) -> str:
    """The header that saves a file under the last part of its path, with its ending; ``fallback`` is an ASCII name."""
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    ending = safe_name(ending)
    name = f"{safe_name(stem) or fallback}.{ending}" if dot and ending else safe_name(stem or ending) or fallback
    is_plain = name.isascii() and not set(name) & set('"%')
    return _attachment(name, name if is_plain else f"{fallback}.{ending}" if dot and ending.isascii() else fallback)


def _attachment(name: str, ascii_name: str) -> str:
    return f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(name, safe='')}"


def safe_name(title: str) -> str:
    """A title as a file name without its extension; may be empty."""
    visible = "".join(sign if unicodedata.category(sign)[0] != "C" else " " for sign in title)
    name = " ".join(_FORBIDDEN.sub(" ", visible).split()).strip(". ")
    name = name[: grapheme_boundary(name, _LONGEST)].rstrip(". ")
    return "" if _RESERVED.match(name) else name
