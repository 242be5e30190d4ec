"""Every operation of the OpenAPI document, asked by callers of every role.

Who: nobody, an expired or revoked credential, somebody switched off, people of each role, a key with
one scope, the owner. What: one's own, another's, a shared and an absent object. An operation says by
``x-permissions`` what it asks of a role; one that says nothing fails here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from api.middleware import is_open
from core.auth.permissions import BUILT_IN_ROLES
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import (
    AccountDisabled,
    InvalidToken,
    NotAuthenticated,
    OwnerOnly,
    PermissionDenied,
    ReadOnly,
    TokenExpired,
)
from core.errors.base import AgentexError
from kb_service.backup.models import BackupJob, BackupJobKind, BackupJobStatus
from kb_service.backup.repository import create_repository, is_repository, open_repository
from tests.fixtures.http.client import Api, check_error, unique
from tests.fixtures.http.forged_tokens import TokenForger
from tests.fixtures.knowledge.backups import commit_files
from tests.fixtures.product.owned_objects import (
    ADMIN_REQUESTS,
    ADMINISTRATION,
    REQUESTS,
    OwnedObjects,
    fill,
    filled,
    operations,
)
from tests.fixtures.product.server import Server, one_shape

KB = "/api/v1/knowledge-bases/{kb_id}"
# What a reader of a knowledge base may ask for though it is no GET.
READING = {f"POST {KB}/{name}" for name in ("search", "search/why", "copy")}
ACCESS = f"{KB}/documents/{{doc_id}}/access"
MANAGING = {
    f"DELETE {KB}",
    *(f"{method} {KB}/shares" for method in ("GET", "PUT")),
    *(name for name in REQUESTS if name.partition(" ")[2].startswith(f"{KB}/sources")),
    *(f"{method} {ACCESS}" for method in ("GET", "PUT", "DELETE")),
}
TESTING = "POST /api/v1/models/{model_id}/test"
# Everybody may end their login and see to their own account, whatever their role.
OWN_ACCOUNT = ("/api/v1/users/me", "/api/v1/auth/logout")
ROLES = {role.name: {*role.permissions} for role in BUILT_IN_ROLES}
# What tells one answer of the same kind from another.
OF_ONE_ANSWER = {"date", "x-request-id"}


@dataclass(frozen=True)
class Operation:
    """An operation of the document, and how it is asked; ``any_of`` its permissions may be enough."""

    method: str
    path: str
    permissions: tuple[str, ...]
    any_of: bool = False

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def options(self) -> dict[str, Any]:
        """What is sent; a new operation fails here until it has its line."""
        if "{" not in self.path:
            return {}
        known = ADMIN_REQUESTS if self.path.startswith(ADMINISTRATION) else REQUESTS
        return known[self.name]

    def ask(self, caller: Api, ids: Callable[[str], str]) -> httpx.Response:
        url = fill(self.path, ids)
        options = filled(self.options, ids)
        return caller.http.request(self.method, url, headers=caller.headers, **options)


@dataclass(frozen=True)
class Person:
    """Somebody with an API key, and what they may do."""

    api: Api
    permissions: set[str]

    def lacking(self, operation: Operation) -> list[str]:
        missing = [name for name in operation.permissions if name not in self.permissions]
        return [] if operation.any_of and len(missing) < len(operation.permissions) else missing


def protected_operations(server: Server) -> list[Operation]:
    found = [
        Operation(method, path, tuple(described["x-permissions"]), described.get("x-permissions-any", False))
        for method, path, described in operations(server)
        if not is_open(path)
    ]
    for one in found:
        assert one.permissions or one.path.startswith(OWN_ACCOUNT), f"{one.name} asks for nothing"
    assert len(found) > 150
    return found


def unknown_id(_: str) -> str:
    return str(uuid4())


def are_alike(first: httpx.Response, second: httpx.Response) -> bool:
    """Whether nothing but the ids of the requests tells two answers apart."""
    heads = [
        {name: value for name, value in one.headers.items() if name not in OF_ONE_ANSWER} for one in (first, second)
    ]
    return (first.status_code, first.content, heads[0]) == (
        second.status_code, second.content, heads[1],
    )  # fmt: skip


def with_role(server: Server, caller: Api, role: str) -> Api:
    server.sql(
        'UPDATE "user" SET role_id = (SELECT id FROM role WHERE name = :role) WHERE id = :id',
        role=role,
        id=caller.user_id,
    )
    return caller


def with_key(caller: Api, **fields: Any) -> tuple[Api, str]:
    """The same person by an API key, and the key's id."""
    made = caller.post("/users/me/api-keys", {"name": "matrix", **fields})
    return Api(caller.http, {"X-API-Key": made["key"]}), made["id"]


