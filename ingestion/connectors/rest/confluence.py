"""The connector of Confluence, of the cloud and of the data center.

By REST API v2 of Confluence Cloud (developer.atlassian.com/cloud/confluence/rest/v2: Page, Space), and the REST API of
Confluence Data Center (developer.atlassian.com/server/confluence/confluence-rest-api-examples), whose search by CQL is
that of the cloud's v1, too (…/cloud/confluence/rest/v1/api-group-content: Search content by CQL).
"""

from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import httpx
from anyio import to_thread
from pydantic import AliasChoices, AliasPath, BaseModel, Field

from ingestion.connectors.base import (
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ReadFailure,
    SourceItem,
    SourceUnavailable,
    too_large,
)
from ingestion.connectors.permissions import PermissionSettings
from ingestion.connectors.rest.confluence_restrictions import EXPANSION, ContentId, PlacedContent, RestrictionReader
from ingestion.connectors.rest.confluence_spaces import SpaceReader, next_cursor
from ingestion.connectors.rest.confluence_storage import storage_page
from ingestion.connectors.rest.connector import RestConnector, RestSettings, Token, title_part
from ingestion.connectors.rest.failures import Advice, ServiceTerms, unexpected_answer
from ingestion.connectors.rest.json_client import ApiError, JsonClient, PageTurner
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.file_type import has_parser
from kb_service.document_names import document_name

_PAGE = 100
_CURRENT = "current"
_ENDING = ".html"
_CLOUD_HOSTS = (".atlassian.net", ".jira-dev.com")
_CLOUD_API = "api.atlassian.com"
_Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9~._-]{1,255}$")]
_Label = Annotated[str, Field(pattern=r"^[^\x00-\x20\"\\,()]{1,255}$")]
_TERMS = ServiceTerms(
    "Confluence",
    credentials=Advice(
        "Give the source new credentials: in the cloud email and token (an API token), in the data center token alone "
        "(a personal access token)",
        "请为该来源填写新的凭据：云版为 email 和 token（API 令牌），数据中心版只需 token（个人访问令牌）",
    ),
    access=Advice(
        "Let the account of the token view the spaces and their pages",
        "请允许令牌所属账户查看这些空间及其页面",
    ),
    place=Advice(
        "Check the address, the edition, the keys of the spaces and the CQL: the address is that before /spaces, /display "
        "or /rest",
        "请检查地址、版本类型、空间键和 CQL：地址是 /spaces、/display 或 /rest 之前的部分",
    ),
)


class ConfluenceSettings(RestSettings, PermissionSettings):
    """Settings of a Confluence site, such as ``https://example.atlassian.net`` or ``https://wiki.example.org``.

    Without ``spaces`` (keys) all pages are read that the credentials see. Pages must have one of ``labels``, and
    fulfil ``cql``, if those are given. With ``attachments`` the files on them are read, too. ``edition`` is by itself the
    cloud for the hosts of Atlassian. Permissions are those to view a space (unless ``space_permissions`` is ``ignore``: all
    who read the knowledge base may view the spaces), and the restrictions of pages and of those above them.
    """

    edition: Literal["auto", "cloud", "data_center"] = "auto"
    spaces: Annotated[tuple[_Key, ...], Field(max_length=50, strict=False)] = ()
    labels: Annotated[tuple[_Label, ...], Field(max_length=50, strict=False)] = ()
    cql: Annotated[str, Field(max_length=1000)] = ""
    attachments: bool = False
    space_permissions: Literal["keep", "ignore"] = "keep"

    @property
    def is_cloud(self) -> bool:
        """Whether the site has the cloud's API."""
        host = httpx.URL(self.url).host
        return self.edition == "cloud" or (
            self.edition == "auto" and (host.endswith(_CLOUD_HOSTS) or host == _CLOUD_API)
        )

    @property
    def api_url(self) -> str:
        base = self.url.rstrip("/")
        return f"{base.removesuffix('/wiki')}/wiki" if self.is_cloud else base

    @property
    def query(self) -> str:
        """The settings in CQL; empty where a space can be listed without."""
        if not (self.labels or self.cql):
            return ""
        terms = ["type = page"]
        for name, values in (("space", self.spaces), ("label", self.labels)):
            if values:
                quoted = ", ".join(f'"{value}"' for value in values)
                terms.append(f"{name} in ({quoted})")
        if self.cql:
            terms.append(f"({self.cql})")
        return " and ".join(terms)


