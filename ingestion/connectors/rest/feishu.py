"""The connector of wiki spaces and folders of Feishu and Lark.

By the open platform's server API (open.feishu.cn/document: Obtain tenant_access_token of a custom app; Wiki › Get the list
of child nodes, Get node information; Drive › List files in a folder; Docs › Get all blocks of a document; Rate limits).
"""

import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Annotated, Any, ClassVar, TypeVar

import httpx
from anyio import to_thread
from pydantic import BaseModel, Field, SecretStr, ValidationError

from core.errors.requests import InvalidRequest
from core.outbound.guard import OutboundGuard
from ingestion.connectors.base import (
    MOST_ITEMS,
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemUnreadable,
    Readers,
    ReadFailure,
    SourceItem,
    too_large,
)
from ingestion.connectors.permissions import PermissionSettings
from ingestion.connectors.rest.connector import RestConnector, RestSettings, title_part
from ingestion.connectors.rest.failures import Advice, Refusal, ServiceTerms, refusal_failure
from ingestion.connectors.rest.feishu_blocks import document_markdown
from ingestion.connectors.rest.feishu_permissions import CollaboratorReader, SharedDocument
from ingestion.connectors.rest.json_client import ApiError, JsonClient, PageTurner
from ingestion.connectors.rest.json_values import JsonMapping
from kb_service.document_names import document_name

_DOCUMENT, _FOLDER = "docx", "folder"
_NODES_PAGE, _FILES_PAGE, _BLOCKS_PAGE = 50, 200, 500
_MOST_BLOCKS = 100_000
# A token lives for two hours; one with less than this left is renewed by then.
_RENEW_SECONDS = 300
_REFUSALS: Mapping[int, Refusal] = {
    99991400: Refusal.LIMIT,
    **dict.fromkeys((10003, 10012, 10014, 10015, 99991661, 99991663, 99991664, 99991665), Refusal.CREDENTIALS),
    **dict.fromkeys((99991672, 99991679, 131006, 1061004, 1063002, 1770032), Refusal.ACCESS),
    **dict.fromkeys((131005, 1061003, 1061007, 1063005, 1770002, 1770003), Refusal.MISSING),
}
_TERMS = ServiceTerms(
    "Feishu",
    credentials=Advice(
        "Give the source the app_id and app_secret of a custom app that is released, and its domain: feishu.cn or "
        "larksuite.com",
        "请填写已发布的自建应用的 app_id 和 app_secret，并确认域名是 feishu.cn 还是 larksuite.com",
    ),
    access=Advice(
        "Give the app the scopes wiki:wiki:readonly, drive:drive:readonly and docx:document:readonly, release it, and add it "
        "to the wiki space or share the folder with it",
        "请为应用开通 wiki:wiki:readonly、drive:drive:readonly、docx:document:readonly 权限并发布，"
        "再将应用添加为知识空间成员或将文件夹共享给它",
    ),
    place=Advice(
        "Check space_id, node_token or folder_token, and that the app may read there",
        "请检查 space_id、node_token 或 folder_token，并确认应用有权读取",
    ),
)
_Token = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,100}$")]
_Body = TypeVar("_Body")


class FeishuSettings(RestSettings, PermissionSettings):
    """Settings of a wiki space, of a wiki page with what is below it, or of a folder: exactly one of the three.

    ``url`` is that of the open platform: ``https://open.feishu.cn``, ``https://open.larksuite.com``, or that of a
    private deployment. Permissions are the collaborators of a document, and whom its link admits; ``tenant`` in ``groups``
    is everybody in the organisation, chats, departments and user groups have their ids.
    """

    url: str = Field(default="https://open.feishu.cn", min_length=1, max_length=2048)
    space_id: _Token = ""
    node_token: _Token = ""
    folder_token: _Token = ""

    @property
    def place(self) -> str:
        return f"{self.url} {self.space_id or self.node_token or self.folder_token}"

    @property
    def api_url(self) -> str:
        return f"{self.url.rstrip('/')}/open-apis"


class FeishuCredentials(ConnectorCredentials):
    """A custom app."""

    app_id: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")] = Field(repr=False)
    app_secret: SecretStr = Field(min_length=1, max_length=1000)


class _Code(BaseModel):
    code: int


class _TokenAnswer(BaseModel):
    tenant_access_token: Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,4000}$", repr=False)]
    expire: int


