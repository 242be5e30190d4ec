"""A polite client of one web site: robots.txt, redirects, conditional requests and pauses."""

import asyncio
import re
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import Self
from urllib.robotparser import RobotFileParser

import httpx

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard
from core.outbound.transports import GuardedHttpxTransport
from ingestion.connectors.base import ItemUnreadable, ReadFailure, SourceUnavailable, not_allowed
from ingestion.connectors.limits import limited_contents

PRODUCT = "Agentex"
USER_AGENT = f"{PRODUCT}/{version('agentex')}"
_SECONDS = 30.0
_MOST_REDIRECTS = 5
_TRIES = 3
_LONGEST_PAUSE = 60.0
_LONGEST_DELAY = 10.0
_ROBOTS_BYTES = 500 * 1024
_BUSY = frozenset({429, 502, 503, 504})
_NOT_MODIFIED = 304
_GONE = frozenset({404, 410})
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+")


@dataclass(frozen=True)
class Page:
    """What an address answered; ``body`` is None for a page that has not changed.

    Args:
        url: after redirects.
        is_gone: there is no such page.
        validators: for the next conditional request.
    """

    url: httpx.URL
    media_type: str = ""
    body: bytes | None = None
    is_gone: bool = False
    validators: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def is_html(self) -> bool:
        """By its media type, or where the site names none by its first bytes."""
        return self.media_type in _HTML or (not self.media_type and b"<html" in (self.body or b"")[:1000].lower())


class ElsewhereError(ItemUnreadable):
    """A redirect leads to another site, to ``url``."""

    def __init__(self, url: httpx.URL) -> None:
        super().__init__(_elsewhere(url))
        self.url = url


