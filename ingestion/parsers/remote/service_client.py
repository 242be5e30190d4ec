"""HTTP to a parsing service: answers are bounded, redirects are not followed, failures come in our words.

The operator named the address, so private ones are as good as public ones. Neither the key nor what a service says reaches a
log: a refusal of Unstructured's API quotes the key it was sent.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path

import anyio
import httpx
from pydantic import JsonValue

from core.errors.server import ParserServiceUnavailable
from core.json_access import as_object
from core.logging import get_logger
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.remote.answers import read_json, unexpected_answer

_log = get_logger(__name__)

_USER_AGENT = f"Agentex/{version('agentex')}"
_CONNECT_SECONDS = 10.0
_WRITE_SECONDS = 60.0
_CHECK_SECONDS = 20.0
_SHORT_BYTES = 64 * 1024
_BLOCK_BYTES = 256 * 1024
# A service that is busy, being restarted or away; 500 is what they answer to a file that they fail on.
_UNAVAILABLE = frozenset({408, 425, 429, 502, 503, 504})
_KEY_REFUSED = frozenset({401, 403})
# There is no such address, or it takes no such request.
_MISSING = frozenset({404, 410})
_MISFIT = frozenset({405, 501})
# mineru-api says so of a task that failed.
_CONFLICT = 409
_SERVER_ERROR = 500

FormFields = Mapping[str, str | Sequence[str]]


class ServiceFinding(StrEnum):
    """What a check of a service found."""

    OK = "ok"
    UNREACHABLE = "unreachable"
    KEY_REFUSED = "key_refused"
    UNEXPECTED = "unexpected"
    """Something else answers."""


class AddressMissing(ParseFailure):
    """The service has no such address."""

    def __init__(self) -> None:
        super().__init__(FailureReason.PARSER_SERVICE_UNEXPECTED)


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file as a service gets it; the name is one of ours, since services log names, and only its ending tells them the format."""

    path: Path
    name: str
    media_type: str


class ServiceClient:
    """Requests to one service.

    Args:
        service: its name in ``AGENTEX_PARSERS``.
        url: without a slash at its end; all paths are below it.
        headers: of each request, those with the key among them.
    """

    def __init__(self, service: str, url: str, headers: Mapping[str, str]) -> None:
        self.service = service
        self._url = url
        self._http = httpx.AsyncClient(
            headers={
                "User-Agent": _USER_AGENT,
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                **headers,
            },
            # How long a service works on a document, the caller bounds.
            timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS, write=_WRITE_SECONDS),
            follow_redirects=False,
            trust_env=False,
        )

    async def close(self) -> None:
        await self._http.aclose()

    @asynccontextmanager
    async def post_file(
        self, path: str, form: FormFields, document: SentFile, field: str = "files"
    ) -> AsyncGenerator[httpx.Response]:
        """The answer to a form with a file; see ``get``."""
        with document.path.open("rb") as file:
            fields = {name: value if isinstance(value, str) else list(value) for name, value in form.items()}
            files = {field: (document.name, file, document.media_type)}
            request = self._http.build_request("POST", self._url + path, data=fields, files=files)
            async with self._answer(request) as response:
                yield response

    @asynccontextmanager
    async def get(self, path: str, query: Mapping[str, str] | None = None) -> AsyncGenerator[httpx.Response]:
        """A successful answer, whose body is not read yet.

        Raises:
            ParseFailure: the service refuses the request or the key, fails on the file, or is no such service.
            ParserServiceUnavailable: no answer, or the service is busy.
        """
        async with self._answer(self._http.build_request("GET", self._url + path, params=query or {})) as response:
            yield response

    @asynccontextmanager
    async def _answer(self, request: httpx.Request) -> AsyncGenerator[httpx.Response]:
        try:
            response = await self._http.send(request, stream=True)
            try:
                if not response.is_success:
                    raise await self._refusal(response)
                yield response
            finally:
                await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            _log.warning("parser_service.no_answer", service=self.service, error=type(error).__name__)
            raise ParserServiceUnavailable(service=self.service) from error

    async def _refusal(self, response: httpx.Response) -> Exception:
        status = response.status_code
        _log.warning("parser_service.refused", service=self.service, status=status)
        if status in _UNAVAILABLE:
            return ParserServiceUnavailable(service=self.service)
        if status in _KEY_REFUSED:
            return ParseFailure(FailureReason.PARSER_SERVICE_KEY_REFUSED)
        if status in _MISSING:
            return AddressMissing()
        if response.has_redirect_location or status in _MISFIT or status < 400:
            return unexpected_answer()
        if status >= _SERVER_ERROR or status == _CONFLICT:
            return ParseFailure(FailureReason.PARSER_SERVICE_FAILED)
        return ParseFailure(refusal_reason(await _detail(response)))


async def save(response: httpx.Response, target: Path, most: int) -> None:
    """Write an answer to a file; ParseFailure ``output_too_large`` beyond ``most`` bytes."""
    size = 0
    async with await anyio.open_file(target, "wb") as file:
        async for block in response.aiter_bytes(_BLOCK_BYTES):
            size += len(block)
            if size > most:
                raise ParseFailure(FailureReason.OUTPUT_TOO_LARGE)
            await file.write(block)


async def read_short(response: httpx.Response) -> JsonValue:
    """The JSON value of an answer of at most 64 KiB; ParseFailure ``parser_service_unexpected`` for any other."""
    body = bytearray()
    async for block in response.aiter_bytes():
        body += block
        if len(body) > _SHORT_BYTES:
            raise unexpected_answer()
    return read_json(bytes(body))


async def _detail(response: httpx.Response) -> str:
    try:
        return str(as_object(await read_short(response)).get("detail"))
    except ParseFailure:
        return ""


async def state_of(question: Awaitable[bool]) -> ServiceFinding:
    """What a question found that is answered with whether this is the service; it may take twenty seconds."""
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            return ServiceFinding.OK if await question else ServiceFinding.UNEXPECTED
    except (ParserServiceUnavailable, TimeoutError):
        return ServiceFinding.UNREACHABLE
    except ParseFailure as failure:
        is_key = failure.reason is FailureReason.PARSER_SERVICE_KEY_REFUSED
        return ServiceFinding.KEY_REFUSED if is_key else ServiceFinding.UNEXPECTED


def refusal_reason(detail: str) -> FailureReason:
    """Why a file was refused, by what services say to a file that is not acceptable.

    The sentences are those of Unstructured-IO/unstructured-api 0.1.2, prepline_general/api/general.py (``_check_pdf``, ``pipeline_api``).
    """
    if "File is encrypted" in detail:
        return FailureReason.PASSWORD_PROTECTED
    if "not appear to be a valid PDF" in detail or "not a valid docx" in detail:
        return FailureReason.CORRUPT_FILE
    return FailureReason.PARSER_SERVICE_REFUSED