class _WikiNode(BaseModel):
    node_token: str
    obj_token: str
    obj_type: str
    title: str = ""
    obj_edit_time: str = ""
    has_child: bool = False
    space_id: str = ""
    parent_node_token: str = ""


class _NodePage(BaseModel):
    items: tuple[_WikiNode, ...] = ()
    has_more: bool = False
    page_token: str = ""


class _NodePageAnswer(BaseModel):
    data: _NodePage


class _NodeData(BaseModel):
    node: _WikiNode


class _NodeAnswer(BaseModel):
    data: _NodeData


class _File(BaseModel):
    token: str
    type: str
    name: str = ""
    modified_time: str = ""
    url: str = ""


class _FilePage(BaseModel):
    files: tuple[_File, ...] = ()
    has_more: bool = False
    next_page_token: str = ""


class _FilePageAnswer(BaseModel):
    data: _FilePage


class _BlockPage(BaseModel):
    items: tuple[dict[str, Any], ...] = ()
    has_more: bool = False
    page_token: str = ""


class _BlockPageAnswer(BaseModel):
    data: _BlockPage


@dataclass
class AccessToken:
    """A tenant access token and the time when it ends; the sync's requests share it."""

    value: str = ""
    ends_at: float = 0.0


class FeishuClient(JsonClient):
    """Signs in as an app, and reads the codes of answers, which may be refusals with the status 200."""

    def __init__(self, guard: OutboundGuard, url: str, credentials: Mapping[str, str], token: AccessToken) -> None:
        super().__init__(guard, url, {}, _TERMS)
        self._credentials = credentials
        self._token = token

    async def get(self, path: str, kind: type[_Body], query: Mapping[str, Any] | None = None) -> _Body:
        if time.time() > self._token.ends_at - _RENEW_SECONDS:
            await self._sign_in()
        self.http.headers["Authorization"] = f"Bearer {self._token.value}"
        return await super().get(path, kind, query)

    def refusal(self, response: httpx.Response, content: bytes) -> Refusal | None:
        try:
            code = _Code.model_validate_json(content).code
        except (ValidationError, ValueError):
            return super().refusal(response, content)
        if code == 0 and response.is_success:
            return None
        return _REFUSALS.get(code) or super().refusal(response, content) or Refusal.OTHER

    def pause(self, response: httpx.Response) -> float:
        reset = response.headers.get("x-ogw-ratelimit-reset", "")
        return float(reset[:9]) if reset.isascii() and reset.isdecimal() else super().pause(response)

    async def _sign_in(self) -> None:
        if not self._credentials:
            raise ApiError(refusal_failure(_TERMS, Refusal.CREDENTIALS, 401), is_general=True)
        self.http.headers.pop("Authorization", None)
        answer = await self.post("/auth/v3/tenant_access_token/internal", _TokenAnswer, self._credentials)
        self._token.value, self._token.ends_at = answer.tenant_access_token, time.time() + answer.expire


