"""Shares of a rule."""

from fastapi import Depends

from api.dependencies import CurrentPrincipal, Reading, Writing, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, Text
from api.http.routing import Router
from api.http.sharing_schemas import ShareList, SharesBody, shares_answer
from core.auth.permissions import Permission
from core.errors.auth import OwnerOnly, ReadOnly, RuleNotFound
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest
from rules import sharing

router = Router(prefix="/api/v1/rules/{rule_id}/shares", tags=["rules"])
View = Depends(requires(Permission.RULE_VIEW))
Write = Depends(requires(Permission.RULE_WRITE))
_MISSING = (ReadOnly, OwnerOnly, RuleNotFound)


@router.get("", dependencies=[View], responses=error_responses(*_MISSING))
async def list_rule_shares(rule_id: Text, principal: CurrentPrincipal, session: Reading) -> Envelope[ShareList]:
    """With whom one's own rule is shared."""
    return shares_answer(await sharing.list_rule_shares(session, principal, rule_id))


@router.put("", dependencies=[Write], responses=error_responses(InvalidRequest, Conflict, *_MISSING))
async def replace_rule_shares(
    rule_id: Text, body: SharesBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[ShareList]:
    """Share one's own rule with exactly these people and roles.

    ``read`` lets them see it and its log, with the data of its events and what its actions gave, and try it; ``write``
    lets them switch it on and off too. It acts with its owner's permissions, so that changing, sharing and deleting it stay its owner's.
    """
    shares = await sharing.replace_rule_shares(work, principal, rule_id, body.to_specs(), body.version)
    return shares_answer(shares)
