"""Administration of roles and their permissions."""

from typing import Annotated

from fastapi import Depends
from pydantic import Field

from api.dependencies import CurrentPrincipal, Reading, Writing, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, RequestModel, ResponseModel, Text
from api.http.routing import Router
from core.auth import roles
from core.auth.models import Role
from core.auth.permissions import Permission
from core.auth.roles import RoleDraft
from core.errors.auth import RoleNotFound
from core.errors.conflicts import RoleBuiltIn, RoleInUse, RoleNameTaken

router = Router(prefix="/api/v1/admin", tags=["administration"])
Manage = Depends(requires(Permission.USERS_MANAGE))


class WholeRoleAnswer(ResponseModel):
    """A role and what it allows; a built-in one stays as it is."""

    id: str
    name: str
    display_name: str
    permissions: list[str]
    built_in: bool


class RoleList(ResponseModel):
    """All roles, the built-in ones first, and every permission that there is."""

    items: list[WholeRoleAnswer]
    total: int
    permissions: list[str]


class RoleChangeBody(RequestModel):
    """What may be set; what is left out stays as it is."""

    name: Text | None = Field(default=None, max_length=50, examples=["auditor"])
    display_name: Text | None = Field(default=None, max_length=100, examples=["审计员"])
    permissions: Annotated[list[Text], Field(max_length=200)] | None = Field(
        default=None, examples=[["kb:view", "session:view"]]
    )

    def draft(self) -> RoleDraft:
        return RoleDraft(self.name, self.display_name, self.permissions)


class NewRoleBody(RoleChangeBody):
    """A new role."""

    name: Text = Field(max_length=50, examples=["auditor"])  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues] # required here, optional there


def _answer(role: Role) -> WholeRoleAnswer:
    return WholeRoleAnswer.model_validate(role.model_dump())


@router.get("/roles", dependencies=[Manage])
async def list_roles(principal: CurrentPrincipal, session: Reading) -> Envelope[RoleList]:
    """All roles, and the names of all permissions."""
    items = [_answer(role) for role in await roles.list_roles(session)]
    names = [permission.value for permission in Permission]
    return Envelope(data=RoleList(items=items, total=len(items), permissions=names))


@router.post("/roles", dependencies=[Manage], responses=error_responses(RoleNameTaken))
async def create_role(body: NewRoleBody, principal: CurrentPrincipal, work: Writing) -> Envelope[WholeRoleAnswer]:
    """Make a role; nobody makes one that allows more than their own."""
    return Envelope(data=_answer(await roles.create_role(work.session, principal, body.draft())))


@router.get("/roles/{role_id}", dependencies=[Manage], responses=error_responses(RoleNotFound))
async def read_role(role_id: Text, principal: CurrentPrincipal, session: Reading) -> Envelope[WholeRoleAnswer]:
    """One role."""
    return Envelope(data=_answer(await roles.find_role(session, role_id)))


@router.put(
    "/roles/{role_id}", dependencies=[Manage], responses=error_responses(RoleNotFound, RoleBuiltIn, RoleNameTaken)
)
async def change_role(
    role_id: Text, body: RoleChangeBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[WholeRoleAnswer]:
    """Change a role; it counts for those who have it from their next request on."""
    role = await roles.change_role(work.session, principal, role_id, body.draft())
    return Envelope(data=_answer(role))


@router.delete(
    "/roles/{role_id}", dependencies=[Manage], responses=error_responses(RoleNotFound, RoleBuiltIn, RoleInUse)
)
async def delete_role(role_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Delete a role that nobody has."""
    await roles.delete_role(work.session, principal, role_id)
    return Empty()
