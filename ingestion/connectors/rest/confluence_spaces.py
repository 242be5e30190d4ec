"""Permissions of Confluence's spaces to view them.

Cloud: developer.atlassian.com/cloud/confluence/rest/v2 (Space Permissions, Space Roles, User) and …/rest/v1
(api-group-group: Get group by ID). Data Center since 9.1: developer.atlassian.com/server/confluence/rest
(Space Permissions: Get all space permissions; User: Get user).
"""

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Protocol, TypeVar
from urllib.parse import quote

import httpx
from pydantic import AliasChoices, BaseModel, Field

from ingestion.connectors.permissions import SourcePerson, group_identity
from ingestion.connectors.rest.failures import ServiceTerms, unexpected_answer
from ingestion.connectors.rest.json_client import ApiError, JsonClient, PageTurner

Level = tuple[str, ...] | None
"""Identities of whom something admits; None for everybody."""
_PAGE = 250
_MOST_ACCOUNTS = 100
_CURSORS = ("cursor", "start")
_VIEW = ("read", "space")
_ANONYMOUS = frozenset({"anonymous", "anonymous-users"})
_CLASSES = frozenset(
    {"authenticated-users", "all-licensed-users", "all-product-admins", "jsm-project-admins", *_ANONYMOUS}
)
_PEOPLE = frozenset({"user", "known"})
_Text = Annotated[str, Field(max_length=254)]


@dataclass(frozen=True)
class SpaceName:
    """A space: in the cloud known by its id, in a data center by its key."""

    key: str = ""
    id: str = ""


@dataclass
class _SpaceSubjects:
    """Whom permissions name: people and groups by ids or names, as the edition has them."""

    people: set[str] = field(default_factory=set[str])
    groups: set[str] = field(default_factory=set[str])
    classes: set[str] = field(default_factory=set[str])
    roles: set[str] = field(default_factory=set[str])

    @property
    def is_empty(self) -> bool:
        return not (self.people or self.groups or self.classes or self.roles)


class _NextLink(BaseModel):
    next: str = ""


class _Principal(BaseModel):
    # The older part of the API spells these names out.
    type: _Text = Field(validation_alias=AliasChoices("type", "principalType"))
    id: _Text = Field(validation_alias=AliasChoices("id", "principalId"))


class _PermittedOperation(BaseModel):
    key: _Text = Field(validation_alias=AliasChoices("key", "operationKey"))
    target: _Text = Field(validation_alias=AliasChoices("targetType", "target"))


class _Permission(BaseModel):
    principal: _Principal
    operation: _PermittedOperation


class _PrincipalList(BaseModel):
    links: _NextLink = Field(default_factory=_NextLink, alias="_links")


class _PermissionList(_PrincipalList):
    results: tuple[_Permission, ...]


class _RoleAssignment(BaseModel):
    principal: _Principal
    role_id: _Text = Field(alias="roleId")


class _RoleAssignmentList(_PrincipalList):
    results: tuple[_RoleAssignment, ...]


_Part = TypeVar("_Part", bound=_PrincipalList)


class _GroupName(BaseModel):
    name: _Text = Field(min_length=1)


class _CloudAccount(BaseModel):
    account_id: _Text = Field(alias="accountId")
    email: Annotated[str, Field(max_length=320)] | None = None


class _CloudAccountList(BaseModel):
    results: tuple[_CloudAccount, ...]


class _SpaceSubject(BaseModel):
    type: _Text = ""
    name: _Text = ""
    username: _Text = ""
    user_key: _Text = Field(default="", alias="userKey")


class _SpacePermission(BaseModel):
    operation: _PermittedOperation
    subject: _SpaceSubject = Field(default_factory=_SpaceSubject)


class _KeyedUser(BaseModel):
    username: _Text = Field(min_length=1)


def next_cursor(link: str) -> dict[str, str] | None:
    """What leads to the next page of a list, whose link is given; None on the last."""
    if not link:
        return None
    params = httpx.URL(link).params
    return {name: params[name] for name in _CURSORS if name in params}


class _Directory(Protocol):
    """What one edition knows of spaces, people and groups."""

    async def subjects(self, space: SpaceName) -> _SpaceSubjects: ...

    async def people(self, ids: Collection[str]) -> Sequence[SourcePerson]: ...

    async def groups(self, ids: Collection[str]) -> Sequence[str]: ...


class SpaceReader:
    """Who may view spaces. Each is asked for once, and so is each person and group.

    Whoever may be anonymous may be anybody, and then there is no list. Groups, and the classes of users that the cloud has
    (``all-licensed-users``), are groups of the settings.
    """

    def __init__(self, client: JsonClient, terms: ServiceTerms, *, is_cloud: bool) -> None:
        self._terms = terms
        self._directory: _Directory = (_CloudDirectory if is_cloud else _ServerDirectory)(client, terms)
        self._levels: dict[SpaceName, Level] = {}
        self.unread: dict[SpaceName, str] = {}
        """Spaces whose permissions could not be read, with what they are called."""

    async def level(self, space: SpaceName) -> Level:
        """Whom a space admits; raises ``ApiError``."""
        if space in self.unread:
            # Not asked for again with each of its pages.
            raise ApiError(unexpected_answer(self._terms))
        if space not in self._levels:
            self.unread[space] = space.key or space.id or "?"
            self._levels[space] = await self._ask(space)
            del self.unread[space]
        return self._levels[space]

    async def _ask(self, space: SpaceName) -> Level:
        subjects = await self._directory.subjects(space)
        if subjects.is_empty:
            # Somebody sees the pages; it is not told who.
            raise ApiError(unexpected_answer(self._terms))
        if subjects.classes & _ANONYMOUS:
            return None
        people = await self._directory.people(sorted(subjects.people))
        groups = {*await self._directory.groups(sorted(subjects.groups)), *subjects.classes}
        identities = {identity for person in people for identity in person.identities}
        return tuple(sorted(identities | {group_identity(name) for name in groups}))


