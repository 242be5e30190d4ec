"""Shares of a skill."""

from fastapi import Depends

from api.dependencies import CurrentPrincipal, Reading, Writing, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, Text
from api.http.routing import Router
from api.http.sharing_schemas import ShareList, SharesBody, shares_answer
from core.auth.permissions import Permission
from core.errors.auth import OwnerOnly, ReadOnly, SkillNotFound
from core.errors.conflicts import Conflict, SkillNotPublishable, SkillReviewNeeded
from core.errors.requests import InvalidRequest
from skills.store import sharing

router = Router(prefix="/api/v1/skills/{skill_id}/shares", tags=["skills"])
View = Depends(requires(Permission.SKILL_VIEW))
Write = Depends(requires(Permission.SKILL_WRITE))
_MISSING = (ReadOnly, OwnerOnly, SkillNotFound)


@router.get("", dependencies=[View], responses=error_responses(*_MISSING))
async def list_skill_shares(skill_id: Text, principal: CurrentPrincipal, session: Reading) -> Envelope[ShareList]:
    """With whom one's own skill is shared."""
    return shares_answer(await sharing.list_skill_shares(session, principal, skill_id))


@router.put(
    "",
    dependencies=[Write],
    responses=error_responses(InvalidRequest, Conflict, SkillNotPublishable, SkillReviewNeeded, *_MISSING),
)
async def replace_skill_shares(
    skill_id: Text, body: SharesBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[ShareList]:
    """Share one's own skill with exactly these people and roles.

    ``read`` lets them read it and their agents use it; ``write`` lets them write its versions too.
    Sharing and deleting it stay its owner's.
    """
    shares = await sharing.replace_skill_shares(work, principal, skill_id, body.to_specs(), body.version)
    return shares_answer(shares)
