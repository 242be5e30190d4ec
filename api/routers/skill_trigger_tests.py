"""Trigger tests of skills."""

from fastapi import APIRouter, Depends
from pydantic import Field

from api.dependencies import CurrentPrincipal, CurrentServices, requires
from api.envelope import Body, Envelope, Text
from api.errors import error_responses
from core.accounts.permissions import Permission
from core.errors import ErrorCode
from skills import reading, trigger_tests
from skills.trigger_tests import Query, TriggerReport

router = APIRouter(prefix="/api/v1/skills", tags=["skills"])
View = Depends(requires(Permission.SKILL_VIEW))


class QueryBody(Body):
    """A request, and whether it should choose the skill."""

    query: Text = Field(min_length=1, max_length=2000)
    should_trigger: bool


class TriggerTestBody(Body):
    """About twenty requests say enough; half of them should not choose the skill."""

    queries: list[QueryBody] = Field(min_length=1, max_length=100)
    runs: int = Field(
        default=3,
        ge=1,
        le=10,
        description="How often a model is asked; the offline selector always says the same",
    )
    version: int | None = Field(default=None, ge=1, le=2**31 - 1)


@router.post(
    "/{skill_id}/trigger-test",
    dependencies=[View],
    responses=error_responses(
        ErrorCode.INVALID_REQUEST,
        ErrorCode.SKILL_NOT_FOUND,
        ErrorCode.SKILL_VERSION_NOT_FOUND,
        ErrorCode.ENGINE_UNAVAILABLE,
    ),
)
async def try_skill_triggers(
    skill_id: Text, body: TriggerTestBody, principal: CurrentPrincipal, services: CurrentServices
) -> Envelope[TriggerReport]:
    """Which requests would choose the skill among all those that the caller's agents may use.

    It goes through the selector that requests go through: shared words, and closeness of meaning by
    the platform's own encoder.
    """
    async with services.database.reading() as session:
        seen = await reading.get(session, principal, skill_id)
        version = await reading.version_of(session, seen, body.version)
        field = await trigger_tests.read_field(session, principal, seen, version)
    queries = [Query(one.query, one.should_trigger) for one in body.queries]
    encoder = services.spaces.default.encoder
    return Envelope(data=await trigger_tests.run(field, version.version, queries, encoder))
