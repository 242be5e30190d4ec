"""HTTP for a Git client that blocks: its requests are made by the event loop, through the outbound guard."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from typing import Any, Self, TypeVar

import httpx
from anyio import to_thread

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard
from core.outbound.transports import GuardedHttpxTransport
from ingestion.connectors.base import SourceUnavailable, not_allowed
from ingestion.connectors.git_failures import FetchStopped, no_access, not_git, too_big, too_slow, unreachable
from ingestion.connectors.web_client import USER_AGENT, origin_of

_SECONDS = 60.0
_WHOLE_SECONDS = 3600.0
_MOST_REDIRECTS = 5
_REFUSED = frozenset({401, 403, 404, 410})
_ANSWERS_BYTES = 32 * 2**20
_Result = TypeVar("_Result")


class GitHttp:
    """Makes the requests of a thread, which ends soon after the caller of ``run`` is cancelled.

    Args:
        url: of the repository; credentials go to its origin alone, also after a redirect.
        credentials: ``username`` and ``password``; empty for none.
    """

    def __init__(self, guard: OutboundGuard, url: str, credentials: Mapping[str, str]) -> None:
        self._origin = origin_of(httpx.URL(url))
        self._authorization = _basic(credentials) if credentials else None
        self._client = httpx.AsyncClient(
            transport=GuardedHttpxTransport(guard),
            # Servers of Git answer differently to unknown clients.
            headers={"User-Agent": f"git/{USER_AGENT}", "Accept-Encoding": "identity"},
            timeout=_SECONDS,
            trust_env=False,
        )
        self._loop = asyncio.get_running_loop()
        self._is_stopped = False
        self._pending: Future[Any] | None = None
        self._limit = self._allowance = _ANSWERS_BYTES

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop()
        await self._client.aclose()

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Run ``work`` on a thread and wait for its end, also when the caller is cancelled; that hastens it."""
        task = asyncio.ensure_future(to_thread.run_sync(work))
        try:
            async with asyncio.timeout(_WHOLE_SECONDS):
                return await asyncio.shield(task)
        except TimeoutError:
            raise too_slow(_WHOLE_SECONDS) from None
        finally:
            self._stop()
            if not task.done():
                await asyncio.wait({task})
                # Nobody else asks for it.
                task.exception()

    def allow(self, size: int) -> None:
        """Take up to so many bytes more, in a thread that knows now that it fetches."""
        self._limit = self._allowance = size

    def check(self) -> None:
        """In a thread: raise ``FetchStopped`` once its caller is gone."""
        if self._is_stopped:
            raise FetchStopped

    def request(self, url: str, headers: Mapping[str, str], body: bytes | None) -> "GitResponse":
        """In a thread: the answer to a GET, or with a body to a POST; raises ``SourceUnavailable`` for any other."""
        response, target = self._call(self._send(url, headers, body))
        return GitResponse(self, response, str(target) if str(target) != url else "")

    def read_block(self, blocks: AsyncIterator[bytes]) -> bytes:
        """In a thread: the next bytes of an answer; none at its end."""
        block = self._call(_next(blocks))
        self._allowance -= len(block)
        if self._allowance < 0:
            raise too_big(self._limit)
        return block

    def close(self, response: httpx.Response) -> None:
        """In a thread: give an answer's connection back."""
        if not self._is_stopped:
            self._call(response.aclose())

    def _stop(self) -> None:
        self._is_stopped = True
        if self._pending is not None:
            self._pending.cancel()

    def _call(self, act: Coroutine[Any, Any, _Result]) -> _Result:
        if self._is_stopped:
            act.close()
            raise FetchStopped
        future = asyncio.run_coroutine_threadsafe(act, self._loop)
        self._pending = future
        if self._is_stopped:
            future.cancel()
        try:
            return future.result()
        except CancelledError:
            raise FetchStopped from None
        except UrlNotAllowed as error:
            raise SourceUnavailable(not_allowed(error)) from error
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, ValueError) as error:
            raise unreachable(type(error).__name__) from error

    async def _send(self, url: str, headers: Mapping[str, str], body: bytes | None) -> tuple[httpx.Response, httpx.URL]:
        target = httpx.URL(url)
        for _ in range(_MOST_REDIRECTS + 1):
            own = {"Authorization": self._authorization} if self._authorization else {}
            sent = {**headers, **(own if origin_of(target) == self._origin else {})}
            request = self._client.build_request("GET" if body is None else "POST", target, headers=sent, content=body)
            response = await self._client.send(request, stream=True)
            # As git does it, only the first request follows: the others go where that led.
            if not (response.has_redirect_location and body is None):
                break
            await response.aclose()
            target = target.join(response.headers["Location"]).copy_with(fragment=None, userinfo=b"")
        else:
            raise unreachable("TooManyRedirects")
        if response.is_success:
            return response, target
        await response.aclose()
        if response.status_code in _REFUSED:
            raise no_access(response.status_code)
        raise unreachable(f"status {response.status_code}")


class GitResponse:
    """An answer as a Git client of ``dulwich`` reads it, in its thread."""

    def __init__(self, http: GitHttp, response: httpx.Response, redirect_location: str) -> None:
        self.content_type: str | None = response.headers.get("Content-Type")
        self.redirect_location = redirect_location
        self.status = response.status_code
        self._http = http
        self._response = response
        self._blocks = response.aiter_bytes()
        self._rest = b""

    def require_type(self, media_type: str) -> None:
        """Refuse what is no answer of a Git server."""
        if (self.content_type or "").partition(";")[0].strip().lower() != media_type:
            self.close()
            raise not_git()

    def read(self, size: int) -> bytes:
        """So many bytes; fewer only at the end."""
        parts, missing = [self._rest[:size]], size - len(self._rest)
        self._rest = self._rest[size:]
        while missing > 0 and (block := self._http.read_block(self._blocks)):
            parts.append(block[:missing])
            self._rest = block[missing:]
            missing -= len(block)
        return b"".join(parts)

    def close(self) -> None:
        """Give the connection back."""
        self._http.close(self._response)


async def _next(blocks: AsyncIterator[bytes]) -> bytes:
    while (block := await anext(blocks, None)) is not None:
        if block:
            return block
    return b""


def _basic(credentials: Mapping[str, str]) -> str:
    # Servers that take a token as the password take any name with it.
    pair = f"{credentials.get('username', 'git')}:{credentials.get('password', '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"
