"""The connector of web sites: one page, the pages of a sitemap, or all pages that links lead to."""

import html
import mimetypes
import re
import zlib
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import unquote

import httpx
from anyio import to_thread
from pydantic import Field

from core.errors.requests import InvalidRequest
from core.outbound.guard import read_url
from ingestion.connectors.base import (
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemGone,
    ItemUnreadable,
    ReadFailure,
    SourceItem,
    SourceUnavailable,
)
from ingestion.connectors.patterns import Patterns, is_included
from ingestion.connectors.web_client import (
    Page,
    WebClient,
    join_address,
    normalize_address,
    nothing_to_read,
    origin_of,
    robots_failure,
)
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.file_type import has_parser
from ingestion.parsers.web.html_tree import build_tree
from kb_service.document_names import document_name

# What servers call other than the table of the system does.
_ENDINGS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "application/pdf": ".pdf",
}
_LOCATION = re.compile(r"<loc>\s*(?:<!\[CDATA\[)?\s*([^<\]]{1,2048}?)\s*(?:\]\]>)?\s*</loc>", re.IGNORECASE)
_LINKED_BYTES = 4 * 2**20
_MOST_LINKS = 2_000
_MOST_SITEMAPS = 100
_SITEMAP_BYTES = 50 * 2**20


class WebSettings(ConnectorSettings):
    """Settings of a web site; patterns are matched with whole addresses.

    ``page`` reads one page, ``sitemap`` the pages that a sitemap at the address lists, ``site`` those that links lead
    to: at most ``max_pages``, at most ``max_depth`` links away, and below the address's folder unless ``whole_site``.
    """

    url: str = Field(min_length=1, max_length=2048)
    mode: Literal["page", "sitemap", "site"] = "site"
    max_pages: Annotated[int, Field(ge=1, le=10_000)] = 500
    max_depth: Annotated[int, Field(ge=0, le=20)] = 5
    whole_site: bool = False
    include: Patterns = ()
    exclude: Patterns = ()

    @property
    def place(self) -> str:
        return self.url


class WebConnector:
    """Reads a web site as its robots.txt allows; pages that have not changed are not sent again."""

    NAME: ClassVar[str] = "web"
    SETTINGS: ClassVar[type[ConnectorSettings]] = WebSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = None
    ADMINISTRATORS_ONLY: ClassVar[bool] = False
    LISTS_EVERYTHING: ClassVar[bool] = True

    def __init__(self, settings: WebSettings, environment: ConnectorEnvironment) -> None:
        self._settings = settings
        self._environment = environment
        self.is_cut = False
        self._delay = 0.0

    async def check(self) -> None:
        read_url(self._settings.url)
        await self._environment.guard.check(self._settings.url)
        if not is_included(self._settings.url, (), self._settings.exclude):
            raise InvalidRequest("settings.exclude", "This excludes the address itself", "该模式排除了起始地址本身")

    async def items(self) -> AsyncGenerator[SourceItem]:
        start = normalize_address(httpx.URL(self._settings.url))
        async with self._client(start) as client:
            await client.read_robots()
            self._delay = client.delay
            if not client.allows(start):
                raise SourceUnavailable(robots_failure(start))
            if self._settings.mode == "sitemap":
                addresses = await self._sitemap(client, start)
                crawl = _Crawl(self, client, start, follows_links=False)
            else:
                addresses = [start]
                crawl = _Crawl(self, client, start, follows_links=self._settings.mode == "site")
            async for item in crawl.items(addresses):
                yield item
            self.is_cut = crawl.is_cut

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        url = httpx.URL(item.key)
        async with self._client(url) as client:
            page = await client.get(url)
        if page.is_gone or page.body is None:
            raise ItemGone
        yield page.body

    def _client(self, url: httpx.URL) -> WebClient:
        return WebClient(self._environment.guard, origin_of(url), self._environment.max_bytes, self._delay)

    async def _sitemap(self, client: WebClient, start: httpx.URL) -> list[httpx.URL]:
        """The pages of a sitemap, or of those that a sitemap index names (sitemaps.org)."""
        pages: dict[httpx.URL, None] = {}
        waiting, queued = deque([start]), {start}
        while waiting:
            try:
                page = await client.get(waiting.popleft(), max_bytes=_SITEMAP_BYTES)
            except ItemUnreadable as error:
                # Without it the list of pages is not complete.
                raise SourceUnavailable(error.failure) from error
            if page.body is None:
                raise SourceUnavailable(_no_sitemap(page.url))
            text = _sitemap_text(page.body)
            locations = [
                url for text_ in _LOCATION.findall(text) if (url := join_address(page.url, html.unescape(text_)))
            ]
            if "<sitemapindex" in text[:2000]:
                new = [url for url in locations if url not in queued and origin_of(url) == origin_of(start)]
                waiting += new[: _MOST_SITEMAPS - len(queued)]
                queued.update(new)
            elif "<urlset" in text[:2000]:
                pages |= dict.fromkeys(locations)
            else:
                raise SourceUnavailable(_no_sitemap(page.url))
        return list(pages)

    def admits(self, url: httpx.URL, start: httpx.URL, *, is_linked: bool) -> bool:
        """Whether an address belongs to this source."""
        if origin_of(url) != origin_of(start):
            return False
        if is_linked and not self._settings.whole_site and not url.path.startswith(_folder(start)):
            return False
        # The include patterns choose documents, not the way to them.
        return is_included(str(url), (), self._settings.exclude)

    @property
    def settings(self) -> WebSettings:
        return self._settings

    @property
    def environment(self) -> ConnectorEnvironment:
        return self._environment


