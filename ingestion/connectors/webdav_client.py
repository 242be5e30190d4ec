"""A client of the two calls of WebDAV (RFC 4918) that a sync needs, over the guarded transport."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, unquote
from xml.etree.ElementTree import Element

import httpx
from anyio import to_thread

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard
from core.outbound.transports import GuardedHttpxTransport
from ingestion.connectors.base import ItemUnreadable, ReadFailure, not_allowed
from ingestion.connectors.web_client import USER_AGENT, no_answer, origin_of, retry_pause, too_many_redirects
from ingestion.connectors.webdav_failures import (
    NOT_WEBDAV,
    TOO_LARGE_LISTING,
    TOO_SLOW,
    WRONG_LISTING,
    answer_failure,
    elsewhere,
)
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.office.xml import child, name, read_xml

# Nextcloud keeps an address waiting for up to 25 seconds from which wrong passwords came, and then says that they are.
_TIMEOUT = httpx.Timeout(30.0, read=60.0)
_LISTING_SECONDS = 120.0
_WHOLE_SECONDS = 3600.0
_TRIES = 3
_LONGEST_PAUSE = 60.0
_MOST_REDIRECTS = 5
_LISTING_BYTES = 16 * 2**20
# The begins and ends of elements: twenty thousand files have some 400,000, and each element takes memory.
_LISTING_TAGS = 800_000
_MULTISTATUS = 207
_UNAUTHORIZED = 401
_MISSING = frozenset({404, 410})
_BUSY = frozenset({429, 502, 503, 504})
_GOOD_STATUS = re.compile(r"\s*HTTP/\S+\s+2\d\d\b")
_HREF = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*)?(/.*)", re.DOTALL)
_PROPFIND = (
    b'<?xml version="1.0" encoding="utf-8"?><d:propfind xmlns:d="DAV:"><d:prop>'
    b"<d:resourcetype/><d:getetag/><d:getlastmodified/><d:getcontentlength/></d:prop></d:propfind>"
)
# Of the folder alone, without those in it: servers refuse or break off listings of everything below.
_LISTING_HEADERS = {"Depth": "1", "Content-Type": 'application/xml; charset="utf-8"'}


@dataclass(frozen=True)
class DavEntry:
    """A member of a folder as its listing has it; ``name`` is empty for the folder itself.

    Args:
        validator: changes with the contents; empty where the server says nothing of them.
        size: None where the server does not say it.
    """

    name: str
    is_folder: bool
    validator: str
    size: int | None


class DavError(ItemUnreadable):
    """A request failed; ``is_missing`` if there is nothing at its address."""

    def __init__(self, failure: ReadFailure, *, is_missing: bool = False) -> None:
        super().__init__(failure)
        self.is_missing = is_missing


class DavClient:
    """Lists folders below an address and reads their files.

    Args:
        url: of the topmost folder; redirects stay on its origin, to which the credentials belong.
        credentials: ``username`` and ``password``; empty for none.
    """

    def __init__(self, guard: OutboundGuard, url: str, credentials: Mapping[str, str]) -> None:
        root = httpx.URL(url)
        self._origin = origin_of(root)
        # As it is sent: what the server makes of escapes is its own affair.
        self._root = f"{self._origin}{root.raw_path.decode('ascii').rstrip('/')}/"
        self._pair = (credentials["username"], credentials["password"]) if credentials else None
        self._auth: httpx.Auth | None = httpx.BasicAuth(*self._pair) if self._pair else None
        self._spent = 0.0
        self._http = httpx.AsyncClient(
            transport=GuardedHttpxTransport(guard),
            # Files come as they are stored: the product of a decoder would have another size.
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
            timeout=_TIMEOUT,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    @property
    def root(self) -> str:
        """The address of the topmost folder, once it has been listed the one that it redirects to."""
        return self._root

    async def list_folder(self, path: Sequence[str]) -> list[DavEntry]:
        """The folder at a path below the topmost one, and its members; raises ``DavError``.

        All listings of this client together may take an hour.
        """
        start = time.monotonic()
        url = f"{self._address(path).rstrip('/')}/"
        try:
            async with (
                asyncio.timeout(min(_LISTING_SECONDS, _WHOLE_SECONDS - self._spent)),
                self._answer("PROPFIND", url) as response,
            ):
                body = await _read(response)
        except TimeoutError:
            raise DavError(TOO_SLOW) from None
        finally:
            self._spent += time.monotonic() - start
        if response.status_code != _MULTISTATUS:
            raise DavError(NOT_WEBDAV)
        if not path:
            # Where a redirect led, the rest is, too.
            self._root = f"{str(response.url.copy_with(query=None)).rstrip('/')}/"
        own = (*_segments(httpx.URL(self._root).raw_path.decode("ascii")), *path)
        return await to_thread.run_sync(_parse_listing, body, self._origin, own)

    @asynccontextmanager
    async def open_file(self, path: Sequence[str]) -> AsyncGenerator[httpx.Response]:
        """The answer with a file; raises ``DavError``."""
        async with self._answer("GET", self._address(path)) as response:
            yield response

    def _address(self, path: Sequence[str]) -> str:
        return self._root + "/".join(quote(part, safe="") for part in path)

    @asynccontextmanager
    async def _answer(self, method: str, url: str) -> AsyncGenerator[httpx.Response]:
        """A successful answer; a server that is busy is asked again."""
        try:
            async with aclosing(await self._send(method, url)) as response:
                yield response
        except UrlNotAllowed as error:
            raise DavError(not_allowed(error)) from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise DavError(no_answer(error)) from error

    async def _send(self, method: str, url: str) -> httpx.Response:
        for number in range(1, _TRIES + 1):
            response = await self._follow(method, httpx.URL(url))
            if response.is_success:
                return response
            await response.aclose()
            status, pause = response.status_code, retry_pause(response.headers.get("Retry-After"))
            if status not in _BUSY or number == _TRIES or pause > _LONGEST_PAUSE:
                failure = answer_failure(status, has_credentials=self._pair is not None)
                raise DavError(failure, is_missing=status in _MISSING)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _follow(self, method: str, url: httpx.URL) -> httpx.Response:
        for _ in range(_MOST_REDIRECTS + 1):
            if origin_of(url) != self._origin:
                raise DavError(elsewhere(origin_of(url)))
            response = await self._request(method, url)
            if not response.has_redirect_location:
                return response
            await response.aclose()
            url = url.join(response.headers["Location"]).copy_with(fragment=None, userinfo=b"")
        raise DavError(too_many_redirects())

    async def _request(self, method: str, url: httpx.URL) -> httpx.Response:
        is_listing = method == "PROPFIND"
        headers, content = (_LISTING_HEADERS, _PROPFIND) if is_listing else ({}, None)
        request = self._http.build_request(method, url, headers=headers, content=content)
        response = await self._http.send(request, auth=self._auth, stream=True)
        if response.status_code == _UNAUTHORIZED and self._pair and self._wants_digest(response):
            await response.aclose()
            self._auth = httpx.DigestAuth(*self._pair)
            request = self._http.build_request(method, url, headers=headers, content=content)
            response = await self._http.send(request, auth=self._auth, stream=True)
        return response

    def _wants_digest(self, response: httpx.Response) -> bool:
        """Whether the server knows digests only, and was not asked with one."""
        schemes = " ".join(response.headers.get_list("WWW-Authenticate")).lower()
        return isinstance(self._auth, httpx.BasicAuth) and "digest " in schemes and "basic " not in schemes


async def _read(response: httpx.Response) -> bytes:
    body = bytearray()
    async for block in response.aiter_bytes():
        body += block
        if len(body) > _LISTING_BYTES:
            raise DavError(TOO_LARGE_LISTING)
    return bytes(body)


def _parse_listing(body: bytes, origin: str, own: tuple[str, ...]) -> list[DavEntry]:
    if body.count(b"<") > _LISTING_TAGS:
        raise DavError(TOO_LARGE_LISTING)
    try:
        root = read_xml(body)
    except (ParseFailure, ValueError, LookupError) as error:
        raise DavError(NOT_WEBDAV) from error
    if name(root) != "multistatus":
        raise DavError(NOT_WEBDAV)
    return [_entry(node, origin, own) for node in root if name(node) == "response"]


def _entry(node: Element, origin: str, own: tuple[str, ...]) -> DavEntry:
    segments = _segments(_path_of(_text(node, "href"), origin))
    if segments[: len(own)] != own or len(segments) > len(own) + 1 or {".", ".."} & {*segments}:
        raise DavError(WRONG_LISTING)
    properties = [
        child(status, "prop")
        for status in node
        if name(status) == "propstat" and _GOOD_STATUS.match(_text(status, "status"))
    ]
    values = {name(value): value for prop in properties if prop is not None for value in prop}
    kind = values.get("resourcetype")
    size = (_content(values, "getcontentlength") or "").strip()
    return DavEntry(
        name=segments[-1] if len(segments) > len(own) else "",
        is_folder=kind is not None and child(kind, "collection") is not None,
        validator=_content(values, "getetag") or _content(values, "getlastmodified"),
        size=int(size) if size.isascii() and size.isdecimal() and len(size) < 20 else None,
    )


def _path_of(href: str, origin: str) -> str:
    """The path of a member's address, which may be a whole one (RFC 4918, section 8.3).

    It goes to the end: what stands there as a query was not escaped.
    """
    parts = _HREF.fullmatch(href.strip())
    if parts is None:
        raise DavError(WRONG_LISTING)
    host, path = parts.groups()
    try:
        if host is not None and origin_of(httpx.URL(origin).join(host)) != origin:
            raise DavError(WRONG_LISTING)
    except (ValueError, httpx.InvalidURL) as error:
        raise DavError(WRONG_LISTING) from error
    return path


def _segments(path: str) -> tuple[str, ...]:
    """The parts of a path, each unescaped on its own: an escaped slash is no border."""
    return tuple(unquote(part, errors="replace") for part in path.strip("/").split("/") if part)


def _text(node: Element, tag: str) -> str:
    element = child(node, tag)
    return (element.text or "") if element is not None else ""


def _content(values: Mapping[str, Element], tag: str) -> str:
    element = values.get(tag)
    return (element.text or "").strip() if element is not None else ""