class WebClient:
    """Reads pages of one origin, one at a time.

    Args:
        origin: scheme, host and port that requests and redirects stay on.
        max_bytes: of one page.
        delay: seconds before each request; robots.txt may set it anew.
        robots: the rules of the origin, if they are known.
    """

    def __init__(
        self,
        guard: OutboundGuard,
        origin: str,
        max_bytes: int,
        delay: float = 0.0,
        robots: RobotFileParser | None = None,
    ) -> None:
        self._origin = origin
        self._max_bytes = max_bytes
        self.robots = robots
        self.delay = delay
        self._http = httpx.AsyncClient(
            transport=GuardedHttpxTransport(guard),
            headers={"User-Agent": USER_AGENT, "Accept": "*/*"},
            timeout=_SECONDS,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def read_robots(self) -> None:
        """Read robots.txt (RFC 9309); raises ``SourceUnavailable`` where the site does not answer.

        Without such a file everything is allowed; while it can't be read, nothing is.
        """
        robots = RobotFileParser()
        try:
            page = await self.get(httpx.URL(f"{self._origin}/robots.txt"), max_bytes=_ROBOTS_BYTES)
        except ItemUnreadable as error:
            if error.failure.reason not in {"refused", "too_large"}:
                raise SourceUnavailable(error.failure) from error
            page = None
        text = page.body.decode(errors="replace") if page is not None and page.body is not None else ""
        robots.parse(text.splitlines())
        self.robots = robots
        self.delay = min(float(robots.crawl_delay(PRODUCT) or 0), _LONGEST_DELAY)

    def allows(self, url: httpx.URL) -> bool:
        """Whether robots.txt lets this product read an address."""
        return self.robots is None or self.robots.can_fetch(PRODUCT, str(url))

    @property
    def sitemaps(self) -> list[str]:
        """The sitemaps that robots.txt names."""
        return (self.robots and self.robots.site_maps()) or []

    async def get(
        self, url: httpx.URL, validators: Mapping[str, str] | None = None, *, max_bytes: int | None = None
    ) -> Page:
        """Read an address, after the pause that the site asks for.

        Args:
            validators: of the contents that are known: unchanged ones are not sent again.

        Raises:
            ItemUnreadable: with the reason ``refused``, ``no_answer``, ``busy``, ``too_large``, ``not_allowed`` or
                ``elsewhere`` (a redirect to another site).
        """
        limit = min(max_bytes or self._max_bytes, self._max_bytes)
        if self.delay:
            await asyncio.sleep(self.delay)
        for number in range(1, _TRIES + 1):
            try:
                return await self._follow(url, _conditions(validators or {}), limit)
            except _Busy as busy:
                if number == _TRIES or busy.pause > _LONGEST_PAUSE:
                    raise ItemUnreadable(_busy(busy.status)) from busy
                await asyncio.sleep(busy.pause)
        raise AssertionError("unreachable")

    async def _follow(self, url: httpx.URL, headers: Mapping[str, str], limit: int) -> Page:
        for _ in range(_MOST_REDIRECTS + 1):
            if origin_of(url) != self._origin:
                raise ElsewhereError(url)
            try:
                answer = await self._request(url, headers, limit)
            except UrlNotAllowed as error:
                raise ItemUnreadable(not_allowed(error)) from error
            except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
                raise ItemUnreadable(no_answer(error)) from error
            if isinstance(answer, Page):
                return answer
            url = answer
        raise ItemUnreadable(too_many_redirects())

    async def _request(self, url: httpx.URL, headers: Mapping[str, str], limit: int) -> Page | httpx.URL:
        """The page at an address, or where it redirects to."""
        async with self._http.stream("GET", url, headers=headers) as response:
            status = response.status_code
            if response.has_redirect_location:
                return url.join(response.headers["Location"]).copy_with(fragment=None)
            validators = _validators(response.headers)
            if status == _NOT_MODIFIED:
                # Its end, so that the connection serves the next page; there are no contents (RFC 9110, section 15.4.5).
                await response.aread()
                return Page(url, validators=validators)
            if status in _GONE:
                return Page(url, is_gone=True)
            if status in _BUSY:
                raise _Busy(status, retry_pause(response.headers.get("Retry-After")))
            if not response.is_success:
                raise ItemUnreadable(_refused(status))
            body = bytearray()
            async with aclosing(limited_contents(response, limit)) as blocks:
                async for block in blocks:
                    body += block
            media_type = _MEDIA_TYPE.match(response.headers.get("Content-Type", "").lower())
            return Page(url, media_type.group() if media_type else "", bytes(body), validators=validators)


class _Busy(Exception):
    """The server asks for a pause of some seconds."""

    def __init__(self, status: int, pause: float) -> None:
        super().__init__(status)
        self.status = status
        self.pause = pause


def origin_of(url: httpx.URL) -> str:
    """Scheme, host and port of an address (RFC 6454)."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def normalize_address(url: httpx.URL) -> httpx.URL:
    """An address without its fragment."""
    return url.copy_with(fragment=None, path=url.path or "/")


def join_address(base: httpx.URL, link: str) -> httpx.URL | None:
    """The address that a link leads to; None for what is no page."""
    try:
        url = normalize_address(base.join(link.strip()))
    except (httpx.InvalidURL, ValueError, UnicodeError):
        return None
    is_page = url.scheme in {"http", "https"} and url.host and not url.userinfo
    return url if is_page and len(str(url)) <= 2048 else None


def _conditions(validators: Mapping[str, str]) -> dict[str, str]:
    names = {"etag": "If-None-Match", "last_modified": "If-Modified-Since"}
    return {header: validators[name] for name, header in names.items() if name in validators}


def _validators(headers: httpx.Headers) -> dict[str, str]:
    headers_by_name = {"etag": headers.get("ETag"), "last_modified": headers.get("Last-Modified")}
    return {name: value for name, value in headers_by_name.items() if value}


def retry_pause(retry_after: str | None) -> float:
    """Seconds to wait (RFC 9110, section 10.2.3)."""
    if retry_after is None:
        return 2.0
    if retry_after.isascii() and retry_after.isdecimal():
        return float(retry_after[:9])
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    return 2.0


def _refused(status: int) -> ReadFailure:
    return ReadFailure(
        "refused",
        f"The site answers with status {status}",
        f"网站返回状态码 {status}",
        "Open the address in a browser that is not logged in; exclude it if it is not for everybody",
        "请在未登录的浏览器中打开该地址；若并非公开页面，请将其排除",
    )


def _busy(status: int) -> ReadFailure:
    return ReadFailure(
        "busy",
        f"The site answers with status {status} and asks for a longer pause",
        f"网站返回状态码 {status}，要求稍后再试",
        "Nothing: the next sync tries again. Synchronize less often if it stays so",
        "无需操作：下次同步会重试。若持续如此，请降低同步频率",
    )


def no_answer(error: Exception) -> ReadFailure:
    """The failure of an address where no server answers, or not with HTTP."""
    kind = type(error).__name__
    return ReadFailure(
        "no_answer",
        f"The site does not answer ({kind})",
        f"网站没有响应（{kind}）",
        "See that the address is right and reachable from the server",
        "请确认地址正确，且服务器可以访问",
    )


def _elsewhere(url: httpx.URL) -> ReadFailure:
    return ReadFailure(
        "elsewhere",
        f"It redirects to another site, {origin_of(url)}",
        f"页面重定向到另一个网站 {origin_of(url)}",
        "Make a source of that site if it is the right one",
        "若该网站正确，请为其建立来源",
    )


def too_many_redirects() -> ReadFailure:
    """The failure of a page that is always somewhere else."""
    return ReadFailure("too_many_redirects", "It redirects too often", "重定向次数过多", "Exclude it", "请将其排除")


def robots_failure(url: httpx.URL) -> ReadFailure:
    """The failure of a page that the site lets nobody read by programs."""
    return ReadFailure(
        "robots",
        f"The site's robots.txt does not allow {url}",
        f"网站的 robots.txt 不允许读取 {url}",
        "Ask whoever runs the site to allow the user agent Agentex",
        "请联系网站管理者允许 User-Agent「Agentex」",
    )


def nothing_to_read(url: httpx.URL) -> ReadFailure:
    """The failure of an address where there is no page."""
    return ReadFailure(
        "nothing_found",
        f"There is nothing to read at {url}",
        f"{url} 没有可读取的内容",
        "Check the address, and the patterns",
        "请检查地址和匹配模式",
    )