@pytest.fixture
def people(server: Server, other: Api) -> Iterator[dict[str, Person]]:
    """Somebody of each role, and somebody with a narrow key, none of whom has anything."""
    known = {
        name: Person(with_role(server, server.person(), name), ROLES[name]) for name in ("viewer", "developer", "admin")
    }
    known["user"] = Person(other, ROLES["user"])
    known["key"] = Person(with_key(other, scopes=["kb:view"])[0], {"kb:view"})
    yield known
    # Other tests count administrators.
    with_role(server, known["admin"].api, "user")


def add_backup(server: Server) -> dict[str, str]:
    """A backup in the server's folder, and a job that has ended."""
    assert server.settings.backup_folder
    folder, backup_id = server.settings.backup_folder, "20260101T000000000Z-aaaaaa"
    repository = open_repository(folder, None) if is_repository(folder) else create_repository(folder, None)
    if backup_id not in repository.backup_ids():
        commit_files(repository, backup_id, {"a": "plum"})
    job = BackupJob(kind=BackupJobKind.CREATE.value, status=BackupJobStatus.COMPLETED.value)

    async def add(database: Database) -> str:
        async with unit_of_work(database) as work:
            work.session.add(job)
            return job.id

    return {"backup_id": backup_id, "job_id": server.work(add)}


@pytest.fixture
def administered(server: Server, people: dict[str, Person]) -> Iterator[dict[str, str]]:
    """One of everything that administrators see to."""
    admin, victim = people["admin"].api, server.person()
    model = {"name": unique("model"), "provider": "openai", "model_id": "m"}
    role = {"name": unique("role").lower(), "display_name": "x", "permissions": []}
    yield {
        "user_id": victim.user_id,
        "key_id": with_key(victim)[1],
        "model_id": admin.post("/admin/models", model)["id"],
        "role_id": admin.post("/admin/roles", role)["id"],
        "key": "search_top_k",
        **add_backup(server),
    }
    server.sql("DELETE FROM stored_config")


@one_shape
def test_nothing_is_open_to_a_credential_that_does_not_count(
    server: Server, shared_objects: OwnedObjects, administered: dict[str, str]
):
    gone, off = server.member(), server.member()
    forged = TokenForger(server, gone).token(exp=datetime.now(UTC) - timedelta(minutes=5))
    by_key, key_id = with_key(gone)
    off_by_key, _ = with_key(off)
    gone.delete(f"/users/me/api-keys/{key_id}")
    gone.post("/auth/logout", {})
    server.sql("UPDATE \"user\" SET status = 'disabled' WHERE id = :id", id=off.user_id)
    callers = {
        "no token": (Api(server.http, {}), NotAuthenticated),
        "expired": (server.api(Authorization=f"Bearer {forged}"), TokenExpired),
        "logged out": (gone, InvalidToken),
        "revoked key": (by_key, InvalidToken),
        "disabled": (off, AccountDisabled),
        "disabled by key": (off_by_key, AccountDisabled),
    }
    ids = administered | shared_objects.ids
    for operation in protected_operations(server):
        for who, (caller, code) in callers.items():
            where = f"{operation.name}: {who}"
            there = operation.ask(caller, lambda name: ids.get(name, "x"))
            assert there.status_code == code.status, f"{where}: {there.text}"
            check_error(there, code)
            if "{" in operation.path:
                assert are_alike(there, operation.ask(caller, unknown_id)), where
    assert shared_objects.owner.get("/users/me")["id"]


@one_shape
def test_role_without_a_permission_is_refused_alike_whatever_is_named(
    server: Server, shared_objects: OwnedObjects, people: dict[str, Person], administered: dict[str, str]
):
    ids, refused = shared_objects.ids | administered, 0
    for operation in protected_operations(server):
        for who, person in people.items():
            lacking = person.lacking(operation)
            if not lacking:
                continue
            where = f"{operation.name}: {who}"
            there = operation.ask(person.api, ids.__getitem__)
            assert there.status_code == PermissionDenied.status, f"{where}: {there.text}"
            assert check_error(there, PermissionDenied) == {"permission": lacking[0]}
            if "{" in operation.path:
                assert are_alike(there, operation.ask(person.api, unknown_id)), where
            refused += 1
    assert refused > 200


