"""Who may read documents of Feishu: their collaborators, whom links admit, and members of wiki spaces.

By the open platform's server API (open.feishu.cn/document: Docs › Permission › Get collaborators, Get cloud document
permission settings; Wiki › Get space information, Get the list of space members; Contact › Get users in batch). The first
two allow 1,000 requests a minute, those of spaces 100.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, Field

from ingestion.connectors.base import Readers, ReadFailure
from ingestion.connectors.permissions import NOBODY, SourcePerson, group_identity
from ingestion.connectors.rest.json_client import ApiError, JsonClient, PageTurner

TENANT, PARTNERS = "tenant", "partner_tenant"
"""Groups of the settings: everybody in the organisation, and in those that are connected with it."""
_MOST_USERS, _MEMBERS_PAGE = 50, 50
_PERSON_TYPES: Mapping[str, str] = {"openid": "open_id", "unionid": "union_id", "userid": "user_id"}
_GROUP_TYPES = frozenset({"openchat", "opendepartmentid", "groupid"})
_SPACE_READERS = frozenset({"wiki_space_viewer", "wiki_space_editor"})
_Text = Annotated[str, Field(max_length=254)]


@dataclass(frozen=True)
class SharedDocument:
    """A document or a page of a wiki, by what its permissions are asked for.

    Args:
        kind: ``docx`` or ``wiki``.
        parent: of a page of a wiki, the one above it, if that was asked for before.
        space_id: of a page of a wiki.
        has_child: there are pages below it, which may have its collaborators, too.
    """

    token: str
    kind: str
    parent: str = ""
    space_id: str = ""
    has_child: bool = False


class _Member(BaseModel):
    member_type: _Text = ""
    member_id: _Text = ""
    type: _Text = ""
    perm_type: _Text = ""


class _Collaborators(BaseModel):
    items: tuple[_Member, ...] = ()


class _CollaboratorsAnswer(BaseModel):
    data: _Collaborators


class _LinkSetting(BaseModel):
    link_share_entity: _Text
    external_access_entity: _Text = ""
    lock_switch: bool = False


class _SettingData(BaseModel):
    permission_public: _LinkSetting


class _SettingAnswer(BaseModel):
    data: _SettingData


class _WikiSpace(BaseModel):
    visibility: _Text = ""


class _SpaceData(BaseModel):
    space: _WikiSpace


class _SpaceAnswer(BaseModel):
    data: _SpaceData


class _MemberPage(BaseModel):
    members: tuple[_Member, ...] = Field(default=(), validation_alias=AliasChoices("members", "items"))
    has_more: bool = False
    page_token: str = ""


class _MemberPageAnswer(BaseModel):
    data: _MemberPage


class _ContactUser(BaseModel):
    open_id: _Text = ""
    union_id: _Text = ""
    user_id: _Text = ""
    email: Annotated[str, Field(max_length=320)] = ""
    enterprise_email: Annotated[str, Field(max_length=320)] = ""


class _Users(BaseModel):
    items: tuple[_ContactUser, ...] = ()


class _UsersAnswer(BaseModel):
    data: _Users


class CollaboratorReader:
    """Who may read documents: any of their collaborators, and whom the setting of their link admits.

    A page of a wiki has the collaborators of the page above it, too, as far as those are for the pages below and it is not
    locked. Spaces, people and groups are asked for once. What can't be read admits nobody.
    """

    def __init__(self, client: JsonClient) -> None:
        self._client = client
        self._inherited: dict[str, frozenset[str]] = {}
        self._spaces: dict[str, frozenset[str]] = {}
        self._emails: dict[tuple[str, str], tuple[str, ...]] = {}
        self._unread = 0

    @property
    def notice(self) -> ReadFailure | None:
        """What to know of permissions that could not be read; None for nothing."""
        return _unread(self._unread) if self._unread else None

    async def readers(self, document: SharedDocument) -> Readers:
        """The lists of a document; raises ``ApiError`` only for what every request would meet."""
        try:
            return await self._readers(document)
        except ApiError as error:
            if error.is_general:
                raise
            self._unread += 1
            return NOBODY

    async def _readers(self, document: SharedDocument) -> Readers:
        path, query = f"/drive/v2/permissions/{document.token}/public", {"type": document.kind}
        setting = (await self._client.get(path, _SettingAnswer, query)).data.permission_public
        link = _link_identities(setting)
        if link is None and not document.has_child:
            return ()
        path = f"/drive/v1/permissions/{document.token}/members"
        # Without the field nobody tells which members of a space are meant.
        answer = await self._client.get(path, _CollaboratorsAnswer, query | {"fields": "type"})
        members = answer.data.items
        own = await self._identities(members, document.space_id)
        above = frozenset[str]() if setting.lock_switch else self._inherited.get(document.parent, frozenset())
        if document.has_child:
            for_below = [member for member in members if member.perm_type != "single_page"]
            self._inherited[document.token] = above | await self._identities(for_below, document.space_id)
        return () if link is None else (tuple(sorted(own | above | link)),)

    async def _identities(self, members: Iterable[_Member], space_id: str) -> frozenset[str]:
        identities: set[str] = set()
        people: dict[str, list[str]] = {}
        space_kinds: set[str] = set()
        for member in members:
            if not member.member_id:
                continue
            if member.member_type == "email":
                identities.update(SourcePerson(email=member.member_id).identities)
            elif member.member_type in _PERSON_TYPES:
                people.setdefault(member.member_type, []).append(member.member_id)
            elif member.member_type in _GROUP_TYPES:
                identities.add(group_identity(member.member_id))
            elif member.member_type == "wikispaceid":
                space_kinds.add(member.type)
        for kind, ids in people.items():
            identities |= await self._person_identities(kind, ids)
        if space_kinds and space_id:
            identities |= await self._space_readers(space_id, space_kinds)
        return frozenset(identities)

    async def _space_readers(self, space_id: str, kinds: set[str]) -> frozenset[str]:
        """Members of a space; where only some of them are meant, the API does not tell which: they are a group."""
        if "wiki_space_member" in kinds or kinds >= _SPACE_READERS:
            return await self._space_members(space_id)
        return frozenset(group_identity(kind) for kind in kinds & _SPACE_READERS)

    async def _space_members(self, space_id: str) -> frozenset[str]:
        if space_id not in self._spaces:
            space = (await self._client.get(f"/wiki/v2/spaces/{space_id}", _SpaceAnswer)).data.space
            members: list[_Member] = []
            query: dict[str, str | int] = {"page_size": _MEMBERS_PAGE}
            turner = PageTurner(self._client.terms)
            while True:
                turner.turn(str(query.get("page_token", "")))
                page = (await self._client.get(f"/wiki/v2/spaces/{space_id}/members", _MemberPageAnswer, query)).data
                members += page.members
                if not page.has_more:
                    break
                query["page_token"] = page.page_token
            everybody = {group_identity(TENANT)} if space.visibility == "public" else set[str]()
            self._spaces[space_id] = await self._identities(members, "") | everybody
        return self._spaces[space_id]

    async def _person_identities(self, kind: str, ids: Sequence[str]) -> set[str]:
        missing = [id_ for id_ in ids if (kind, id_) not in self._emails]
        for start in range(0, len(missing), _MOST_USERS):
            part = missing[start : start + _MOST_USERS]
            self._emails |= {(kind, id_): () for id_ in part} | await self._ask_for_emails(kind, part)
        emails = {f"email:{email}" for id_ in ids for email in self._emails[kind, id_]}
        return emails | {identity for id_ in ids for identity in SourcePerson(names=(id_,)).identities}

    async def _ask_for_emails(self, kind: str, ids: Sequence[str]) -> dict[tuple[str, str], tuple[str, ...]]:
        id_type = _PERSON_TYPES[kind]
        query: dict[str, Any] = {"user_ids": [*ids], "user_id_type": id_type}
        try:
            users = (await self._client.get("/contact/v3/users/batch", _UsersAnswer, query)).data.items
        except ApiError as error:
            if error.is_general:
                raise
            # The app may not see addresses: their ids are left, for the table of people.
            return {}
        return {
            (kind, getattr(user, id_type)): tuple(
                email for email in (user.enterprise_email, user.email) if "@" in email
            )
            for user in users
        }


def _link_identities(setting: _LinkSetting) -> frozenset[str] | None:
    """Whom the link admits; None for anybody."""
    match setting.link_share_entity:
        case "anyone_readable" | "anyone_editable":
            is_open = setting.external_access_entity == "open"
            return None if is_open else frozenset({group_identity(TENANT)})
        case "tenant_readable" | "tenant_editable":
            return frozenset({group_identity(TENANT)})
        case "partner_tenant_readable" | "partner_tenant_editable":
            return frozenset({group_identity(TENANT), group_identity(PARTNERS)})
        case _:
            return frozenset()


def _unread(count: int) -> ReadFailure:
    return ReadFailure(
        "permissions_unread",
        f"The permissions of {count} documents could not be read: they are for the owner alone",
        f"{count} 篇文档的权限无法读取：仅知识库所有者可见",
        "Give the app the scopes docs:permission.member:retrieve, docs:permission.setting:read and wiki:member:retrieve, "
        "release it, and synchronize again; or set permissions to ignore, if all who read the knowledge base may read them",
        "请为应用开通 docs:permission.member:retrieve、docs:permission.setting:read 和 wiki:member:retrieve 权限并发布，"
        "然后重新同步；若知识库的所有读者都可以阅读这些文档，可将 permissions 设为 ignore",
    )