class _CloudDirectory:
    """Principals have ids; names of groups and addresses of people are asked for."""

    def __init__(self, client: JsonClient, terms: ServiceTerms) -> None:
        self._client = client
        self._terms = terms
        self._emails: dict[str, str] = {}
        self._names: dict[str, str] = {}

    async def subjects(self, space: SpaceName) -> _SpaceSubjects:
        if not space.id:
            raise ApiError(unexpected_answer(self._terms))
        path, subjects = f"/api/v2/spaces/{space.id}", _SpaceSubjects()
        async for part in self._parts(f"{path}/permissions", _PermissionList):
            for entry in part.results:
                if (entry.operation.key, entry.operation.target) == _VIEW:
                    _add(subjects, entry.principal)
        if subjects.roles:
            async for part in self._parts(f"{path}/role-assignments", _RoleAssignmentList):
                for entry in part.results:
                    if entry.role_id in subjects.roles:
                        _add(subjects, entry.principal)
        return subjects

    async def _parts(self, path: str, kind: type[_Part]) -> AsyncGenerator[_Part]:
        """The pages of a list."""
        cursor: dict[str, str] | None = {}
        turner = PageTurner(self._terms)
        while cursor is not None:
            turner.turn(cursor.get("cursor", ""))
            part = await self._client.get(path, kind, {"limit": _PAGE} | cursor)
            yield part
            cursor = next_cursor(part.links.next)

    async def people(self, ids: Collection[str]) -> Sequence[SourcePerson]:
        missing = [id_ for id_ in ids if id_ not in self._emails]
        for start in range(0, len(missing), _MOST_ACCOUNTS):
            part = missing[start : start + _MOST_ACCOUNTS]
            self._emails |= dict.fromkeys(part, "") | await self._ask_for_emails(part)
        return [SourcePerson(email=self._emails[id_], names=(id_,)) for id_ in ids]

    async def _ask_for_emails(self, ids: Sequence[str]) -> dict[str, str]:
        try:
            answer = await self._client.post("/api/v2/users-bulk", _CloudAccountList, {"accountIds": [*ids]})
        except ApiError as error:
            if error.is_general:
                raise
            # Their ids are left, for the table of people.
            return {}
        return {account.account_id: account.email or "" for account in answer.results}

    async def groups(self, ids: Collection[str]) -> Sequence[str]:
        for id_ in ids:
            if id_ not in self._names:
                self._names[id_] = await self._ask_for_name(id_)
        return [self._names[id_] for id_ in ids]

    async def _ask_for_name(self, id_: str) -> str:
        try:
            return (await self._client.get("/rest/api/group/by-id", _GroupName, {"id": id_})).name
        except ApiError as error:
            if error.is_general:
                raise
            return id_


class _ServerDirectory:
    """A data center has names of groups, keys of people and no addresses."""

    def __init__(self, client: JsonClient, terms: ServiceTerms) -> None:
        self._client = client
        self._terms = terms
        self._names: dict[str, str] = {}

    async def subjects(self, space: SpaceName) -> _SpaceSubjects:
        if not space.key.strip("."):
            raise ApiError(unexpected_answer(self._terms))
        # Keys of personal spaces have names of people in them.
        path, subjects = f"/rest/api/space/{quote(space.key, safe='~')}/permissions", _SpaceSubjects()
        for entry in await self._client.get(path, tuple[_SpacePermission, ...]):
            if (entry.operation.key, entry.operation.target) != _VIEW:
                continue
            subject = entry.subject
            if subject.type in _ANONYMOUS:
                subjects.classes.add(subject.type)
            elif subject.type == "group" and subject.name:
                subjects.groups.add(subject.name)
            elif subject.type in _PEOPLE and (key := subject.user_key or subject.username):
                subjects.people.add(key)
                if subject.username:
                    self._names[key] = subject.username
        return subjects

    async def people(self, ids: Collection[str]) -> Sequence[SourcePerson]:
        for id_ in ids:
            if id_ not in self._names:
                self._names[id_] = await self._ask_for_username(id_)
        return [SourcePerson(names=(self._names[id_],)) for id_ in ids]

    async def _ask_for_username(self, user_key: str) -> str:
        try:
            return (await self._client.get("/rest/api/user", _KeyedUser, {"key": user_key})).username
        except ApiError as error:
            if error.is_general:
                raise
            return user_key

    async def groups(self, ids: Collection[str]) -> Sequence[str]:
        return list(ids)


def _add(subjects: _SpaceSubjects, principal: _Principal) -> None:
    match principal.type.lower():
        case "user":
            subjects.people.add(principal.id)
        case "group":
            subjects.groups.add(principal.id)
        case "role" if principal.id not in _CLASSES:
            subjects.roles.add(principal.id)
        case "access_class" | "role":
            subjects.classes.add(principal.id)
        case _:
            # Somebody of whom nothing is known: who else is named reads it.
            pass