def test_another_persons_things_are_as_if_they_were_not(
    server: Server, shared_objects: OwnedObjects, people: dict[str, Person]
):
    before, asked = shared_objects.state(), set[str]()
    for operation in protected_operations(server):
        if "{" not in operation.path or operation.path.startswith(ADMINISTRATION):
            continue
        asked.add(operation.name)
        for who, person in people.items():
            if person.lacking(operation):
                continue
            where = f"{operation.name}: {who}"
            if who == "admin" and ("{user_id}" in operation.path or operation.name == TESTING):
                # Administrators look at what others asked, and manage models.
                if operation.method != "DELETE":
                    assert operation.ask(person.api, shared_objects.ids.__getitem__).is_success, where
                continue
            foreign = operation.ask(person.api, shared_objects.ids.__getitem__)
            assert foreign.status_code == 404, f"{where}: {foreign.text}"
            assert are_alike(foreign, operation.ask(person.api, unknown_id)), where
    assert asked == set(REQUESTS)
    assert shared_objects.state() == before


def test_what_names_nothing_is_open_to_whoever_has_the_permission(server: Server, people: dict[str, Person]):
    for operation in protected_operations(server):
        if "{" in operation.path:
            continue
        for who, person in people.items():
            if person.lacking(operation):
                continue
            answer = operation.ask(person.api, unknown_id)
            where = f"{operation.name}: {who}: {answer.text}"
            # A key with scopes may see to its account, but not change it.
            scoped = who == "key" and operation.path.startswith(OWN_ACCOUNT)
            # While another backup is made.
            busy = {409} if operation.name == "POST /api/v1/admin/backups" else set[int]()
            assert answer.status_code in ({200, 400, 403} if scoped else {200, 400, 404, 422} | busy), where


def test_administrators_requests_succeed_and_absent_things_are_not_found(
    server: Server, people: dict[str, Person], administered: dict[str, str]
):
    known = {operation.name: operation for operation in protected_operations(server)}
    named = {name for name in known if name.partition(" ")[2].startswith(ADMINISTRATION)}
    assert {name for name in named if "{" in name} == set(ADMIN_REQUESTS)
    admin = people["admin"].api
    for name in ADMIN_REQUESTS:
        missing = known[name].ask(admin, unknown_id)
        assert missing.status_code == 404, f"{name}: {missing.text}"
        answer = known[name].ask(admin, administered.__getitem__)
        # One backup, check or removal at a time, and the job has ended.
        busy = {409} if "/backups/" in name else set[int]()
        assert answer.status_code in {200} | busy, f"{name}: {answer.text}"


@pytest.mark.parametrize("access", ["read", "write"])
def test_shared_knowledge_base_is_open_as_far_as_it_is_shared(
    server: Server, owned_objects: OwnedObjects, other: Api, access: str
):
    viewer = Person(with_role(server, server.person(), "viewer"), ROLES["viewer"])
    people = (viewer, Person(other, ROLES["user"]))
    shares = [{"username": person.api.name, "access": access} for person in people]
    owned_objects.owner.put(f"/knowledge-bases/{owned_objects.ids['kb_id']}/shares", {"shares": shares})
    known = {one.name: one for one in protected_operations(server)}
    names = [name for name in REQUESTS if name.partition(" ")[2].startswith(KB)]
    # What takes something away comes last.
    for name in sorted(names, key=lambda name: name.startswith("DELETE")):
        for person in people:
            answer = known[name].ask(person.api, owned_objects.ids.__getitem__)
            if lacking := person.lacking(known[name]):
                details = check_error(answer, PermissionDenied)
                assert details == {"permission": lacking[0]}, name
                continue
            refusal = refusal_of(name, access)
            if refusal is None:
                assert answer.status_code in {200, 409}, f"{name}: {answer.text}"
            else:
                assert check_error(answer, refusal) == {}, name


def refusal_of(name: str, access: str) -> type[AgentexError] | None:
    """What somebody with whom a knowledge base is shared is told."""
    if name in MANAGING:
        return ReadOnly if access == "read" else OwnerOnly
    is_reading = name.startswith("GET") or name in READING
    return None if is_reading or access == "write" else ReadOnly