class FeishuConnector(RestConnector[FeishuSettings, FeishuClient]):
    """Reads documents (docx); sheets, tables, mind maps, slides and files are left out."""

    NAME: ClassVar[str] = "feishu"
    SETTINGS: ClassVar[type[ConnectorSettings]] = FeishuSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = FeishuCredentials

    def __init__(self, settings: FeishuSettings, environment: ConnectorEnvironment) -> None:
        super().__init__(settings, environment)
        self._token = AccessToken()
        self._collaborators: CollaboratorReader | None = None

    @property
    def notice(self) -> ReadFailure | None:
        """That permissions could not be read."""
        return self._collaborators.notice if self._collaborators is not None else None

    async def check(self) -> None:
        await super().check()
        settings = self._settings
        if sum(map(bool, (settings.space_id, settings.node_token, settings.folder_token))) != 1:
            raise InvalidRequest(
                "settings.space_id",
                "Give exactly one of space_id, node_token and folder_token",
                "请在 space_id、node_token 和 folder_token 中只填一个",
            )

    def _open(self, credentials: dict[str, str]) -> FeishuClient:
        return FeishuClient(self._environment.guard, self._settings.api_url, credentials, self._token)

    async def _list(self, client: FeishuClient) -> AsyncGenerator[SourceItem]:
        settings = self._settings
        self._collaborators = CollaboratorReader(client) if settings.keeps_permissions else None
        if settings.folder_token:
            async for item in self._files(client):
                yield item
            return
        space_id, parent = settings.space_id, ""
        if settings.node_token:
            answer = await client.get("/wiki/v2/spaces/get_node", _NodeAnswer, {"token": settings.node_token})
            node = answer.data.node
            space_id, parent = node.space_id, node.node_token
            readers = await self._node_readers(node, space_id)
            if node.obj_type == _DOCUMENT:
                yield replace(_node_item(node), readers=readers)
        async for item in self._nodes(client, space_id, parent):
            yield item

    async def _nodes(self, client: FeishuClient, space_id: str, parent: str) -> AsyncGenerator[SourceItem]:
        """The documents below a node, or of the whole space, level by level."""
        turner, parents = PageTurner(_TERMS, MOST_ITEMS), deque([parent])
        path = f"/wiki/v2/spaces/{_checked(space_id)}/nodes"
        while parents:
            query: dict[str, str | int] = {"page_size": _NODES_PAGE}
            if parent := parents.popleft():
                query["parent_node_token"] = parent
            while True:
                turner.turn(str(httpx.QueryParams(query)))
                page = (await client.get(path, _NodePageAnswer, query)).data
                for node in page.items:
                    if node.has_child:
                        parents.append(node.node_token)
                    readers = await self._node_readers(node, space_id)
                    if node.obj_type == _DOCUMENT:
                        yield replace(_node_item(node), readers=readers)
                if not page.has_more:
                    break
                query["page_token"] = page.page_token

    async def _node_readers(self, node: _WikiNode, space_id: str) -> Readers | None:
        """Who may read a page; those of another kind are asked for because of the pages below."""
        if self._collaborators is None or not (node.obj_type == _DOCUMENT or node.has_child):
            return None
        parent, space_id = node.parent_node_token, _checked(node.space_id or space_id)
        page = SharedDocument(_checked(node.node_token), "wiki", parent, space_id, node.has_child)
        return await self._collaborators.readers(page)

    async def _files(self, client: FeishuClient) -> AsyncGenerator[SourceItem]:
        """The documents of the folder and of the folders in it."""
        turner, folders = PageTurner(_TERMS, MOST_ITEMS), deque([self._settings.folder_token])
        while folders:
            query: dict[str, str | int] = {"folder_token": folders.popleft(), "page_size": _FILES_PAGE}
            while True:
                turner.turn(str(httpx.QueryParams(query)))
                page = (await client.get("/drive/v1/files", _FilePageAnswer, query)).data
                for file in page.files:
                    if file.type == _FOLDER:
                        folders.append(file.token)
                    elif file.type == _DOCUMENT:
                        item = _item(file.token, file.name, file.modified_time, file.url)
                        yield replace(item, readers=await self._file_readers(file))
                if not page.has_more:
                    break
                query["page_token"] = page.next_page_token

    async def _file_readers(self, file: _File) -> Readers | None:
        if self._collaborators is None:
            return None
        return await self._collaborators.readers(SharedDocument(_checked(file.token), _DOCUMENT))

    async def _content(self, client: FeishuClient, item: SourceItem) -> bytes:
        path, blocks = f"/docx/v1/documents/{_checked(item.key)}/blocks", list[JsonMapping]()
        query: dict[str, str | int] = {"page_size": _BLOCKS_PAGE, "document_revision_id": -1}
        turner = PageTurner(_TERMS)
        while True:
            turner.turn(str(query.get("page_token", "")))
            page = (await client.get(path, _BlockPageAnswer, query)).data
            blocks += page.items
            if len(blocks) > _MOST_BLOCKS:
                raise ItemUnreadable(too_large(self._environment.max_bytes))
            if not page.has_more:
                break
            query["page_token"] = page.page_token
        text = await to_thread.run_sync(document_markdown, blocks, str(item.state.get("title", "")))
        return text.encode(errors="replace")


def _node_item(node: _WikiNode) -> SourceItem:
    return _item(node.obj_token, node.title, node.obj_edit_time, "")


def _item(token: str, title: str, edited: str, url: str) -> SourceItem:
    part = title_part(title, "untitled")
    # The time of a document's last edit need not be that of its new title.
    fingerprint = f"{edited[:40]}:{sha256(title.encode(errors='replace')).hexdigest()[:16]}"
    return SourceItem(
        token, document_name([f"{part}.md"]), fingerprint, {"title": part}, attributes={"url": url[:1000]}
    )


def _checked(token: str) -> str:
    """A token as a part of a path; ApiError where it is none."""
    if not token.replace("_", "").replace("-", "").isalnum() or not token.isascii():
        raise ApiError(refusal_failure(_TERMS, Refusal.OTHER, 200))
    return token