class _Crawl:
    """A walk over pages, breadth first; every address is read once."""

    def __init__(self, source: WebConnector, client: WebClient, start: httpx.URL, *, follows_links: bool) -> None:
        self._source = source
        self._client = client
        self._start = start
        self._follows_links = follows_links
        self._seen: set[str] = set()
        self._listed: set[str] = set()
        self._waiting: deque[tuple[httpx.URL, int]] = deque()

    @property
    def is_cut(self) -> bool:
        """Whether pages were left because of ``max_pages``."""
        return bool(self._waiting)

    async def items(self, addresses: Iterable[httpx.URL]) -> AsyncGenerator[SourceItem]:
        for url in addresses:
            self._add(url, 0, is_linked=False)
        if not self._waiting:
            raise SourceUnavailable(nothing_to_read(self._start))
        is_first = True
        while self._waiting and len(self._listed) < self._source.settings.max_pages:
            url, depth = self._waiting.popleft()
            item = await self._item(url, depth, is_first=is_first)
            is_first = False
            if item is not None and item.key not in self._listed and self._is_listed(item):
                self._listed.add(item.key)
                yield item

    def _add(self, url: httpx.URL, depth: int, *, is_linked: bool) -> None:
        text = str(url)
        if text in self._seen or len(self._seen) > 20 * self._source.settings.max_pages:
            return
        is_admitted = url == self._start or self._source.admits(url, self._start, is_linked=is_linked)
        if is_admitted and self._client.allows(url):
            self._seen.add(text)
            self._waiting.append((url, depth))

    def _is_listed(self, item: SourceItem) -> bool:
        return is_included(item.key, self._source.settings.include, self._source.settings.exclude)

    async def _item(self, url: httpx.URL, depth: int, *, is_first: bool) -> SourceItem | None:
        known_item = await self._source.environment.find_known(str(url))
        state: dict[str, Any] = dict(known_item.state) if known_item else {}
        try:
            page = await self._client.get(url, state)
        except ItemUnreadable as error:
            if is_first:
                raise SourceUnavailable(error.failure) from error
            if error.failure.reason == "elsewhere":
                return None
            # What it led to is still there for all that is known.
            self._follow(url, state.get("links", ()), depth)
            name = _name(url, "")
            # A dead link is none of the site's pages; what is too large is one.
            is_page = known_item or (error.failure.reason == "too_large" and self._is_read(name))
            return SourceItem(str(url), name, state=state, failure=error.failure) if is_page else None
        if page.is_gone:
            if is_first:
                raise SourceUnavailable(nothing_to_read(url))
            return None
        if page.body is None and known_item is not None:
            self._follow(url, state.get("links", ()), depth)
            return SourceItem(str(url), _name(url, state.get("media_type", "")), known_item.fingerprint, state=state)
        return await self._read_item(page, depth)

    async def _read_item(self, page: Page, depth: int) -> SourceItem | None:
        body = page.body or b""
        is_html = page.is_html
        follows = is_html and self._follows_links
        links = await to_thread.run_sync(_links, page.url, body) if follows else []
        self._seen.add(str(page.url))
        self._follow(page.url, links, depth)
        media_type = "text/html" if is_html else page.media_type
        name = _name(page.url, media_type)
        if not body.strip() or not self._is_read(name):
            return None
        state = {**page.validators, "media_type": media_type, **({"links": links} if links else {})}
        url = str(page.url)
        return SourceItem(url, name, sha256(body).hexdigest(), state, content=body, attributes={"url": url})

    def _is_read(self, name: str) -> bool:
        return has_parser(name, self._source.environment.support)

    def _follow(self, url: httpx.URL, links: Sequence[str], depth: int) -> None:
        if self._follows_links and depth < self._source.settings.max_depth:
            # Addresses as they were normalized; to parse those of every menu again would take longer than the requests.
            for link in links:
                if link not in self._seen and (target := join_address(url, link)):
                    self._add(target, depth + 1, is_linked=True)


