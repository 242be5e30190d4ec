"""The connector of Notion: databases, single pages, or all pages that an integration sees.

By Notion's API of the version 2022-06-28 (developers.notion.com/reference: Search by title, Query a database, Retrieve a
page, Retrieve block children, Request limits).
"""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar
from uuid import UUID

from anyio import to_thread
from pydantic import BaseModel, Field

from ingestion.connectors.base import ConnectorCredentials, ConnectorSettings, ItemUnreadable, SourceItem, too_large
from ingestion.connectors.rest.connector import RestConnector, RestSettings, Token, title_part
from ingestion.connectors.rest.failures import Advice, ServiceTerms, unexpected_answer
from ingestion.connectors.rest.json_client import ApiError, JsonClient, PageTurner
from ingestion.connectors.rest.notion_blocks import SEPARATE, NotionBlock, page_markdown, title_of
from kb_service.document_names import document_name

_PAGE = 100
_MOST_BLOCKS = 20_000
_DEEPEST = 20
# Times of edits are rounded to the minute.
_RECENT = timedelta(minutes=2)
_Id = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$")]
_Ids = Annotated[tuple[_Id, ...], Field(max_length=100, strict=False)]
_TERMS = ServiceTerms(
    "Notion",
    credentials=Advice(
        "Give the source a new token: that of an internal integration, from notion.so/profile/integrations",
        "请为该来源填写新的令牌：在 notion.so/profile/integrations 创建的内部集成的令牌",
    ),
    access=Advice(
        "Give the integration the capability to read content",
        "请为集成授予读取内容的权限",
    ),
    place=Advice(
        "Check the ids, and connect the integration to the pages and databases (••• › Connections), or take out those "
        "that are gone",
        "请检查 ID，并在页面或数据库的菜单（••• › 连接）中添加该集成；已删除的请从设置中移除",
    ),
)


class NotionSettings(RestSettings):
    """Settings of Notion: ids of ``databases`` and of single ``pages``; without any, all pages that the token sees."""

    url: str = Field(default="https://api.notion.com", min_length=1, max_length=2048)
    databases: _Ids = ()
    pages: _Ids = ()

    @property
    def place(self) -> str:
        return " ".join((self.url, *self.databases, *self.pages))


class NotionCredentials(ConnectorCredentials):
    """The token of an internal integration."""

    token: Token


class _Page(BaseModel):
    id: UUID
    object: str
    last_edited_time: Annotated[str, Field(max_length=40)] = ""
    archived: bool = False
    in_trash: bool = False
    url: str = ""
    properties: dict[str, Any] = Field(default_factory=dict[str, Any])

    @property
    def is_there(self) -> bool:
        return self.object == "page" and not (self.archived or self.in_trash)


class _Listing(BaseModel):
    results: tuple[_Page, ...]
    has_more: bool = False
    next_cursor: str | None = None


class _Block(BaseModel, extra="allow"):
    id: UUID
    type: str
    has_children: bool = False


class _BlockListing(BaseModel):
    results: tuple[_Block, ...]
    has_more: bool = False
    next_cursor: str | None = None


class NotionConnector(RestConnector[NotionSettings, JsonClient]):
    """Reads pages with their properties; pages and databases in them are documents of their own."""

    NAME: ClassVar[str] = "notion"
    SETTINGS: ClassVar[type[ConnectorSettings]] = NotionSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = NotionCredentials

    def _open(self, credentials: dict[str, str]) -> JsonClient:
        headers = {"Notion-Version": "2022-06-28"}
        if token := credentials.get("token"):
            headers["Authorization"] = f"Bearer {token}"
        return JsonClient(self._environment.guard, self._settings.api_url, headers, _TERMS)

    async def _list(self, client: JsonClient) -> AsyncGenerator[SourceItem]:
        settings = self._settings
        for page_id in settings.pages:
            page = await client.get(f"/v1/pages/{UUID(page_id)}", _Page)
            if page.is_there:
                yield _item(page)
        for database_id in settings.databases:
            async for item in self._results(client, f"/v1/databases/{UUID(database_id)}/query", {}):
                yield item
        if not (settings.pages or settings.databases):
            query = {"filter": {"property": "object", "value": "page"}}
            async for item in self._results(client, "/v1/search", query):
                yield item

    async def _results(self, client: JsonClient, path: str, query: dict[str, Any]) -> AsyncGenerator[SourceItem]:
        turner, body = PageTurner(_TERMS), {**query, "page_size": _PAGE}
        while True:
            turner.turn(str(body.get("start_cursor", "")))
            listing = await client.post(path, _Listing, body)
            for page in listing.results:
                if page.is_there:
                    yield _item(page)
            if not listing.has_more:
                return
            body["start_cursor"] = listing.next_cursor or ""

    async def _content(self, client: JsonClient, item: SourceItem) -> bytes:
        page = await client.get(f"/v1/pages/{item.key}", _Page)
        if not page.is_there:
            raise ApiError(unexpected_answer(_TERMS), is_missing=True)
        blocks = await _BlockReader(client, self._environment.max_bytes).read(page.id)
        text = await to_thread.run_sync(page_markdown, page.properties, blocks)
        return text.encode(errors="replace")


class _BlockReader:
    """Reads the blocks of one page, which are a tree of lists."""

    def __init__(self, client: JsonClient, max_bytes: int) -> None:
        self._client = client
        self._max_bytes = max_bytes
        self._turner = PageTurner(_TERMS)
        self._number = 0

    async def read(self, parent: UUID, depth: int = 0) -> list[NotionBlock]:
        """The blocks in a page or in another block; those too deep are left out."""
        blocks: list[NotionBlock] = []
        query: dict[str, str | int] = {"page_size": _PAGE}
        while True:
            self._turner.turn(f"{parent}:{query.get('start_cursor', '')}")
            listing = await self._client.get(f"/v1/blocks/{parent}/children", _BlockListing, query)
            self._number += len(listing.results)
            if self._number > _MOST_BLOCKS:
                raise ItemUnreadable(too_large(self._max_bytes))
            for block in listing.results:
                is_inner = block.has_children and block.type not in SEPARATE and depth < _DEEPEST
                children = await self.read(block.id, depth + 1) if is_inner else []
                blocks.append(NotionBlock(block.model_dump(), children))
            if not listing.has_more:
                return blocks
            query["start_cursor"] = listing.next_cursor or ""


def _item(page: _Page) -> SourceItem:
    name = document_name([f"{title_part(title_of(page.properties), 'untitled')}.md"])
    return SourceItem(str(page.id), name, _fingerprint(page.last_edited_time), attributes={"url": page.url[:1000]})


def _fingerprint(edited: str) -> str:
    """The time of the last edit; while another edit could have the same one, with the time of the sync."""
    now = datetime.now(UTC)
    try:
        is_recent = datetime.fromisoformat(edited) > now - _RECENT
    except (ValueError, TypeError):
        return edited
    return f"{edited}:{now.isoformat()}" if is_recent else edited
