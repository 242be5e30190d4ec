"""The connector of RSS, Atom and JSON feeds."""

import html
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar

import httpx
from anyio import to_thread
from pydantic import Field

from core.outbound.guard import read_url
from core.threads import import_in_thread
from ingestion.connectors.base import (
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemUnreadable,
    ReadFailure,
    SourceItem,
    SourceUnavailable,
)
from ingestion.connectors.feed_cache import CachedFeed, load_feed, store_feed
from ingestion.connectors.linked_pages import LinkedPages
from ingestion.connectors.web_client import WebClient, join_address, nothing_to_read, origin_of
from kb_service.document_names import document_name

if TYPE_CHECKING:
    from ingestion.connectors.feed_entries import Feed, FeedEntry

_ENDING = ".html"
_LONGEST_TITLE = 200


class FeedSettings(ConnectorSettings):
    """Settings of an RSS, Atom or JSON feed, of which the first ``max_items`` entries are read.

    With ``linked_pages`` an entry's document is the page that it links to, else the contents that the feed has of it.
    """

    url: str = Field(min_length=1, max_length=2048)
    max_items: Annotated[int, Field(ge=1, le=1000)] = 100
    linked_pages: bool = True

    @property
    def place(self) -> str:
        return self.url


class FeedConnector:
    """Reads the entries of a feed; those that it has forgotten stay."""

    NAME: ClassVar[str] = "rss"
    SETTINGS: ClassVar[type[ConnectorSettings]] = FeedSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = None
    ADMINISTRATORS_ONLY: ClassVar[bool] = False
    LISTS_EVERYTHING: ClassVar[bool] = False

    def __init__(self, settings: FeedSettings, environment: ConnectorEnvironment) -> None:
        self._settings = settings
        self._environment = environment
        self._pages = LinkedPages(environment.guard, environment.max_bytes)
        self.is_cut = False

    async def check(self) -> None:
        read_url(self._settings.url)
        await self._environment.guard.check(self._settings.url)

    async def items(self) -> AsyncGenerator[SourceItem]:
        feed_entries = await import_in_thread("ingestion.connectors.feed_entries")
        json_feed = await import_in_thread("ingestion.connectors.json_feed")
        url, body = await self._read_feed(feed_entries.MOST_BYTES, feed_entries.too_large_feed())
        # Like a browser that a person gives the address to: robots.txt is for what finds its way by itself.
        most = self._settings.max_items
        is_json = json_feed.is_json_feed(body)
        feed: Feed = await to_thread.run_sync(
            partial(json_feed.read_json_feed, body, most)
            if is_json
            else partial(feed_entries.read_feed, body, str(url), most)
        )
        self.is_cut = feed.is_cut
        keys: set[str] = set()
        for entry in feed.entries:
            if entry.key not in keys:
                keys.add(entry.key)
                yield self._item(entry, url)

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        page = await self._pages.read(httpx.URL(item.state["link"]))
        if page.is_gone or page.body is None:
            raise ItemUnreadable(nothing_to_read(page.url))
        if not page.is_html:
            raise ItemUnreadable(_not_html(page.media_type))
        yield page.body

    async def _read_feed(self, most_bytes: int, too_large: ReadFailure) -> tuple[httpx.URL, bytes]:
        url = httpx.URL(self._settings.url).copy_with(fragment=None)
        folder = self._environment.cache_folder
        cached = await to_thread.run_sync(load_feed, folder, str(url)) if folder else None
        async with WebClient(self._environment.guard, origin_of(url), most_bytes) as client:
            try:
                page = await client.get(url, cached.validators if cached else None)
            except ItemUnreadable as error:
                is_too_large = error.failure.reason == "too_large"
                raise SourceUnavailable(too_large if is_too_large else error.failure) from error
        if cached is not None and page.body is None and not page.is_gone:
            return httpx.URL(cached.url), cached.body
        if page.is_gone or page.body is None:
            raise SourceUnavailable(nothing_to_read(url))
        if folder and page.validators:
            answer = CachedFeed(str(page.url), page.validators, page.body)
            await to_thread.run_sync(store_feed, folder, str(url), answer)
        return page.url, page.body

    def _item(self, entry: "FeedEntry", feed_url: httpx.URL) -> SourceItem:
        link = join_address(feed_url, entry.link) if entry.link else None
        attributes = {"url": str(link) if link else "", "published": entry.published}
        item = SourceItem(
            entry.key,
            _name(entry),
            entry.fingerprint,
            attributes={name: value for name, value in attributes.items() if value},
        )
        if self._settings.linked_pages:
            return replace(item, state={"link": str(link)}) if link else replace(item, failure=_NO_LINK)
        content = _document(entry)
        return replace(item, content=content) if content else replace(item, failure=_NO_CONTENTS)


def _name(entry: "FeedEntry") -> str:
    """The name of an entry's document: its title, else what identifies it."""
    title = (entry.title or entry.link or entry.key).replace("/", "-").replace("\\", "-")
    return document_name([title[:_LONGEST_TITLE].strip(" .") + _ENDING])


def _document(entry: "FeedEntry") -> bytes:
    """An entry's own contents as a page; empty where it has none."""
    if not (entry.title or entry.contents.strip()):
        return b""
    title = html.escape(entry.title)
    contents = entry.contents if entry.is_html else _paragraphs(entry.contents)
    page = (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title></head>'
        f"<body><h1>{title}</h1>\n{contents}\n</body></html>\n"
    )
    return page.encode(errors="replace")


def _paragraphs(text: str) -> str:
    """Plain text as HTML: empty lines part paragraphs."""
    parts = text.replace("\r\n", "\n").split("\n\n")
    return "\n".join(f"<p>{html.escape(part)}</p>" for part in parts if part.strip())


_NO_LINK = ReadFailure(
    "no_link",
    "The entry links to no page",
    "该条目没有链接到网页",
    "Set linked_pages to false: the contents that the feed itself has are read then",
    "请将 linked_pages 设为 false，以读取订阅源自带的内容",
)
_NO_CONTENTS = ReadFailure(
    "no_contents",
    "The entry has neither a title nor contents",
    "该条目既没有标题也没有内容",
    "Set linked_pages to true if it links to a page",
    "若条目链接到网页，请将 linked_pages 设为 true",
)


def _not_html(media_type: str) -> ReadFailure:
    return ReadFailure(
        "not_html",
        f"The entry links to a file of the type {media_type or 'unknown'}, not to a page",
        f"该条目链接到的是 {media_type or '未知'} 类型的文件，不是网页",
        "Upload the file, or set linked_pages to false to read what the feed says of it",
        "请直接上传该文件，或将 linked_pages 设为 false 以读取订阅源中的说明",
    )