def _links(url: httpx.URL, body: bytes) -> list[str]:
    """The addresses that a page links to on its own site, in order, each once."""
    try:
        tree = build_tree(body[:_LINKED_BYTES].decode(errors="replace"))
    except ParseFailure:
        return []
    base = url
    if (node := tree.css_first("base[href]")) is not None:
        base = join_address(url, node.attributes.get("href") or "") or url
    targets: dict[str, None] = {}
    for node in tree.css("a[href]"):
        target = join_address(base, node.attributes.get("href") or "")
        if target is not None and origin_of(target) == origin_of(url):
            targets[str(target)] = None
            if len(targets) >= _MOST_LINKS:
                break
    return list(targets)


def _folder(start: httpx.URL) -> str:
    return start.path.rpartition("/")[0] + "/"


def _name(url: httpx.URL, media_type: str) -> str:
    """The name of a page's document, such as ``example.org › guide › intro.html``."""
    parts = [part for part in unquote(url.path).split("/") if part.strip()]
    if not parts or url.path.endswith("/"):
        parts.append("index")
    if url.query:
        stem, dot, ending = parts[-1].rpartition(".")
        query = unquote(url.query.decode("ascii"))[:80].replace("/", "-")
        parts[-1] = f"{stem or ending} ({query}){dot if stem else ''}{ending if stem else ''}"
    ending = _ENDINGS.get(media_type) or (mimetypes.guess_extension(media_type) if media_type else "") or ""
    is_named = has_parser(parts[-1]) and (not ending or mimetypes.guess_type(parts[-1])[0] == media_type)
    if ending and not is_named and not parts[-1].lower().endswith(ending):
        parts[-1] += ending
    return document_name([url.host, *parts])


def _sitemap_text(body: bytes) -> str:
    if body[:2] == b"\x1f\x8b":
        # What is no gzip after all holds no sitemap either.
        with suppress(zlib.error):
            body = zlib.decompressobj(wbits=31).decompress(body, _SITEMAP_BYTES)
    return body.decode(errors="replace")


def _no_sitemap(url: httpx.URL) -> ReadFailure:
    return ReadFailure(
        "no_sitemap",
        f"There is no sitemap at {url}",
        f"{url} 不是站点地图",
        "Give the address of an XML sitemap, or choose the mode site",
        "请填写 XML 站点地图的地址，或选择 site 模式",
    )
