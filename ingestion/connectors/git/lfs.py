"""Contents of files in Git LFS, which a repository has only pointers to.

Of the API only the download by plain HTTP is used; ``.lfsconfig`` is not read, because it could name any server.
Source: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md and .../docs/api/batch.md
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, NoReturn

import httpx
from pydantic import BaseModel, Field, ValidationError

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard
from core.outbound.transports import GuardedHttpxTransport
from ingestion.connectors.base import ItemUnreadable, too_large
from ingestion.connectors.git.failures import lfs_failure
from ingestion.connectors.web_client import USER_AGENT, origin_of

LARGEST_POINTER = 1024
_VERSION = b"version https://git-lfs.github.com/spec/"
_OID = re.compile(rb"^oid sha256:([0-9a-f]{64})$", re.MULTILINE)
_SIZE = re.compile(rb"^size (\d{1,18})$", re.MULTILINE)
_MEDIA_TYPE = "application/vnd.git-lfs+json"
_SECONDS = 60.0
_WHOLE_SECONDS = 1800.0
_MOST_ANSWER_BYTES = 2**20
_MOST_REDIRECTS = 5
# About the connection, which is ours.
_OWN_HEADERS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "upgrade", "te"}
)
_GONE, _REFUSED = frozenset({404, 410}), frozenset({401, 403})


@dataclass(frozen=True)
class LfsPointer:
    """What a repository has of a file: the SHA-256 and the size of its contents."""

    oid: str
    size: int


@dataclass(frozen=True)
class LfsEndpoint:
    """Where the API of a repository is, and the headers that its requests have; they are for its origin alone."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


class LfsLink(BaseModel):
    """An address, and the headers that its requests need."""

    href: Annotated[str, Field(max_length=16_000)] = ""
    # Servers write null where they have none.
    header: Annotated[dict[str, str], Field(max_length=50)] | None = None
    expires_in: int | None = None


class _LfsRefusal(BaseModel):
    code: int = 0


class _LfsObject(BaseModel):
    oid: str
    actions: dict[str, LfsLink] | None = None
    authenticated: bool | None = None
    error: _LfsRefusal | None = None


class _LfsBatch(BaseModel):
    objects: list[_LfsObject]


def read_pointer(content: bytes) -> LfsPointer | None:
    """The pointer that a file is; None for any other; raises ``ItemUnreadable`` for one that can't be understood."""
    if len(content) >= LARGEST_POINTER or not content.startswith(_VERSION):
        return None
    oid, size = _OID.search(content), _SIZE.search(content)
    if oid is None or size is None:
        raise ItemUnreadable(lfs_failure("lfs_pointer"))
    return LfsPointer(oid[1].decode(), int(size[1]))


async def read_object(
    guard: OutboundGuard, endpoint: LfsEndpoint, pointer: LfsPointer, limit: int
) -> AsyncGenerator[bytes]:
    """The contents that a pointer stands for; raises ``ItemUnreadable``, at the end also where they are not what it says."""
    if pointer.size > limit:
        raise ItemUnreadable(too_large(limit))
    async with _client(guard) as client:
        href, headers = await _download(client, endpoint, pointer)
        size, digest = 0, sha256()
        async with _opened(client, href, headers) as response:
            async for block in response.aiter_raw():
                size += len(block)
                digest.update(block)
                if size > pointer.size:
                    _fail("lfs_damaged")
                yield block
    if size != pointer.size or digest.hexdigest() != pointer.oid:
        _fail("lfs_damaged")


@asynccontextmanager
async def _client(guard: OutboundGuard) -> AsyncGenerator[httpx.AsyncClient]:
    """A client whose failures are named."""
    headers = {"User-Agent": f"git-lfs/{USER_AGENT}", "Accept-Encoding": "identity"}
    try:
        async with (
            asyncio.timeout(_WHOLE_SECONDS),
            httpx.AsyncClient(
                transport=GuardedHttpxTransport(guard), headers=headers, timeout=_SECONDS, trust_env=False
            ) as client,
        ):
            yield client
    except UrlNotAllowed:
        _fail("lfs_not_allowed")
    except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, TimeoutError, ValueError) as error:
        _fail("lfs_unavailable", type(error).__name__)


async def _download(
    client: httpx.AsyncClient, endpoint: LfsEndpoint, pointer: LfsPointer
) -> tuple[httpx.URL, Mapping[str, str]]:
    """Where the contents are, and the headers to ask for them with."""
    body = {
        "operation": "download",
        "transfers": ["basic"],
        "objects": [{"oid": pointer.oid, "size": pointer.size}],
        "hash_algo": "sha256",
    }
    headers = {**endpoint.headers, "Accept": _MEDIA_TYPE, "Content-Type": _MEDIA_TYPE}
    async with client.stream("POST", f"{endpoint.url}/objects/batch", json=body, headers=headers) as response:
        _require(response)
        content = bytearray()
        async for block in response.aiter_raw():
            content += block
            if len(content) > _MOST_ANSWER_BYTES:
                _fail("lfs_unavailable")
    try:
        entry = next(each for each in _LfsBatch.model_validate_json(content).objects if each.oid == pointer.oid)
    except (ValidationError, StopIteration):
        _fail("lfs_unavailable")
    if entry.error is not None:
        _fail("lfs_gone" if entry.error.code in _GONE else "lfs_unavailable", str(entry.error.code))
    if (link := (entry.actions or {}).get("download")) is None:
        _fail("lfs_gone")
    sent = {name: value for name, value in (link.header or {}).items() if name.lower() not in _OWN_HEADERS}
    href = httpx.URL(link.href)
    is_own = origin_of(href) == origin_of(httpx.URL(endpoint.url))
    if is_own and not entry.authenticated and "authorization" not in map(str.lower, sent):
        sent |= endpoint.headers
    return href, sent


@asynccontextmanager
async def _opened(
    client: httpx.AsyncClient, target: httpx.URL, action_headers: Mapping[str, str]
) -> AsyncGenerator[httpx.Response]:
    """The answer with the contents; headers that were given for one origin go to no other."""
    first = origin_of(target)
    for _ in range(_MOST_REDIRECTS + 1):
        headers: Mapping[str, str] = action_headers if origin_of(target) == first else {}
        async with client.stream("GET", target, headers=headers) as response:
            if not response.has_redirect_location:
                _require(response)
                yield response
                return
            target = target.join(response.headers["Location"]).copy_with(fragment=None, userinfo=b"")
    _fail("lfs_unavailable", "TooManyRedirects")


def _require(response: httpx.Response) -> None:
    status = response.status_code
    if status in _REFUSED:
        _fail("lfs_no_access", str(status))
    if not response.is_success:
        _fail("lfs_gone" if status in _GONE and response.request.method == "GET" else "lfs_unavailable", str(status))


def _fail(reason: str, detail: str = "") -> NoReturn:
    raise ItemUnreadable(lfs_failure(reason, detail)) from None
