"""Documents of all knowledge bases by a part of their name."""

from datetime import datetime
from typing import Annotated

from fastapi import Depends, Query

from api.dependencies import CurrentPrincipal, Reading, paging, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, Items, ResponseModel, Text, page_of
from api.http.routing import Router
from core.auth.permissions import Permission
from core.db.pagination import PageRequest
from core.errors.requests import InvalidPagination, InvalidRequest
from kb_service.documents import names

router = Router(prefix="/api/v1/documents", tags=["documents"])
View = Depends(requires(Permission.KB_VIEW))


class NamedDocument(ResponseModel):
    """A document and the knowledge base that it is in."""

    id: str
    name: str
    knowledge_base_id: str
    knowledge_base_name: str
    status: str
    updated_at: datetime


@router.get("", dependencies=[View], responses=error_responses(InvalidRequest, InvalidPagination))
async def find_documents(
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*names.SORT_FIELDS))],
    name_contains: Annotated[
        Text, Query(min_length=1, max_length=255, description="A part of the name, in upper or lower case")
    ],
) -> Envelope[Items[NamedDocument]]:
    """Documents with this in their name, of all knowledge bases that the caller sees."""
    listing = await names.find_documents(session, principal, name_contains, page)
    items = [
        NamedDocument.model_validate({**document.model_dump(), "knowledge_base_name": knowledge_base.name})
        for document, knowledge_base in listing.items
    ]
    return page_of(items, page, total=listing.total)