class ConfluenceCredentials(ConnectorCredentials):
    """An API token of the cloud with the ``email`` of its account, or a personal access token of a data center."""

    email: Annotated[str, Field(min_length=3, max_length=320, pattern=r"^[^:\s\x00-\x1f\x7f]+$")] | None = Field(
        default=None, repr=False
    )
    token: Token


class _Version(BaseModel):
    number: int
    # The cloud's name of it, then that of the older API.
    written_at: str = Field(default="", max_length=100, validation_alias=AliasChoices("createdAt", "when"))


class _Links(BaseModel):
    next: str = ""
    base: str = ""
    webui: str = ""


class _Space(BaseModel):
    id: ContentId
    key: str


class _PageEntry(PlacedContent):
    title: str
    status: str = _CURRENT
    version: _Version
    links: _Links = Field(default_factory=_Links, alias="_links")


class _StorageBody(BaseModel):
    value: str


class _PageBody(BaseModel):
    storage: _StorageBody


class _FullPage(_PageEntry):
    body: _PageBody


class _PageList(BaseModel):
    results: tuple[_PageEntry, ...]
    links: _Links = Field(default_factory=_Links, alias="_links")


class _Attachment(BaseModel):
    id: Annotated[str, Field(pattern=r"^(att)?[0-9]{1,30}$")]
    title: str
    status: str = _CURRENT
    version: _Version
    # The cloud's name of it, then that of the older API.
    size: int = Field(default=0, validation_alias=AliasChoices("fileSize", AliasPath("extensions", "fileSize")))
    path: str = Field(
        default="",
        pattern=r"^(/[^/\\]\S{0,4000})?$",
        validation_alias=AliasChoices("downloadLink", AliasPath("_links", "download")),
    )


class _AttachmentList(BaseModel):
    results: tuple[_Attachment, ...]
    links: _Links = Field(default_factory=_Links, alias="_links")


class _SpaceList(BaseModel):
    results: tuple[_Space, ...]


