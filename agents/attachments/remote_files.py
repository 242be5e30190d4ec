"""Files behind addresses that users name: fetched through the guard, bounded in size and time."""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from core.errors.requests import FileNotFetched, FileTooLarge, UrlNotAllowed
from core.logging import get_logger
from core.outbound.guard import OutboundGuard, read_url
from core.outbound.transports import GuardedHttpxTransport

log = get_logger(__name__)

FETCH_SECONDS = 15
"""How long a fetch may take, redirects included: the caller waits for it."""
_MOST_REDIRECTS = 3
_AT_ONCE = 8
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "Agentex"}


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A fetched file; ``mime_type`` is what its server says."""

    content: bytes
    mime_type: str


class RemoteFiles:
    """Fetches files, a few at a time."""

    def __init__(self, guard: OutboundGuard) -> None:
        # A server's cookies must not reach it with another user's fetch.
        cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        transport = GuardedHttpxTransport(guard)
        self._client = httpx.AsyncClient(transport=transport, cookies=cookies, headers=_HEADERS, trust_env=False)
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def close(self) -> None:
        await self._client.aclose()

    async def fetch(self, url: str, *, most: int) -> RemoteFile:
        """Fetch a file of at most so many bytes.

        Raises:
            UrlNotAllowed: The address, or one that it leads to, may not be called.
            FileNotFetched: Nobody answers in time, or with something else than the file.
            FileTooLarge: It has more bytes; no more were read.
        """
        try:
            # The wait for a turn counts: others' slow addresses must hold nobody up for long.
            async with asyncio.timeout(FETCH_SECONDS), self._turn:
                return await self._follow(url, most)
        except UrlNotAllowed as refusal:
            # The list that the refusal names is that of models and connections.
            if "setting" in refusal.details:
                raise UrlNotAllowed("Only public addresses are connected to", "只能连接公网地址") from None
            raise
        except TimeoutError as error:
            raise FileNotFetched("it took too long", "耗时过长") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # The text of the error may hold the address, which may hold a secret.
            log.info("remote_file.not_fetched", cause=type(error).__name__)
            raise FileNotFetched("nobody answers there", "该地址没有应答") from error

    async def _follow(self, url: str, most: int) -> RemoteFile:
        read_url(url)
        request: httpx.Request | None = self._client.build_request("GET", url)
        for _ in range(_MOST_REDIRECTS + 1):
            response = await self._client.send(request, stream=True)
            try:
                request = response.next_request
                if request is None:
                    return await _read(response, most)
            finally:
                await response.aclose()
            read_url(str(request.url))
        raise FileNotFetched("it leads to too many other addresses", "重定向次数过多")


async def _read(response: httpx.Response, most: int) -> RemoteFile:
    if response.status_code != HTTPStatus.OK:
        raise FileNotFetched(f"it answers with status {response.status_code}", f"该地址返回状态 {response.status_code}")
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        # Unasked for; it could unpack to any size.
        raise FileNotFetched("it is sent compressed", "该文件以压缩方式发送")
    declared = response.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise FileTooLarge(max_bytes=most)
    content = bytearray()
    async for piece in response.aiter_raw():
        content += piece
        if len(content) > most:
            raise FileTooLarge(max_bytes=most)
    mime_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return RemoteFile(bytes(content), mime_type)
