"""How Agentex presents itself to authorization servers, without the protocol's library."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.mcp.service import McpService
from core.db.database import Database
from core.settings import Settings
from core.threads import import_in_thread

if TYPE_CHECKING:
    from agents.mcp.oauth.authorizer import McpAuthorizer

CLIENT_NAME = "Agentex"
METADATA_PATH = "/api/v1/mcp/oauth/client-metadata"
_RETURN_PATH = "/connections/callback"


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The addresses of this installation that authorization servers get.

    Args:
        base_url: where browsers reach it.
    """

    base_url: str

    @property
    def redirect_url(self) -> str:
        """The console's page to which people are sent back."""
        return self.base_url + _RETURN_PATH

    @property
    def metadata_url(self) -> str:
        """Of the client metadata document."""
        return self.base_url + METADATA_PATH

    @property
    def id_url(self) -> str | None:
        """The document's address as a client id, for which the protocol wants ``https``."""
        return self.metadata_url if self.is_web else None

    @property
    def is_web(self) -> bool:
        return self.base_url.startswith("https://")


@dataclass(frozen=True, slots=True)
class AuthorizationAnswer:
    """What a person's browser brings back from an authorization server: a code or an error, and who gave it."""

    code: str | None = field(default=None, repr=False)
    error: str | None = None
    issuer: str | None = None


def oauth_client(settings: Settings) -> OAuthClient:
    """The client that this installation is."""
    return OAuthClient(settings.browser_url)


async def open_authorizer(database: Database, service: McpService, client: OAuthClient) -> "McpAuthorizer":
    """What authorizes connections."""
    # With the protocol's library, which takes half a second to load.
    module = await import_in_thread("agents.mcp.oauth.authorizer")
    return module.McpAuthorizer(database, service, client)
