"""Shares of a knowledge base."""

from fastapi import Depends

from api.dependencies import CurrentPrincipal, Reading, Writing, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, Text
from api.http.routing import Router
from api.http.sharing_schemas import ShareList, SharesBody, shares_answer
from core.auth.permissions import Permission
from core.errors.auth import KnowledgeBaseNotFound, OwnerOnly, ReadOnly
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest
from kb_service.knowledge_bases import service

router = Router(prefix="/api/v1/knowledge-bases/{kb_id}/shares", tags=["knowledge bases"])
View = Depends(requires(Permission.KB_VIEW))
Write = Depends(requires(Permission.KB_WRITE))
_MISSING = (ReadOnly, OwnerOnly, KnowledgeBaseNotFound)


@router.get("", dependencies=[View], responses=error_responses(*_MISSING))
async def list_shares(kb_id: Text, principal: CurrentPrincipal, session: Reading) -> Envelope[ShareList]:
    """With whom one's own knowledge base is shared."""
    return shares_answer(await service.get_shares(session, principal, kb_id))


@router.put("", dependencies=[Write], responses=error_responses(InvalidRequest, Conflict, *_MISSING))
async def replace_shares(
    kb_id: Text, body: SharesBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[ShareList]:
    """Share one's own knowledge base with exactly these people and roles.

    ``read`` lets them search it, read its documents and ask agents about it; ``write`` lets them
    change what is in it and its settings too. Sharing and deleting it stay its owner's.
    """
    return shares_answer(await service.replace_shares(work, principal, kb_id, body.to_specs(), body.version))
