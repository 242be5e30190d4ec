"""HTTP to one Agentex server: safe retries, envelopes opened, errors named."""

import asyncio
import ipaddress
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self, TypeVar

import httpx
from pydantic import BaseModel, JsonValue, ValidationError

from cli.errors import CommandFailed, ServerRefused
from cli.ui.i18n.common import ANSWER_UNREADABLE, NOT_AGENTEX, UNREACHABLE_HINT, UNSENDABLE, Language
from core.errors.requests import InvalidRequest
from core.errors.server import ServerUnreachable

# Retry only what the server certainly did not do: it was not reached, or it says so.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_DECLINED = {429, 503}
_DECLINED_TRIES = 5
_LONGEST_PAUSE = 30.0
_TIMEOUT = httpx.Timeout(60, connect=5, pool=None)
# A run may think for minutes between two events.
STREAM_TIMEOUT = httpx.Timeout(60, connect=5, pool=None, read=600)

M = TypeVar("M", bound=BaseModel)
BuildRequest = Callable[[httpx.AsyncClient], httpx.Request]


class _Envelope(BaseModel):
    code: int
    message: str = ""
    data: JsonValue = None
    details: dict[str, JsonValue] | None = None


class Transport:
    """Sends requests to one server.

    Args:
        language: of the server's error messages.
        patience: seconds during which an unreachable server is retried.
    """

    def __init__(self, url: str, *, language: Language, patience: float = 0.5) -> None:
        self.url = url
        self.patience = patience
        # A proxy of the environment can't reach this machine's own addresses.
        self._http = httpx.AsyncClient(
            base_url=url, timeout=_TIMEOUT, trust_env=not is_loopback(url), headers={"Accept-Language": language.value}
        )

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.__aexit__(kind, error, trace)

    async def send(self, build: BuildRequest, *, repeatable: bool) -> JsonValue:
        """Send a request and return the ``data`` of the response's envelope.

        Args:
            build: makes a new request for each attempt.
            repeatable: whether doing it twice does no harm.
        """
        response = await self._respond(build, repeatable=repeatable, stream=False)
        return self._open(response)

    def read(self, shape: type[M], value: JsonValue) -> M:
        try:
            return shape.model_validate(value)
        except ValidationError:
            raise CommandFailed(ServerUnreachable(), ANSWER_UNREADABLE, url=self.url) from None

    @asynccontextmanager
    async def stream(self, build: BuildRequest) -> AsyncGenerator[httpx.Response]:
        """Send a request and yield the streaming response."""
        response = await self._respond(build, repeatable=False, stream=True)
        try:
            if not response.is_success:
                await response.aread()
                self._open(response)
            yield response
        except httpx.TransportError as error:
            raise self._unreachable() from error
        finally:
            await response.aclose()

    async def get_raw(self, path: str) -> httpx.Response:
        """Get a page without an envelope (``/healthz``, ``/readyz``), whatever its status."""

        def build(http: httpx.AsyncClient) -> httpx.Request:
            return http.build_request("GET", path)

        return await self._exchange(build, repeatable=True, stream=False)

    async def _respond(self, build: BuildRequest, *, repeatable: bool, stream: bool) -> httpx.Response:
        for turn in range(_DECLINED_TRIES):
            response = await self._exchange(build, repeatable=repeatable, stream=stream)
            if response.status_code not in _DECLINED or turn == _DECLINED_TRIES - 1:
                return response
            await response.aclose()
            await asyncio.sleep(_pause(response, turn))
        raise self._unreachable()

    async def _exchange(self, build: BuildRequest, *, repeatable: bool, stream: bool) -> httpx.Response:
        deadline = time.monotonic() + self.patience
        pause = 0.1
        while True:
            try:
                return await self._http.send(self._built(build), stream=stream)
            except httpx.TransportError as error:
                safe = repeatable or isinstance(error, _NOT_SENT)
                if not safe or time.monotonic() + pause > deadline:
                    raise self._unreachable() from error
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)

    def _built(self, build: BuildRequest) -> httpx.Request:
        try:
            return build(self._http)
        except (ValueError, RecursionError, httpx.InvalidURL):
            # Such as bytes of another encoding, which JSON and addresses have no form for.
            raise CommandFailed(InvalidRequest("arguments", "unsendable"), UNSENDABLE) from None

    def _open(self, response: httpx.Response) -> JsonValue:
        try:
            envelope = _Envelope.model_validate_json(response.content)
        except ValidationError:
            status = response.status_code
            raise CommandFailed(ServerUnreachable(), NOT_AGENTEX, url=self.url, status=status) from None
        if envelope.code != 0:
            raise ServerRefused(envelope.code, envelope.message, envelope.details or {})
        return envelope.data

    def _unreachable(self) -> CommandFailed:
        return CommandFailed(ServerUnreachable(), UNREACHABLE_HINT, url=self.url)


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine."""
    host = httpx.URL(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _pause(response: httpx.Response, turn: int) -> float:
    retry_after = response.headers.get("Retry-After", "")
    seconds = float(retry_after) if retry_after.isdigit() else 0.5 * 2**turn
    return min(seconds, _LONGEST_PAUSE)
