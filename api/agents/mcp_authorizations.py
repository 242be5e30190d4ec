"""Authorization of the caller's MCP connections with OAuth 2.1 (docs/mcp.md)."""

import asyncio
from datetime import datetime
from typing import Literal

from fastapi import Depends, Response
from pydantic import Field

from agents.mcp import connections
from agents.mcp.oauth.client import CLIENT_NAME, METADATA_PATH, AuthorizationAnswer, oauth_client, open_authorizer
from api.agents.mcp import McpConnectionAnswer, answer_of
from api.dependencies import CurrentContext, CurrentPrincipal, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, RequestModel, ResponseModel, Secret, Text
from api.http.routing import Router
from core.auth.permissions import Permission
from core.errors.auth import McpConnectionNotFound, PermissionDenied
from core.errors.conflicts import McpAuthorizationNotOpen, McpNotAuthorizable
from core.errors.server import McpAuthorizationFailed

router = Router(prefix="/api/v1/mcp", tags=["mcp"])
Create = Depends(requires(Permission.MCP_CREATE))
_LONGEST = 10_000
# How long an answer waits for the first look with the new tokens.
_LOOK_SECONDS = 5
_CACHED = "public, max-age=3600"


class McpAuthorizationOffer(ResponseModel):
    """The address at which a person authorises the connection, and until when they may come back from it."""

    authorization_url: str
    expires_at: datetime


class McpCallbackBody(RequestModel):
    """What the authorization server gave the browser: a code, or an error."""

    state: Secret = Field(min_length=1, max_length=200)
    code: Secret | None = Field(default=None, max_length=_LONGEST)
    error: Text | None = Field(default=None, max_length=_LONGEST)
    iss: Text | None = Field(default=None, max_length=_LONGEST)


class McpSignedOut(ResponseModel):
    """Whether the authorization server said that the tokens are revoked; here they are forgotten in any case."""

    revoked: bool


class McpClientMetadata(ResponseModel):
    """This installation as an OAuth client (RFC 7591, section 2); `client_id` is the document's own address."""

    client_id: str
    client_name: str
    client_uri: str
    redirect_uris: list[str]
    grant_types: list[str]
    response_types: list[str]
    token_endpoint_auth_method: Literal["none"]
    application_type: Literal["web", "native"]


@router.post(
    "/connections/{connection_id}/authorize",
    dependencies=[Create],
    responses=error_responses(
        McpConnectionNotFound, PermissionDenied, McpNotAuthorizable, McpAuthorizationNotOpen, McpAuthorizationFailed
    ),
)
async def authorize_mcp_connection(
    connection_id: Text, principal: CurrentPrincipal, context: CurrentContext
) -> Envelope[McpAuthorizationOffer]:
    """Begin an authorisation; an earlier one of the connection that is under way ends."""
    database, agents = context.database, context.agents
    async with database.reading() as session:
        row = await connections.get(session, principal.user_id, connection_id)
    connections.require_use(principal, connection_id)
    authorizer = await open_authorizer(database, agents.mcp, oauth_client(context.settings))
    offer = await authorizer.begin(row)
    return Envelope(data=McpAuthorizationOffer(authorization_url=offer.url, expires_at=offer.expires_at))


@router.post(
    "/oauth/callback",
    dependencies=[Create],
    responses=error_responses(McpAuthorizationNotOpen, McpAuthorizationFailed),
)
async def complete_mcp_authorization(
    body: McpCallbackBody, principal: CurrentPrincipal, context: CurrentContext
) -> Envelope[McpConnectionAnswer]:
    """Complete an authorisation of the caller's with what their browser brought back; works once."""
    database, agents = context.database, context.agents
    authorizer = await open_authorizer(database, agents.mcp, oauth_client(context.settings))
    row = await authorizer.complete(principal.user_id, body.state, AuthorizationAnswer(body.code, body.error, body.iss))
    if row.enabled:
        await asyncio.wait({agents.mcp.refresh_soon(row)}, timeout=_LOOK_SECONDS)
    async with database.reading() as session:
        present = await connections.get(session, principal.user_id, row.id)
        return Envelope(data=await answer_of(session, present))


@router.delete(
    "/connections/{connection_id}/authorization",
    dependencies=[Create],
    responses=error_responses(McpConnectionNotFound, McpNotAuthorizable),
)
async def end_mcp_authorization(
    connection_id: Text, principal: CurrentPrincipal, context: CurrentContext
) -> Envelope[McpSignedOut]:
    """Forget the tokens of a connection and have its authorization server revoke them."""
    authorizer = await open_authorizer(context.database, context.agents.mcp, oauth_client(context.settings))
    revoked = await authorizer.end(principal.user_id, connection_id)
    return Envelope(data=McpSignedOut(revoked=revoked))


@router.get(METADATA_PATH.removeprefix("/api/v1/mcp"))
async def read_mcp_client_metadata(context: CurrentContext, response: Response) -> McpClientMetadata:
    """What authorization servers read where this address is the client id; open to everybody."""
    response.headers["Cache-Control"] = _CACHED
    client = oauth_client(context.settings)
    return McpClientMetadata.model_validate(
        {
            "client_id": client.metadata_url,
            "client_name": CLIENT_NAME,
            "client_uri": client.base_url,
            "redirect_uris": [client.redirect_url],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "web" if client.is_web else "native",
        }
    )
