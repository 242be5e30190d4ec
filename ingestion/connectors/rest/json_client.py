"""A client of JSON over HTTP: guarded, bounded, patient with rate limits, and true to one origin."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import httpx
from anyio import to_thread
from pydantic import TypeAdapter, ValidationError

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard
from core.outbound.transports import GuardedHttpxTransport
from ingestion.connectors.base import ItemUnreadable, ReadFailure, not_allowed
from ingestion.connectors.limits import limited_contents
from ingestion.connectors.rest.failures import (
    Refusal,
    ServiceTerms,
    answer_too_large,
    endless_listing,
    redirected_elsewhere,
    refusal_failure,
    too_slow,
    unexpected_answer,
)
from ingestion.connectors.web_client import USER_AGENT, no_answer, origin_of, retry_pause, too_many_redirects

ANSWER_BYTES = 16 * 2**20
"""The longest answer that is read."""
_SECONDS = 30.0
_ANSWER_SECONDS = 120.0
_DOWNLOAD_SECONDS = 600.0
_TRIES = 4
_LONGEST_PAUSE = 60.0
_MOST_REDIRECTS = 3
_MOST_PAGES = 2_000
_NOT_MODIFIED = 304
_REFUSALS: Mapping[int, Refusal] = {
    401: Refusal.CREDENTIALS,
    403: Refusal.ACCESS,
    404: Refusal.MISSING,
    410: Refusal.MISSING,
    429: Refusal.LIMIT,
    500: Refusal.BUSY,
    502: Refusal.BUSY,
    503: Refusal.BUSY,
    504: Refusal.BUSY,
}
_GENERAL = frozenset({Refusal.CREDENTIALS, Refusal.LIMIT})
_PATIENT = frozenset({Refusal.LIMIT, Refusal.BUSY})
_Body = TypeVar("_Body")


class ApiError(ItemUnreadable):
    """A request failed.

    Args:
        is_missing: there is no such thing.
        is_general: other requests would fail as well, so that the sync ends here.
    """

    def __init__(self, failure: ReadFailure, *, is_missing: bool = False, is_general: bool = False) -> None:
        super().__init__(failure)
        self.is_missing = is_missing
        self.is_general = is_general


@dataclass(frozen=True)
class JsonAnswer(Generic[_Body]):
    """A successful answer; ``body`` is None where nothing has changed.

    Args:
        next_query: the query of the page that the header Link calls next (RFC 8288).
    """

    body: _Body | None
    etag: str
    next_query: Mapping[str, str]


class PageTurner:
    """Sees that a listing comes to an end: no page twice, and not too many."""

    def __init__(self, terms: ServiceTerms, most_pages: int = _MOST_PAGES) -> None:
        self._terms = terms
        self._most_pages = most_pages
        self._cursors: set[str] = set()

    def turn(self, cursor: str) -> None:
        """Note what leads to a page; ApiError ``endless_listing`` where it led there before."""
        if cursor in self._cursors or len(self._cursors) >= self._most_pages:
            raise ApiError(endless_listing(self._terms))
        self._cursors.add(cursor)


class JsonClient:
    """Asks one service; subclasses say what its refusals look like.

    Args:
        url: of the API, without a slash at its end; what is sent stays on its origin.
        headers: of each request, those with credentials among them.
        terms: for words and next steps.
    """

    def __init__(self, guard: OutboundGuard, url: str, headers: Mapping[str, str], terms: ServiceTerms) -> None:
        self._url = url
        self._origin = origin_of(httpx.URL(url))
        self.terms = terms
        self.http = httpx.AsyncClient(
            transport=GuardedHttpxTransport(guard),
            headers={"User-Agent": USER_AGENT, "Accept": "application/json", **headers},
            timeout=_SECONDS,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    async def get(self, path: str, kind: type[_Body], query: Mapping[str, Any] | None = None) -> _Body:
        """The answer's body as ``kind``, a model or a type; raises ``ApiError``."""
        answer = await self.get_if_changed(path, kind, query or {})
        if answer.body is None:
            raise ApiError(unexpected_answer(self.terms))
        return answer.body

    async def get_if_changed(
        self, path: str, kind: type[_Body], query: Mapping[str, Any], etag: str = ""
    ) -> JsonAnswer[_Body]:
        """The answer, without its body where that is still the one of an entity tag."""
        headers = {"If-None-Match": etag} if etag else {}
        url = httpx.URL(self._url + path).copy_merge_params(query)
        response, content = await self._send(self.http.build_request("GET", url, headers=headers))
        is_unchanged = response.status_code == _NOT_MODIFIED
        body = None if is_unchanged else await self._parse(content, kind)
        link = response.links.get("next", {}).get("url", "")
        next_query = dict(url.join(link).params) if link else {}
        return JsonAnswer(body, etag if is_unchanged else response.headers.get("ETag", ""), next_query)

    async def post(self, path: str, kind: type[_Body], body: Mapping[str, Any]) -> _Body:
        """The answer's body to one that is sent as JSON; raises ``ApiError``."""
        _, content = await self._send(self.http.build_request("POST", self._url + path, json=body))
        return await self._parse(content, kind)

    async def download(self, path: str, limit: int) -> AsyncGenerator[bytes]:
        """A file as it is stored, at most ``limit`` bytes long; raises ``ApiError`` and ``ItemUnreadable``.

        Services keep files elsewhere: a redirect to another origin is followed, without the credentials.
        """
        ends_at = time.monotonic() + _DOWNLOAD_SECONDS
        try:
            async with (
                aclosing(await self._open_file(httpx.URL(self._url + path))) as response,
                aclosing(limited_contents(response, limit)) as blocks,
            ):
                async for block in blocks:
                    if time.monotonic() > ends_at:
                        raise ApiError(too_slow(self.terms, _DOWNLOAD_SECONDS))
                    yield block
        except UrlNotAllowed as error:
            raise ApiError(not_allowed(error)) from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise ApiError(no_answer(error)) from error

    async def _open_file(self, url: httpx.URL) -> httpx.Response:
        is_own = True
        for _ in range(_MOST_REDIRECTS):
            is_own = is_own and origin_of(url) == self._origin
            request = self.http.build_request("GET", url, headers={"Accept": "*/*", "Accept-Encoding": "identity"})
            if not is_own:
                request.headers.pop("Authorization", None)
            response = await self.http.send(request, stream=True)
            refusal = self.refusal(response, b"")
            if refusal is None:
                return response
            await response.aclose()
            if not response.has_redirect_location:
                failure = refusal_failure(self.terms, refusal, response.status_code, self.pause(response))
                is_general = is_own and refusal in _GENERAL
                raise ApiError(failure, is_missing=refusal is Refusal.MISSING, is_general=is_general)
            url = url.join(response.headers["Location"])
        raise ApiError(too_many_redirects())

    def refusal(self, response: httpx.Response, content: bytes) -> Refusal | None:
        """Whether an answer is a refusal; None for what is none."""
        del content
        status = response.status_code
        if response.is_success or status == _NOT_MODIFIED:
            return None
        return _REFUSALS.get(status, Refusal.OTHER)

    def pause(self, response: httpx.Response) -> float:
        """The seconds that the service wants to be left alone."""
        return retry_pause(response.headers.get("Retry-After"))

    async def _parse(self, content: bytes, kind: type[_Body]) -> _Body:
        try:
            return await to_thread.run_sync(TypeAdapter(kind).validate_json, content)
        except (ValidationError, ValueError):
            # From None: what was not understood belongs to no log.
            raise ApiError(unexpected_answer(self.terms)) from None

    async def _send(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        """A successful answer; a service that is busy or limits requests is asked again."""
        for number in range(1, _TRIES + 1):
            response, content = await self._follow(request)
            refusal = self.refusal(response, content)
            if refusal is None:
                return response, content
            pause = self.pause(response) if refusal in _PATIENT else 0.0
            if refusal not in _PATIENT or number == _TRIES or pause > _LONGEST_PAUSE:
                failure = refusal_failure(self.terms, refusal, response.status_code, pause)
                is_missing = refusal is Refusal.MISSING
                raise ApiError(failure, is_missing=is_missing, is_general=refusal in _GENERAL)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _follow(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                for _ in range(_MOST_REDIRECTS):
                    response, content = await self._exchange(request)
                    if request.method != "GET" or not response.has_redirect_location:
                        return response, content
                    url = request.url.join(response.headers["Location"]).copy_with(fragment=None)
                    if origin_of(url) != self._origin:
                        raise ApiError(redirected_elsewhere(self.terms, origin_of(url)), is_general=True)
                    request = self.http.build_request("GET", url)
        except TimeoutError as error:
            raise ApiError(too_slow(self.terms, _ANSWER_SECONDS)) from error
        except UrlNotAllowed as error:
            raise ApiError(not_allowed(error), is_general=True) from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise ApiError(no_answer(error), is_general=True) from error
        raise ApiError(too_many_redirects())

    async def _exchange(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        response = await self.http.send(request, stream=True)
        try:
            body = bytearray()
            async for block in response.aiter_bytes():
                body += block
                if len(body) > ANSWER_BYTES:
                    raise ApiError(answer_too_large(self.terms, ANSWER_BYTES))
        finally:
            await response.aclose()
        return response, bytes(body)
