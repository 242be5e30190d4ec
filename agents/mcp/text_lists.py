"""Lists of a server's resources and prompts, page by page."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, PaginatedRequestParams

from agents.mcp.texts import MOST_ENTRIES, McpPrompt, McpResource, read_prompt_entry, read_resource_entry

_PAGES = 20
EntryT = TypeVar("EntryT")
_Page = tuple[list[EntryT | None], str | None]


@dataclass(frozen=True, slots=True)
class TextLists:
    """What a server lists besides its tools; templates follow the resources."""

    resources: tuple[McpResource, ...] = ()
    prompts: tuple[McpPrompt, ...] = ()


async def list_resources(session: ClientSession) -> list[McpResource]:
    """Resources, then templates, which some servers don't know."""

    async def resources(params: PaginatedRequestParams) -> _Page[McpResource]:
        page = await session.list_resources(params=params)
        return [read_resource_entry(entry) for entry in page.resources], page.next_cursor

    async def templates(params: PaginatedRequestParams) -> _Page[McpResource]:
        page = await session.list_resource_templates(params=params)
        return [read_resource_entry(entry) for entry in page.resource_templates], page.next_cursor

    listed = await _all_pages(resources)
    try:
        return [*listed, *await _all_pages(templates)][:MOST_ENTRIES]
    except MCPError as error:
        if error.code != METHOD_NOT_FOUND:
            raise
        return listed


async def list_prompts(session: ClientSession) -> list[McpPrompt]:
    """Prompts."""

    async def prompts(params: PaginatedRequestParams) -> _Page[McpPrompt]:
        page = await session.list_prompts(params=params)
        return [read_prompt_entry(entry) for entry in page.prompts], page.next_cursor

    return await _all_pages(prompts)


async def _all_pages(ask: Callable[[PaginatedRequestParams], Awaitable[_Page[EntryT]]]) -> list[EntryT]:
    entries: list[EntryT] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page, cursor = await ask(PaginatedRequestParams(cursor=cursor))
        entries += [entry for entry in page if entry is not None]
        if not cursor or len(entries) >= MOST_ENTRIES:
            break
    return entries[:MOST_ENTRIES]
