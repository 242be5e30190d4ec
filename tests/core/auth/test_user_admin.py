"""Administration of users: one administrator is always left, and nobody grants more than they have."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from sqlmodel import select

from core.audit.log import AuditAction
from core.audit.models import AuditEntry
from core.auth.authentication import principal_for_user
from core.auth.models import User, UserStatus
from core.auth.permissions import ADMIN_ROLE, DEFAULT_ROLE, Permission
from core.auth.principal import Principal, may_use_model
from core.auth.roles import RoleDraft, create_role, effective_permissions
from core.auth.user_admin import AccessLimit, UserChange, change_user
from core.auth.users import UserDraft, create_user, ensure_roles, get_role, get_role_by_name
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import AccountDisabled, InvalidToken, PermissionDenied, UserNotFound
from core.errors.conflicts import LastAdministrator
from core.errors.requests import InvalidRequest
from tests.fixtures.database.databases import one_database

pytestmark = pytest.mark.anyio
DISABLED = UserChange(status=UserStatus.DISABLED)


async def add(database: Database, name: str, role: str = DEFAULT_ROLE) -> User:
    async with unit_of_work(database) as work:
        await ensure_roles(work.session)
        draft = UserDraft(name, f"{name}@example.com", "unused")
        return await create_user(work.session, draft, role=role)


async def principal_of(database: Database, user: User) -> Principal:
    async with database.reading() as session:
        return await principal_for_user(session, user.id)


async def change(database: Database, by: Principal, user: User, change: UserChange) -> User:
    async with unit_of_work(database) as work:
        changed, _ = await change_user(work.session, by, user.id, change)
        return changed


async def demoted(database: Database) -> UserChange:
    async with database.reading() as session:
        return UserChange(role_id=(await get_role_by_name(session, DEFAULT_ROLE)).id)


async def disabled(database: Database) -> UserChange:
    return DISABLED


async def stripped(database: Database) -> UserChange:
    return UserChange(revokes=[Permission.USERS_MANAGE.value])


@pytest.mark.parametrize("wish", [demoted, disabled, stripped])
async def test_administrators_who_remove_each_other_at_once_leave_one(
    database: Database, wish: Callable[[Database], Awaitable[UserChange]]
):
    pair = [await add(database, name, ADMIN_ROLE) for name in ("anna", "ben")]
    callers = [await principal_of(database, user) for user in pair]
    wanted = await wish(database)
    outcomes = await asyncio.gather(
        change(database, callers[0], pair[1], wanted),
        change(database, callers[1], pair[0], wanted),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes].count(LastAdministrator) == 1
    assert sum(isinstance(outcome, User) for outcome in outcomes) == 1


async def test_last_active_administrator_stays_beside_disabled_ones(database: Database):
    anna, ben = [await add(database, name, ADMIN_ROLE) for name in ("anna", "ben")]
    caller = await principal_of(database, anna)
    await change(database, caller, ben, DISABLED)
    for wanted in (await demoted(database), DISABLED, await stripped(database)):
        with pytest.raises(LastAdministrator):
            await change(database, caller, anna, wanted)
    assert await principal_of(database, anna) == caller
    await change(database, caller, ben, UserChange(status=UserStatus.ACTIVE))
    await change(database, caller, anna, await demoted(database))


@one_database
async def test_grants_and_revokes_change_what_the_role_allows(database: Database):
    admin = await add(database, "root", ADMIN_ROLE)
    anna = await add(database, "anna")
    caller = await principal_of(database, admin)
    before = (await principal_of(database, anna)).permissions
    wanted = UserChange(grants=["mcp:create"], revokes=["kb:write"])
    await change(database, caller, anna, wanted)
    after = (await principal_of(database, anna)).permissions
    assert after == before - {Permission.KB_WRITE} | {Permission.MCP_CREATE}
    # Shared: open streams hold it for as long as they last.
    assert (await principal_of(database, anna)).permissions is after
    async with database.reading() as session:
        query = select(AuditEntry).where(AuditEntry.action == AuditAction.USER_CHANGED.value)
        noted = (await session.exec(query)).one()
    assert (noted.object_id, noted.object_name) == (anna.id, "anna")
    assert noted.details == {
        "grants": {"before": [], "after": ["mcp:create"]},
        "revokes": {"before": [], "after": ["kb:write"]},
    }
    with pytest.raises(InvalidRequest) as error:
        await change(database, caller, anna, UserChange(grants=["kb:everything"]))
    assert error.value.details["field"] == "custom_permissions.grants"


@one_database
async def test_nobody_gives_or_rules_over_more_than_they_have(database: Database):
    admin = await add(database, "root", ADMIN_ROLE)
    root = await principal_of(database, admin)
    async with unit_of_work(database) as work:
        ordinary = await get_role_by_name(work.session, DEFAULT_ROLE)
        draft = RoleDraft("helpdesk", "Help", [*ordinary.permissions, "users:manage"])
        helpdesk = await create_role(work.session, root, draft)
    helper = await add(database, "helper", "helpdesk")
    anna = await add(database, "anna")
    caller = await principal_of(database, helper)
    async with database.reading() as session:
        highest = await get_role_by_name(session, ADMIN_ROLE)
    refused = [
        (admin, DISABLED),
        (anna, UserChange(role_id=highest.id)),
        (helper, UserChange(role_id=highest.id)),
        (helper, UserChange(grants=["system:manage"])),
    ]
    for user, wanted in refused:
        with pytest.raises(PermissionDenied):
            await change(database, caller, user, wanted)
    async with unit_of_work(database) as work:
        with pytest.raises(PermissionDenied):
            await create_role(work.session, caller, RoleDraft("boss", "Boss", ["system:manage"]))
    changed = await change(database, caller, anna, UserChange(role_id=helpdesk.id))
    async with database.reading() as session:
        role = await get_role(session, changed.role_id)
    assert Permission.USERS_MANAGE in effective_permissions(changed, role)


@one_database
async def test_limits_to_models_decide_alone(database: Database):
    admin = await add(database, "root", ADMIN_ROLE)
    anna = await add(database, "anna")
    caller = await principal_of(database, admin)
    free = await principal_of(database, anna)
    for is_open in (True, False):
        assert may_use_model(free, "a", is_open=is_open) == is_open
    wanted = UserChange(model_access=AccessLimit(["a", "a"]), mcp_access=AccessLimit([]))
    changed = await change(database, caller, anna, wanted)
    assert (changed.model_access, changed.mcp_access) == (["a"], [])
    bound = await principal_of(database, anna)
    assert may_use_model(bound, "a", is_open=False)
    assert not may_use_model(bound, "b", is_open=True)
    await change(database, caller, anna, UserChange(model_access=AccessLimit(None)))
    assert may_use_model(await principal_of(database, anna), "b", is_open=True)


@one_database
async def test_account_that_is_switched_off_or_gone_is_nobody(database: Database):
    admin = await add(database, "root", ADMIN_ROLE)
    anna = await add(database, "anna")
    caller = await principal_of(database, admin)
    await change(database, caller, anna, DISABLED)
    with pytest.raises(AccountDisabled):
        await principal_of(database, anna)
    async with unit_of_work(database) as work:
        row = await work.session.get_one(User, anna.id)
        row.status = UserStatus.DELETED.value
    with pytest.raises(InvalidToken):
        await principal_of(database, anna)
    with pytest.raises(UserNotFound):
        await change(database, caller, anna, UserChange(status=UserStatus.ACTIVE))
