"""HTTP for a Git client that blocks: its requests are made by the event loop, through the outbound guard."""

import asyncio
import base64
from collections.abc import AsyncIterator, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

import httpx

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard
from core.outbound.transports import GuardedHttpxTransport
from ingestion.connectors.base import SourceUnavailable, not_allowed
from ingestion.connectors.git.failures import FetchStopped, no_access, not_git, unreachable
from ingestion.connectors.git.transport import GitTransport
from ingestion.connectors.web_client import USER_AGENT, origin_of

_SECONDS = 60.0
_MOST_REDIRECTS = 5
_REFUSED = frozenset({401, 403, 404, 410})
_Result = TypeVar("_Result")


class GitHttp(GitTransport):
    """Makes the requests of a thread, which ends soon after the caller of ``run`` is cancelled.

    Args:
        url: of the repository; credentials go to its origin alone, also after a redirect.
        credentials: ``username`` and ``password``; empty for none.
    """

    def __init__(self, guard: OutboundGuard, url: str, credentials: Mapping[str, str]) -> None:
        super().__init__()
        self._origin = origin_of(httpx.URL(url))
        self._authorization = basic_authorization(credentials)
        self._client = httpx.AsyncClient(
            transport=GuardedHttpxTransport(guard),
            # Servers of Git answer differently to unknown clients.
            headers={"User-Agent": f"git/{USER_AGENT}", "Accept-Encoding": "identity"},
            timeout=_SECONDS,
            trust_env=False,
        )
        self._loop = asyncio.get_running_loop()
        self._pending: Future[Any] | None = None

    async def close(self) -> None:
        await self._client.aclose()

    def interrupt(self) -> None:
        if self._pending is not None:
            self._pending.cancel()

    def request(self, url: str, headers: Mapping[str, str], body: bytes | None) -> "GitResponse":
        """In a thread: the answer to a GET, or with a body to a POST; raises ``SourceUnavailable`` for any other."""
        response, target = self._call(self._send(url, headers, body))
        return GitResponse(self, response, str(target) if str(target) != url else "")

    def read_block(self, blocks: AsyncIterator[bytes]) -> bytes:
        """In a thread: the next bytes of an answer; none at its end."""
        block = self._call(_next(blocks))
        self.count(len(block))
        return block

    def finish(self, response: httpx.Response) -> None:
        """In a thread: give an answer's connection back."""
        if not self.is_stopped:
            self._call(response.aclose())

    def _call(self, act: Coroutine[Any, Any, _Result]) -> _Result:
        if self.is_stopped:
            act.close()
            raise FetchStopped
        future = asyncio.run_coroutine_threadsafe(act, self._loop)
        self._pending = future
        if self.is_stopped:
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
        self._http.finish(self._response)


async def _next(blocks: AsyncIterator[bytes]) -> bytes:
    while (block := await anext(blocks, None)) is not None:
        if block:
            return block
    return b""


def basic_authorization(credentials: Mapping[str, str]) -> str:
    """The header ``Authorization`` of a password; empty without one."""
    if "password" not in credentials:
        return ""
    # Servers that take a token as the password take any name with it.
    pair = f"{credentials.get('username', 'git')}:{credentials['password']}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"
