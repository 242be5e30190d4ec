"""A client of the two calls of the S3 API that a sync needs, over the guarded transport."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, unquote_plus
from xml.etree.ElementTree import Element

import httpx
from anyio import to_thread
from httpx_auth import AWS4Auth

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard
from core.outbound.transports import GuardedHttpxTransport
from ingestion.connectors.base import ItemUnreadable, ReadFailure, not_allowed
from ingestion.connectors.bucket_failures import NOT_S3, answer_failure
from ingestion.connectors.web_client import USER_AGENT, no_answer, retry_pause
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.office.xml import child, name, read_xml

_SECONDS = 30.0
_TRIES = 3
_LONGEST_PAUSE = 60.0
_PAGE_KEYS = 1000
# A thousand keys of 1,024 bytes, each of them escaped.
_PAGE_BYTES = 8 * 2**20
_ERROR_BYTES = 64 * 1024
_NOT_FOUND = 404
_BUSY = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True)
class BucketObject:
    """An object as a listing has it."""

    key: str
    size: int
    etag: str


@dataclass(frozen=True)
class ListingPage:
    """A page of a listing; ``token`` leads to the next one, and is empty on the last."""

    objects: tuple[BucketObject, ...]
    token: str


class BucketError(ItemUnreadable):
    """A request failed; ``is_missing`` if the server has no such object."""

    def __init__(self, failure: ReadFailure, *, is_missing: bool = False) -> None:
        super().__init__(failure)
        self.is_missing = is_missing


class BucketClient:
    """Lists a bucket and reads its objects; requests are signed if there are credentials (AWS Signature Version 4).

    Args:
        url: of the bucket, without a slash at its end.
        region: that the signature names.
        credentials: ``access_key_id``, ``secret_access_key`` and perhaps ``session_token``; empty for none.
    """

    def __init__(self, guard: OutboundGuard, url: str, region: str, credentials: Mapping[str, str]) -> None:
        self._url = url
        self._auth = _signature(region, credentials)
        self._http = httpx.AsyncClient(
            transport=GuardedHttpxTransport(guard),
            # Objects come as they are stored: the product of a decoder would have another size.
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
            timeout=_SECONDS,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def list_page(self, prefix: str, token: str) -> ListingPage:
        """A page of ListObjectsV2; raises ``BucketError``."""
        query = {"list-type": "2", "max-keys": str(_PAGE_KEYS), "encoding-type": "url", "prefix": prefix}
        if token:
            query["continuation-token"] = token
        text = "&".join(f"{key}={quote(value, safe='')}" for key, value in query.items())
        async with self._answer(f"{self._url}/?{text}") as response:
            body = await _read(response, _PAGE_BYTES)
        return await to_thread.run_sync(_parse_page, body)

    @asynccontextmanager
    async def open_object(self, key: str) -> AsyncGenerator[httpx.Response]:
        """The answer with an object; raises ``BucketError``."""
        async with self._answer(f"{self._url}/{quote(key, safe='/')}") as response:
            yield response

    @asynccontextmanager
    async def _answer(self, url: str) -> AsyncGenerator[httpx.Response]:
        """A successful answer; a server that is busy is asked again."""
        try:
            async with aclosing(await self._send(url)) as response:
                yield response
        except UrlNotAllowed as error:
            raise BucketError(not_allowed(error)) from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise BucketError(no_answer(error)) from error

    async def _send(self, url: str) -> httpx.Response:
        for number in range(1, _TRIES + 1):
            response = await self._http.send(self._http.build_request("GET", url), auth=self._auth, stream=True)
            if response.is_success:
                return response
            async with aclosing(response):
                code = _error_code(await _read(response, _ERROR_BYTES))
            pause = retry_pause(response.headers.get("Retry-After"))
            if response.status_code not in _BUSY or number == _TRIES or pause > _LONGEST_PAUSE:
                is_missing = response.status_code == _NOT_FOUND and code != "NoSuchBucket"
                raise BucketError(answer_failure(response.status_code, code), is_missing=is_missing)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")


def _signature(region: str, credentials: Mapping[str, str]) -> httpx.Auth | None:
    if not credentials:
        return None
    key, secret = credentials["access_key_id"], credentials["secret_access_key"]
    return AWS4Auth(key, secret, region, "s3", security_token=credentials.get("session_token"))


async def _read(response: httpx.Response, limit: int) -> bytes:
    body = bytearray()
    async for block in response.aiter_bytes():
        body += block
        if len(body) > limit:
            raise BucketError(NOT_S3)
    return bytes(body)


def _error_code(body: bytes) -> str:
    try:
        return _text(read_xml(body), "Code") if body else ""
    except ParseFailure:
        return ""


def _parse_page(body: bytes) -> ListingPage:
    try:
        root = read_xml(body)
        if name(root) != "ListBucketResult":
            raise BucketError(NOT_S3)
        is_escaped = _text(root, "EncodingType") == "url"
        objects = tuple(_object(node, is_escaped=is_escaped) for node in root if name(node) == "Contents")
    except (ParseFailure, ValueError) as error:
        raise BucketError(NOT_S3) from error
    token = _text(root, "NextContinuationToken") if _text(root, "IsTruncated") == "true" else ""
    if _text(root, "IsTruncated") == "true" and not token:
        # Without it the list is not complete.
        raise BucketError(NOT_S3)
    return ListingPage(objects, token)


def _object(node: Element, *, is_escaped: bool) -> BucketObject:
    key = _text(node, "Key")
    return BucketObject(unquote_plus(key) if is_escaped else key, int(_text(node, "Size")), _text(node, "ETag"))


def _text(node: Element, tag: str) -> str:
    element = child(node, tag)
    return (element.text or "") if element is not None else ""
