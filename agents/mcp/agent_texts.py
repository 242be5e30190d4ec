"""Resources and prompts of MCP servers for runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.mcp import connections
from agents.mcp.connections import ConnectionWithTools
from agents.mcp.errors import McpRefusal
from agents.mcp.models import McpConnection
from agents.mcp.service import McpService
from agents.mcp.texts import McpPrompt, McpResource, ServerText, TextKind
from core.auth.authentication import principal_for_user
from core.db.database import Database
from core.errors.server import McpRefused


@dataclass(frozen=True)
class RemoteTexts:
    """The texts of a run's connections, which are called by their names."""

    service: McpService = field(repr=False)
    database: Database = field(repr=False)
    connections: tuple[ConnectionWithTools, ...]

    def names(self, kind: TextKind) -> list[str]:
        """The connections whose servers said that they have resources, or prompts."""
        return [connection.row.name for connection in self.connections if kind in connection.row.features]

    async def resources(self, name: str) -> tuple[McpResource, ...]:
        return (await self.service.list_texts(await self._row(name))).resources

    async def prompts(self, name: str) -> tuple[McpPrompt, ...]:
        return (await self.service.list_texts(await self._row(name))).prompts

    async def read_resource(self, name: str, uri: str) -> tuple[ServerText, ...]:
        row = await self._row(name)
        try:
            return await self.service.read_resource(row, uri)
        except McpRefusal as refusal:
            raise McpRefused(reason=refusal.text) from refusal

    async def get_prompt(self, name: str, prompt: str, arguments: dict[str, str]) -> tuple[ServerText, ...]:
        row = await self._row(name)
        try:
            return await self.service.get_prompt(row, prompt, arguments)
        except McpRefusal as refusal:
            raise McpRefused(reason=refusal.text) from refusal

    async def _row(self, name: str) -> McpConnection:
        """The connection as it is now: what its owner may do may be less than when the run began."""
        connection = next(candidate.row for candidate in self.connections if candidate.row.name == name)
        async with self.database.reading() as session:
            connections.require_use(await principal_for_user(session, connection.owner_id), connection.id)
            return await connections.get(session, connection.owner_id, connection.id)


def texts_for_run(
    service: McpService, database: Database, connections_with_tools: Sequence[ConnectionWithTools]
) -> RemoteTexts:
    """The texts of enabled connections."""
    enabled = tuple(connection for connection in connections_with_tools if connection.row.enabled)
    return RemoteTexts(service, database, enabled)
