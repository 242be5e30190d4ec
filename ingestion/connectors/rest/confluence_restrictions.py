"""Permissions to view Confluence's pages: their own restrictions, those of the pages above, and those of their space.

By the resource that both editions have: developer.atlassian.com/cloud/confluence/rest/v1/api-group-content-restrictions
(Get restrictions for operation), and …/server/confluence/rest (Content Restrictions). The cloud's API v2 names the parent
of a page, and has the ancestors of one (…/cloud/confluence/rest/v2/api-group-ancestors).
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AliasPath, BaseModel, Field

from ingestion.connectors.base import Readers, ReadFailure
from ingestion.connectors.permissions import NOBODY, SourcePerson, group_identity
from ingestion.connectors.rest.confluence_spaces import Level, SpaceName, SpaceReader
from ingestion.connectors.rest.failures import ServiceTerms, unexpected_answer
from ingestion.connectors.rest.json_client import ApiError, JsonClient
from ingestion.connectors.rest.json_values import as_text

EXPANSION = ("ancestors", "restrictions.read.restrictions.user", "restrictions.read.restrictions.group")
"""What lists of the older API are asked for, so that each page needs no request of its own."""
ContentId = Annotated[str, Field(pattern=r"^[0-9]{1,30}$")]
_PAGE = 200
_MOST_PAGES = 50
_MOST_ANCESTORS = 250
_NAMED_SPACES = 10


class _Viewer(BaseModel):
    email: str = Field(default="", max_length=320)
    # The cloud's id of a person, then the name in a data center.
    account_id: str = Field(default="", max_length=254, alias="accountId")
    username: str = Field(default="", max_length=254)

    @property
    def identities(self) -> tuple[str, ...]:
        return SourcePerson(email=self.email, names=(self.account_id, self.username)).identities


class _ViewerGroup(BaseModel):
    name: str = Field(max_length=254)


class _Viewers(BaseModel):
    results: tuple[_Viewer, ...]
    limit: int = _PAGE


class _ViewerGroups(BaseModel):
    results: tuple[_ViewerGroup, ...]
    limit: int = _PAGE


class _Subjects(BaseModel):
    user: _Viewers
    group: _ViewerGroups


class _Restriction(BaseModel):
    restrictions: _Subjects


class _Ancestor(BaseModel):
    id: ContentId


class _AncestorList(BaseModel):
    results: tuple[_Ancestor, ...]


class PlacedContent(BaseModel):
    """A page in a list: with what stands above it, and with its restrictions, as far as the list has them."""

    id: ContentId
    parent_id: ContentId | None = Field(default=None, alias="parentId")
    ancestors: tuple[_Ancestor, ...] | None = None
    restriction: _Restriction | None = Field(default=None, validation_alias=AliasPath("restrictions", "read"))
    space_id: ContentId | None = Field(default=None, alias="spaceId")
    space: dict[str, object] = Field(default_factory=dict[str, object])

    @property
    def space_key(self) -> str:
        """The key of its space, where the list has it."""
        return as_text(self.space.get("key"))

    def space_name(self, key: str) -> SpaceName:
        """The space that it is in; ``key``: of the space that is listed."""
        id_ = str(self.space_id or self.space.get("id") or "")
        return SpaceName(self.space_key or key, id_ if id_.isdecimal() else "")


class RestrictionReader:
    """Who may view pages: those whom the space, each page above and the page itself admit. Each is asked for once.

    What can't be read admits nobody.

    Args:
        spaces: None: spaces admit everybody.
    """

    def __init__(self, client: JsonClient, terms: ServiceTerms, spaces: SpaceReader | None) -> None:
        self._client = client
        self._terms = terms
        self._spaces = spaces
        self._levels: dict[str, Level] = {}
        self._ancestors: dict[str, tuple[str, ...]] = {}
        self._failed: set[str] = set()
        self._unread = 0

    @property
    def notice(self) -> ReadFailure | None:
        """What to know of permissions that could not be read; None for nothing."""
        spaces = sorted({*self._spaces.unread.values()}) if self._spaces else []
        return _unread(self._unread, spaces) if self._unread else None

    async def readers(self, page: PlacedContent, space_key: str = "") -> Readers:
        """The lists of a page; raises ``ApiError`` only for what every request would meet."""
        try:
            levels = [await self._spaces.level(page.space_name(space_key))] if self._spaces else []
            levels += [await self._level(id_) for id_ in await self._ancestors_of(page)]
            levels.append(await self._level(page.id, page.restriction))
        except ApiError as error:
            if error.is_general:
                raise
            self._unread += 1
            return NOBODY
        return tuple(dict.fromkeys(level for level in levels if level is not None))

    async def _ancestors_of(self, page: PlacedContent) -> tuple[str, ...]:
        if page.ancestors is not None:
            return tuple(ancestor.id for ancestor in page.ancestors)
        if "parent_id" not in page.model_fields_set:
            raise ApiError(unexpected_answer(self._terms))
        if page.parent_id is None:
            ids: tuple[str, ...] = ()
        elif page.parent_id in self._ancestors:
            ids = (*self._ancestors[page.parent_id], page.parent_id)
        else:
            ids = await self._ask_for_ancestors(page)
        self._ancestors[page.id] = ids
        return ids

    async def _ask_for_ancestors(self, page: PlacedContent) -> tuple[str, ...]:
        """From the topmost one to the parent."""
        path, query = f"/api/v2/pages/{page.id}/ancestors", {"limit": _MOST_ANCESTORS}
        answer = await self._client.get(path, _AncestorList, query)
        ids = tuple(ancestor.id for ancestor in answer.results)
        if len(ids) >= _MOST_ANCESTORS or page.parent_id not in ids:
            raise ApiError(unexpected_answer(self._terms))
        return ids

    async def _level(self, id_: str, listed: _Restriction | None = None) -> Level:
        if id_ in self._failed:
            # Not asked for again with each page below it.
            raise ApiError(unexpected_answer(self._terms))
        if id_ not in self._levels:
            is_whole = listed is not None and not _is_full(listed.restrictions)
            self._levels[id_] = _level_of([listed.restrictions]) if listed and is_whole else await self._ask(id_)
        return self._levels[id_]

    async def _ask(self, id_: str) -> Level:
        path, parts = f"/rest/api/content/{id_}/restriction/byOperation/read", list[_Subjects]()
        self._failed.add(id_)
        start = 0
        for _ in range(_MOST_PAGES):
            query = {"expand": "restrictions.user,restrictions.group", "start": start, "limit": _PAGE}
            part = (await self._client.get(path, _Restriction, query)).restrictions
            parts.append(part)
            if not _is_full(part):
                self._failed.discard(id_)
                return _level_of(parts)
            # The server may give fewer at a time than it is asked for.
            start += max(len(part.user.results), len(part.group.results))
        raise ApiError(unexpected_answer(self._terms))


def _is_full(subjects: _Subjects) -> bool:
    """Whether there may be more people or groups than these."""
    return any(len(part.results) >= min(part.limit, _PAGE) for part in (subjects.user, subjects.group))


def _level_of(parts: list[_Subjects]) -> Level:
    """Identities of whom a restriction names; None for no restriction."""
    users = [user for part in parts for user in part.user.results]
    groups = [group for part in parts for group in part.group.results]
    if not (users or groups):
        return None
    identities = {identity for user in users for identity in user.identities}
    return tuple(sorted(identities | {group_identity(group.name) for group in groups}))


def _unread(count: int, spaces: Sequence[str]) -> ReadFailure:
    pages = f"The permissions of {count} pages could not be read: their documents are for the owner alone"
    pages_zh = f"{count} 个页面的权限无法读取：对应文档仅知识库所有者可见"
    if not spaces:
        return ReadFailure(
            "permissions_unread",
            pages,
            pages_zh,
            "Let the account of the token view the restrictions of these pages and of those above them, and synchronize again",
            "请允许令牌所属账户查看这些页面及其上级页面的权限，然后重新同步",
        )
    examples, more = spaces[:_NAMED_SPACES], len(spaces) > _NAMED_SPACES
    return ReadFailure(
        "permissions_unread",
        f"{pages}. Not readable are also the permissions of the spaces {', '.join(examples)}{' and more' if more else ''}",
        f"{pages_zh}。其中无法读取权限的空间：{'、'.join(examples)}{' 等' if more else ''}",
        "Let the account of the token see the permissions of these spaces (in a data center, from version 9.1 on, as their "
        "administrator), and synchronize again; or set space_permissions to ignore, if all who read the knowledge base may "
        "view the spaces as a whole",
        "请允许令牌所属账户查看这些空间的权限（Data Center 需 9.1 及以上版本，且该账户为空间管理员），然后重新同步；"
        "若知识库的所有读者都可以查看这些空间，可将 space_permissions 设为 ignore",
    )