class ConfluenceConnector(RestConnector[ConfluenceSettings, JsonClient]):
    """Reads pages; what is archived, in the trash or a draft is not there."""

    NAME: ClassVar[str] = "confluence"
    SETTINGS: ClassVar[type[ConnectorSettings]] = ConfluenceSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = ConfluenceCredentials

    def __init__(self, settings: ConfluenceSettings, environment: ConnectorEnvironment) -> None:
        super().__init__(settings, environment)
        self._restrictions: RestrictionReader | None = None

    @property
    def notice(self) -> ReadFailure | None:
        """That permissions could not be read."""
        return self._restrictions.notice if self._restrictions is not None else None

    def _open(self, credentials: dict[str, str]) -> JsonClient:
        headers: dict[str, str] = {}
        token, email = credentials.get("token"), credentials.get("email")
        if token and email:
            pair = b64encode(f"{email}:{token}".encode()).decode("ascii")
            headers["Authorization"] = f"Basic {pair}"
        elif token:
            headers["Authorization"] = f"Bearer {token}"
        return JsonClient(self._environment.guard, self._settings.api_url, headers, _TERMS)

    async def _list(self, client: JsonClient) -> AsyncGenerator[SourceItem]:
        settings = self._settings
        if settings.keeps_permissions:
            spaces = SpaceReader(client, _TERMS, is_cloud=settings.is_cloud)
            keeps_spaces = settings.space_permissions == "keep"
            self._restrictions = RestrictionReader(client, _TERMS, spaces if keeps_spaces else None)
        expansion = ",".join(["version", "space", *(EXPANSION if settings.keeps_permissions else ())])
        if settings.query:
            query: dict[str, str | int] = {"cql": settings.query, "expand": expansion, "limit": _PAGE}
            async for item in self._pages(client, "/rest/api/content/search", query):
                yield item
        elif settings.is_cloud:
            async for item in self._cloud_pages(client):
                yield item
        else:
            places: tuple[dict[str, str], ...] = tuple({"spaceKey": key} for key in settings.spaces) or ({},)
            for place in places:
                query = {"type": "page", "status": _CURRENT, "expand": expansion, "limit": _PAGE, **place}
                async for item in self._pages(client, "/rest/api/content", query, place.get("spaceKey", "")):
                    yield item

    async def _cloud_pages(self, client: JsonClient) -> AsyncGenerator[SourceItem]:
        keys = self._settings.spaces
        query: dict[str, str | int] = {"status": _CURRENT, "limit": _PAGE}
        if not keys:
            async for item in self._pages(client, "/api/v2/pages", query):
                yield item
            return
        answer = await client.get("/api/v2/spaces", _SpaceList, {"keys": ",".join(keys), "limit": _PAGE})
        ids = {space.key: space.id for space in answer.results}
        if missing := [key for key in keys if key not in ids]:
            raise SourceUnavailable(_no_space(missing[0]))
        for key in keys:
            async for item in self._pages(client, f"/api/v2/spaces/{ids[key]}/pages", query, key):
                yield item

    async def _pages(
        self, client: JsonClient, path: str, query: dict[str, str | int], space: str = ""
    ) -> AsyncGenerator[SourceItem]:
        """The pages of one list, whose next page is named by a parameter of its link."""
        cursor: dict[str, str] | None = {}
        turner = PageTurner(_TERMS)
        while cursor is not None:
            turner.turn(str(httpx.QueryParams(cursor)))
            answer = await client.get(path, _PageList, query | cursor)
            for entry in answer.results:
                if entry.status == _CURRENT:
                    readers = await self._restrictions.readers(entry, space) if self._restrictions else None
                    item = replace(self._item(entry, answer.links.base, space), readers=readers)
                    yield item
                    if self._settings.attachments:
                        async for attachment in self._attachments(client, item):
                            yield attachment
            cursor = next_cursor(answer.links.next)

    async def _attachments(self, client: JsonClient, page: SourceItem) -> AsyncGenerator[SourceItem]:
        """The files on a page that a parser can read."""
        if self._settings.is_cloud:
            path, query = f"/api/v2/pages/{page.key}/attachments", {"status": _CURRENT, "limit": _PAGE}
        else:
            path, query = f"/rest/api/content/{page.key}/child/attachment", {"expand": "version", "limit": _PAGE}
        cursor: dict[str, str] | None = {}
        turner = PageTurner(_TERMS)
        while cursor is not None:
            turner.turn(str(httpx.QueryParams(cursor)))
            try:
                answer = await client.get(path, _AttachmentList, query | cursor)
            except ApiError as error:
                if error.is_missing:
                    # The page has gone since it was listed, and its files with it.
                    return
                raise
            for entry in answer.results:
                if entry.status == _CURRENT and entry.path and has_parser(entry.title, self._environment.support):
                    yield self._file(entry, page)
            cursor = next_cursor(answer.links.next)

    def _file(self, entry: _Attachment, page: SourceItem) -> SourceItem:
        limit, attributes = self._environment.max_bytes, {**page.attributes, "attachment": entry.title[:500]}
        name = document_name([page.name.removesuffix(_ENDING), entry.title.replace("/", "-")])
        return SourceItem(
            f"att{entry.id.removeprefix('att')}",
            name,
            _fingerprint(entry.version),
            {"path": entry.path},
            failure=too_large(limit) if entry.size > limit else None,
            attributes=attributes,
            readers=page.readers,
        )

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        if path := item.state.get("path"):
            async with (
                self._reading() as client,
                aclosing(client.download(path, self._environment.max_bytes)) as blocks,
            ):
                async for block in blocks:
                    yield block
            return
        async with aclosing(super().read(item)) as blocks:
            async for block in blocks:
                yield block

    def _item(self, entry: _PageEntry, base: str, space: str) -> SourceItem:
        key = space or entry.space_key
        parts = [key] if key else []
        webui = entry.links.webui
        url = f"{base or self._settings.api_url}{webui}" if webui.startswith("/") else ""
        return SourceItem(
            entry.id,
            document_name([*parts, f"{title_part(entry.title, 'untitled')}{_ENDING}"]),
            _fingerprint(entry.version),
            attributes={"url": url[:1000], "space": "".join(parts)},
        )

    async def _content(self, client: JsonClient, item: SourceItem) -> bytes:
        if self._settings.is_cloud:
            page = await client.get(f"/api/v2/pages/{item.key}", _FullPage, {"body-format": "storage"})
        else:
            page = await client.get(f"/rest/api/content/{item.key}", _FullPage, {"expand": "body.storage,version"})
        if page.status != _CURRENT:
            raise ApiError(unexpected_answer(_TERMS), is_missing=True)
        try:
            text = await to_thread.run_sync(storage_page, page.title, page.body.storage.value)
        except ParseFailure:
            raise ApiError(unexpected_answer(_TERMS)) from None
        return text.encode(errors="replace")


def _fingerprint(version: _Version) -> str:
    return f"{version.number}:{version.written_at}"


def _no_space(key: str) -> ReadFailure:
    return ReadFailure(
        "no_space",
        f"There is no space {key}, or the credentials don't see it",
        f"空间 {key} 不存在，或该凭据无权查看",
        "Check the key, which stands in the address of the space, and the rights of the account",
        "请检查空间键（见空间的地址）以及账户的权限",
    )
