"""The tool that lists the knowledge bases of the caller."""

import math

from mcp_types import InputRequiredResult
from pydantic import Field

from api.mcp_server.tool import READS, CallContext, ServedTool, ToolAnswer, ToolArguments, shorten
from core.auth.permissions import Permission
from core.db.pagination import PageRequest
from core.text.sanitize import strip_hidden
from kb_service.knowledge_bases import service as knowledge_bases

_LARGEST_PAGE = 100
_LAST_PAGE = 1_000_000
_LONGEST_DESCRIPTION = 500


class ListArguments(ToolArguments):
    """Which page of the list."""

    page: int = Field(default=1, ge=1, le=_LAST_PAGE, description="Number of the page, from 1.")
    page_size: int = Field(default=20, ge=1, le=_LARGEST_PAGE, description="Knowledge bases of one page.")


class ListedKnowledgeBase(ToolAnswer):
    """A knowledge base that the caller may read."""

    id: str = Field(description="What the other tools take as a knowledge base's id.")
    name: str
    description: str
    document_count: int = Field(description="Documents that you may read.")
    access: str = Field(description="read, write or owner.")
    enabled: bool = Field(description="Searches find nothing in one that is not enabled.")
    updated_at: str = Field(description="ISO 8601, UTC.")


class KnowledgeBasePage(ToolAnswer):
    """One page of the knowledge bases, by name."""

    knowledge_bases: list[ListedKnowledgeBase]
    total: int
    page: int
    pages: int


async def _list(call: CallContext, arguments: ListArguments) -> KnowledgeBasePage | InputRequiredResult:
    page = PageRequest(arguments.page, arguments.page_size, "name", descending=False)
    async with call.services.database.reading() as session:
        listing = await knowledge_bases.list_visible(session, call.principal, page)
    items = [
        ListedKnowledgeBase(
            id=row.id,
            name=strip_hidden(row.name),
            description=shorten(strip_hidden(row.description), _LONGEST_DESCRIPTION)[0],
            document_count=count,
            access=access.value,
            enabled=row.enabled,
            updated_at=row.updated_at.isoformat(),
        )
        for row, count, access in listing.items
    ]
    pages = math.ceil(listing.total / page.size)
    return KnowledgeBasePage(knowledge_bases=items, total=listing.total, page=page.number, pages=pages)


TOOL = ServedTool(
    name="list_knowledge_bases",
    title="List knowledge bases",
    description="List the knowledge bases of this Agentex server that you may read, by name, in pages: id, name, "
    "description and number of documents. Use it to choose where `search` and `ask` look; without a choice they "
    "look in all of them.",
    permission=Permission.KB_VIEW,
    arguments=ListArguments,
    answer=KnowledgeBasePage,
    annotations=READS,
    call=_list,
)
